//! What a policy allows and denies, and which mistakes in it are refused.

use super::Policy;
use roost_protocol::{Failure, Origin, Reason};
use std::path::Path;

fn read(text: &str) -> Result<Policy, Failure> {
    let file: toml::Table = text.parse().unwrap();
    let table = file.get("policy").and_then(toml::Value::as_table).cloned().unwrap_or_default();
    Policy::from_table(table, Some(Path::new("/home/me")))
}

fn allows(policy: &Policy, origin: Origin, right: &str) -> bool {
    policy.allows(origin, &right.parse().unwrap())
}

fn denies(policy: &Policy, right: &str) -> bool {
    policy.denies(Origin::Local, &right.parse().unwrap()).is_some()
}

#[test]
fn without_a_table_origins_differ_as_documented() {
    let policy = read("").unwrap();
    for (right, local, catalog, generated) in [
        ("memory:write", true, false, false),
        ("memory:read", true, false, false),
        ("model", true, true, false),
        ("agents:read", true, false, false),
        ("workspace:write:a/b", true, true, true),
        ("events:watch:agent:x", true, false, false),
        ("notifications", true, false, false),
        ("network:example.com", false, false, false),
        ("agents:write", false, false, false),
    ] {
        assert_eq!(allows(&policy, Origin::Local, right), local, "{right}");
        assert_eq!(allows(&policy, Origin::Catalog, right), catalog, "{right}");
        assert_eq!(allows(&policy, Origin::Generated, right), generated, "{right}");
    }
    let keeps =
        [Origin::Local, Origin::Catalog, Origin::Generated].map(|origin| policy.keep_always_grants(origin));
    assert_eq!(keeps, [true, false, false]);
    assert!([Origin::Local, Origin::Catalog, Origin::Generated].into_iter().all(|origin| policy.ask(origin)));
}

#[test]
fn a_written_list_replaces_the_built_in_one_of_its_origin_only() {
    let policy = read(
        "[policy]\nallow = [\"clipboard\"]\n[policy.local]\nallow = []\nask = false\n[policy.catalog]\ndeny = [\"model\"]",
    )
    .unwrap();
    assert!(!allows(&policy, Origin::Local, "model"));
    assert!(allows(&policy, Origin::Local, "clipboard"));
    assert!(allows(&policy, Origin::Generated, "workspace:read:x"));
    assert!(!policy.ask(Origin::Local) && policy.ask(Origin::Catalog));
    assert!(policy.denies(Origin::Catalog, &"model".parse().unwrap()).is_some());
    assert!(policy.denies(Origin::Local, &"model".parse().unwrap()).is_none());
}

#[test]
fn what_shares_something_with_a_denied_right_is_denied() {
    let policy = read(
        "[policy]\ndeny = [\"network:*.internal\", \"files:read:~/.ssh\", \"agents:call:Shell\", \"workspace:write:*.key\"]",
    )
    .unwrap();
    for right in [
        "network:db.internal",
        "network:db.internal:443",
        "network:*",
        "files:read:~/.ssh/id",
        "files:write:~/.ssh/id",
        "files:read:/home/me/.ssh",
        "files:read:/home",
        "files:read:/",
        "files:write:~",
        "agents:call:Shell",
        "agents:call:S*",
        "workspace:read:a.key",
        "workspace:read:*",
    ] {
        assert!(denies(&policy, right), "{right}");
    }
    for right in [
        "network:example.com",
        "network:internal.example.com",
        "files:read:~/.sshx",
        "agents:call:Weather",
        "workspace:write:a.txt",
    ] {
        assert!(!denies(&policy, right), "{right}");
    }
    let why = policy.denies(Origin::Local, &"files:write:~".parse().unwrap()).unwrap();
    assert_eq!(why, "`files:read:~/.ssh` stands in `deny` of [policy] in roost.toml");
}

#[test]
fn what_is_decided_at_each_use_may_be_granted_around_a_denied_part() {
    let policy =
        read("[policy]\ndeny = [\"agents:call:Shell\", \"files:read:~/.ssh\", \"network:*.corp\"]").unwrap();
    let refused = |right: &str| policy.denies_granting(Origin::Local, &right.parse().unwrap()).is_some();
    assert!(!refused("agents:call:*"));
    assert!(refused("agents:call:Shell"));
    assert!(refused("files:write:~"));
    assert!(refused("network:*"));
}

#[test]
fn mistakes_are_refused_with_their_table_and_entry() {
    for (text, table, entry) in [
        ("[policy]\nalow = []", "[policy]", "alow"),
        ("[policy.local]\nkeep = true", "[policy.local]", "keep"),
        ("[policy.generated]\nask = 1", "[policy.generated]", "1"),
        ("[policy]\nlocal = 3", "[policy.local]", "3"),
        ("[policy]\nallow = \"model\"", "[policy]", "model"),
        ("[policy]\nallow = [\"model\", 7]", "[policy]", "entry 2 of `allow`, `7`"),
        ("[policy.catalog]\nallow = [\"root\"]", "[policy.catalog]", "entry 1 of `allow`: `root`"),
        ("[policy]\nallow = [\"network:*.internal\"]", "[policy]", "*.internal"),
        ("[policy]\ndeny = [\"network:a\u{202e}b.c\"]", "[policy]", "u{202e}"),
        ("[policy]\n\"a\u{202e}b\" = 1", "[policy]", "u{202e}"),
        (
            "[policy.local]\nallow = [\"model\"]\ndeny = [\"model\"]",
            "[policy.local]",
            "`model` stands in `allow` and in `deny`",
        ),
        (
            "[policy]\nallow = [\"memory:read\"]\ndeny = [\"memory:write\"]",
            "[policy]",
            "`memory:write` in `deny`",
        ),
        (
            "[policy]\ndeny = [\"network:*\"]\n[policy.local]\nallow = [\"network:a.b\"]",
            "[policy.local]",
            "`network:*` in `deny` of [policy]",
        ),
    ] {
        let failure = read(text).unwrap_err();
        assert_eq!(failure.reason, Reason::InvalidSettings, "{text}");
        assert!(failure.message.contains(&format!("{table}:")), "{text}: {}", failure.message);
        assert!(failure.message.contains(entry), "{text}: {}", failure.message);
        assert!(!failure.message.contains('\u{202e}'), "{text}");
    }
}

#[test]
fn a_table_may_deny_for_one_origin_what_is_allowed_to_all() {
    let policy = read("[policy]\nallow = [\"model\"]\n[policy.generated]\ndeny = [\"model\"]").unwrap();
    assert!(policy.denies(Origin::Generated, &"model".parse().unwrap()).is_some());
}

#[test]
fn ten_thousand_rules_are_taken_and_one_more_is_not() {
    let list = |count: usize| {
        let entries: Vec<String> =
            (0..count).map(|number| format!("\"network:h{number}.example.com\"")).collect();
        format!("[policy]\ndeny = [{}]\n", entries.join(","))
    };
    let policy = read(&list(10_000)).unwrap();
    assert!(denies(&policy, "network:h9999.example.com") && !denies(&policy, "network:h10000.example.com"));
    assert!(read(&(list(5_000) + "[policy.local]\ndeny = [\"model\"]")).is_ok());
    let failure = read(&(list(10_000) + "[policy.local]\ndeny = [\"model\"]")).unwrap_err();
    assert!(
        failure.message.contains("[policy.local]") && failure.message.contains("10000"),
        "{}",
        failure.message
    );
}
