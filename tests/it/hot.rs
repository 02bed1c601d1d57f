//! Hot: what is saved is what runs, what is broken does not replace what works.

use roost_tests::{RunningHost, TestHome, is_alive, python_agent, typescript_agent, until};
use serde_json::{Value, json};
use std::{
    fs,
    time::{Duration, Instant},
};

/// Saves are noticed in a few milliseconds; a busy machine gets far more.
const LIVE_WITHIN: Duration = Duration::from_secs(1);

fn entry(agents: &[Value], name: &str) -> Value {
    agents.iter().find(|agent| agent["name"] == name).cloned().unwrap_or(Value::Null)
}

fn saying(word: &str) -> String {
    python_agent("Say", &format!("return '{word}'"))
}

fn edits_of_equal_length_run(save: impl Fn(&TestHome, &str, &str)) {
    let home = TestHome::new();
    save(&home, "say_agent.py", &saying("start"));
    let host = home.up();
    assert_eq!(host.output("Say", &json!({})), "start");
    let mut right = 0;
    for edit in 0..20 {
        let word = format!("ed{edit:03}");
        save(&home, "say_agent.py", &saying(&word));
        right += u32::from(host.output("Say", &json!({})) == word);
    }
    assert_eq!(right, 20);
}

#[test]
fn an_edit_of_equal_length_within_one_second_runs_when_the_file_is_written_in_place() {
    edits_of_equal_length_run(|home, file, text| drop(home.write(file, text)));
}

#[test]
fn an_edit_of_equal_length_within_one_second_runs_when_the_file_is_renamed_over() {
    edits_of_equal_length_run(|home, file, text| home.replace(file, text));
}

#[test]
fn an_edit_of_a_typescript_file_runs() {
    let home = TestHome::new();
    for word in ["one", "two", "six"] {
        home.write("SayAgent.ts", typescript_agent("Say", "", &format!("return '{word}';")));
        assert_eq!(home.roost(&["call", "Say"]).text(), word);
    }
    let host = home.up();
    for word in ["ten", "red", "sky"] {
        home.write("SayAgent.ts", typescript_agent("Say", "", &format!("return '{word}';")));
        assert_eq!(host.output("Say", &json!({})), word);
    }
}

#[test]
fn a_new_file_is_known_and_callable_a_moment_after_it_is_saved() {
    let home = TestHome::alone();
    home.write("first_agent.py", python_agent("First", "return ''"));
    let host = home.up();
    host.until_known("First");
    let mut known: Vec<Duration> = Vec::new();
    let mut called: Vec<Duration> = Vec::new();
    for number in 0..11 {
        let name = format!("New{number}");
        home.write(&format!("new_{number}_agent.py"), python_agent(&name, "return 'here'"));
        let saved = Instant::now();
        host.until_known(&name);
        known.push(saved.elapsed());
        let name = format!("Other{number}");
        home.write(&format!("other_{number}_agent.py"), python_agent(&name, "return 'here'"));
        let saved = Instant::now();
        assert_eq!(host.output(&name, &json!({})), "here");
        called.push(saved.elapsed());
    }
    known.sort_unstable();
    called.sort_unstable();
    eprintln!(
        "hot: a new file is listed after {:?} and its first call answered after {:?} (medians)",
        known[5], called[5]
    );
    assert!(known[10] < LIVE_WITHIN, "{known:?}");
    assert!(called[10] < LIVE_WITHIN, "{called:?}");
}

fn assert_last_good_serves(host: &RunningHost) {
    let listed = entry(&host.listing(), "Say");
    assert_eq!((&listed["state"], &listed["serving"]), (&json!("failed"), &json!("last_good")), "{listed}");
    assert_eq!((&listed["reason"]["reason"], &listed["reason"]["line"]), (&json!("syntax_error"), &json!(3)));
    let outcome = host.call("Say", &json!({})).json();
    assert_eq!((&outcome["output"], &outcome["receipt"]["serving"]), (&json!("good"), &json!("last_good")));
}

#[test]
fn a_broken_edit_is_listed_with_its_line_while_the_last_good_version_answers() {
    let home = TestHome::new();
    home.write("say_agent.py", saying("good"));
    let host = home.up();
    assert_eq!(host.output("Say", &json!({})), "good");
    home.write("say_agent.py", "import os\n\nclass (:\n");
    assert_last_good_serves(&host);
    assert_eq!(host.terminate(), 0);

    let host = home.up();
    host.until_known("Say");
    assert_last_good_serves(&host);
    let why = home.roost(&["why", "Say", "--json"]);
    assert_eq!((why.status, &why.json()["reason"]), (1, &json!("syntax_error")));

    home.write("say_agent.py", saying("fixed"));
    assert_eq!(host.output("Say", &json!({})), "fixed");
    let listed = entry(&host.listing(), "Say");
    assert_eq!((&listed["state"], &listed["serving"]), (&json!("ready"), &json!("current")), "{listed}");
}

#[test]
fn an_edit_that_raises_at_import_or_names_nothing_keeps_the_last_good_version() {
    let home = TestHome::new();
    home.write("say_agent.py", saying("good"));
    let host = home.up();
    assert_eq!(host.output("Say", &json!({})), "good");
    for (broken, reason) in [
        ("\nraise RuntimeError('no')\n", "import_failed"),
        ("VALUE = 1\n", "no_agent"),
        ("import sys\nsys.exit()\n", "exit_at_import"),
        ("class Say:\n    name = 'Say'\n    metadata = 1\n    def perform(self): pass\n", "invalid_metadata"),
    ] {
        home.write("say_agent.py", broken);
        let listed = entry(&host.listing(), "Say");
        assert_eq!(
            (&listed["reason"]["reason"], &listed["serving"]),
            (&json!(reason), &json!("last_good")),
            "{listed}"
        );
        assert_eq!(host.output("Say", &json!({})), "good");
    }
}

#[test]
fn a_deleted_file_is_gone() {
    let home = TestHome::new();
    let path = home.write("say_agent.py", saying("here"));
    home.write("other_agent.py", python_agent("Other", "return 'still here'"));
    let host = home.up();
    let outcome = host.call("Say", &json!({})).json();
    assert_eq!(outcome["output"], "here");
    let worker = u32::try_from(outcome["receipt"]["worker"]["pid"].as_u64().unwrap()).unwrap();
    fs::remove_file(path).unwrap();
    assert_eq!(host.failure("Say", &json!({})), "unknown_agent");
    assert_eq!(entry(&host.listing(), "Say"), Value::Null);
    until("the host forgets the agent by itself", || !host.get("/health").body.contains("\"Say\""));
    until("its worker ends", || !is_alive(worker));
    assert_eq!(host.output("Other", &json!({})), "still here");
}

#[test]
fn a_file_that_hangs_while_it_loads_does_not_delay_edits_of_others() {
    let home = TestHome::new();
    home.settings("[limits]\nload_seconds = 5\n");
    home.write("say_agent.py", saying("start"));
    let host = home.up();
    assert_eq!(host.output("Say", &json!({})), "start");
    for number in 0..3 {
        home.write(&format!("hang_{number}_agent.py"), "import time\ntime.sleep(600)\n");
    }
    let started = Instant::now();
    for edit in 0..5 {
        let word = format!("ed{edit:03}");
        home.write("say_agent.py", saying(&word));
        assert_eq!(host.output("Say", &json!({})), word);
    }
    home.write("late_agent.py", python_agent("Late", "return ''"));
    host.until_known("Late");
    assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
}
