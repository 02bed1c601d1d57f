//! What arrives to be installed: files that were checked, and what the home will use of them.
//!
//! A local bundle passes the whole gate. What a catalog has already is taken more leniently, and what it says of itself
//! is kept beside its files, in a manifest that is the same for the same version whatever else the catalog tells.

use super::{
    native_record::NativeRecord,
    record::{AppKind, AppOrigin, PartRecord, VersionRecord},
};
use crate::{
    AgentFile, Bundle, BundleError, BundleId, Files,
    agent_file::check_file_name,
    catalog::{EntryKind, FetchedApp, LeftOut, PartKind},
    folder_changes::arrival_name,
    native::{NativePackage, VerifiedPackage},
};
use roost_protocol::{Digest, Failure, FileKind, Reason, Right};
use serde_json::{Map, Value, json};
use std::path::Path;

/// Names in the data folder that are no app's: one of them would open every app's files to it.
const DATA_NAMES: [&str; 5] = ["workspaces", "rapp_ui", "twins", "memory", "shared_memories"];

/// Files that lie where an app's folder would.
const IDS_TAKEN: [&str; 2] = ["library.json", "library.lock"];

/// Stands for a publisher that nobody named, where the gate wants one.
const NOBODY: &str = "@nobody";

/// Longest name and summary that are kept for lists.
const TEXT_CHARACTERS_MAX: usize = 2000;

/// An app that can be installed.
#[derive(Debug, Clone)]
pub struct Package {
    /// Its id.
    pub id: String,
    /// Who publishes it, as it or its catalog says.
    pub publisher: Option<String>,
    /// Its version; a single file has none.
    pub version: Option<String>,
    /// What it is made of.
    pub kind: AppKind,
    /// What people call it.
    pub name: String,
    /// What it does.
    pub summary: String,
    /// Where it came from.
    pub origin: AppOrigin,
    /// All of its files.
    pub files: Files,
    /// Its agent.
    pub agent: Option<PartRecord>,
    /// Its HTTP module.
    pub service: Option<PartRecord>,
    /// Its page.
    pub page: Option<PartRecord>,
    /// Its program, and who vouches for it.
    pub native: Option<NativeRecord>,
    /// Files that it does without.
    pub left_out: Vec<LeftOut>,
    /// Files that no catalog named a digest of.
    pub unchecked: Vec<String>,
}

impl Package {
    /// A bundle that passed the gate.
    pub fn from_bundle(bundle: &Bundle, origin: AppOrigin) -> Result<Self, Failure> {
        if bundle.is_gated() {
            let message = format!("the files of {} are in a private repository", bundle.id());
            return Err(Failure::new(Reason::BundleInvalid, message)
                .with_next("install it from the catalog that lists it"));
        }
        let text = |key: &str| bundle.manifest().get(key).and_then(Value::as_str).map(shown);
        let package = Self {
            id: bundle.id().to_string(),
            publisher: Some(bundle.publisher().to_string()).filter(|publisher| publisher != NOBODY),
            version: Some(bundle.version().to_string()),
            kind: AppKind::Rapplication,
            name: text("name").unwrap_or_else(|| bundle.id().to_string()),
            summary: text("summary").unwrap_or_default(),
            origin,
            agent: part(FileKind::Agent, bundle.agent())?,
            service: part(FileKind::Service, bundle.http_module())?,
            page: bundle.page().map(|(path, bytes)| page(path, bytes)),
            native: None,
            files: bundle.files().clone(),
            left_out: Vec::new(),
            unchecked: Vec::new(),
        };
        package.checked()
    }

