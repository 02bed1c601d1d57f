//! Rapplications as bundles: an agent, a page, and what they say about themselves, checked before anyone gets them.
//!
//! [`validate_bundle`] answers with every code of the gate; [`Bundle`] is the proof that nothing was wrong, and the
//! only thing that later steps take. Nothing of a bundle is run, written or fetched here.

mod code; // why a bundle is refused
mod names; // id, publisher, version
mod python_json; // JSON as the published validator reads it
mod manifest_checks; // what `manifest.json` must say
mod gated; // files that only some may fetch
mod source_checks; // what the Python files must look like
mod index_entry; // a bundle as a catalog lists it
mod tree; // which folder is the bundle
mod checks; // all of it, in order
mod from_catalog; // what is already in a catalog is taken as it is
mod scaffold; // a bundle to begin with
mod arrival; // what a path holds

pub use self::{
    arrival::{Arrival, look_at, read_at_most},
    code::{BundleError, Code, CodeOrigin},
    names::{BundleId, Publisher, Version},
    scaffold::{NewApp, new_app},
};

pub(crate) use self::{index_entry::CATALOG, python_json::parse as parse_json};

use crate::container::{self, ContainerLimits, Files, Refusal, Refused};
use checks::Paths;
use serde::Serialize;
use serde_json::{Map, Value};
use std::path::Path;
use tree::Tree;

/// What the folder of a flat zip is called when the submission does not say.
const NO_NAME: &str = "unknown";

/// Made by tools, never a part of the bundle.
const LEFT_OUT: [&str; 3] = [".git", "__pycache__", ".DS_Store"];

/// By which rules a bundle is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rules {
    /// As the published validator does, where it answers at all.
    Reference,
    /// As the rules are written; what the published validator leaves open is closed.
    #[default]
    Spec,
}

/// What is known about a submission beside its bytes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Submission {
    /// Who submits, as `@account`.
    pub submitter: Option<String>,
    /// The id that the submission names.
    pub payload_id: Option<String>,
    /// The catalog it is for.
    pub catalog: Option<Value>,
}

/// Where a bundle comes from.
#[derive(Debug, Clone, Copy)]
pub enum BundleSource<'a> {
    /// The bytes of a zip.
    Zip(&'a [u8]),
    /// A folder on disk.
    Folder(&'a Path),
}

/// The gate's answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BundleReport {
    /// True when there are no errors.
    pub ok: bool,
    /// `rapplication`.
    pub kind: &'static str,
    /// What is wrong, in the order of the checks.
    pub errors: Vec<BundleError>,
    /// Hashes and sizes of the declared files; absent when something is wrong.
    pub integrity: Option<Map<String, Value>>,
    /// The entry that the store makes of it; absent when something is wrong.
    pub index_entry: Option<Map<String, Value>>,
}

impl BundleReport {
    const KIND: &'static str = "rapplication";

    /// The answer for a bundle that was refused.
    #[must_use]
    pub fn refused(errors: Vec<BundleError>) -> Self {
        Self { ok: false, kind: Self::KIND, errors, integrity: None, index_entry: None }
    }
}

/// Everything that the checks found out.
#[derive(Debug, Clone, PartialEq)]
struct Checked {
    manifest: Map<String, Value>,
    /// The entry as it was submitted.
    submitted: Map<String, Value>,
    integrity: Map<String, Value>,
    is_gated: bool,
    paths: Paths,
}

/// A bundle in which nothing is wrong, with the files that were looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct Bundle {
    files: Files,
    checked: Checked,
    entry: Map<String, Value>,
    id: BundleId,
    publisher: Publisher,
    version: Version,
}

/// Judges a bundle by the rules that are asked for.
#[must_use]
pub fn validate_bundle(source: BundleSource<'_>, submission: &Submission, rules: Rules) -> BundleReport {
    let judged = match (rules, source) {
        (Rules::Spec, BundleSource::Zip(bytes)) => {
            Bundle::from_zip(bytes, submission).map(|bundle| (bundle.checked.integrity, bundle.entry))
        }
        (Rules::Spec, BundleSource::Folder(folder)) => {
            Bundle::from_folder(folder, submission).map(|bundle| (bundle.checked.integrity, bundle.entry))
        }
        (Rules::Reference, source) => as_published(source, submission),
    };
    match judged {
        Err(errors) => BundleReport::refused(errors),
        Ok((integrity, entry)) => BundleReport {
            ok: true,
            kind: BundleReport::KIND,
            errors: Vec::new(),
            integrity: Some(integrity),
            index_entry: Some(entry),
        },
    }
}

/// Hashes and sizes, and the entry of the catalog.
type Judged = (Map<String, Value>, Map<String, Value>);

