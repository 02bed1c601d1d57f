//! A bundle as this store lists it: the gate's entry, with addresses of this store or of the repository it is in.

use super::{StoreError, pending::PendingSource, settings::StoreFacts};
use crate::{
    bundle::{Bundle, CATALOG, Code},
    catalog::Entry,
};
use roost_protocol::Digest;
use serde_json::{Map, Value, json};

/// Where raw files of repositories are, in every catalog.
const RAW: &str = "https://raw.githubusercontent.com";

/// Files that an installer fetches and that the gate did not look at.
const UNSEEN: [&str; 3] = ["egg_", "organ_", "tools_"];

/// Where an app's own files are, from the top of the store.
pub(super) fn app_folder(publisher: &str, id: &str) -> String {
    format!("apps/{publisher}/{id}")
}

/// The entry. One that no catalog reader would take is refused here rather than listed.
pub(super) fn entry(
    facts: &StoreFacts,
    bundle: &Bundle,
    source: Option<&PendingSource>,
) -> Result<Map<String, Value>, StoreError> {
    let mut entry = bundle.entry().clone();
    if !bundle.is_gated() {
        // Only what was looked at is vouched for: no code and no state from addresses that can change.
        entry.retain(|key, _| !UNSEEN.iter().any(|start| key.starts_with(start)));
        for key in ["singleton_url", "service_url", "ui_url"] {
            let Some(path) = entry.get(key).and_then(Value::as_str).and_then(below_catalog) else { continue };
            let address = match source {
                None => facts.address(path),
                Some(source) => in_repository(source, bundle, path),
            };
            entry.insert(key.to_owned(), json!(address));
        }
        add_egg(&mut entry, facts, bundle);
    }
    if let Some(PendingSource { repo, reference, path, commit_sha }) = source {
        let source = json!({
            "type": "federation", "repo": repo, "ref": reference, "path": path, "commit_sha": commit_sha,
        });
        entry.insert("source".to_owned(), source);
    }
    Entry::of_document(&entry)
        .map_err(|failure| StoreError::refused(Code::IndexEntryFields, failure.message))?;
    Ok(entry)
}

fn below_catalog(address: &str) -> Option<&str> {
    address.strip_prefix(CATALOG)?.strip_prefix('/')
}

fn in_repository(source: &PendingSource, bundle: &Bundle, path: &str) -> String {
    let own = app_folder(bundle.publisher().as_str(), bundle.id().as_str());
    let inside = path.strip_prefix(&own).unwrap_or(path).trim_start_matches('/');
    let PendingSource { repo, reference, path, .. } = source;
    let folder = if path.is_empty() { String::new() } else { format!("{path}/") };
    format!("{RAW}/{repo}/{reference}/{folder}{inside}")
}

/// The only egg of a bundle, as the entry names it.
fn add_egg(entry: &mut Map<String, Value>, facts: &StoreFacts, bundle: &Bundle) {
    let is_egg = |path: &str| {
        path.strip_prefix("eggs/").is_some_and(|name| name.ends_with(".egg") && !name.contains('/'))
    };
    let mut eggs = bundle.files().iter().filter(|(path, _)| is_egg(path));
    let (Some((path, bytes)), None) = (eggs.next(), eggs.next()) else { return };
    let own = app_folder(bundle.publisher().as_str(), bundle.id().as_str());
    entry.insert("egg_filename".to_owned(), json!(path.trim_start_matches("eggs/")));
    entry.insert("egg_url".to_owned(), json!(facts.address(&format!("{own}/{path}"))));
    entry.insert("egg_sha256".to_owned(), json!(Digest::of(bytes)));
    entry.insert("egg_bytes".to_owned(), json!(bytes.len()));
}
