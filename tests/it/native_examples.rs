//! Native apps for authors: what `roost new native` makes is built and works, and so do the examples.

use roost_tests::TestHome;
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The folder of an example with the program that was built of it.
fn example(home: &TestHome, name: &str) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/native").join(name);
    let to = home.outside().join(name);
    fs::create_dir_all(to.join("ui")).unwrap();
    for file in ["manifest.json", "SKILL.md"] {
        fs::copy(from.join(file), to.join(file)).unwrap();
    }
    for entry in fs::read_dir(from.join("ui")).into_iter().flatten().flatten() {
        fs::copy(entry.path(), to.join("ui").join(entry.file_name())).unwrap();
    }
    let program = Path::new(env!("CARGO_BIN_EXE_native_app")).with_file_name(name);
    fs::copy(&program, to.join("binary")).expect("built by `cargo build --workspace --bins`");
    to
}

fn sideloaded(home: &TestHome, folder: &Path) -> Value {
    let report = home.json(&["test", folder.to_str().unwrap()]);
    assert_eq!(report["ok"], true, "{report:#}");
    home.json(&["sideload", folder.to_str().unwrap(), "--asked"])
}

/// Where cargo keeps what it fetched; a test's own home has nothing.
#[expect(clippy::disallowed_methods, reason = "the toolchain is the machine's, not the test's")]
fn user_home() -> String {
    std::env::var("HOME").unwrap()
}

#[test]
fn a_new_native_app_is_built_sideloaded_and_called() {
    let home = TestHome::new();
    let outside = home.outside();
    let made = home.json(&["new", "native", "tea-time", "--folder", outside.to_str().unwrap()]);
    assert_eq!((&made["app"], &made["tool"]), (&json!("com.example.tea-time"), &json!("tea-time")));
    let folder = outside.join("tea-time");
    let again = home.roost(&["new", "native", "tea-time", "--folder", outside.to_str().unwrap(), "--json"]);
    assert_eq!(again.json()["error"]["reason"], "already_exists");
    let bad = home.roost(&["new", "native", "Tea Time", "--json"]);
    assert_eq!(bad.json()["error"]["reason"], "invalid_name");

    // As an author would, but unoptimised and with what other builds of this folder left: it takes a tenth of the time.
    let shared = Path::new(env!("CARGO_BIN_EXE_native_app")).ancestors().nth(2).unwrap().join("new-native");
    let makefile = fs::read_to_string(folder.join("Makefile")).unwrap();
    let (shared, user) = (shared.display(), user_home());
    let quick = format!("PROFILE := dev\nTARGET := {shared}\nexport HOME := {user}\n{makefile}");
    fs::write(folder.join("Makefile"), quick).unwrap();
    let versions = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.lock");
    fs::copy(versions, folder.join("Cargo.lock")).unwrap();
    let done = home.json(&["sideload", folder.to_str().unwrap()]);
    assert_eq!(done["app"]["state"], "enabled", "{done}");
    let called = home.roost(&["call", "tea-time", "who=Ada"]);
    assert_eq!((called.status, called.stdout.trim()), (0, "Good day, Ada!"), "{}", called.stderr);
    let report = home.json(&["test", folder.to_str().unwrap()]);
    assert_eq!(report["ok"], true, "{report:#}");
}

#[test]
fn the_examples_pass_their_tests_and_do_what_they_say() {
    let home = TestHome::new();
    for name in ["greeter", "parrot", "scribe"] {
        let folder = example(&home, name);
        let done = sideloaded(&home, &folder);
        assert_eq!(done["app"]["state"], "enabled", "{name}: {done}");
    }
    let host = home.up();
    host.until_known("greeter");
    assert_eq!(host.output("greeter", &json!({ "who": "Ada" })), "Good day, Ada!");
    let wrong = host.call("greeter", &json!({})).json();
    assert_eq!(wrong["error"]["message"], "`who` is missing", "{wrong}");
    home.json(&["models", "set", "gateway-com.example.parrot"]);
    let asked = json!({ "user_input": "good morning", "conversation_history": [] });
    let answer = host.post("/chat", &asked).json();
    assert_eq!(answer["response"], "good morning\n\n— Scribe was here", "{answer}");
}
