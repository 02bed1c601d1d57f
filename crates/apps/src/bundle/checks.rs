//! The checks of a bundle, one after the other. What stops and what only adds to the list is part of the contract.

use super::{
    Checked, Rules, Submission,
    code::{BundleError, Code},
    gated, index_entry, manifest_checks,
    names::{self, Publisher},
    python_json::{self, is_truthy},
    source_checks,
    tree::Tree,
};
use roost_protocol::Digest;
use serde_json::{Map, Value, json};

const AGENT_BYTES_MAX: usize = 200 * 1024;
const PAGE_BYTES_MAX: usize = 500 * 1024;
const README: &str = "README.md";

const RESERVED: [&str; 17] = [
    "scripts",
    "tests",
    "versions",
    "eggs",
    "senses",
    "docs",
    "apps",
    "binder",
    "dashboard",
    "kanban",
    "swarms",
    "webhook",
    "vibe_builder",
    "learn_new",
    "swarm_factory",
    "publish_to_rapp_store",
    "twin_workshop",
];

const OFFICIAL_PUBLISHERS: [&str; 2] = ["@rapp", "@rarbookworld"];
const OFFICIAL_SUBMITTERS: [&str; 2] = ["@kody-w", "@rapp"];

/// Reads the manifest and runs every check.
pub(super) fn check(
    tree: &Tree<'_>,
    submission: &Submission,
    rules: Rules,
) -> Result<Checked, Vec<BundleError>> {
    run(tree, submission, rules, Home::Bundle)
}

/// The same for files that stay in a repository of their own: it needs neither an entry nor a README.
pub(super) fn check_repository(
    tree: &Tree<'_>,
    submission: &Submission,
) -> Result<Checked, Vec<BundleError>> {
    run(tree, submission, Rules::Spec, Home::Repository)
}

/// Where the files will be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Home {
    Bundle,
    Repository,
}

fn run(
    tree: &Tree<'_>,
    submission: &Submission,
    rules: Rules,
    home: Home,
) -> Result<Checked, Vec<BundleError>> {
    let manifest = read_manifest(tree).map_err(|error| vec![error])?;
    let errors = manifest_checks::check(&manifest, rules);
    if !errors.is_empty() {
        return Err(errors);
    }
    let is_gated = gated::is_gated(&manifest);
    let mut checking = Checking { tree, rules, manifest: &manifest, is_gated, errors: Vec::new() };
    checking.check_names(submission);
    let paths = if is_gated { Paths::default() } else { checking.check_files() };
    let submitted = if home == Home::Bundle { checking.check_entry() } else { Map::new() };
    if home == Home::Bundle && tree.get(README).is_none() {
        checking.add(Code::NoReadme, README, "there is no `README.md`");
    }
    if !is_truthy(manifest.get("ui")) {
        checking.add(Code::NoUi, manifest_checks::FILE, "the manifest declares no `ui`");
    }
    if !checking.errors.is_empty() {
        return Err(checking.errors);
    }
    let integrity = paths.integrity(tree);
    Ok(Checked { manifest, submitted, integrity, is_gated, paths })
}

/// The manifest as an object.
pub(super) fn read_manifest(tree: &Tree<'_>) -> Result<Map<String, Value>, BundleError> {
    let file = manifest_checks::FILE;
    let Some(bytes) = tree.get(file) else {
        return Err(BundleError::new(Code::NoManifest, "there is no `manifest.json` in it"));
    };
    match python_json::parse(bytes) {
        Ok(Value::Object(manifest)) => Ok(manifest),
        Ok(_) => Err(BundleError::at(Code::BadManifestJson, file, "it is not a JSON object")),
        Err(why) => Err(BundleError::at(Code::BadManifestJson, file, why)),
    }
}

/// Where the declared files are, from the bundle's root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Paths {
    pub(super) agent: Option<String>,
    pub(super) http_module: Option<String>,
    pub(super) page: Option<String>,
}

