//! What an app shares with people: its page, and the files of its workspace.

use super::AppLibrary;
use crate::folders::FolderFiles;
use roost_protocol::{Failure, Reason};
use serde::Serialize;
use std::path::PathBuf;

/// Largest file of a workspace that is read or written as a whole.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// One file of an app's workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkspaceFile {
    /// Its name; names of files in folders have slashes.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// When it was changed, in seconds since 1970.
    pub mtime: i64,
}

impl AppLibrary {
    /// One file of an app's page; the page itself where no path is named. Nothing where there is none.
    pub fn page_file(&self, id: &str, path: &str) -> Result<Option<Vec<u8>>, Failure> {
        self.disk().page_file(&self.record(id)?, path)
    }

    /// Where the workspace of an installed app is.
    pub fn workspace_path(&self, id: &str) -> Result<PathBuf, Failure> {
        self.record(id).map(|app| self.disk().places().workspace(&app.id))
    }

    /// The files of an app's workspace, by name.
    pub fn workspace_files(&self, id: &str) -> Result<Vec<WorkspaceFile>, Failure> {
        let folder = self.workspace(id)?;
        let found = folder.list()?.into_iter();
        Ok(found.map(|(name, size, mtime)| WorkspaceFile { name, size, mtime }).collect())
    }

    /// The content of one of them.
    pub fn read_workspace_file(&self, id: &str, name: &str) -> Result<Vec<u8>, Failure> {
        let read = self.workspace(id)?.read(name, FILE_BYTES_MAX)?;
        read.ok_or_else(|| unknown_file(id, name))
    }

    /// Puts a content there, whole. The history of the folder learns of it with the next call or look.
    pub fn write_workspace_file(&self, id: &str, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        if bytes.len() as u64 > FILE_BYTES_MAX {
            return Err(Failure::plain(Reason::WorkspaceFull));
        }
        self.workspace(id)?.write(name, bytes)
    }

    /// Removes one of them.
    pub fn remove_workspace_file(&self, id: &str, name: &str) -> Result<(), Failure> {
        if self.workspace(id)?.remove(name)? { Ok(()) } else { Err(unknown_file(id, name)) }
    }

    fn workspace(&self, id: &str) -> Result<FolderFiles, Failure> {
        FolderFiles::open(&self.workspace_path(id)?)
    }
}

fn unknown_file(id: &str, name: &str) -> Failure {
    let shown: String = name.escape_debug().take(100).collect();
    Failure::new(Reason::UnknownFile, format!("{id} has no file `{shown}` in its workspace"))
}
