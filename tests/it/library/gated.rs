//! An app in a private repository: installed with a token that is seen nowhere, and not at all without one.

use super::{agent, failed, left_by_apps, works};
use roost_protocol::Digest;
use roost_tests::{StoreServer, TestHome};
use serde_json::json;
use std::{fs, path::Path};

const TOKEN: &str = "ghp_onlyForThePrivateRepository00";

fn home_of(server: &StoreServer) -> TestHome {
    let home = TestHome::new().with_variable("RAPPSTORE_URL", server.url("/index.json"));
    home.settings(&format!(
        "[store]\nraw = \"{}\"\ncommits = \"{}\"\n",
        server.url("/raw"),
        server.url("/api")
    ));
    home
}

fn files_with(folder: &Path, text: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files_with(&path, text, found);
        } else if fs::read(&path)
            .is_ok_and(|bytes| bytes.windows(text.len()).any(|part| part == text.as_bytes()))
        {
            found.push(path.display().to_string());
        }
    }
}

/// A server with one private app: 404 without the token, 200 with it.
fn server() -> StoreServer {
    let server = StoreServer::new();
    let code = agent("Cockpit", "1.0.0", "");
    let page = "<p>private";
    let place = "https://raw.githubusercontent.com/wild/private/main";
    let entry = json!({
        "id": "cockpit", "name": "Cockpit", "version": "1.0.0", "publisher": "@wild", "summary": "Private.",
        "category": "data", "tags": ["rapplication"], "access": "private", "private_repo": "wild/private",
        "quality_tier": "private", "auth_hint": "gh auth login, then again", "access_note": "Ask Wilma.",
        "singleton_filename": "cockpit_agent.py", "singleton_url": format!("{place}/cockpit_agent.py"),
        "singleton_sha256": Digest::of(code.as_bytes()),
        "ui_filename": "index.html", "ui_url": format!("{place}/index.html"),
        "ui_sha256": Digest::of(page.as_bytes()),
    });
    let index = json!({ "schema": "rapp-store/1.0", "name": "Wild", "rapplications": [entry] });
    server.publish("/index.json", index.to_string());
    server.publish("/raw/wild/private/main/cockpit_agent.py", &code);
    server.publish("/raw/wild/private/main/index.html", page);
    server.gate("/raw/wild/private/", TOKEN);
    server
}

#[test]
fn a_gated_app_is_installed_with_a_token_that_is_seen_nowhere() {
    let server = server();
    let home = home_of(&server).with_variable("GITHUB_TOKEN", TOKEN);
    let installed = works(&home, &["install", "cockpit", "--yes"]);
    assert_eq!(installed["app"]["state"], "enabled");
    let host = home.up();
    assert_eq!(host.output("Cockpit", &json!({})), "Cockpit 1.0.0 in cockpit");
    let shown = [
        installed.to_string(),
        works(&home, &["apps"]).to_string(),
        works(&home, &["runs", "list"]).to_string(),
        works(&home, &["audit"]).to_string(),
        host.get("/api/binder").body,
        host.get("/rapplications").body,
        host.call("Cockpit", &json!({})).body,
    ];
    assert_eq!(host.terminate(), 0);
    assert!(shown.iter().all(|text| !text.contains(TOKEN)));
    let mut found = Vec::new();
    files_with(&home.root(), TOKEN, &mut found);
    assert_eq!(found, Vec::<String>::new());
    for asked in server.asked().iter().filter(|asked| asked.header("authorization").is_some()) {
        assert!(asked.path.starts_with("/raw/wild/private/"), "{asked:?}");
    }
}

#[test]
fn without_a_token_nobody_is_asked_and_nothing_is_left() {
    let server = server();
    let home = home_of(&server);
    let error = failed(&home, &["install", "cockpit", "--yes"], "gated_no_token");
    assert!(error["message"].as_str().unwrap().contains("Ask Wilma"), "{error}");
    assert!(error["next"].as_str().unwrap().contains("gh auth login, then again"), "{error}");
    assert!(!server.asked().iter().any(|asked| asked.path.contains("private")), "never anonymously");
    assert!(left_by_apps(&home).is_empty());

    let wrong = home_of(&server).with_variable("GITHUB_TOKEN", "ghp_opensNothing");
    failed(&wrong, &["install", "cockpit", "--yes"], "gated_no_access");
    assert!(left_by_apps(&wrong).is_empty());

    server.publish("/raw/wild/private/main/cockpit_agent.py", "print('something else')");
    let known = home_of(&server).with_variable("GITHUB_TOKEN", TOKEN);
    failed(&known, &["install", "cockpit", "--yes"], "digest_mismatch");
    assert!(left_by_apps(&known).is_empty());
}
