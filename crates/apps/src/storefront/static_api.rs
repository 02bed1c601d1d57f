//! The catalog as small files that any web server can give out: `api/v1/`.

use super::{
    document::text,
    live::LiveApp,
    settings::StoreFacts,
    sprite::{rappid, sprite},
};
use crate::{bundle::Bundle, container::Files};
use serde_json::{Map, Value, json};

pub(super) const FOLDER: &str = "api/v1";

/// The folders in it, each with one file for an app.
pub(super) const PARTS: [&str; 3] = ["rapplication", "egg", "sprite"];

/// From whom every app descends.
const ORIGIN: &str = "rappid:@rapp/origin:0b635450c04249fbb4b1bdb571044dec";
const EGG_SCHEMA: &str = "brainstem-egg/2.2-rapplication";

/// The list of all apps.
pub(super) fn index<'a>(
    facts: &StoreFacts,
    entries: impl Iterator<Item = &'a Map<String, Value>>,
) -> Vec<u8> {
    let listed: Vec<Value> = entries.map(|entry| summary(facts, entry)).collect();
    document(&json!({ "schema": "rapp-pokedex-api/1.0", "count": listed.len(), "rapplications": listed }))
}

/// The files of one app: path and content.
pub(super) fn app_files(
    facts: &StoreFacts,
    entry: &Map<String, Value>,
    live: Option<&LiveApp>,
) -> Vec<(String, Vec<u8>)> {
    let (publisher, id) = (text(entry, "publisher"), text(entry, "id"));
    let identity = rappid(publisher, id);
    let mut page = Map::new();
    page.insert("schema".to_owned(), json!("rapp-pokedex-rapp/1.0"));
    page.insert("rappid".to_owned(), json!(identity));
    page.insert("parent_rappid".to_owned(), json!(ORIGIN));
    if let Value::Object(summary) = summary(facts, entry) {
        page.extend(summary);
    }
    for key in ["summary", "tagline", "tags", "license", "quality_tier", "access", "available_versions"] {
        if let Some(value) = entry.get(key) {
            page.insert(key.to_owned(), value.clone());
        }
    }
    page.insert("entry".to_owned(), Value::Object(entry.clone()));
    let readme = live.and_then(|live| live.bundle.files().get("README.md"));
    page.insert("readme".to_owned(), json!(readme.map(String::from_utf8_lossy)));
    let mut files = vec![
        (format!("{FOLDER}/rapplication/{id}.json"), document(&Value::Object(page))),
        (format!("{FOLDER}/sprite/{id}.svg"), sprite(&identity, text(entry, "category")).into_bytes()),
    ];
    if let Some(egg) = live.and_then(|live| egg(&live.bundle, &identity)) {
        files.push((format!("{FOLDER}/egg/{id}.egg"), egg));
    }
    files
}

fn summary(facts: &StoreFacts, entry: &Map<String, Value>) -> Value {
    let (publisher, id) = (text(entry, "publisher"), text(entry, "id"));
    // Files that are elsewhere are in no egg of this store.
    let is_here = entry.get("source").is_none_or(|source| source["type"] != "federation");
    let address = |part: &str, ending: &str| facts.address(&format!("{FOLDER}/{part}/{id}.{ending}"));
    json!({
        "id": id,
        "name": text(entry, "name"),
        "kind": "rapplication",
        "publisher": publisher,
        "category": text(entry, "category"),
        "version": text(entry, "version"),
        "has_skin": entry.contains_key("ui_url"),
        "url": address("rapplication", "json"),
        "sprite": address("sprite", "svg"),
        "egg": is_here.then(|| address("egg", "egg")),
        "install_one_liner": format!("roost install {publisher}/{id}"),
    })
}

/// The app as an egg. Its files decide about every byte; no clock does. A gated app has no code in it.
fn egg(bundle: &Bundle, identity: &str) -> Option<Vec<u8>> {
    let (id, publisher) = (bundle.id().as_str(), bundle.publisher().as_str());
    let file_name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let mut contents: Vec<(String, Vec<u8>)> = Vec::new();
    let agent = bundle.agent().map(|(path, bytes)| (file_name(path), bytes));
    if let Some((name, bytes)) = &agent {
        contents.push((format!("agents/{name}"), bytes.to_vec()));
    }
    let pages = bundle.files().iter().filter_map(|(path, bytes)| Some((path.strip_prefix("ui/")?, bytes)));
    let pages: Vec<(String, Vec<u8>)> = pages
        .filter(|_| !bundle.is_gated())
        .map(|(path, bytes)| (format!("rapp_ui/{id}/{path}"), bytes.to_vec()))
        .collect();
    let (name, version) = (text(bundle.manifest(), "name"), bundle.version().to_string());
    let counts = json!({
        "agent": usize::from(agent.is_some()), "ui": pages.len(), "data": 0, "soul": 0, "organ": 0,
    });
    let manifest = json!({
        "schema": EGG_SCHEMA, "type": "rapplication", "rappid": identity, "rapp_id": id, "name": name,
        "version": version, "publisher": publisher, "agent_filename": agent.map(|(name, _)| name),
        "organ_filename": null, "has_skin": !pages.is_empty(), "counts": counts,
    });
    let own = json!({
        "schema": "rapp-rappid/2.0", "rappid": identity, "parent_rappid": ORIGIN, "kind": "rapplication",
        "name": name, "version": version, "publisher": publisher, "rapp_id": id,
    });
    contents.extend(pages);
    contents.push(("manifest.json".to_owned(), document(&manifest)));
    contents.push(("rappid.json".to_owned(), document(&own)));
    Files::from_contents(contents).ok().map(|files| files.to_flat_zip())
}

fn document(value: &Value) -> Vec<u8> {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text.into_bytes()
}
