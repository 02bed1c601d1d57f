//! The manifest table and the permission table of the native contract, row by row.

use super::{NativeCode, NativeManifest};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::time::Duration;

const CALCULATOR: &str = r#"{"id":"com.example.calculator","name":"Calculator","version":"1.0.0",
    "description":"Arithmetic","runtime":"local","protocol":"grpc","provides":["tool:calculator"],"permissions":[]}"#;

fn parse(manifest: &Value) -> Result<NativeManifest, Vec<(NativeCode, String)>> {
    NativeManifest::parse(manifest.to_string().as_bytes())
        .map_err(|errors| errors.into_iter().map(|error| (error.code, error.message)).collect())
}

fn with(key: &str, value: Value) -> Value {
    let mut manifest: Value = serde_json::from_str(CALCULATOR).unwrap();
    manifest[key] = value;
    manifest
}

#[test]
fn the_published_example_is_read() {
    let manifest = NativeManifest::parse(CALCULATOR.as_bytes()).unwrap();
    assert_eq!((manifest.id.as_str(), manifest.name.as_str()), ("com.example.calculator", "Calculator"));
    assert_eq!(
        (manifest.slug(), manifest.startup_timeout),
        ("calculator".to_owned(), Duration::from_secs(10))
    );
    assert_eq!(manifest.provides.iter().map(ToString::to_string).collect::<Vec<_>>(), ["tool:calculator"]);
    assert!(manifest.permissions.is_empty() && manifest.overrides.is_empty() && manifest.oauth.is_empty());
}

#[test]
fn the_other_published_samples_pass_and_unknown_fields_are_passed_over() {
    for (provides, permissions, overrides) in [
        (json!(["channel:telegram"]), json!(["channel:send", "network:outbound"]), json!(null)),
        (json!(["hooks"]), json!(["hook:tool.pre_execute", "hook:memory.pre_store"]), json!([])),
        (json!(["tool:dashboard_query", "ui"]), json!(["network:outbound"]), json!(null)),
        (json!(["gateway"]), json!(["network:outbound", "user:token"]), json!(null)),
        (json!(["schedule"]), json!(["schedule:*"]), json!(null)),
        (
            json!(["hooks"]),
            json!(["hook:memory.pre_store", "hook:memory.pre_recall"]),
            json!(["memory.pre_store", "memory.pre_recall"]),
        ),
        (json!(["hooks"]), json!(["hook:*"]), json!(["tool.pre_execute"])),
        (json!(["tool:notepad", "ui"]), json!(["storage:*"]), json!(null)),
    ] {
        let mut manifest = with("provides", provides);
        manifest["permissions"] = permissions;
        manifest["overrides"] = overrides;
        manifest["type"] = json!("app");
        manifest["settings"] = json!([{"key": "x"}]);
        assert!(parse(&manifest).is_ok(), "{manifest}");
    }
}