    /// One agent file.
    pub fn from_agent_file(file_name: &str, bytes: &[u8], origin: AppOrigin) -> Result<Self, Failure> {
        let placed = placed_name(FileKind::Agent, file_name)?;
        let stem = placed.rsplit_once('.').map_or(placed.as_str(), |(stem, _)| stem);
        let id: String = stem
            .chars()
            .map(|character| match character.to_ascii_lowercase() {
                '.' => '_',
                other => other,
            })
            .collect();
        let files = Files::from_contents([(placed.clone(), bytes.to_vec())]).map_err(|refused| {
            let what = refused.first().map(ToString::to_string).unwrap_or_default();
            Failure::new(Reason::InvalidFileName, what)
        })?;
        let package = Self {
            name: stem.to_owned(),
            id,
            publisher: None,
            version: None,
            kind: AppKind::Agent,
            summary: String::new(),
            origin,
            agent: part(FileKind::Agent, Some((&placed, bytes)))?,
            service: None,
            page: None,
            native: None,
            files,
            left_out: Vec::new(),
            unchecked: Vec::new(),
        };
        package.checked()
    }

    /// A program that somebody vouches for whom this home believes. Whose it is says the signature, not the program.
    pub fn from_verified(verified: &VerifiedPackage, origin: AppOrigin) -> Result<Self, Failure> {
        let publisher = Some(verified.vouched_by.clone());
        Self::from_native(verified.package(), NativeRecord::of(verified), publisher, origin)
    }

    /// A program from the folder of the person who writes it.
    pub fn from_sideload(package: &NativePackage, folder: &Path) -> Result<Self, Failure> {
        let origin = AppOrigin::Sideload { path: folder.display().to_string() };
        Self::from_native(package, NativeRecord::unsigned(package), None, origin)
    }

    fn from_native(
        package: &NativePackage,
        native: NativeRecord,
        publisher: Option<String>,
        origin: AppOrigin,
    ) -> Result<Self, Failure> {
        let manifest = package.manifest();
        let id = manifest.id.as_str();
        if IDS_TAKEN.iter().any(|taken| id.eq_ignore_ascii_case(taken)) {
            let message = format!("`{id}` cannot be the id of an app here: a file is called so");
            return Err(
                Failure::new(Reason::PackageInvalid, message).with_next("ask its publisher for another id")
            );
        }
        Ok(Self {
            id: id.to_owned(),
            publisher,
            version: Some(manifest.version.clone()),
            kind: AppKind::Native,
            name: shown(&manifest.name),
            summary: shown(&manifest.description),
            origin,
            agent: None,
            service: None,
            page: None,
            native: Some(native),
            files: package.files().clone(),
            left_out: Vec::new(),
            unchecked: Vec::new(),
        })
    }

    /// One agent file of this machine.
    pub fn from_file(file: &AgentFile) -> Result<Self, Failure> {
        let origin = AppOrigin::Path { path: file.path.display().to_string() };
        Self::from_agent_file(&file.file_name, &file.bytes, origin)
    }