/// What the published validator would say. Gives no proof: what it lets through is not safe to install.
fn as_published(source: BundleSource<'_>, submission: &Submission) -> Result<Judged, Vec<BundleError>> {
    let limits = ContainerLimits::BUNDLE;
    let checked = match source {
        BundleSource::Zip(bytes) => {
            if bytes.len() as u64 > limits.archive_bytes_max {
                return Err(vec![too_large(bytes)]);
            }
            let files = container::read_loose_zip(bytes, limits.content_bytes_max).map_err(refused)?;
            let name = submission.payload_id.as_deref().unwrap_or(NO_NAME);
            let tree = Tree::find(&files, name, Rules::Reference).map_err(|error| vec![error])?;
            checks::check(&tree, submission, Rules::Reference)?
        }
        BundleSource::Folder(folder) => {
            let files = read_folder(folder)?;
            let name = folder_name(folder);
            let tree = Tree::top(files.entries(), &name);
            checks::check(&tree, submission, Rules::Reference)?
        }
    };
    let entry = index_entry::build(&checked, Rules::Reference);
    Ok((checked.integrity, entry))
}

impl Bundle {
    /// A submitted zip.
    pub fn from_zip(bytes: &[u8], submission: &Submission) -> Result<Self, Vec<BundleError>> {
        // The written rules say less than.
        if bytes.len() as u64 >= ContainerLimits::BUNDLE.archive_bytes_max {
            return Err(vec![too_large(bytes)]);
        }
        let files = container::read_zip(bytes, &ContainerLimits::BUNDLE).map_err(refused)?;
        let name = submission.payload_id.as_deref().unwrap_or(NO_NAME);
        Self::from_files(files, name, submission)
    }

    /// A folder on disk.
    pub fn from_folder(folder: &Path, submission: &Submission) -> Result<Self, Vec<BundleError>> {
        let files = read_folder(folder)?;
        let name = folder_name(folder);
        let checked = checks::check(&Tree::top(files.entries(), &name), submission, Rules::Spec)?;
        Self::proven(files, checked)
    }

    /// Files that were read already; `name` is what their folder is called, unless they are all in one themselves.
    pub fn from_files(files: Files, name: &str, submission: &Submission) -> Result<Self, Vec<BundleError>> {
        let tree = Tree::find(files.entries(), name, Rules::Spec).map_err(|error| vec![error])?;
        let checked = checks::check(&tree, submission, Rules::Spec)?;
        let folder = tree.folder().map(str::to_owned);
        let files = match folder {
            Some(folder) => files.below(&folder),
            None => files,
        };
        Self::proven(files, checked)
    }

    /// Files of a repository that a catalog is to name. The folder they are in may be called anything.
    pub fn from_repository(files: Files, submission: &Submission) -> Result<Self, Vec<BundleError>> {
        let manifest = checks::read_manifest(&Tree::top(files.entries(), "")).map_err(|error| vec![error])?;
        let id = manifest.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        let checked = checks::check_repository(&Tree::top(files.entries(), &id), submission)?;
        Self::proven(files, checked)
    }

    /// Files as a catalog already has them, with a manifest of their own. Only what installing needs is checked.
    pub fn from_catalog_files(files: Files) -> Result<Self, Vec<BundleError>> {
        let manifest = checks::read_manifest(&Tree::top(files.entries(), "")).map_err(|error| vec![error])?;
        Self::from_catalog(manifest, files)
    }

    /// Files as a catalog already has them, with its entry or a manifest. Takes `singleton` for `agent`, else the only
    /// file in `singleton/`; `ui/index.html` where no page is declared; and dashes in the id.
    pub fn from_catalog(manifest: Map<String, Value>, files: Files) -> Result<Self, Vec<BundleError>> {
        let (checked, id) = from_catalog::check(manifest, &files)?;
        let entry = index_entry::build(&checked, Rules::Spec);
        let (publisher, version) = named(&checked.manifest)?;
        Ok(Self { files, checked, entry, id, publisher, version })
    }

