//! What an author sees of an app that is being written: its files, its manifest, and what it prints.

use super::{folder::NativeFolder, state::NativePhase};
use crate::host::Host;
use roost_protocol::{Failure, Reason};
use serde::Serialize;
use std::{
    collections::VecDeque,
    fs::{self, File},
    io::{self, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
};

/// So much of a log is shown at first, and so much at a time afterwards.
const LOG_BYTES: u64 = 32 << 10;
/// Longest line that is shown whole.
const LINE_BYTES_MAX: usize = 16 << 10;
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

/// The log of an app, from some place on.
#[derive(Debug)]
pub struct NativeLog {
    path: PathBuf,
    place: u64,
    rest: String,
}

impl Host {
    /// What an author sees of an app.
    pub async fn native_workbench(&self, id: &str) -> Result<Workbench, Failure> {
        let folder = self.inner.known_or_installed(id).await?;
        let path = self.library().sideloaded_from(id).unwrap_or_else(|_| folder.path.clone());
        let running = self.native_apps().state(id).is_ok_and(|state| state.phase == NativePhase::Running);
        let log = self.log_of(&folder);
        let looked = tokio::task::spawn_blocking(move || workbench(path, &folder, running, log));
        looked.await.map_err(|error| Failure::new(Reason::Internal, error.to_string()))
    }

    /// The log of an app, beginning with the last of it.
    pub async fn native_log(&self, id: &str) -> Result<NativeLog, Failure> {
        let folder = self.inner.known_or_installed(id).await?;
        Ok(self.log_of(&folder))
    }

    fn log_of(&self, folder: &NativeFolder) -> NativeLog {
        // An id is the name of a folder everywhere, so it is one of a file, too.
        let path = self.home().logs().join(format!("{}.log", folder.id()));
        let length = fs::metadata(&path).map_or(0, |known| known.len());
        NativeLog { path, place: length.saturating_sub(LOG_BYTES), rest: String::new() }
    }
}

impl NativeLog {
    /// Lines that came since the last look. A log that begins anew is read from its beginning.
    pub fn more(&mut self) -> VecDeque<String> {
        let text = self.read().unwrap_or_default();
        self.rest.push_str(&text);
        let mut lines = VecDeque::new();
        while let Some(end) = self.rest.find('\n') {
            lines.push_back(self.rest[..end].trim_end_matches('\r').to_owned());
            self.rest.drain(..=end);
        }
        if self.rest.len() > LINE_BYTES_MAX {
            lines.push_back(std::mem::take(&mut self.rest));
        }
        lines
    }

    fn read(&mut self) -> io::Result<String> {
        let mut file = File::open(&self.path)?;
        let length = file.metadata()?.len();
        if length < self.place {
            self.place = 0;
        }
        file.seek(SeekFrom::Start(self.place))?;
        let mut bytes = Vec::new();
        file.take(LOG_BYTES).read_to_end(&mut bytes)?;
        self.place += bytes.len() as u64;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

fn workbench(path: PathBuf, folder: &NativeFolder, running: bool, mut log: NativeLog) -> Workbench {
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
        recent_logs: log.read().unwrap_or_default(),
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