impl Paths {
    /// Hashes and sizes of the declared files. Only a bundle with an agent has them.
    pub(super) fn integrity(&self, tree: &Tree<'_>) -> Map<String, Value> {
        let mut integrity = Map::new();
        if self.agent.is_none() {
            return integrity;
        }
        for (kind, path) in [("singleton", &self.agent), ("service", &self.http_module), ("ui", &self.page)] {
            let Some(bytes) = path.as_deref().and_then(|path| tree.get(path)) else { continue };
            integrity.insert(format!("{kind}_sha256"), json!(Digest::of(bytes)));
            integrity.insert(format!("{kind}_bytes"), json!(bytes.len()));
            if kind != "ui" {
                integrity.insert(format!("{kind}_lines"), json!(lines(bytes)));
            }
        }
        integrity
    }
}

/// Line ends, and one more where the last line has none.
fn lines(bytes: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', bytes).count() + usize::from(!bytes.ends_with(b"\n"))
}

struct Checking<'a> {
    tree: &'a Tree<'a>,
    rules: Rules,
    manifest: &'a Map<String, Value>,
    is_gated: bool,
    errors: Vec<BundleError>,
}

impl<'a> Checking<'a> {
    fn add(&mut self, code: Code, path: &str, message: impl Into<String>) {
        self.errors.push(BundleError::at(code, path, message));
    }

    fn text(&self, key: &str) -> &'a str {
        self.manifest.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// Who it is, and what it is to the catalog.
    fn check_names(&mut self, submission: &Submission) {
        let file = manifest_checks::FILE;
        let (id, publisher, version) = (self.text("id"), self.text("publisher"), self.text("version"));
        if self.tree.name != id {
            let message = format!("the folder `{}` must be named `{id}`", printable(self.tree.name));
            self.errors.push(BundleError::new(Code::DirNameMismatch, message));
        }
        if RESERVED.contains(&id) {
            self.add(Code::ReservedId, file, format!("`{id}` is kept by the platform"));
        }
        if let Some(submitter) = &submission.submitter {
            let may = if OFFICIAL_PUBLISHERS.contains(&publisher) {
                OFFICIAL_SUBMITTERS.iter().any(|known| known.eq_ignore_ascii_case(submitter))
            } else {
                publisher.to_lowercase() == submitter.to_lowercase()
            };
            if !may {
                let message = format!("`{}` may not submit for `{publisher}`", printable(submitter));
                self.add(Code::PublisherMismatch, file, message);
            }
        }
        let Some(stored) = submission.catalog.as_ref().and_then(|catalog| entry_of(catalog, id)) else {
            return;
        };
        let is_greater = match stored.get("version") {
            None => names::is_greater(version, "0.0.0"),
            Some(stored) => stored.as_str().is_some_and(|stored| names::is_greater(version, stored)),
        };
        if !is_greater {
            let stored = manifest_checks::shown(stored.get("version"));
            let message = format!("version {version} must be greater than the catalog's, {stored}");
            self.add(Code::VersionNotBumped, file, message);
        }
        let holder = stored.get("publisher").and_then(Value::as_str);
        if let (Rules::Spec, Some(holder)) = (self.rules, holder)
            && !Publisher::parse(publisher).is_some_and(|publisher| publisher.is_same_account(holder))
        {
            let message = format!("`{id}` belongs to {} in the catalog", printable(holder));
            self.add(Code::IdTaken, file, message);
        }
    }

