//! Grants: how long each holds, who notices, and that none is lost.

use super::{ONE_KEY, done, keys, keys_agent, keys_home, reason};
use roost_tests::{TestHome, in_shell, python_agent, python_file};
use serde_json::json;
use std::process::Child;

/// The same agent with another text and the same asks.
fn edited() -> String {
    format!("{}\n# edited\n", keys_agent())
}

/// Another agent that also wants something else.
fn wants_more() -> String {
    python_agent("Keys", "os.environ.get('OTHER_KEY')\nreturn os.environ.get('ONE_KEY', 'nothing')")
}

#[track_caller]
fn grant(home: &TestHome, how: &str) {
    let words: Vec<&str> =
        ["grant", "keys_agent.py", "env:ONE_KEY"].into_iter().chain(how.split_whitespace()).collect();
    done(&home.roost(&words));
}

#[test]
fn a_grant_for_one_call_holds_for_one_call() {
    let home = keys_home();
    assert_eq!(keys(&home), "nothing");
    grant(&home, "--once");
    assert_eq!(keys(&home), ONE_KEY.1);
    assert_eq!(keys(&home), "nothing");
}

#[test]
fn a_grant_for_one_call_is_used_up_in_a_running_host() {
    let home = keys_home();
    let host = home.up();
    grant(&home, "--once");
    let answers: Vec<String> = (0..3).map(|_| host.output("Keys", &json!({}))).collect();
    assert_eq!(answers, [ONE_KEY.1, "nothing", "nothing"]);
}

#[test]
fn a_grant_for_this_version_ends_with_the_next() {
    let home = keys_home();
    grant(&home, "--this-version");
    assert_eq!(keys(&home), ONE_KEY.1);
    home.replace("keys_agent.py", edited());
    assert_eq!(keys(&home), "nothing");
    // It was given to that content, which is there again.
    home.replace("keys_agent.py", keys_agent());
    assert_eq!(keys(&home), ONE_KEY.1);
}

#[test]
fn a_grant_for_always_survives_a_change_that_asks_for_the_same() {
    for how in ["", "--always"] {
        let home = keys_home();
        grant(&home, how);
        home.replace("keys_agent.py", edited());
        assert_eq!(keys(&home), ONE_KEY.1);
        home.replace("keys_agent.py", wants_more());
        assert_eq!(keys(&home), "nothing", "a file that asks for more has to be granted again");
    }
}

#[test]
fn no_grant_survives_a_change_where_the_policy_says_so() {
    let home = keys_home();
    home.settings("[policy.local]\nkeep_always_grants = false\n");
    grant(&home, "--always");
    assert_eq!(keys(&home), ONE_KEY.1);
    home.replace("keys_agent.py", edited());
    assert_eq!(keys(&home), "nothing");
}

#[test]
fn a_running_host_notices_grants_and_revocations_of_others_at_once() {
    let home = keys_home();
    let host = home.up();
    assert_eq!(host.output("Keys", &json!({})), "nothing");
    for _ in 0..3 {
        grant(&home, "");
        assert_eq!(host.output("Keys", &json!({})), ONE_KEY.1);
        done(&home.roost(&["revoke", "keys_agent.py", "env:ONE_KEY"]));
        assert_eq!(host.output("Keys", &json!({})), "nothing");
    }
    grant(&home, "");
    home.replace("keys_agent.py", wants_more());
    assert_eq!(
        host.output("Keys", &json!({})),
        "nothing",
        "the host serves the new content without the old grant"
    );
}

#[test]
fn eight_processes_that_grant_at_once_lose_nothing() {
    const PROCESSES: usize = 8;
    let home = TestHome::new();
    let reads: Vec<String> = (0..PROCESSES).map(|number| format!("os.environ.get('KEY_{number}')")).collect();
    home.write("many_agent.py", python_agent("Many", &format!("{}\nreturn ''", reads.join("\n"))));
    let start = |number: usize| -> Child {
        let mut command = home.command(&["grant", "many_agent.py", &format!("env:KEY_{number}")]);
        command.stdout(std::process::Stdio::null()).spawn().unwrap()
    };
    let started: Vec<Child> = (0..PROCESSES).map(start).collect();
    for mut process in started {
        assert!(process.wait().unwrap().success());
    }
    let rights = home.json(&["rights", "many_agent.py"]);
    let given = rights["rights"].as_array().unwrap().iter().filter(|one| one["state"] == "granted_always");
    assert_eq!(given.count(), PROCESSES, "{rights}");
    done(&home.roost(&["audit", "verify"]));
}

#[test]
fn a_wider_revocation_takes_the_narrower_grants_along_and_a_narrower_one_says_what_remains() {
    let home = TestHome::new();
    let top = "# /// script\n# [tool.roost]\n# rights = [\"files:write:~/a\"]\n# ///\n";
    home.write("places_agent.py", format!("{top}{}", python_agent("Places", "return ''")));
    done(&home.roost(&["grant", "places_agent.py", "files:read:~/a/b"]));
    let revoked = home.json(&["revoke", "places_agent.py", "files:write:~/a"]);
    assert_eq!(revoked["revoked"][0]["right"], "files:read:~/a/b", "{revoked}");
    done(&home.roost(&["grant", "places_agent.py", "files:write:~/a"]));
    let kept = home.json(&["revoke", "places_agent.py", "files:read:~/a/b"]);
    assert_eq!(kept["still_given_by"][0]["right"], "files:write:~/a", "{kept}");
}

