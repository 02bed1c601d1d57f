//! A registry of single agent files, read as a catalog: every agent of it is an app of one file.
//!
//! Its entries are manifests of agents with what the registry adds, in keys that begin with `_`. Files are named by
//! their path in the registry's repository, so that no entry can point elsewhere.

use super::entry::{Entry, EntryKind, is_inner_path, text_of};
use serde_json::{Map, Value, json, value::RawValue};

/// How the forms of registries that are understood begin.
pub(super) const REGISTRY_SCHEMA: &str = "rapp-registry/1.";

/// Reads one agent. What is wrong comes with its name, where that could be read.
pub(super) fn agent(raw: &RawValue) -> Result<Entry, (Option<String>, String)> {
    let fields: Map<String, Value> =
        serde_json::from_str(raw.get()).map_err(|error| (None, format!("not an object: {error}")))?;
    let name = fields.get("name").and_then(Value::as_str).map(super::entry::shown);
    let entry = as_app(&fields).and_then(|app| Entry::of_fields(&app, raw, EntryKind::Agent));
    entry.map_err(|message| (name, message))
}

/// The same in the keys of a catalog.
fn as_app(fields: &Map<String, Value>) -> Result<Map<String, Value>, String> {
    let name = text_of(fields, "name")?.unwrap_or_default();
    let (publisher, slug) = name.split_once('/').ok_or("`name` is not @PUBLISHER/NAME")?;
    if text_of(fields, "_lifecycle")? == Some("invalid") {
        return Err("the registry itself calls it invalid".to_owned());
    }
    let file = text_of(fields, "_file")?.unwrap_or_default();
    if fields.contains_key("_source") || file.ends_with(".stub") {
        return Err("its file is in a private repository, and only a stub of it here".to_owned());
    }
    if !is_inner_path(file) {
        return Err("`_file` is not a path below the registry".to_owned());
    }
    let file_name = match text_of(fields, "_install_filename")? {
        Some(file_name) => file_name.to_owned(),
        None => install_name(name),
    };
    if !file_name.ends_with("_agent.py") {
        return Err("`_install_filename` is not that of an agent".to_owned());
    }
    let mut app = Map::new();
    app.insert("id".to_owned(), json!(slug));
    app.insert("publisher".to_owned(), json!(publisher));
    app.insert("singleton_url".to_owned(), json!(file));
    app.insert("singleton_filename".to_owned(), json!(file_name));
    for (theirs, ours) in [
        ("version", "version"),
        ("display_name", "name"),
        ("description", "summary"),
        ("category", "category"),
        ("tags", "tags"),
        ("license", "license"),
        ("quality_tier", "quality_tier"),
        ("_sha256", "singleton_sha256"),
        ("_lines", "singleton_lines"),
    ] {
        app.extend(fields.get(theirs).map(|value| (ours.to_owned(), value.clone())));
    }
    Ok(app)
}

/// The name that the registry gives a file where all agents lie in one folder.
fn install_name(name: &str) -> String {
    let (mut stem, mut in_run) = (String::new(), false);
    for character in name.trim_start_matches('@').chars() {
        let is_plain = character.is_ascii_alphanumeric() || character == '_';
        match (is_plain, in_run) {
            (true, _) => stem.push(character.to_ascii_lowercase()),
            (false, false) => stem.push('_'),
            (false, true) => {}
        }
        in_run = !is_plain;
    }
    let stem = stem.trim_matches('_');
    let ending = if stem.ends_with("_agent") { "" } else { "_agent" };
    format!("rar_{stem}{ending}.py")
}

#[cfg(test)]
mod tests {
    use super::{agent, install_name};
    use crate::catalog::{EntryKind, PartKind};
    use serde_json::{Value, json, value::to_raw_value};

    fn listed(more: &Value) -> Value {
        let mut agent = json!({
            "schema": "rapp-agent/1.0", "name": "@kody-w/tea_time", "version": "1.2.3", "display_name": "Tea",
            "description": "Makes tea.", "category": "core", "tags": ["tea"], "_file": "agents/@kody-w/tea_agent.py",
            "_install_filename": "rar_kody_w_tea_time_agent.py", "_sha256": "0".repeat(64), "_lines": 3,
        });
        agent.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        agent
    }

    #[test]
    fn an_agent_of_a_registry_is_an_app_of_one_file() {
        // Larger than any number of 64 bits: it stays as it was written.
        let text = listed(&json!({})).to_string().replacen(
            '{',
            "{\"_seed\":340282366920938463463374607431768211455,",
            1,
        );
        let entry = agent(&serde_json::value::RawValue::from_string(text.clone()).unwrap()).unwrap();
        assert_eq!((entry.kind, entry.full_name().as_str()), (EntryKind::Agent, "@kody-w/tea_time"));
        assert_eq!((entry.name.as_str(), entry.summary.as_str()), ("Tea", "Makes tea."));
        let part = entry.part(PartKind::Agent).unwrap();
        assert_eq!((part.url.as_str(), part.lines), ("agents/@kody-w/tea_agent.py", Some(3)));
        assert_eq!(part.file_name.as_str(), "rar_kody_w_tea_time_agent.py");
        assert_eq!(entry.document().get(), text);
    }

    #[test]
    fn what_cannot_be_one_file_of_the_registry_is_told() {
        for bad in [
            json!({ "name": "tea" }),
            json!({ "name": "@kody-w/../tea" }),
            json!({ "name": 7 }),
            json!({ "version": "1" }),
            json!({ "_file": null }),
            json!({ "_file": "../../etc/passwd" }),
            json!({ "_file": "/etc/passwd" }),
            json!({ "_file": "https://elsewhere.example/tea_agent.py" }),
            json!({ "_file": "stubs/tea_agent.py.stub" }),
            json!({ "_source": { "type": "github_private" } }),
            json!({ "_install_filename": "../tea_agent.py" }),
            json!({ "_install_filename": "a/b_agent.py" }),
            json!({ "_install_filename": "tea.sh" }),
            json!({ "_sha256": "abc" }),
            json!({ "_lifecycle": "invalid" }),
        ] {
            assert!(agent(&to_raw_value(&listed(&bad)).unwrap()).is_err(), "{bad}");
        }
        assert!(agent(&to_raw_value(&json!([])).unwrap()).is_err());
    }

    #[test]
    fn a_file_gets_the_name_that_the_registry_would_give_it() {
        for (name, made) in [
            ("@kody-w/tea_time", "rar_kody_w_tea_time_agent.py"),
            ("@rapp/learn_agent", "rar_rapp_learn_agent.py"),
            ("@A/b--c", "rar_a_b_c_agent.py"),
            ("@a/b__c-", "rar_a_b__c_agent.py"),
        ] {
            assert_eq!(install_name(name), made, "{name}");
        }
    }
}
