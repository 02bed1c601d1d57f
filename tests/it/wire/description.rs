//! `/openapi.json` is what is committed, and what the hidden command prints.

use roost_tests::{TestHome, repository_root};
use std::fs;

#[test]
fn the_described_routes_are_those_of_the_running_host() {
    let home = TestHome::new();
    let host = home.up();
    let served = host.get("/openapi.json");
    assert_eq!(served.header("content-type"), Some("application/json"));
    let committed = fs::read_to_string(repository_root().join("docs/openapi.json")).unwrap();
    assert!(served.body == committed, "docs/openapi.json is stale; run `cargo xtask codegen`");
    assert_eq!(home.roost(&["openapi"]).stdout, committed);
    // What is described is there: no address of the list is unknown to the router.
    for (method, path, _) in super::harmless_operations(&host) {
        // Its answer to a file that the page does not have is that there is nothing.
        if path == "/ui/{*path}" {
            continue;
        }
        let answer = host.send(&method, &super::address_of(&path), &[], b"");
        let reason =
            serde_json::from_str::<serde_json::Value>(&answer.body).unwrap_or_default()["reason"].clone();
        assert!(reason != "unknown_route" && reason != "method_not_allowed", "{method} {path}: {answer:?}");
    }
}
