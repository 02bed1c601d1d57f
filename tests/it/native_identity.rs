//! Whose app it is: an id belongs to the one who held it first, whoever else is believed.

use roost_tests::TestHome;
use serde_json::json;
use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

const ID: &str = "com.example.echo";

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The app in a version, signed by the only key of the home; and the public half of that key.
fn signed(home: &TestHome, version: &str) -> (PathBuf, PathBuf) {
    let folder = home.outside().join(format!("echo-{version}"));
    let manifest = json!({ "id": ID, "name": "Echo", "version": version, "provides": ["tool:echo"] });
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("manifest.json"), manifest.to_string()).unwrap();
    fs::write(folder.join("SKILL.md"), "---\nname: echo\ndescription: Echoes.\n---\nUse it.\n").unwrap();
    fs::copy(env!("CARGO_BIN_EXE_native_app"), folder.join("binary")).unwrap();
    fs::set_permissions(folder.join("binary"), Permissions::from_mode(0o755)).unwrap();
    let key = home.json(&["keys", "signing", "new", "--name", version]);
    let (napp, public) = (folder.with_extension("napp"), folder.with_extension("json"));
    home.json(&["pack", text(&folder), "-o", text(&napp)]);
    home.json(&["sign", text(&napp)]);
    home.json(&["keys", "signing", "export", key["id"].as_str().unwrap(), "-o", text(&public)]);
    (napp, public)
}

#[test]
fn another_publisher_does_not_get_the_id_of_an_installed_app_even_if_believed() {
    let (ada, bob, home) = (TestHome::new(), TestHome::new(), TestHome::new());
    let (first, ada_key) = signed(&ada, "1.0.0");
    let (second, bob_key) = signed(&bob, "2.0.0");
    home.json(&["keys", "publisher", "trust", text(&ada_key), "--name", "Ada"]);
    home.json(&["keys", "publisher", "trust", text(&bob_key), "--name", "Bob"]);
    let installed = home.json(&["install", text(&first), "--yes"]);
    assert_eq!(installed["app"]["publisher"], "Ada", "{installed}");
    let refused = home.roost(&["install", text(&second), "--yes", "--json"]);
    assert_eq!(refused.json()["error"]["reason"], "id_taken", "{refused:?}");
    let kept = home.json(&["apps"])["apps"][0].clone();
    assert_eq!((&kept["version"], &kept["publisher"]), (&json!("1.0.0"), &json!("Ada")));
    // Once the first is gone, the id is free.
    home.json(&["remove", ID]);
    assert_eq!(home.json(&["install", text(&second), "--yes"])["app"]["publisher"], "Bob");
}