#[test]
fn every_rule_has_its_code_and_the_published_words() {
    for (key, value, code, words) in [
        ("id", json!(""), NativeCode::ManifestField, "missing required field: id"),
        ("name", json!(null), NativeCode::ManifestField, "missing required field: name"),
        ("version", json!(""), NativeCode::ManifestField, "missing required field: version"),
        ("id", json!(7), NativeCode::ManifestField, "`id` is not a text"),
        ("id", json!("../../evil"), NativeCode::BadId, "cannot be an app's folder"),
        ("id", json!("com.example.app.pending"), NativeCode::BadId, "cannot be an app's folder"),
        ("name", json!("Calc\u{202e}ulator"), NativeCode::BadName, "do not show"),
        ("name", json!("two\nlines"), NativeCode::BadName, "do not show"),
        ("version", json!("1/0"), NativeCode::BadVersion, "no version"),
        ("provides", json!([]), NativeCode::Capability, "must declare at least one capability"),
        ("provides", json!(null), NativeCode::Capability, "must declare at least one capability"),
        ("provides", json!("tool:x"), NativeCode::ManifestField, "not a list"),
        ("provides", json!(["tool:x", "teleport"]), NativeCode::Capability, "invalid capability"),
        ("provides", json!(["tool"]), NativeCode::Capability, "invalid capability"),
        ("permissions", json!(["bogus:foo"]), NativeCode::Permission, "invalid permission"),
        ("permissions", json!([5]), NativeCode::ManifestField, "no text"),
        ("protocol", json!("http"), NativeCode::Protocol, "unsupported protocol"),
        ("runtime", json!("cloud"), NativeCode::Runtime, "unsupported runtime"),
        (
            "startup_timeout",
            json!(121),
            NativeCode::StartupTimeout,
            "startup_timeout must be between 0 and 120",
        ),
        (
            "startup_timeout",
            json!(-1),
            NativeCode::StartupTimeout,
            "startup_timeout must be between 0 and 120",
        ),
        (
            "startup_timeout",
            json!(1.5),
            NativeCode::StartupTimeout,
            "startup_timeout must be between 0 and 120",
        ),
        ("overrides", json!(["tool.explode"]), NativeCode::Override, "invalid override hook name"),
        ("overrides", json!(["memory.pre_store"]), NativeCode::Override, "requires permission"),
        ("oauth", json!([{"provider": "Go ogle"}]), NativeCode::Oauth, "no provider"),
        ("oauth", json!([{"provider": "google", "scopes": "mail"}]), NativeCode::Oauth, "no provider"),
        ("oauth", json!({}), NativeCode::Oauth, "not a list"),
    ] {
        let errors = parse(&with(key, value.clone())).unwrap_err();
        let found = errors.iter().any(|(found, message)| *found == code && message.contains(words));
        assert!(found, "{key} = {value}: {errors:?}");
    }
}

#[test]
fn the_edges_of_the_startup_time_are_taken() {
    for (value, seconds) in [(json!(0), 10), (json!(1), 1), (json!(120), 120), (json!(null), 10)] {
        let manifest = parse(&with("startup_timeout", value)).unwrap();
        assert_eq!(manifest.startup_timeout, Duration::from_secs(seconds));
    }
}

#[test]
fn every_sample_permission_is_judged_as_published() {
    let good = [
        "network:example.com:443",
        "network:*",
        "network:outbound",
        "settings:read",
        "memory:read",
        "session:create",
        "tool:shell",
        "shell:exec",
        "channel:send",
        "comm:send",
        "model:chat",
        "user:token",
        "database:read",
        "schedule:create",
        "oauth:google",
    ];
    assert_eq!(parse(&with("permissions", json!(good))).unwrap().written().collect::<Vec<_>>(), good);
    for bad in
        ["bogus:foo", "admin:root", "", "noprefixhere", "memory:banana", "shell:rm", "network:", "settings:"]
    {
        let errors = parse(&with("permissions", json!([bad]))).unwrap_err();
        assert_eq!(errors[0].0, NativeCode::Permission, "{bad:?}");
    }
}

#[test]
fn a_permission_holds_itself_and_a_wildcard_its_prefix_and_nothing_holds_a_part() {
    let manifest = parse(&with("permissions", json!(["network:example.com", "memory:*"]))).unwrap();
    assert!(manifest.asks("network:example.com") && manifest.asks("memory:read"));
    assert!(
        !manifest.asks("network:example.com:443")
            && !manifest.asks("network:*")
            && !manifest.asks("user:token")
    );
    assert!(manifest.asks_any("network") && !manifest.asks_any("net"));
}

#[test]
fn two_meanings_in_one_file_are_refused() {
    for bad in [
        r#"{"id":"a","id":"b","name":"n","version":"1","provides":["ui"]}"#,
        r#"{"id":"a","ID":"b","name":"n","version":"1","provides":["ui"]}"#,
        r#"{"id":"a","name":"n","version":"1","provides":["ui"],"oauth":[{"provider":"x","provider":"y"}]}"#,
    ] {
        let errors = NativeManifest::parse(bad.as_bytes()).unwrap_err();
        assert_eq!(errors[0].code, NativeCode::ManifestJson, "{bad}");
    }
}

proptest! {
    #[test]
    fn no_bytes_break_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(NativeManifest::parse(&bytes).is_err_and(|errors| !errors.is_empty()));
    }
}
