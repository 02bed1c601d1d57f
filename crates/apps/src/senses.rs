//! Senses: single Python files that describe one further part of a reply.
//!
//! They are kept in one folder of the home for the hosts that use them, and listed. Nothing here or in the host runs
//! one, so that what a file is follows from its text alone.

use crate::{
    PythonVersion, atomic_file,
    catalog::{FetchedSense, FileName},
    python_source::Outline,
};
use roost_protocol::{Failure, Reason};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// What a sense assigns at its top level.
const ASSIGNED: [&str; 4] = ["name", "delimiter", "response_key", "system_prompt"];

/// How files of senses end.
const ENDING: &str = "_sense.py";

/// More senses than anybody asks a model for; the rest is not listed.
const LISTED_MAX: usize = 1000;

/// The folder of senses. Nobody else opens files there.
#[derive(Debug, Clone)]
pub struct SenseFolder {
    folder: PathBuf,
}

impl SenseFolder {
    /// The senses in this folder, which need not exist yet.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The names of the files that are there, in their order.
    pub fn list(&self) -> Result<Vec<String>, Failure> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| unusable(&self.folder, &error))?,
        };
        let named = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
        let named = named.filter_map(|entry| entry.file_name().into_string().ok());
        let is_sense = |name: &String| name.ends_with(ENDING) && FileName::parse(name).is_ok();
        let mut names: Vec<String> = named.filter(is_sense).take(LISTED_MAX).collect();
        names.sort();
        Ok(names)
    }

    /// Puts a sense there, whole or not at all. What is there already stays: the same file is fine, another is refused.
    pub fn put(&self, fetched: &FetchedSense) -> Result<(), Failure> {
        let FetchedSense { sense, bytes } = fetched;
        check(&sense.full_name(), bytes)?;
        let path = self.folder.join(sense.file_name.as_str());
        match atomic_file::create(&path, bytes) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created.map_err(|error| unusable(&path, &error)),
        }
        let is_same = fs::symlink_metadata(&path)
            .is_ok_and(|found| found.is_file() && found.len() == bytes.len() as u64)
            && fs::read(&path).is_ok_and(|found| found == *bytes);
        if is_same {
            return Ok(());
        }
        Err(Failure::new(Reason::FileTaken, format!("{} is there, and is another", path.display())))
    }
}

/// Refuses what is not the text of a sense.
fn check(name: &str, bytes: &[u8]) -> Result<(), Failure> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| Failure::new(Reason::SyntaxError, format!("the sense {name} is not UTF-8")))?;
    let outline = Outline::parse(text, PythonVersion::NEWEST).map_err(|failure| Failure {
        message: format!("the sense {name}: {}", failure.message),
        ..failure
    })?;
    let is_missing = |wanted: &&str| !outline.assignments.iter().any(|assigned| assigned.name == **wanted);
    let missing: Vec<&str> = ASSIGNED.into_iter().filter(is_missing).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let message = format!("the sense {name} assigns no {} at its top level", missing.join(", "));
    Err(Failure::new(Reason::BundleInvalid, message).with_next("ask its publisher; nothing was kept"))
}

fn unusable(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Reason::HomeUnusable, format!("{}: {error}", path.display()))
}
