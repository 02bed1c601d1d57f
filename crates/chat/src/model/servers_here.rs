//! Servers that people run on this machine: finding them, and what LM Studio and llama.cpp list.
//!
//! Any program may sit on these ports. One counts as a model server only if it lists a model in the right form.

use super::compatible::{Compatible, entries};
use super::provider::{ModelEntry, Provider, ProviderName};
use super::wire::Wire;
use super::{ModelFailure, Ollama};

/// The models of a server, without those that only make vectors, which LM Studio lists too.
pub(super) async fn list(server: &Compatible, wire: &Wire) -> Result<Vec<ModelEntry>, ModelFailure> {
    let mut ids = server.ids(wire).await?;
    ids.retain(|id| !id.contains("embed"));
    Ok(entries(ids))
}

/// The server on this port with its models, if there is one.
pub(crate) async fn probe(wire: &Wire, name: ProviderName, port: u16) -> Option<(Provider, Vec<ModelEntry>)> {
    let address = format!("http://127.0.0.1:{port}");
    let provider = match name {
        ProviderName::Ollama => Provider::Ollama(Ollama::new(address)),
        ProviderName::LmStudio => Provider::LmStudio(Compatible::new(&address, None)),
        ProviderName::LlamaCpp => Provider::LlamaCpp(Compatible::new(&address, None)),
        _ => return None,
    };
    let models = provider.list(wire).await.ok()?;
    (!models.is_empty()).then_some((provider, models))
}
