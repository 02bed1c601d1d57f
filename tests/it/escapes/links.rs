//! Granted places that are not what was granted any more when a worker opens them.

use roost_tests::{TestHome, python_file};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::symlink, path::Path};

/// An agent that reads one file of a place it was granted.
fn reader(home: &TestHome, place: &Path, name: &str) {
    let right = format!("files:read:{}", place.display());
    let block = format!("# /// script\n# [tool.roost]\n# rights = [\"{right}\"]\n# ///\n");
    let body = format!("return open('{}/{name}').read()", place.display());
    home.write("reader_agent.py", format!("{block}{}", python_file("Reader", "", &body)));
    let granted = home.roost(&["grant", "reader_agent.py", &right]);
    assert_eq!(granted.status, 0, "{granted:?}");
}

fn outcome(home: &TestHome) -> Value {
    home.up().call("Reader", &json!({})).json()
}

#[test]
fn a_granted_folder_that_became_a_link_opens_nothing() {
    let home = TestHome::new();
    let (docs, secret) = (home.outside().join("proj/docs"), home.outside().join(".ssh"));
    fs::create_dir_all(&docs).unwrap();
    fs::create_dir_all(&secret).unwrap();
    fs::write(docs.join("id"), "a document").unwrap();
    fs::write(secret.join("id"), "THE KEY").unwrap();
    reader(&home, &docs, "id");
    assert_eq!(outcome(&home)["output"], "a document");
    // What an agent that may write to `proj` does.
    fs::rename(&docs, home.outside().join("proj/aside")).unwrap();
    symlink(&secret, &docs).unwrap();
    let refused = outcome(&home);
    assert!(!refused.to_string().contains("THE KEY"), "{refused}");
    assert_eq!(refused["reason"], "sandbox_failed", "{refused}");
    assert!(refused.to_string().contains("symbolic link"), "{refused}");
}

#[test]
fn a_link_above_a_granted_folder_opens_nothing() {
    let home = TestHome::new();
    let proj = home.outside().join("proj");
    fs::create_dir_all(proj.join("docs")).unwrap();
    fs::write(proj.join("docs/grants.json"), "a document").unwrap();
    reader(&home, &proj.join("docs"), "grants.json");
    assert_eq!(outcome(&home)["output"], "a document");
    fs::rename(&proj, home.outside().join("aside")).unwrap();
    fs::create_dir_all(home.outside().join("elsewhere/docs")).unwrap();
    fs::write(home.outside().join("elsewhere/docs/grants.json"), "THE KEY").unwrap();
    symlink(home.outside().join("elsewhere"), &proj).unwrap();
    let refused = outcome(&home);
    assert!(!refused.to_string().contains("THE KEY"), "{refused}");
}

#[test]
fn what_is_beside_a_granted_folder_does_not_exist() {
    let home = TestHome::new();
    let docs = home.outside().join("proj/docs");
    fs::create_dir_all(&docs).unwrap();
    fs::write(home.outside().join("proj/beside"), "not granted").unwrap();
    let right = format!("files:read:{}", docs.display());
    let block = format!("# /// script\n# [tool.roost]\n# rights = [\"{right}\"]\n# ///\n");
    let body = format!(
        "return ' '.join(sorted(os.listdir('{0}') if os.access('{0}', os.R_OK) else [])) + \
                        str(os.path.exists('{0}/beside'))",
        home.outside().join("proj").display()
    );
    home.write("reader_agent.py", format!("{block}{}", python_file("Reader", "import os", &body)));
    home.roost(&["grant", "reader_agent.py", &right]);
    let outcome = outcome(&home);
    assert!(
        !outcome.to_string().contains("True") && !outcome["output"].to_string().contains("beside"),
        "{outcome}"
    );
}