    /// What was fetched from a catalog, a repository or an address.
    pub fn from_fetched(fetched: FetchedApp) -> Result<Self, Failure> {
        let origin = AppOrigin::from(fetched.origin.clone());
        let is_file = fetched.entry.is_none() && fetched.file(PartKind::Manifest).is_none();
        if let (true, Some(file)) = (is_file, fetched.file(PartKind::Agent)) {
            let mut package = Self::from_agent_file(file.file_name.as_str(), &file.bytes, origin)?;
            package.unchecked = vec![file.file_name.to_string()];
            return Ok(package);
        }
        let fields = manifest_of(&fetched)?;
        let mut contents = Vec::new();
        let mut found = Map::new();
        for file in &fetched.files {
            let path = path_of(file.kind, file.file_name.as_str(), &fields);
            if let Some(key) = manifest_key(file.kind) {
                found.insert(key.to_owned(), Value::from(path.clone()));
            }
            if file.kind != PartKind::Manifest {
                contents.push((path, file.bytes.clone()));
            }
        }
        let manifest = own_manifest(&fetched, &fields, found);
        let mut written = serde_json::to_vec_pretty(&manifest)
            .map_err(|error| Failure::new(Reason::Internal, error.to_string()))?;
        written.push(b'\n');
        contents.push(("manifest.json".to_owned(), written));
        let name = fetched.id.clone();
        let files = Files::from_contents(contents).map_err(|refused| {
            let what = refused.first().map(ToString::to_string).unwrap_or_default();
            Failure::new(Reason::EntryInvalid, format!("{name}: {what}"))
        })?;
        let bundle = Bundle::from_catalog(with_publisher(manifest), files)
            .map_err(|errors| package_refused(&name, &errors))?;
        let mut package = Self::from_bundle(&bundle, origin)?;
        if let Some(entry) = &fetched.entry {
            (package.name, package.summary) = (shown(&entry.name), shown(&entry.summary));
            if entry.kind == EntryKind::Agent {
                package.kind = AppKind::Agent;
            }
        } else {
            let text = |key: &str| fields.get(key).and_then(Value::as_str).map(shown);
            package.name = text("name").unwrap_or(package.name);
            package.summary = text("summary").unwrap_or_default();
        }
        let unchecked = fetched.files.iter().filter(|file| !file.is_verified);
        package.unchecked = unchecked.map(|file| file.file_name.to_string()).collect();
        package.left_out = fetched.left_out;
        Ok(package)
    }

    /// Digest of all of its files.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.files.digest()
    }

    /// The files that run: what each is for, what it will be called, its bytes.
    pub fn code(&self) -> impl Iterator<Item = (FileKind, &PartRecord, &[u8])> {
        let agent = self.agent.iter().map(|part| (FileKind::Agent, part));
        let all = agent.chain(self.service.iter().map(|part| (FileKind::Service, part)));
        all.filter_map(|(kind, part)| Some((kind, part, self.files.get(&part.path)?)))
    }

    /// What is kept of it once it is installed.
    #[must_use]
    pub fn record(&self, rights: Vec<Right>, installed_at: String) -> VersionRecord {
        VersionRecord {
            version: self.version.clone(),
            digest: self.digest(),
            origin: self.origin.clone(),
            rights,
            agent: self.agent.clone(),
            service: self.service.clone(),
            page: self.page.clone(),
            native: self.native.clone(),
            installed_at,
        }
    }

    /// Refuses names that would open another's files.
    pub(super) fn checked(self) -> Result<Self, Failure> {
        let is_id = BundleId::parse_existing(&self.id).is_some();
        if !is_id || DATA_NAMES.contains(&self.id.as_str()) {
            let message = format!("`{}` cannot be the id of an app here", self.id.escape_debug());
            return Err(
                Failure::new(Reason::BundleInvalid, message).with_next("ask its publisher for another id")
            );
        }
        if self.agent.is_none() && self.service.is_none() {
            return Err(Failure::new(Reason::BundleInvalid, "it has neither an agent nor a service"));
        }
        Ok(self)
    }
}

/// The refusal of a bundle, with every code of the gate.
#[must_use]
pub fn package_refused(name: &str, errors: &[BundleError]) -> Failure {
    let told: Vec<String> =
        errors.iter().take(5).map(|error| format!("{}: {}", error.code.as_str(), error.message)).collect();
    let more = errors.len().saturating_sub(told.len());
    let more = if more == 0 { String::new() } else { format!("; and {more} more") };
    Failure::new(Reason::BundleInvalid, format!("{name}: {}{more}", told.join("; ")))
}

fn part(kind: FileKind, found: Option<(&str, &[u8])>) -> Result<Option<PartRecord>, Failure> {
    let Some((path, bytes)) = found else { return Ok(None) };
    let name = path.rsplit('/').next().unwrap_or(path);
    let file_name = placed_name(kind, name)?;
    Ok(Some(PartRecord { path: path.to_owned(), file_name, digest: Digest::of(bytes) }))
}