    fn proven(files: Files, checked: Checked) -> Result<Self, Vec<BundleError>> {
        let entry = index_entry::build(&checked, Rules::Spec);
        let id = checked.manifest.get("id").and_then(Value::as_str).and_then(BundleId::parse);
        let id = id.ok_or_else(|| vec![BundleError::new(Code::BadId, "`id` is not one")])?;
        let (publisher, version) = named(&checked.manifest)?;
        Ok(Self { files, checked, entry, id, publisher, version })
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &BundleId {
        &self.id
    }

    /// Who publishes it.
    #[must_use]
    pub fn publisher(&self) -> &Publisher {
        &self.publisher
    }

    /// Its version.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// Its manifest, with every field.
    #[must_use]
    pub fn manifest(&self) -> &Map<String, Value> {
        &self.checked.manifest
    }

    /// All of its files, from its root.
    #[must_use]
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// Path and bytes of the agent; nothing when the bundle is gated, or when a catalog has it without.
    #[must_use]
    pub fn agent(&self) -> Option<(&str, &[u8])> {
        self.file(self.checked.paths.agent.as_deref())
    }

    /// Path and bytes of the page.
    #[must_use]
    pub fn page(&self) -> Option<(&str, &[u8])> {
        self.file(self.checked.paths.page.as_deref())
    }

    /// Path and bytes of the HTTP module, which the manifest calls `service`.
    #[must_use]
    pub fn http_module(&self) -> Option<(&str, &[u8])> {
        self.file(self.checked.paths.http_module.as_deref())
    }

    /// The entry that a store makes of it.
    #[must_use]
    pub fn entry(&self) -> &Map<String, Value> {
        &self.entry
    }

    /// Hashes and sizes of the declared files; empty when it is gated.
    #[must_use]
    pub fn integrity(&self) -> &Map<String, Value> {
        &self.checked.integrity
    }

    /// True when its files are in a private repository.
    #[must_use]
    pub fn is_gated(&self) -> bool {
        self.checked.is_gated
    }

    /// Key and address of everything that a gated bundle says is not for everyone.
    #[must_use]
    pub fn gated_addresses(&self) -> Vec<(&str, &str)> {
        if !self.is_gated() {
            return Vec::new();
        }
        gated::addresses(&self.checked.submitted).chain(gated::addresses(&self.checked.manifest)).collect()
    }

    /// The bundle as the zip that is submitted: the same bytes for the same files.
    #[must_use]
    pub fn to_zip(&self) -> Vec<u8> {
        self.files.to_zip(self.id.as_str())
    }

    /// What that zip is called.
    #[must_use]
    pub fn zip_name(&self) -> String {
        format!("{}-{}.zip", self.id, self.version)
    }

    fn file<'a>(&'a self, path: Option<&'a str>) -> Option<(&'a str, &'a [u8])> {
        let path = path?;
        Some((path, self.files.get(path)?))
    }
}

fn named(manifest: &Map<String, Value>) -> Result<(Publisher, Version), Vec<BundleError>> {
    let text = |key: &str| manifest.get(key).and_then(Value::as_str).unwrap_or_default();
    let bad =
        |code, key: &str| vec![BundleError::new(code, format!("`{key}` has not the form it must have"))];
    let publisher =
        Publisher::parse(text("publisher")).ok_or_else(|| bad(Code::BadPublisher, "publisher"))?;
    let version = Version::parse(text("version")).ok_or_else(|| bad(Code::BadVersion, "version"))?;
    Ok((publisher, version))
}

fn read_folder(folder: &Path) -> Result<Files, Vec<BundleError>> {
    Files::read_folder_without(folder, &ContainerLimits::BUNDLE, &LEFT_OUT).map_err(refused)
}

/// What the folder is called, also when it was named `.`.
fn folder_name(folder: &Path) -> String {
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    whole.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn too_large(bytes: &[u8]) -> BundleError {
    let message = format!(
        "{} bytes; a bundle has less than {}",
        bytes.len(),
        ContainerLimits::BUNDLE.archive_bytes_max
    );
    BundleError::new(Code::BundleTooLarge, message)
}

/// A container's refusals as codes of the gate.
pub(crate) fn refused(refusals: Vec<Refused>) -> Vec<BundleError> {
    let code = |refusal| match refusal {
        Refusal::TooLarge => Code::BundleTooLarge,
        Refusal::NotAnArchive => Code::BadZip,
        Refusal::TooManyEntries => Code::TooManyEntries,
        Refusal::TooManyBytes => Code::ZipBomb,
        Refusal::Traversal => Code::PathTraversal,
        Refusal::BadPath => Code::BadPath,
        Refusal::Link => Code::Link,
        Refusal::SpecialFile => Code::SpecialFile,
        Refusal::Duplicate => Code::DuplicatePath,
        Refusal::CaseTwin => Code::CaseTwin,
        Refusal::FileAndFolder => Code::FileAndFolder,
        Refusal::Encrypted => Code::Encrypted,
        Refusal::Method => Code::CompressionMethod,
        Refusal::HeaderMismatch => Code::HeaderMismatch,
        Refusal::Overlap => Code::OverlappingEntries,
        Refusal::StrayBytes => Code::StrayBytes,
        Refusal::Checksum => Code::BadChecksum,
        Refusal::ManyRoots => Code::ManyRoots,
        Refusal::Unreadable => Code::Unreadable,
    };
    let error = |refused: Refused| BundleError {
        code: code(refused.refusal),
        message: refused.detail,
        path: refused.path,
    };
    refusals.into_iter().map(error).collect()
}
