//! A bundle to begin with: it passes the gate and answers as it is.

use super::{
    manifest_checks::{SCHEMA, TAG},
    names::{BundleId, Publisher},
};
use crate::container::{Files, Refused};
use serde_json::{Value, json};

const AGENT: &str = include_str!("scaffold/agent.py.template");
const PAGE: &str = include_str!("scaffold/index.html.template");
const README: &str = include_str!("scaffold/readme.template");
const VERSION: &str = "0.1.0";
const CATEGORY: &str = "productivity";

/// What is to be made.
#[derive(Debug, Clone)]
pub struct NewApp {
    /// Its id, which is also the name of its folder.
    pub id: BundleId,
    /// Who will publish it.
    pub publisher: Publisher,
    /// What people call it.
    pub name: String,
    /// What it does, in one sentence.
    pub summary: String,
}

/// The files of a new bundle, from its root.
pub fn new_app(app: &NewApp) -> Result<Files, Vec<Refused>> {
    let id = app.id.as_str();
    let agent_file = format!("{id}_agent.py");
    let fill = |template: &str| {
        // The names first: nothing that a person wrote is taken for a place to be filled.
        template
            .replace("{{id}}", id)
            .replace("{{class}}", &class_name(id))
            .replace("{{publisher}}", app.publisher.as_str())
            .replace("{{version}}", VERSION)
            .replace("{{category}}", CATEGORY)
            .replace("{{name_json}}", &Value::from(app.name.as_str()).to_string())
            .replace("{{summary_json}}", &Value::from(app.summary.as_str()).to_string())
            .replace("{{name_html}}", &escaped(&app.name))
            .replace("{{summary_html}}", &escaped(&app.summary))
            .replace("{{name}}", &one_line(&app.name))
            .replace("{{summary}}", &one_line(&app.summary))
    };
    let manifest = json!({
        "schema": SCHEMA,
        "id": id,
        "name": app.name,
        "version": VERSION,
        "publisher": app.publisher.as_str(),
        "summary": app.summary,
        "category": CATEGORY,
        "tags": [TAG],
        "agent": format!("singleton/{agent_file}"),
        "ui": "ui/index.html",
        "license": "MIT",
        "quality_tier": "community",
    });
    let place =
        format!("https://raw.githubusercontent.com/kody-w/rapp_store/main/apps/{}/{id}", app.publisher);
    let entry = json!({
        "id": id,
        "name": app.name,
        "version": VERSION,
        "summary": app.summary,
        "category": CATEGORY,
        "tags": [TAG],
        "publisher": app.publisher.as_str(),
        "singleton_filename": agent_file,
        "singleton_url": format!("{place}/singleton/{agent_file}"),
        "ui_filename": "index.html",
        "ui_url": format!("{place}/ui/index.html"),
    });
    let contents = [
        ("manifest.json".to_owned(), document(&manifest)),
        ("index_entry.json".to_owned(), document(&entry)),
        (format!("singleton/{agent_file}"), fill(AGENT).into_bytes()),
        ("ui/index.html".to_owned(), fill(PAGE).into_bytes()),
        ("README.md".to_owned(), fill(README).into_bytes()),
    ];
    Files::from_contents(contents)
}

fn document(value: &Value) -> Vec<u8> {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text.into_bytes()
}

/// `my_app` as `MyApp`.
fn class_name(id: &str) -> String {
    let capitalised = |word: &str| {
        let mut letters = word.chars();
        letters
            .next()
            .map(|first| first.to_ascii_uppercase().to_string() + letters.as_str())
            .unwrap_or_default()
    };
    id.split('_').map(capitalised).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Inside a docstring and a heading: no line ends, no quotes, no backslashes.
fn one_line(text: &str) -> String {
    text.chars()
        .map(|letter| if letter.is_control() || matches!(letter, '"' | '\\') { ' ' } else { letter })
        .collect()
}
