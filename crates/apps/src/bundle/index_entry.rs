//! A bundle as a catalog lists it: what the submitted entry must have, and the entry that the store makes.

use super::{
    Checked, Rules,
    code::{BundleError, Code},
    gated,
    python_json::is_truthy,
};
use serde_json::{Map, Value, json};

pub(super) const FILE: &str = "index_entry.json";

/// Where the published store has its files; a store elsewhere puts its own place there.
pub(crate) const CATALOG: &str = "https://raw.githubusercontent.com/kody-w/rapp_store/main";

/// Fields that pass from the manifest before anything is made of the files.
const OPTIONAL: [&str; 6] =
    ["tagline", "manifest_name", "produced_by", "metrics", "optional_dependencies", "spec_post"];

/// Fields of a manifest that are not for the catalog, or that only the store may set.
const KEPT_BACK: [&str; 8] =
    ["schema", "agent", "ui", "service", "source", "available_versions", "access", "private_repo"];

/// What a submitted entry lacks, by the written rules.
pub(super) fn check(
    entry: &Map<String, Value>,
    manifest: &Map<String, Value>,
    is_gated: bool,
) -> Vec<BundleError> {
    let mut errors = Vec::new();
    let mut add = |message: String| errors.push(BundleError::at(Code::IndexEntryFields, FILE, message));
    let has_text = |key: &str| entry.get(key).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    for key in ["id", "name", "version", "summary", "category"] {
        if !has_text(key) {
            add(format!("`{key}` is needed: a text with something in it"));
        }
    }
    if entry.get("tags").and_then(Value::as_array).is_none_or(Vec::is_empty) {
        add("`tags` is needed: a list with something in it".to_owned());
    }
    // A gated entry names what its repository has; the others always have an agent.
    for key in ["singleton_filename", "singleton_url"].into_iter().filter(|_| !is_gated) {
        if !has_text(key) {
            add(format!("`{key}` is needed: a text with something in it"));
        }
    }
    for key in ["id", "version", "publisher"] {
        if entry.contains_key(key) && has_text(key) && entry.get(key) != manifest.get(key) {
            add(format!("`{key}` is not the manifest's"));
        }
    }
    if is_gated && entry.get("access") != manifest.get("access") {
        add("`access` is not the manifest's".to_owned());
    }
    if is_gated && entry.get("private_repo") != manifest.get("private_repo") {
        add("`private_repo` is not the manifest's".to_owned());
    }
    errors
}

/// The entry that the store makes of a bundle.
pub(super) fn build(checked: &Checked, rules: Rules) -> Map<String, Value> {
    if rules == Rules::Spec && checked.is_gated {
        // Only the submitter can see the files, so what was submitted stands.
        let mut entry = checked.submitted.clone();
        entry.insert("quality_tier".to_owned(), json!(gated::TIER));
        return entry;
    }
    let mut entry = published(checked);
    if rules == Rules::Spec {
        for key in ["ui_sha256", "ui_bytes", "service_bytes", "service_lines"] {
            if let Some(value) = checked.integrity.get(key) {
                entry.insert(key.to_owned(), value.clone());
            }
        }
        for (key, value) in checked.manifest.iter().chain(&checked.submitted) {
            let is_made = ["singleton_", "service_", "ui_"].iter().any(|start| key.starts_with(start));
            if !is_made && !KEPT_BACK.contains(&key.as_str()) && !entry.contains_key(key) {
                entry.insert(key.clone(), value.clone());
            }
        }
    }
    entry
}

/// The fields and their order as the published store makes them.
fn published(checked: &Checked) -> Map<String, Value> {
    let manifest = &checked.manifest;
    let mut entry = Map::new();
    let or = |key: &str, value: Value| manifest.get(key).cloned().unwrap_or(value);
    for key in ["id", "name", "version"] {
        entry.insert(key.to_owned(), or(key, Value::Null));
    }
    entry.insert("summary".to_owned(), or("summary", json!("")));
    entry.insert("category".to_owned(), or("category", json!("")));
    entry.insert("tags".to_owned(), or("tags", json!([])));
    entry.insert("license".to_owned(), or("license", json!("BSD-style")));
    entry.insert("publisher".to_owned(), or("publisher", Value::Null));
    entry.insert("quality_tier".to_owned(), json!(capped_tier(manifest.get("quality_tier"))));
    for key in OPTIONAL {
        if let Some(value) = manifest.get(key) {
            entry.insert(key.to_owned(), value.clone());
        }
    }
    let text = |key: &str| manifest.get(key).and_then(Value::as_str).unwrap_or_default();
    let place = format!("{CATALOG}/apps/{}/{}", text("publisher"), text("id"));
    for (declared, kind, measured) in [
        ("agent", "singleton", &["sha256", "lines", "bytes"][..]),
        ("service", "service", &["sha256"]),
        ("ui", "ui", &[]),
    ] {
        if !is_truthy(manifest.get(declared)) {
            continue;
        }
        let path = text(declared);
        let file_name = path.split('/').rfind(|part| !matches!(*part, "" | ".")).unwrap_or_default();
        entry.insert(format!("{kind}_filename"), json!(file_name));
        entry.insert(format!("{kind}_url"), json!(format!("{place}/{path}")));
        for field in measured {
            let key = format!("{kind}_{field}");
            if let Some(value) = checked.integrity.get(&key) {
                entry.insert(key, value.clone());
            }
        }
    }
    entry
}

/// Submitters may call their work rough or old, but not good.
fn capped_tier(tier: Option<&Value>) -> &'static str {
    match tier.and_then(Value::as_str) {
        Some("experimental") => "experimental",
        Some("deprecated") => "deprecated",
        _ => "community",
    }
}
