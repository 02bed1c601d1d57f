//! Policies and grant stores that cannot be used: refused with the place, left as they are, never taken for a yes.

use super::{ONE_KEY, done, keys, keys_home, reason};
use std::{fmt::Write as _, fs};

#[test]
fn a_policy_with_a_mistake_is_refused_by_every_verb_with_the_entry_named() {
    for (policy, named) in [
        ("[policy]\nalow = [\"model\"]", "alow"),
        ("[policy.elsewhere]\nask = true", "elsewhere"),
        ("[policy.local]\nkeep = true", "keep"),
        ("[policy]\nallow = \"model\"", "sequence"),
        ("[policy]\nallow = [\"model\"]\ndeny = [\"model\"]", "`model`"),
        ("[policy]\ndeny = [\"network:*\"]\n[policy.local]\nallow = [\"network:a.example\"]", "a.example"),
        ("[policy]\ndeny = [\"files:read:~/../x\"]", ".."),
        ("[policy]\nallow = [\"files:write:/a/../../etc\"]", ".."),
        ("[policy]\nallow = [\"network:\\u202Eexample.com\"]", "u{202e}"),
        ("[policy]\nallow = [\"network:exam\\u200Bple.com\"]", "u{200b}"),
        ("[policy]\nallow = [\"*\"]", "`*`"),
        ("[policy]\nallow = [\"files:*\"]", "files:*"),
        ("[policy]\nallow = [\"\"]", "entry 1"),
    ] {
        let home = keys_home();
        home.settings(policy);
        for verb in [
            &["run", "agents/keys_agent.py"][..],
            &["rights", "keys_agent.py"],
            &["grant", "keys_agent.py", "env:ONE_KEY"],
            &["audit"],
            &["agents"],
        ] {
            let document = home.json(verb);
            assert_eq!(document["error"]["reason"], "invalid_settings", "{policy}: {verb:?}: {document}");
            let message = document["error"]["message"].as_str().unwrap();
            assert!(message.contains("policy") && message.contains(named), "{policy}: {message}");
        }
    }
}

#[test]
fn a_policy_of_ten_thousand_rules_holds_each_of_them() {
    let home = keys_home();
    let mut policy = String::from("[policy]\ndeny = [\n");
    for number in 1..5_000 {
        writeln!(policy, "  \"env:KEY_{number}\", \"network:host{number}.example\",").unwrap();
    }
    policy.push_str("  \"subprocess\", \"env:ONE_KEY\",\n]\n");
    home.settings(&policy);
    assert_eq!(reason(&home, &["grant", "keys_agent.py", "env:ONE_KEY"]), "denied_by_policy");
    assert_eq!(keys(&home), "nothing");
}

#[test]
fn a_store_that_cannot_be_used_gives_nothing_and_stays_as_it_is() {
    let home = keys_home();
    done(&home.roost(&["grant", "keys_agent.py", "env:ONE_KEY"]));
    let path = home.root().join("grants.json");
    let good = fs::read_to_string(&path).unwrap();
    assert_eq!(keys(&home), ONE_KEY.1);
    let host = home.up();
    let bad = [
        ("garbage", "no store".to_owned()),
        ("empty", String::new()),
        ("truncated", good[..good.len() / 2].to_owned()),
        ("newer", good.replacen("\"version\": 1", "\"version\": 99", 1)),
        ("unknown field", good.replacen('{', "{ \"more\": true,", 1)),
        ("unknown field of a grant", good.replacen("\"app\"", "\"more\": true, \"app\"", 1)),
        ("no right", good.replace("env:ONE_KEY", "everything")),
        ("twice", good.replacen("\"version\": 1", "\"version\": 1, \"version\": 1", 1)),
    ];
    for (what, text) in bad {
        assert_ne!(text, good, "{what}");
        fs::write(&path, &text).unwrap();
        for verb in [
            &["rights", "keys_agent.py"][..],
            &["grant", "keys_agent.py", "env:ONE_KEY"],
            &["revoke", "keys_agent.py", "--all"],
            &["suggest"],
        ] {
            assert_eq!(reason(&home, verb), "grants_unusable", "{what}: {verb:?}");
        }
        let run = home.roost(&["run", "agents/keys_agent.py"]);
        assert!(!run.stdout.contains(ONE_KEY.1), "{what}: {run:?}");
        assert!(
            !host.call("Keys", &serde_json::json!({})).body.contains(ONE_KEY.1),
            "{what}: the running host"
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), text, "{what}: the file was changed");
    }
    let doctor = home.roost(&["doctor"]);
    assert!(doctor.status == 1 && doctor.stdout.contains("grants.json"), "{doctor:?}");
    fs::write(&path, &good).unwrap();
    assert_eq!(keys(&home), ONE_KEY.1, "restored, it works again");
}

#[test]
fn rights_that_hide_something_are_refused() {
    let home = keys_home();
    for right in [
        "everything",
        "env:",
        "env:A B",
        "files:read:relative",
        "files:read:~/../x",
        "network:exa\u{200b}mple.com",
        "network:\u{202e}moc.elpmaxe",
        "files:read:~/a\u{202e}b",
        "network:host:99999",
        "secret:A@b",
    ] {
        assert_eq!(reason(&home, &["grant", "keys_agent.py", right]), "invalid_right", "{right:?}");
    }
}