    /// The declared files. Those that are there are returned.
    fn check_files(&mut self) -> Paths {
        let mut paths = Paths::default();
        if is_truthy(self.manifest.get("agent")) {
            paths.agent = self.resolve("agent", Code::SingletonMissing);
            self.check_place(
                "agent",
                &format!("singleton/{}_agent.py", self.text("id")),
                Code::SingletonPath,
            );
            if let Some((path, bytes)) = self.content(paths.agent.as_deref()) {
                self.check_size(&path, bytes, AGENT_BYTES_MAX, Code::SingletonTooLarge);
                self.errors.extend(source_checks::check_agent(bytes, &path, self.rules));
            }
        }
        if is_truthy(self.manifest.get("service")) {
            paths.http_module = self.resolve("service", Code::ServiceMissing);
            self.check_place(
                "service",
                &format!("service/{}_service.py", self.text("id")),
                Code::ServicePath,
            );
            if let Some((path, bytes)) = self.content(paths.http_module.as_deref()) {
                self.errors.extend(source_checks::check_http_module(bytes, &path));
            }
        }
        if is_truthy(self.manifest.get("ui")) {
            paths.page = self.resolve("ui", Code::UiMissing);
            if let Some((path, bytes)) = self.content(paths.page.as_deref()) {
                self.check_size(&path, bytes, PAGE_BYTES_MAX, Code::UiTooLarge);
            }
        }
        paths
    }

    fn content(&self, path: Option<&str>) -> Option<(String, &'a [u8])> {
        let path = path?;
        Some((path.to_owned(), self.tree.get(path)?))
    }

    fn resolve(&mut self, key: &str, missing: Code) -> Option<String> {
        let declared = self.manifest.get(key);
        let path = declared.and_then(Value::as_str).and_then(|path| self.tree.resolve(path, self.rules));
        if path.is_none() {
            let message =
                format!("`{key}` is {}, which is no file of the bundle", manifest_checks::shown(declared));
            self.add(missing, manifest_checks::FILE, message);
        }
        path
    }

    /// The written rules say where each file is.
    fn check_place(&mut self, key: &str, place: &str, code: Code) {
        if self.rules == Rules::Spec && self.text(key) != place {
            let seen = manifest_checks::shown(self.manifest.get(key));
            self.add(code, manifest_checks::FILE, format!("`{key}` must be `{place}`, not {seen}"));
        }
    }

    fn check_size(&mut self, path: &str, bytes: &[u8], bytes_max: usize, code: Code) {
        // The written rules say less than, the published validator takes as much as.
        if bytes.len() > bytes_max || (self.rules == Rules::Spec && bytes.len() == bytes_max) {
            self.add(code, path, format!("{} bytes, and it must be less than {bytes_max}", bytes.len()));
        }
    }

    /// The submitted entry; empty when there is none that can be read.
    fn check_entry(&mut self) -> Map<String, Value> {
        let file = index_entry::FILE;
        let Some(bytes) = self.tree.get(file) else {
            self.add(Code::NoIndexEntry, file, "there is no `index_entry.json`");
            return Map::new();
        };
        let entry = match python_json::parse(bytes) {
            Err(why) => {
                self.add(Code::BadIndexEntryJson, file, why);
                return Map::new();
            }
            Ok(Value::Object(entry)) => entry,
            // The published validator looks into it only when it is gated and something is there.
            Ok(other) => {
                if self.rules == Rules::Spec || (self.is_gated && is_truthy(Some(&other))) {
                    self.add(Code::BadIndexEntryJson, file, "it is not a JSON object");
                }
                return Map::new();
            }
        };
        if self.is_gated && !entry.is_empty() {
            self.errors.extend(gated::check(&entry, "index_entry", file, self.rules));
            self.errors.extend(gated::check_hashes(&entry, file, self.rules));
        }
        if self.rules == Rules::Spec {
            self.errors.extend(index_entry::check(&entry, self.manifest, self.is_gated));
        }
        entry
    }
}

/// The catalog's entry of this id.
fn entry_of<'c>(catalog: &'c Value, id: &str) -> Option<&'c Map<String, Value>> {
    let entries = catalog.get("rapplications")?.as_array()?.iter().filter_map(Value::as_object);
    entries.into_iter().find(|entry| entry.get("id").and_then(Value::as_str) == Some(id))
}

fn printable(text: &str) -> String {
    text.chars().take(80).flat_map(char::escape_debug).collect()
}
