//! What an author sees of an app that is being written: its files, its manifest, and what it prints.

use super::{folder::NativeFolder, logs::NativeLog, state::NativePhase};
use crate::host::Host;
use roost_protocol::{Failure, Reason};
use roost_runtime::NativeStream;
use serde::Serialize;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Most files that are listed, and how deep.
const FILES_MAX: usize = 1000;
const DEPTH_MAX: usize = 8;
/// Largest manifest that is shown.
const MANIFEST_BYTES_MAX: u64 = 1 << 20;

/// What an author sees of an app.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Workbench {
    /// The folder in which it is written, or lies.
    pub path: PathBuf,
    /// Its id.
    pub app_id: String,
    /// What people call it.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Files by their path from the folder, without those that begin with a dot.
    pub files: Vec<String>,
    /// Its manifest as it is written.
    pub manifest_raw: String,
    /// Whether it can be built here.
    pub has_makefile: bool,
    /// The program that runs.
    pub binary_path: PathBuf,
    /// Whether it runs.
    pub running: bool,
    /// What it printed lately.
    pub recent_logs: String,
}

impl Host {
    /// What an author sees of an app.
    pub async fn native_workbench(&self, id: &str) -> Result<Workbench, Failure> {
        let folder = self.inner.known_or_installed(id).await?;
        let path = self.library().sideloaded_from(id).unwrap_or_else(|_| folder.path.clone());
        let running = self.native_apps().state(id).is_ok_and(|state| state.phase == NativePhase::Running);
        let logs = [
            self.native_log(id, NativeStream::Output).await?,
            self.native_log(id, NativeStream::Errors).await?,
        ];
        let looked = tokio::task::spawn_blocking(move || workbench(path, &folder, running, logs));
        looked.await.map_err(|error| Failure::new(Reason::Internal, error.to_string()))
    }
}

fn workbench(path: PathBuf, folder: &NativeFolder, running: bool, logs: [NativeLog; 2]) -> Workbench {
    let manifest = roost_apps::read_at_most(&path.join("manifest.json"), MANIFEST_BYTES_MAX);
    let manifest_raw = manifest.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let mut files = Vec::new();
    list(&path, "", 0, &mut files);
    files.sort_unstable();
    Workbench {
        has_makefile: path.join("Makefile").is_file(),
        app_id: folder.id().to_owned(),
        name: folder.manifest.name.clone(),
        version: folder.manifest.version.clone(),
        files,
        manifest_raw,
        binary_path: folder.binary.clone(),
        running,
        // A log that cannot be read says nothing.
        recent_logs: logs
            .into_iter()
            .filter_map(|mut log| log.read().ok())
            .map(|read| String::from_utf8_lossy(&read).into_owned())
            .collect(),
        path,
    }
}

/// Links are named and not followed.
fn list(folder: &Path, above: &str, depth: usize, files: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        if name.starts_with('.') || files.len() >= FILES_MAX {
            continue;
        }
        let path = format!("{above}{name}");
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if depth < DEPTH_MAX {
                list(&entry.path(), &format!("{path}/"), depth + 1, files);
            }
        } else {
            files.push(path);
        }
    }
}
