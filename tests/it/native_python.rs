//! The contract from outside: an app in Python, with another implementation of gRPC than ours, in every part it offers.

use roost_tests::TestHome;
use serde_json::json;
use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

const ID: &str = "com.example.python";

/// A copy of the example with its packages, as an author has it.
fn project(home: &TestHome) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let packages = root.join(".tools/native-python").canonicalize();
    let packages = packages.expect("scripts/setup.sh test installs the packages of the example");
    let project = home.outside().join("native-python");
    for name in ["build.py", "launcher.c", "start.py", "Makefile", "manifest.json", "SKILL.md", "app", "ui"] {
        copy(&root.join("examples/native-python").join(name), &project.join(name));
    }
    copy(&root.join("proto"), &project.join("proto"));
    fs::create_dir(project.join("target")).unwrap();
    symlink(packages, project.join("target/packages")).unwrap();
    project
}

fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        for entry in fs::read_dir(from).unwrap().flatten() {
            copy(&entry.path(), &to.join(entry.file_name()));
        }
    } else {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
    }
}

#[test]
fn a_python_app_is_built_sideloaded_and_answers_everything_that_it_offers() {
    let home = TestHome::new();
    let project = project(&home);
    let done = home.json(&["sideload", project.to_str().unwrap(), "--asked"]);
    assert_eq!((&done["app"]["id"], &done["app"]["state"]), (&json!(ID), &json!("enabled")), "{done}");

    let report = home.json(&["test", project.to_str().unwrap()]);
    assert_eq!(report["ok"], true, "{report:#}");

    let host = home.up();
    host.until_known("count_words");
    let answer = host.call("count_words", &json!({ "text": "one two three" })).json();
    assert_eq!(answer["output"], "3 words", "{answer}");
    assert_eq!(answer["receipt"]["enforcement"]["level"], "full", "{answer}");
    let wrong = host.call("count_words", &json!({})).json();
    assert!(wrong["error"]["message"].as_str().unwrap().contains("no text to count"), "{wrong}");

    // A model, whose words pass the app's own filter; it asks for the app's own tool when it is told to.
    home.json(&["models", "set", "gateway-com.example.python"]);
    let say = |text: &str| {
        let answer = host.post("/chat", &json!({ "user_input": text, "conversation_history": [] })).json();
        answer["response"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    assert_eq!(say("good morning"), "good morning\n(2 words)");
    assert_eq!(say(r#"use count_words {"text": "a b c"}"#), "3 words\n(2 words)");
    assert_eq!(host.terminate(), 0);
}
