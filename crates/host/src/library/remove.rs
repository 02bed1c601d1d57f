//! Apps that go. What a person keeps with them stays.

use super::AppLibrary;
use roost_apps::library::Change;
use roost_protocol::{Failure, Reason};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::path::PathBuf;

/// An app that is gone.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Removed {
    /// Its id.
    pub removed: String,
    /// The version that served.
    pub version: String,
    /// Where its workspace is, which stays.
    pub workspace: PathBuf,
    /// Files that a person had changed, where they are kept now.
    pub kept: Vec<PathBuf>,
}

impl AppLibrary {
    /// Removes an app. Its workspace and what it kept for itself stay.
    pub async fn remove(&self, id: &str) -> Result<Removed, Failure> {
        let (library, id) = (self.clone(), id.to_owned());
        let work = tokio::spawn(async move { library.remove_one(&id).await });
        work.await.map_err(|error| Failure::new(Reason::Internal, error.to_string()))?
    }

    async fn remove_one(&self, id: &str) -> Result<Removed, Failure> {
        let _turn = self.turn().await;
        let app = self.record(id)?;
        let gone = id.to_owned();
        self.stop_program(&app).await;
        let changed = match self.change(move |_| Ok(Change::Remove { id: gone })).await {
            Ok(changed) => changed,
            Err(failure) => {
                // It is still installed, so it serves on.
                self.serve_program(&app).await.ok();
                return Err(failure);
            }
        };
        self.forget_program(&app).await;
        if let Err(failure) = self.inner().native.forget_sealed(id).await {
            tracing::error!(app = id, %failure, "forget the settings of an app");
        }
        self.take_back(app.versions().flat_map(|version| version.principals(id)).map(|(name, _)| name));
        self.inner().forget_installed_page(id).await?;
        self.look_at(app.current.code().map(|(kind, part)| (kind, part.file_name.as_str()))).await?;
        self.host.book().note("app_removed", json!({ "app": id }));
        Ok(Removed {
            removed: id.to_owned(),
            version: app.current.shown_version().to_owned(),
            workspace: self.disk().places().lasting(&app),
            kept: changed.kept,
        })
    }
}
