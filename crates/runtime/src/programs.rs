//! Programs found on this machine, and what they say of themselves, remembered while their file stays the same.

use crate::process;
use roost_protocol::Failure;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// A program that does not say its version within this time is of no use.
const PROBE_WITHIN: Duration = Duration::from_secs(10);

/// Where to look for programs and how to start tools.
#[derive(Debug, Clone, Default)]
pub struct Surface {
    /// Folders of programs, best first.
    pub search_path: Vec<PathBuf>,
    /// The user's home folder, below which version managers keep interpreters.
    pub user_home: Option<PathBuf>,
    /// Environment for tools such as uv; agents never see it.
    pub tool_environment: BTreeMap<String, String>,
    /// Environment for programs with a window; absent where nobody sits in front of this machine.
    pub desktop_environment: Option<BTreeMap<String, String>>,
    /// A Python to use instead of the newest one found.
    pub python: Option<PathBuf>,
}

/// Answers of programs, kept in one small file.
#[derive(Debug)]
pub(crate) struct Programs {
    file: PathBuf,
    known: Mutex<BTreeMap<PathBuf, Answer>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Answer {
    size: u64,
    modified_ns: i64,
    question: String,
    text: String,
}

impl Programs {
    /// Opens the file; a damaged one is the same as none.
    pub(crate) fn open(cache: &Path) -> Self {
        let file = cache.join("programs.json");
        let known =
            fs::read(&file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        Self { file, known: Mutex::new(known) }
    }

    /// What the program prints when started with these arguments; asked again only when its file changed.
    pub(crate) async fn ask(&self, program: &Path, arguments: &[&str]) -> Result<String, Failure> {
        let metadata = fs::metadata(program).map_err(|error| {
            Failure::new(roost_protocol::Reason::RuntimeMissing, format!("{}: {error}", program.display()))
        })?;
        let modified_ns = metadata.mtime().wrapping_mul(1_000_000_000).wrapping_add(metadata.mtime_nsec());
        let question = arguments.join(" ");
        let is_same = |known: &Answer| {
            known.size == metadata.len() && known.modified_ns == modified_ns && known.question == question
        };
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(program).cloned();
        if let Some(known) = known.filter(is_same) {
            return Ok(known.text);
        }
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        let ran = process::run(program, &arguments, &BTreeMap::new(), PROBE_WITHIN).await?;
        let text = if ran.succeeded { ran.stdout.trim().to_owned() } else { String::new() };
        let answer = Answer { size: metadata.len(), modified_ns, question, text: text.clone() };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(program.to_owned(), answer);
        if let Err(error) = save(&self.file, &known) {
            tracing::debug!(%error, "remember what a program said");
        }
        Ok(text)
    }
}

fn save(file: &Path, known: &BTreeMap<PathBuf, Answer>) -> std::io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut staging = tempfile::NamedTempFile::new_in(folder)?;
    serde_json::to_writer(&mut staging, known)?;
    staging.persist(file).map(drop).map_err(|error| error.error)
}
