//! The apps that are published as files of the store, and their older versions in `versions/` beside them.

use super::{
    Storefront,
    document::{CatalogDocument, text},
    ground::Ground,
    listed::app_folder,
};
use crate::{
    bundle::{Bundle, Submission, Version},
    container::{ContainerLimits, Files},
};
use roost_protocol::{Digest, Failure, Reason};
use serde_json::{Map, Value, json};

/// Where older versions are, in the folder of an app.
pub(super) const VERSIONS: &str = "versions";

/// One app whose files are in the store.
#[derive(Debug, Clone)]
pub(super) struct LiveApp {
    pub(super) bundle: Bundle,
}

impl LiveApp {
    /// The app of this publisher and id; nothing where its files are not in the store.
    pub(super) fn read(ground: &Ground, publisher: &str, id: &str) -> Result<Option<Self>, Failure> {
        let folder = app_folder(publisher, id);
        if !ground.has_folder(&folder)? || ground.read(&format!("{folder}/manifest.json"), 1 << 20)?.is_none()
        {
            return Ok(None);
        }
        let damaged = |why: String| Failure::new(Reason::StoreUnusable, format!("{folder}: {why}"));
        let place = ground.place(&folder).map_err(|error| damaged(error.to_string()))?;
        let files = Files::read_folder_without(&place, &ContainerLimits::BUNDLE, &["/versions", ".DS_Store"])
            .map_err(|refused| damaged(format!("{refused:?}")))?;
        // What passed the gate passes again; what is older than the gate is taken as it is.
        let strict = Bundle::from_files(files.clone(), id, &Submission::default());
        let bundle = strict.or_else(|_| Bundle::from_catalog_files(files)).map_err(|errors| {
            damaged(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
        })?;
        if bundle.publisher().as_str() != publisher || bundle.id().as_str() != id {
            return Err(damaged("its manifest names another app".to_owned()));
        }
        Ok(Some(Self { bundle }))
    }

    /// What is kept of it when a newer version takes its place: manifest, agent, service and page.
    pub(super) fn archive(&self) -> Result<Files, Failure> {
        let bundle = &self.bundle;
        let manifest = bundle.files().get("manifest.json").map(|bytes| ("manifest.json", bytes));
        let kept = [manifest, bundle.agent(), bundle.http_module(), bundle.page()].into_iter().flatten();
        let mut contents: Vec<(String, Vec<u8>)> =
            kept.map(|(path, bytes)| (path.to_owned(), bytes.to_vec())).collect();
        contents.sort();
        contents.dedup();
        Files::from_contents(contents)
            .map_err(|refused| Failure::new(Reason::StoreUnusable, format!("{refused:?}")))
    }

    pub(super) fn version(&self) -> Version {
        self.bundle.version()
    }
}

/// The versions that are kept of an app, the newest first, as an entry lists them.
pub(super) fn kept_versions(
    ground: &Ground,
    publisher: &str,
    id: &str,
) -> Result<Vec<(Version, Value)>, Failure> {
    let folder = format!("{}/{VERSIONS}", app_folder(publisher, id));
    let mut kept = Vec::new();
    for name in ground.folders(&folder)? {
        let Some(version) = Version::parse(&name) else { continue };
        let path = format!("{folder}/{name}");
        let place = ground.place(&path).map_err(|error| ground.failed(&path, &error))?;
        let files = Files::read_folder(&place, &ContainerLimits::BUNDLE)
            .map_err(|refused| Failure::new(Reason::StoreUnusable, format!("{path}: {refused:?}")))?;
        kept.push((version, kept_version(version, &files)));
    }
    kept.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
    Ok(kept)
}

/// A kept version with the digests of its files.
pub(super) fn kept_version(version: Version, files: &Files) -> Value {
    let manifest: Map<String, Value> =
        files.get("manifest.json").and_then(|bytes| serde_json::from_slice(bytes).ok()).unwrap_or_default();
    let mut listed = Map::new();
    listed.insert("version".to_owned(), json!(version.to_string()));
    for (key, kind) in [("agent", "singleton"), ("service", "service"), ("ui", "ui")] {
        if let Some(bytes) = files.get(text(&manifest, key)) {
            listed.insert(format!("{kind}_sha256"), json!(Digest::of(bytes)));
        }
    }
    Value::Object(listed)
}

impl Storefront {
    /// The files of an app as they are published; nothing where there are none in the store.
    pub fn published(&self, id: &str) -> Result<Option<Bundle>, Failure> {
        let catalog = CatalogDocument::read(&self.ground)?;
        let Some(entry) = catalog.entry(id) else { return Ok(None) };
        Ok(LiveApp::read(&self.ground, text(entry, "publisher"), id)?.map(|live| live.bundle))
    }

    /// Publisher and id of every folder in `apps/`, in order.
    pub(super) fn app_folders(&self) -> Result<Vec<(String, String)>, Failure> {
        let mut found = Vec::new();
        for publisher in self.ground.folders("apps")?.into_iter().filter(|name| name.starts_with('@')) {
            for id in self.ground.folders(&format!("apps/{publisher}"))? {
                found.push((publisher.clone(), id));
            }
        }
        found.sort_by(|left, right| (&left.1, &left.0).cmp(&(&right.1, &right.0)));
        Ok(found)
    }
}