fn page(path: &str, bytes: &[u8]) -> PartRecord {
    let file_name = path.rsplit('/').next().unwrap_or(path).to_owned();
    PartRecord { path: path.to_owned(), file_name, digest: Digest::of(bytes) }
}

/// The name a file gets in its folder: its own where that is one of such files, else one made of it.
fn placed_name(kind: FileKind, name: &str) -> Result<String, Failure> {
    if check_file_name(name).is_ok() && !name.starts_with('.') && kind.language_of(name).is_some() {
        return Ok(name.to_owned());
    }
    match kind {
        FileKind::Agent => arrival_name(name),
        FileKind::Service => {
            let stem = name.strip_suffix(".py").unwrap_or(name);
            let made = format!("{stem}_service.py");
            check_file_name(&made).map(|()| made)
        }
    }
}

/// What the manifest calls the path of such a file.
fn manifest_key(kind: PartKind) -> Option<&'static str> {
    match kind {
        PartKind::Agent => Some("agent"),
        PartKind::Service => Some("service"),
        PartKind::Page => Some("ui"),
        PartKind::Manifest | PartKind::Organ | PartKind::Tools | PartKind::Egg => None,
    }
}

/// Where a fetched file goes: where its manifest says it is, else where bundles have it.
fn path_of(kind: PartKind, file_name: &str, fields: &Map<String, Value>) -> String {
    let keys: &[&str] = match kind {
        PartKind::Agent => &["agent", "singleton"],
        PartKind::Service => &["service"],
        PartKind::Page => &["ui"],
        PartKind::Manifest | PartKind::Organ | PartKind::Tools | PartKind::Egg => &[],
    };
    let declared = keys.iter().find_map(|key| fields.get(*key).and_then(Value::as_str));
    let is_its_own = |path: &&str| path.rsplit('/').next() == Some(file_name);
    if let Some(path) = declared.filter(is_its_own) {
        return path.to_owned();
    }
    let folder = match kind {
        PartKind::Manifest => return "manifest.json".to_owned(),
        PartKind::Agent => "singleton",
        PartKind::Service => "service",
        PartKind::Page => "ui",
        PartKind::Organ => "organs",
        PartKind::Tools => "tools",
        PartKind::Egg => "eggs",
    };
    format!("{folder}/{file_name}")
}

fn manifest_of(fetched: &FetchedApp) -> Result<Map<String, Value>, Failure> {
    let Some(manifest) = fetched.file(PartKind::Manifest) else { return Ok(Map::new()) };
    serde_json::from_slice(&manifest.bytes)
        .map_err(|error| Failure::new(Reason::EntryInvalid, format!("manifest.json: {error}")))
}

/// The manifest that is kept: what a repository wrote, else only what is the same whenever this version is fetched.
fn own_manifest(
    fetched: &FetchedApp,
    fields: &Map<String, Value>,
    found: Map<String, Value>,
) -> Map<String, Value> {
    let mut manifest = fields.clone();
    if manifest.is_empty() {
        manifest.insert("schema".to_owned(), json!("rapp-application/1.0"));
        manifest.insert("id".to_owned(), json!(fetched.id));
        manifest.extend(fetched.version.iter().map(|version| ("version".to_owned(), json!(version))));
        manifest.extend(fetched.publisher.iter().map(|by| ("publisher".to_owned(), json!(by))));
    }
    manifest.extend(found);
    manifest
}

fn with_publisher(mut manifest: Map<String, Value>) -> Map<String, Value> {
    manifest.entry("publisher").or_insert_with(|| json!(NOBODY));
    manifest.entry("version").or_insert_with(|| json!("0.0.0"));
    manifest
}

/// Text of a stranger as it may stand in a list.
fn shown(text: &str) -> String {
    let clean = |character: char| if character.is_control() { ' ' } else { character };
    text.chars()
        .filter(|character| !roost_protocol::is_hidden(*character))
        .map(clean)
        .take(TEXT_CHARACTERS_MAX)
        .collect()
}