#[test]
fn a_grant_that_is_not_used_is_suggested_with_a_command_that_works() {
    let home = TestHome::new().with_variable(ONE_KEY.0, ONE_KEY.1).with_variable("OTHER_KEY", "other");
    let body = "if kwargs.get('both'):\n    os.environ.get('OTHER_KEY')\nreturn os.environ.get('ONE_KEY', 'nothing')";
    home.write("keys_agent.py", python_agent("Keys", body));
    done(&home.roost(&["grant", "keys_agent.py", "--asked"]));
    for _ in 0..2 {
        assert_eq!(keys(&home), ONE_KEY.1);
    }
    assert_eq!(home.json(&["suggest", "--runs", "3"])["unused"], json!([]));
    assert_eq!(keys(&home), ONE_KEY.1);
    let suggested = home.json(&["suggest", "--runs", "3"]);
    let unused: Vec<_> =
        suggested["unused"].as_array().unwrap().iter().map(|grant| &grant["right"]).collect();
    assert_eq!(unused, ["env:OTHER_KEY"], "{suggested}");
    let commands = suggested["commands"].as_array().unwrap();
    assert_eq!(commands.len(), 1, "{suggested}");
    let command = commands[0].as_str().unwrap();
    assert!(home.roost(&["suggest", "--runs", "3"]).text().lines().any(|line| line == command));
    done(&in_shell(&home, command));
    assert_eq!(home.json(&["suggest", "--runs", "3"])["unused"], json!([]));
    assert_eq!(keys(&home), ONE_KEY.1, "what is used stays");
    let rights = home.json(&["rights", "keys_agent.py"]);
    let other =
        rights["rights"].as_array().unwrap().iter().find(|one| one["right"] == "env:OTHER_KEY").unwrap();
    assert_eq!(other["state"], "not_granted", "{rights}");
}

#[test]
fn a_declared_table_is_all_that_counts() {
    let home = TestHome::new().with_variable(ONE_KEY.0, ONE_KEY.1).with_variable("OTHER_KEY", "other");
    let top = "# /// script\n# [tool.roost]\n# rights = [\"env:ONE_KEY\"]\n# ///\n";
    let body = "import subprocess\ntry:\n    subprocess.run(['true'])\nexcept OSError: pass\n\
        return str(os.environ.get('ONE_KEY')) + ' ' + str(os.environ.get('OTHER_KEY'))";
    home.write("exact_agent.py", format!("{top}{}", python_file("Exact", "", body)));
    let rights = home.json(&["rights", "exact_agent.py"]);
    assert_eq!(rights["declared"], true);
    assert_eq!(rights["rights"].as_array().unwrap().len(), 1, "{rights}");
    for right in ["env:OTHER_KEY", "subprocess"] {
        assert_eq!(reason(&home, &["grant", "exact_agent.py", right]), "right_not_asked");
    }
    done(&home.roost(&["grant", "exact_agent.py", "--asked"]));
    let outcome = home.json(&["run", "agents/exact_agent.py"]);
    assert_eq!(outcome["output"], format!("{} None", ONE_KEY.1), "{outcome}");
    let refused = outcome["receipt"]["refused"].as_array().unwrap();
    let program = refused
        .iter()
        .find(|refusal| refusal["right"] == "subprocess")
        .unwrap_or_else(|| panic!("{outcome}"));
    assert_eq!(program["next"], "declare `subprocess` in its [tool.roost] table");
    // Having tried changes nothing for a file that says what it wants.
    assert_eq!(reason(&home, &["grant", "exact_agent.py", "subprocess"]), "right_not_asked");
}

#[test]
fn a_file_that_asks_for_everything_is_shown_in_plain_sentences() {
    let home = TestHome::new();
    let list = home.json(&["rights", "--list"]);
    let all: Vec<&str> =
        list["rights"].as_array().unwrap().iter().map(|one| one["example"].as_str().unwrap()).collect();
    assert!(all.len() >= 20, "{all:?}");
    let top = format!("# /// script\n# [tool.roost]\n# rights = {all:?}\n# ///\n");
    home.write("greedy_agent.py", format!("{top}{}", python_agent("Greedy", "return ''")));
    let rights = home.json(&["rights", "greedy_agent.py"]);
    let shown = rights["rights"].as_array().unwrap();
    assert_eq!(shown.len(), all.len(), "{rights}");
    let ran = home.roost(&["rights", "greedy_agent.py"]);
    for right in shown {
        let sentence = right["sentence"].as_str().unwrap();
        assert!(sentence.split(' ').count() >= 3 && !sentence.contains("::"), "{sentence}");
        assert!(ran.text().contains(sentence), "{sentence} is not shown");
    }
    assert!(ran.stdout.contains("connect to any computer"), "{ran:?}");
    assert_eq!(home.roost(&["run", "agents/greedy_agent.py"]).text(), "", "asking is not having");
    let receipt = home.json(&["run", "agents/greedy_agent.py"])["receipt"].take();
    assert!(!receipt["rights"].as_array().unwrap().iter().any(|right| right == "network:*"), "{receipt}");
    assert_eq!(receipt["enforcement"]["network"], "none");
}
