//! What a new page begins with, and pages as they lie on a disk.

use super::{PageContent, PageId, PageManifest, changes::PageFile, invalid};
use roost_apps::{Files, PAGE_LIMITS, PageProblem, read_at_most};
use roost_protocol::{Failure, Reason};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, path::Path};

const INDEX: &str = include_str!("starter/index.html");
const APP: &str = include_str!("starter/app.js");

/// The files of a page by their paths.
type PageFiles = BTreeMap<String, PageFile>;

/// A small page that works: its manifest and its files.
pub fn starter_page(id: &str, name: Option<&str>) -> Result<(Map<String, Value>, PageFiles), Failure> {
    let id = PageId::parse(id).map_err(|error| Failure::new(Reason::PageInvalid, error.to_string()))?;
    let name = name.unwrap_or(id.as_str());
    let mut manifest = PageManifest::smallest(&id, name);
    let own = format!("/apps/{id}/data/*");
    manifest
        .insert("permissions".to_owned(), serde_json::json!({ "vfs": { "read": [own], "write": [own] } }));
    let file = |text: &str| PageFile::Text(text.replace("{id}", id.as_str()));
    let files = [("index.html".to_owned(), file(INDEX)), ("app.js".to_owned(), file(APP))];
    Ok((manifest, files.into()))
}

/// A page that lies on a disk, as a zip: a folder is packed, a file is taken as it is.
pub fn packed(path: &Path) -> Result<Vec<u8>, Failure> {
    let unreadable =
        |error: std::io::Error| Failure::new(Reason::Unreadable, format!("{}: {error}", path.display()));
    if !path.is_dir() {
        return read_at_most(path, PAGE_LIMITS.archive_bytes_max).map_err(unreadable);
    }
    let files = Files::read_folder(path, &PAGE_LIMITS).map_err(|refused| {
        let problem = |refused: roost_apps::Refused| PageProblem {
            field: "files".to_owned(),
            message: refused.to_string(),
        };
        invalid(&path.display().to_string(), &refused.into_iter().map(problem).collect::<Vec<_>>())
    })?;
    let manifest: Option<Value> =
        files.get(roost_apps::MANIFEST_FILE).and_then(|bytes| serde_json::from_slice(bytes).ok());
    let id = manifest.as_ref().and_then(|manifest| manifest["id"].as_str()).unwrap_or_default();
    let contents = files.iter().map(|(path, content)| (path.to_owned(), content.to_vec()));
    let page = PageContent::from_contents(id, contents)
        .map_err(|problems| invalid(&path.display().to_string(), &problems))?;
    Ok(page.to_zip())
}
