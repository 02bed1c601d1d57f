//! Packages an agent needs: found in its text, installed once per set, never into anything that exists.

use roost_tests::{TestHome, find_on_path, python_file};
use serde_json::{Value, json};
use std::{fs, path::PathBuf};

/// A small package without dependencies that every mirror has.
const BLOCK: &str = "# /// script\n# dependencies = [\"six==1.16.0\"]\n# ///\n";

/// True, and said so, when these stories cannot be told here.
fn uv_is_missing() -> bool {
    let is_missing = find_on_path("uv").is_none();
    if is_missing {
        eprintln!("skipped: no uv in PATH");
    }
    is_missing
}

fn environments(home: &TestHome) -> Vec<PathBuf> {
    let entries = fs::read_dir(home.root().join("cache/environments")).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.join("bin/python").exists()).collect()
}

fn uses_six(name: &str) -> String {
    python_file(name, "import six", "return six.__version__ + ' ' + sys.prefix")
}

#[test]
fn agents_with_equal_sets_share_one_environment_with_hashes() {
    if uv_is_missing() {
        return;
    }
    let home = TestHome::new();
    home.write("a_agent.py", format!("{BLOCK}{}", uses_six("A")));
    home.write("b_agent.py", format!("# requires: six==1.16.0\n{}", uses_six("B")));
    home.write("plain_agent.py", python_file("Plain", "", "return sys.prefix"));
    let host = home.up();
    let outputs = ["A", "B"].map(|name| host.output(name, &json!({})));
    assert!(outputs[0].starts_with("1.16.0 ") && outputs[0] == outputs[1], "{outputs:?}");
    let made = environments(&home);
    assert_eq!(made.len(), 1, "{made:?}");
    let locks: Vec<String> = fs::read_dir(&made[0])
        .unwrap()
        .flatten()
        .filter_map(|entry| fs::read_to_string(entry.path()).ok())
        .filter(|text| text.contains("six==1.16.0") && text.contains("--hash=sha256:"))
        .collect();
    assert_eq!(locks.len(), 1, "the environment has its lock with hashes");
    assert!(!host.output("Plain", &json!({})).contains("cache/environments"));

    home.write("c_agent.py", format!("# requires: six==1.15.0\n{}", uses_six("C")));
    assert!(host.output("C", &json!({})).starts_with("1.15.0 "));
    assert_eq!(environments(&home).len(), 2);
    // The first one is untouched, and what uses it goes on.
    assert_eq!(host.output("A", &json!({})), outputs[0]);
}

#[test]
fn a_known_import_needs_no_declaration() {
    if uv_is_missing() {
        return;
    }
    let home = TestHome::new();
    home.write(
        "yaml_agent.py",
        python_file("Yaml", "import yaml", "return str(yaml.safe_load('a: [1, 2]'))"),
    );
    assert_eq!(home.roost(&["call", "Yaml"]).text(), "{'a': [1, 2]}");
    assert_eq!(environments(&home).len(), 1);
}

#[test]
fn an_import_that_is_guarded_is_not_insisted_on() {
    if uv_is_missing() {
        return;
    }
    let cache = tempfile::tempdir().unwrap();
    let home = TestHome::new()
        .with_variable("UV_OFFLINE", "1")
        .with_variable("UV_CACHE_DIR", cache.path().display().to_string());
    let top = "try:\n    import requests\nexcept ImportError:\n    requests = None";
    home.write(
        "guarded_agent.py",
        python_file("Guarded", top, "return 'none' if requests is None else 'some'"),
    );
    assert_eq!(home.roost(&["call", "Guarded"]).text(), "none");
    assert!(environments(&home).is_empty());
}

#[test]
fn without_a_network_the_reason_names_the_command_for_later() {
    if uv_is_missing() {
        return;
    }
    let cache = tempfile::tempdir().unwrap();
    let home = TestHome::new()
        .with_variable("UV_OFFLINE", "1")
        .with_variable("UV_CACHE_DIR", cache.path().display().to_string());
    home.write("a_agent.py", format!("{BLOCK}{}", uses_six("A")));
    home.write("plain_agent.py", python_file("Plain", "", "return 'works'"));
    let listed = home.listing().into_iter().find(|agent| agent["file"] == "a_agent.py").unwrap();
    assert_eq!(listed["reason"]["reason"], "dependency_unavailable", "{listed}");
    let why = home.json(&["why", "a_agent.py"]);
    assert!(why["next"].as_str().unwrap().contains("roost agents --refresh"), "{why}");
    assert!(environments(&home).is_empty());
    assert_eq!(home.roost(&["call", "Plain"]).text(), "works");
}

#[test]
fn once_the_network_is_back_the_named_command_helps() {
    if uv_is_missing() {
        return;
    }
    let cache = tempfile::tempdir().unwrap();
    let home = TestHome::new();
    home.write("a_agent.py", format!("{BLOCK}{}", uses_six("A")));
    let mut offline = home.command(&["agents", "--json"]);
    offline.env("UV_OFFLINE", "1").env("UV_CACHE_DIR", cache.path());
    let said: Value = serde_json::from_slice(&offline.output().unwrap().stdout).unwrap();
    assert_eq!(said["agents"][0]["state"], "failed");
    let listed = home.json(&["agents", "--refresh"]);
    assert_eq!(listed["agents"][0]["state"], "ready", "{listed}");
    assert!(home.roost(&["call", "A"]).text().starts_with("1.16.0"));
}

#[test]
fn wrong_requirements_are_told_from_missing_ones() {
    if uv_is_missing() {
        return;
    }
    let home = TestHome::new();
    for (file, top, reason) in [
        ("block_agent.py", "# /// script\n# dependencies = \"six\"\n# ///\n", "dependency_invalid"),
        ("toml_agent.py", "# /// script\n# dependencies = [\n# ///\n", "dependency_invalid"),
        ("url_agent.py", "# requires: six @ file:///etc/passwd\n", "dependency_invalid"),
        ("option_agent.py", "# requires: --index-url=http://evil.example\n", "dependency_invalid"),
        ("version_agent.py", "# requires: six==999.0\n", "dependency_invalid"),
        ("python_agent.py", "# /// script\n# requires-python = \">=3.99\"\n# ///\n", "runtime_missing"),
    ] {
        let name = file.replace("_agent.py", "");
        home.write(file, format!("{top}{}", python_file(&name, "", "return ''")));
        let listed = home.listing().into_iter().find(|agent| agent["file"] == file).unwrap();
        assert_eq!(listed["reason"]["reason"], reason, "{file}: {listed}");
    }
    assert!(environments(&home).is_empty());
}
