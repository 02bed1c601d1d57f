//! Senses of a home: fetched from a catalog, kept beside the agents, and listed. The host runs none of them.

use super::EntryName;
use crate::host::Host;
use roost_apps::SenseFolder;
use roost_protocol::{Failure, Reason};
use serde_json::json;

/// A sense that is in the home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledSense {
    /// Its id: the name of its file without the ending.
    pub id: String,
    /// Its file.
    pub file_name: String,
}

impl InstalledSense {
    fn of_file(file_name: String) -> Self {
        let id = file_name.strip_suffix("_sense.py").unwrap_or(&file_name).to_owned();
        Self { id, file_name }
    }
}

impl Host {
    /// The senses that are in this home.
    pub fn senses(&self) -> Result<Vec<InstalledSense>, Failure> {
        let names = SenseFolder::new(self.home().senses()).list()?;
        Ok(names.into_iter().map(InstalledSense::of_file).collect())
    }

    /// Fetches a sense of a catalog and keeps it, when its bytes are those that the catalog names.
    pub async fn install_sense(&self, name: &EntryName) -> Result<InstalledSense, Failure> {
        let fetched = self.catalogs()?.fetch_sense(name).await?;
        let folder = SenseFolder::new(self.home().senses());
        let file_name = fetched.sense.file_name.to_string();
        // Parses the text and waits for the disk.
        let put = tokio::task::spawn_blocking(move || folder.put(&fetched)).await;
        put.map_err(|error| Failure::new(Reason::Internal, error.to_string()))??;
        self.book().note("sense_installed", json!({ "sense": name.to_string(), "file": file_name }));
        Ok(InstalledSense::of_file(file_name))
    }
}
