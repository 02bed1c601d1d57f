//! Ollama: OpenAI's form for conversation, its own list of what was pulled, and the many forms of `OLLAMA_HOST`.

use super::compatible::Compatible;
use super::completion::Completion;
use super::failed::Trouble;
use super::provider::ModelEntry;
use super::wire::{Target, Wire};
use super::{Ask, ModelFailure, OnPiece};
use serde_json::Value;

const PORT: &str = "11434";

/// A server of Ollama.
#[derive(Debug, Clone)]
pub(crate) struct Ollama {
    address: String,
    server: Compatible,
}

impl Ollama {
    /// The server at an address that `address` made.
    pub(crate) fn new(address: String) -> Self {
        let server = Compatible::new(&address, None);
        Self { address, server }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(super) async fn complete(
        &self,
        wire: &Wire,
        model: &str,
        ask: Ask<'_>,
        on_piece: Option<OnPiece<'_>>,
    ) -> Result<Completion, ModelFailure> {
        self.server.complete(wire, model, ask, on_piece).await
    }

    /// What was pulled and can hold a conversation.
    pub(super) async fn list(&self, wire: &Wire) -> Result<Vec<ModelEntry>, ModelFailure> {
        let target = Target::new(format!("{}/api/tags", self.address));
        let listed = async {
            let body = wire.get(&target).await?.json().await?;
            match body["models"].as_array() {
                Some(models) => Ok(models.iter().filter_map(entry).collect()),
                None => Err(Trouble::garbled("has no list of models", body.to_string())),
            }
        };
        listed.await.map_err(|trouble| trouble.of("", target.secrets()))
    }
}

/// Models that only make vectors are of the family of BERT.
fn entry(given: &Value) -> Option<ModelEntry> {
    let id = given["model"].as_str().or_else(|| given["name"].as_str())?;
    let family = given["details"]["family"].as_str().unwrap_or_default();
    (!family.contains("bert") && !id.contains("embed")).then(|| ModelEntry::named(id))
}

/// The address that `OLLAMA_HOST` means: a host, a port, both, or a whole address.
pub(crate) fn address(host: &str) -> String {
    let host = host.trim().trim_matches(['"', '\'']).trim_end_matches('/');
    let (scheme, rest, port) = match host.split_once("://") {
        None => ("http", host, PORT),
        Some(("https", rest)) => ("https", rest, "443"),
        Some((_, rest)) => ("http", rest, "80"),
    };
    let (authority, path) = rest.split_once('/').map_or((rest, ""), |(authority, path)| (authority, path));
    let (name, port) = match authority.rsplit_once(':') {
        // The colon belongs to an address of version 6 without a port.
        Some((_, after)) if after.ends_with(']') => (authority, port),
        Some(_) if authority.matches(':').count() > 1 && !authority.starts_with('[') => (authority, port),
        Some((name, given)) if given.parse::<u16>().is_ok() => (name, given),
        Some((name, _)) => (name, port),
        None => (authority, port),
    };
    let name = match name {
        // An address to listen on is everybody's; from here it is this machine.
        "" | "0.0.0.0" => "127.0.0.1".to_owned(),
        "[::]" | "::" => "[::1]".to_owned(),
        name if name.contains(':') && !name.starts_with('[') => format!("[{name}]"),
        name => name.to_owned(),
    };
    let path = if path.is_empty() { String::new() } else { format!("/{path}") };
    format!("{scheme}://{name}:{port}{path}")
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn every_form_of_the_host_is_understood() {
        for (host, expect) in [
            ("", "http://127.0.0.1:11434"),
            ("0.0.0.0", "http://127.0.0.1:11434"),
            (":8000", "http://127.0.0.1:8000"),
            ("box", "http://box:11434"),
            ("box:8000", "http://box:8000"),
            ("box:nonsense", "http://box:11434"),
            ("http://box", "http://box:80"),
            ("https://box", "https://box:443"),
            ("https://box:8000/ollama/", "https://box:8000/ollama"),
            ("http://0.0.0.0:11434", "http://127.0.0.1:11434"),
            ("[::1]", "http://[::1]:11434"),
            ("[::1]:8000", "http://[::1]:8000"),
            ("::1", "http://[::1]:11434"),
            ("[::]:8000", "http://[::1]:8000"),
            ("\"box\"", "http://box:11434"),
        ] {
            assert_eq!(address(host), expect, "{host}");
        }
    }
}
