//! Models that apps of this host answer for. They come and go with the apps, so nothing is kept of them here.

use super::completion::Completion;
use super::provider::ModelEntry;
use super::{Ask, Model, ModelFailure, ModelProblem, OnPiece, Reply};
use std::fmt;
use std::sync::Arc;

/// What the id of every model of an app begins with.
pub(crate) const APP_MODEL_MARK: &str = "gateway-";

/// The model of an id, while its app answers.
pub type FindAppModel = Arc<dyn Fn(&str) -> Option<Arc<dyn Model>> + Send + Sync>;

/// The models of apps, as the host has them.
#[derive(Clone)]
pub struct AppModels {
    /// The ids that can be asked now, with names for people. Asked often, so it must be quick.
    pub names: Arc<dyn Fn() -> Vec<(String, String)> + Send + Sync>,
    /// The model of an id, while its app answers.
    pub find: FindAppModel,
}

impl AppModels {
    pub(crate) fn is_empty(&self) -> bool {
        (self.names)().is_empty()
    }

    /// What there is now.
    pub(crate) fn list(&self) -> Vec<ModelEntry> {
        (self.names)().into_iter().map(|(id, name)| ModelEntry { id, name, available: None }).collect()
    }

    pub(super) async fn complete(
        &self,
        model: &str,
        ask: Ask<'_>,
        on_piece: Option<OnPiece<'_>>,
    ) -> Result<Completion, ModelFailure> {
        let found = (self.find)(model).ok_or_else(|| ModelFailure {
            problem: ModelProblem::Unreachable,
            message: format!("The app of model '{model}' does not run."),
            model: model.to_owned(),
            detail: String::new(),
        })?;
        let Reply { message, usage, .. } = found.reply(Ask { model: Some(model), ..ask }, on_piece).await?;
        Ok(Completion { message, usage })
    }
}

impl fmt::Debug for AppModels {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AppModels").field("names", &(self.names)()).finish_non_exhaustive()
    }
}
