//! A model that this host runs itself. The host starts it when it is first asked; here is only where it then is.

use super::compatible::Compatible;
use super::completion::Completion;
use super::provider::ModelEntry;
use super::wire::Wire;
use super::{Ask, ModelFailure, ModelProblem, OnPiece, Secret};
use futures::future::BoxFuture;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A small computer reads a long prompt for minutes before the first word.
const READING_WAIT: Duration = Duration::from_secs(600);

/// How long a process may take to be gone.
const RESTART_LOOKS: u32 = 40;
const RESTART_PAUSE: Duration = Duration::from_millis(50);

/// Where a local model answers.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Its address, with or without `/v1`.
    pub base_url: String,
    /// What it wants to see, so that no other program of this machine can use it.
    pub key: Option<Secret>,
}

/// Where a model answers, once it runs.
pub type LocalEndpoint =
    Arc<dyn Fn(String) -> BoxFuture<'static, Result<Endpoint, ModelFailure>> + Send + Sync>;

/// The models of this machine, as the host has them: some may come or go while it runs.
#[derive(Clone)]
pub struct StartLocal {
    /// What there is now. Asked often, so it must be quick.
    pub names: Arc<dyn Fn() -> Vec<String> + Send + Sync>,
    /// Starts a model, or finds it running. Called before every request.
    pub endpoint: LocalEndpoint,
}

/// The local models of this host.
#[derive(Clone)]
pub(crate) struct Local {
    start: StartLocal,
}

impl Local {
    pub(crate) fn new(start: StartLocal) -> Self {
        Self { start }
    }

    /// What there is now.
    pub(crate) fn names(&self) -> Vec<String> {
        (self.start.names)()
    }

    pub(super) fn list(&self) -> Vec<ModelEntry> {
        self.names().iter().map(ModelEntry::named).collect()
    }

    pub(super) async fn complete(
        &self,
        wire: &Wire,
        model: &str,
        ask: Ask<'_>,
        on_piece: Option<OnPiece<'_>>,
    ) -> Result<Completion, ModelFailure> {
        let wire = wire.patient(READING_WAIT);
        let Endpoint { base_url, key } = (self.start.endpoint)(model.to_owned()).await?;
        let has_spoken = AtomicBool::new(false);
        let noted = |piece: &str| {
            has_spoken.store(true, Ordering::Relaxed);
            if let Some(on_piece) = on_piece {
                on_piece(piece);
            }
        };
        let noted: Option<OnPiece<'_>> = on_piece.is_some().then_some(&noted);
        let answered = Compatible::new(&base_url, key).complete(&wire, model, ask, noted).await;
        match answered {
            // It died a moment ago, and nobody knew. A new one has another address.
            Err(failure)
                if failure.problem == ModelProblem::Unreachable && !has_spoken.load(Ordering::Relaxed) =>
            {
                let Endpoint { base_url, key } = self.another(model, &base_url).await?.ok_or(failure)?;
                Compatible::new(&base_url, key).complete(&wire, model, ask, on_piece).await
            }
            answered => answered,
        }
    }

    /// Where the model answers after it was started again.
    async fn another(&self, model: &str, dead: &str) -> Result<Option<Endpoint>, ModelFailure> {
        for _ in 0..RESTART_LOOKS {
            let endpoint = (self.start.endpoint)(model.to_owned()).await?;
            if endpoint.base_url != dead {
                return Ok(Some(endpoint));
            }
            tokio::time::sleep(RESTART_PAUSE).await;
        }
        Ok(None)
    }
}

impl fmt::Debug for Local {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Local").field("names", &self.names()).finish_non_exhaustive()
    }
}
