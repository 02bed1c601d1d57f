//! The record: every decision is a row, a change is found with its place, and contents are never in it.

use super::{done, keys, keys_home};
use roost_tests::{TestHome, python_agent};
use std::{fs, path::PathBuf};

/// What somebody else made of the log.
type Change = fn(&str) -> String;

fn segment(home: &TestHome) -> PathBuf {
    home.root().join("audit/audit-000001.jsonl")
}

/// A home with some rows.
fn home_with_rows() -> TestHome {
    let home = keys_home();
    keys(&home);
    done(&home.roost(&["grant", "keys_agent.py", "env:ONE_KEY"]));
    keys(&home);
    done(&home.roost(&["revoke", "keys_agent.py", "--all"]));
    home
}

#[test]
fn what_was_asked_granted_refused_and_revoked_is_in_the_log() {
    let home = home_with_rows();
    let listing = home.json(&["audit", "--app", "keys_agent.py"]);
    let rows: Vec<(&str, &str)> = listing["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["what"].as_str().unwrap(), row["decision"].as_str().unwrap()))
        .collect();
    for expected in [
        ("decide", "denied"),
        ("refused", "refused"),
        ("grant", "done"),
        ("decide", "allowed"),
        ("revoke", "done"),
    ] {
        assert!(rows.contains(&expected), "{expected:?}: {rows:?}");
    }
    assert!(!rows.iter().any(|(what, _)| *what == "repaired"), "{rows:?}");
    assert_eq!(home.json(&["audit", "--app", "nobody.py"])["rows"].as_array().unwrap().len(), 0);
    assert_eq!(home.json(&["audit", "--since", "1h", "--app", "keys_agent.py"])["rows"], listing["rows"]);
    assert_eq!(home.json(&["audit", "--since", "2999-01-01"])["rows"].as_array().unwrap().len(), 0);
}

#[test]
fn commands_that_end_well_leave_nothing_to_repair() {
    let home = home_with_rows();
    for _ in 0..3 {
        keys(&home);
    }
    let all = home.json(&["audit"]);
    let repaired: Vec<_> =
        all["rows"].as_array().unwrap().iter().filter(|row| row["what"] == "repaired").collect();
    assert!(repaired.is_empty(), "{repaired:?}");
    assert_eq!(home.json(&["audit", "verify"])["ok"], true);
}

#[test]
fn a_change_of_the_log_is_found_with_its_place() {
    let checks: [(&str, Change, &str); 4] = [
        (
            "a changed byte",
            |text| text.replacen("env:ONE_KEY", "env:ONE_KEX", 1),
            "audit-000001.jsonl:1: row 1 ",
        ),
        ("a removed line", |text| without_line(text, 1), "audit-000001.jsonl:2: row 2 "),
        ("a cut tail", |text| without_line(text, text.lines().count() - 1), "cut off"),
        ("swapped lines", swapped, "audit-000001.jsonl:1: row 1 "),
    ];
    for (what, change, place) in checks {
        let home = home_with_rows();
        assert_eq!(home.json(&["audit", "verify"])["ok"], true);
        let path = segment(&home);
        let good = fs::read_to_string(&path).unwrap();
        fs::write(&path, change(&good)).unwrap();
        let verify = home.json(&["audit", "verify"]);
        assert_eq!(verify["error"]["reason"], "audit_broken", "{what}: {verify}");
        let message = verify["error"]["message"].as_str().unwrap();
        assert!(message.contains(place), "{what}: {message}");
        let run = home.json(&["run", "agents/keys_agent.py"]);
        assert_ne!(run["output"], super::ONE_KEY.1, "{what}: {run}");
    }
}

fn without_line(text: &str, index: usize) -> String {
    text.lines()
        .enumerate()
        .filter(|(number, _)| *number != index)
        .map(|(_, line)| format!("{line}\n"))
        .collect()
}

fn swapped(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.swap(0, 1);
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn no_row_holds_what_was_passed_or_answered() {
    const MARK: &str = "marker-4711-of-the-caller";
    let home = TestHome::new().with_variable("ONE_KEY", "value-of-one");
    let body = "try:\n    open('/etc/shadow')\nexcept OSError: pass\n\
        return kwargs.get('text', '') + ' answered ' + os.environ.get('ONE_KEY', '')";
    home.write("echo_agent.py", python_agent("Echo", body));
    done(&home.roost(&["grant", "echo_agent.py", "env:ONE_KEY"]));
    let outcome = home.json(&["run", "agents/echo_agent.py", &format!("text={MARK}")]);
    assert_eq!(outcome["output"], format!("{MARK} answered value-of-one"), "{outcome}");
    assert!(!outcome["receipt"]["refused"].as_array().unwrap().is_empty(), "{outcome}");
    let mut files = 0;
    for entry in fs::read_dir(home.root().join("audit")).unwrap().flatten() {
        let text = String::from_utf8_lossy(&fs::read(entry.path()).unwrap()).into_owned();
        for word in [MARK, "answered", "value-of-one"] {
            assert!(!text.contains(word), "{} holds {word}", entry.path().display());
        }
        files += 1;
    }
    assert!(files >= 2);
    assert!(!fs::read_to_string(home.root().join("grants.json")).unwrap().contains(MARK));
}

/// How often the log says that something was refused to the agent, row by row.
fn refused_counts(home: &TestHome) -> Vec<u64> {
    let listing = home.json(&["audit", "--app", "keys_agent.py", "--limit", "10000"]);
    let rows = listing["rows"].as_array().unwrap();
    rows.iter().filter(|row| row["what"] == "refused").map(|row| row["count"].as_u64().unwrap()).collect()
}

#[test]
fn equal_decisions_are_counted_in_one_row_and_none_is_lost_when_the_host_ends() {
    let home = keys_home();
    let host = home.up();
    for _ in 0..50 {
        assert_eq!(host.output("Keys", &serde_json::json!({})), "nothing");
    }
    assert_eq!(host.terminate(), 0);
    let counts = refused_counts(&home);
    assert_eq!(counts.iter().sum::<u64>(), 50, "{counts:?}");
    assert!(counts.len() < 50, "{counts:?}");
}

#[test]
fn every_run_of_a_command_leaves_its_rows() {
    let home = keys_home();
    (0..8).for_each(|_| assert_eq!(keys(&home), "nothing"));
    assert_eq!(refused_counts(&home), [1; 8]);
}
