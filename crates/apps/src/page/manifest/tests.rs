//! Manifests as the blueprint writes them, and with every field wrong.

use super::PageManifest;
use serde_json::{Value, json};

fn read(value: &Value) -> Result<PageManifest, Vec<String>> {
    read_text(&value.to_string())
}

fn read_text(text: &str) -> Result<PageManifest, Vec<String>> {
    PageManifest::read(text.as_bytes(), "my-dashboard")
        .map_err(|problems| problems.into_iter().map(|problem| problem.field).collect())
}

fn whole() -> Value {
    json!({
        "id": "my-dashboard",
        "name": "My Dashboard",
        "version": "1.0.0",
        "entry": "index.html",
        "description": "A custom monitoring dashboard",
        "icon": "assets/icon.svg",
        "author": "Agent",
        "created": 1_703_500_000_000_i64,
        "updated": 1_703_600_000_000_i64,
        "permissions": {
            "vfs": {"read": ["/docs/*", "/.memory/*"], "write": ["/apps/my-dashboard/*"]},
            "eventbus": {"subscribe": ["agent:*", "artifact:*"], "emit": ["app:my-dashboard:*"]},
            "network": false,
            "notifications": false,
            "clipboard": false,
            "storage": "1MB"
        },
        "display": {"width": "800px", "height": "600px", "resizable": true, "position": "center"},
        "autoMount": false
    })
}

fn with(key: &str, value: Value) -> Value {
    let mut manifest = whole();
    manifest[key] = value;
    manifest
}

#[test]
fn the_blueprints_manifest_is_taken_whole() {
    let manifest = read(&whole()).unwrap();
    assert_eq!((manifest.id.as_str(), manifest.name.as_str()), ("my-dashboard", "My Dashboard"));
    assert_eq!(manifest.asks.asks.len(), 7);
    assert!(manifest.asks.declared && manifest.unknown_keys.is_empty());
}

#[test]
fn unknown_keys_are_passed_over_and_told() {
    let manifest = read(&with("later\u{202e}", json!({"x": 1}))).unwrap();
    assert_eq!(manifest.unknown_keys, ["later"]);
}

#[test]
fn every_wrong_field_is_told_at_once() {
    let manifest = json!({
        "id": "Other", "name": "\u{202e}\u{200b}", "version": "1", "entry": "../index.html", "description": 1,
        "author": "x".repeat(81), "icon": "https://evil.example/i.png", "created": "now", "updated": -1,
        "permissions": {"network": "yes"}, "agent": "two words", "autoMount": "yes",
        "display": {"width": "calc(1px)", "height": "0px", "resizable": 1, "position": "everywhere"}
    });
    assert_eq!(
        read(&manifest).unwrap_err(),
        [
            "id",
            "name",
            "version",
            "entry",
            "description",
            "author",
            "icon",
            "created",
            "updated",
            "permissions",
            "agent",
            "display.width",
            "display.height",
            "display.resizable",
            "display.position",
            "autoMount",
        ]
    );
    assert_eq!(read(&json!({})).unwrap_err(), ["id", "name", "version", "entry"]);
    assert_eq!(read(&with("display", json!("wide"))).unwrap_err(), ["display"]);
    assert_eq!(read(&with("permissions", json!({"storage": "11MB"}))).unwrap_err(), ["permissions"]);
}

#[test]
fn what_is_no_manifest_is_told_as_a_whole() {
    let large = format!("{{\"name\": \"{}\"}}", "x".repeat(70_000));
    for text in [
        "",
        "[]",
        "null",
        "{",
        r#"{"id": "a", "id": "b"}"#,
        r#"{"permissions": {"network": false, "network": true}}"#,
        &large,
    ] {
        assert_eq!(read_text(text).unwrap_err(), ["manifest.json"], "{text:.40}");
    }
}

#[test]
fn hostile_names_are_cleaned_or_refused() {
    assert_eq!(read(&with("name", json!("Pay\u{202e}lap\u{200b}\n "))).unwrap().name, "Paylap");
    assert_eq!(read(&with("name", json!("x".repeat(10_000)))).unwrap_err(), ["name"]);
}

#[test]
fn an_entry_stays_inside_the_folder() {
    for good in ["index.html", "ui/main.htm", "a b.HTML"] {
        assert_eq!(read(&with("entry", json!(good))).unwrap().entry, good);
    }
    for bad in [
        "/index.html",
        "../x.html",
        "a/../b.html",
        "http://x/y.html",
        "//x/y.html",
        "a//b.html",
        "./a.html",
        "a%2e.html",
        "a.html?x",
        "a.html#x",
        "a\\b.html",
        "index.js",
        "javascript:a.html",
        "",
        " a.html",
    ] {
        assert_eq!(read(&with("entry", json!(bad))).unwrap_err(), ["entry"], "{bad}");
    }
}

#[test]
fn versions_are_semantic() {
    for good in ["0.0.1", "1.2.3-rc.1", "1.2.3+build.5", "10.20.30-a-b.1+x"] {
        assert!(read(&with("version", json!(good))).is_ok(), "{good}");
    }
    for bad in ["1", "1.0", "01.0.0", "1.0.0-", "1.0.0-01", "1.0.0+", "v1.0.0", "1.0.0.0", "1.0.x", " 1.0.0"]
    {
        assert_eq!(read(&with("version", json!(bad))).unwrap_err(), ["version"], "{bad}");
    }
}
