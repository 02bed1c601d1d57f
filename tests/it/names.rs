//! Names: the first file in order keeps one, and a person can switch an agent off.

use roost_tests::{TestHome, python_agent, typescript_agent};
use serde_json::{Value, json};
use std::fs;

fn in_file(agents: &[Value], file: &str) -> Value {
    agents.iter().find(|agent| agent["file"] == file).cloned().unwrap()
}

#[test]
fn the_first_file_in_order_keeps_a_name_and_the_other_is_shadowed() {
    let home = TestHome::new();
    let first = home.write("a_agent.py", python_agent("Same", "return 'a'"));
    home.write("b_agent.py", python_agent("Same", "return 'b'"));
    home.write("c_agent.ts", typescript_agent("Same", "", "return 'c';"));
    let host = home.up();
    assert_eq!(host.output("Same", &json!({})), "a");
    let agents = host.listing();
    assert_eq!(in_file(&agents, "a_agent.py")["state"], "ready");
    for file in ["b_agent.py", "c_agent.ts"] {
        let shadowed = in_file(&agents, file);
        assert_eq!(
            (&shadowed["state"], &shadowed["reason"]["reason"]),
            (&json!("shadowed"), &json!("shadowed"))
        );
        assert!(shadowed["reason"]["message"].as_str().unwrap().contains("a_agent.py"), "{shadowed}");
    }
    let why = home.roost(&["why", "b_agent.py", "--json"]);
    assert_eq!((why.status, &why.json()["reason"]), (1, &json!("shadowed")));

    fs::remove_file(first).unwrap();
    assert_eq!(host.output("Same", &json!({})), "b");
    assert_eq!(in_file(&host.listing(), "b_agent.py")["state"], "ready");

    home.write("a_agent.py", python_agent("Same", "return 'a again'"));
    assert_eq!(in_file(&host.listing(), "b_agent.py")["state"], "shadowed");
    assert_eq!(host.output("Same", &json!({})), "a again");
}

#[test]
fn the_holder_of_a_name_keeps_it_while_its_last_good_version_serves() {
    let home = TestHome::new();
    home.write("a_agent.py", python_agent("Same", "return 'a'"));
    home.write("b_agent.py", python_agent("Same", "return 'b'"));
    let host = home.up();
    assert_eq!(host.output("Same", &json!({})), "a");
    home.write("a_agent.py", "broken (\n");
    assert_eq!(in_file(&host.listing(), "b_agent.py")["state"], "shadowed");
    assert_eq!(host.output("Same", &json!({})), "a");
}

#[test]
fn two_classes_of_one_file_with_one_name_give_one_agent() {
    let home = TestHome::new();
    let other = python_agent("Same", "return 'second'").replace("SameAgent", "ZAgent");
    home.write("a_agent.py", format!("{}\n{other}", python_agent("Same", "return 'first'")));
    assert_eq!(home.roost(&["call", "Same"]).text(), "first");
    let listing = home.listing();
    let states: Vec<(&Value, &Value)> =
        listing.iter().map(|agent| (&agent["state"], &agent["reason"]["reason"])).collect();
    assert_eq!(states, [(&json!("ready"), &Value::Null), (&json!("failed"), &json!("shadowed"))]);
}

#[test]
fn an_agent_is_switched_off_by_its_name_or_by_its_file() {
    let home = TestHome::new();
    home.write("a_agent.py", python_agent("First", "return ''"));
    home.write("b_agent.py", python_agent("Second", "return ''"));
    home.write("c_agent.py", python_agent("Third", "return 'works'"));
    home.settings("[agents.First]\nenabled = false\n[agents.\"b_agent.py\"]\nenabled = false\n");
    let agents = home.listing();
    for file in ["a_agent.py", "b_agent.py"] {
        let disabled = in_file(&agents, file);
        assert_eq!(
            (&disabled["state"], &disabled["reason"]["reason"]),
            (&json!("disabled"), &json!("disabled"))
        );
    }
    let ran = home.roost(&["call", "First", "--json"]);
    assert_eq!((ran.status, &ran.json()["error"]["reason"]), (1, &json!("disabled")));
    assert_eq!(home.roost(&["call", "Third"]).text(), "works");
    assert_eq!(home.up().call("Second", &json!({})).status, 409);
}

#[test]
fn a_disabled_agent_leaves_its_name_to_the_next_file() {
    let home = TestHome::new();
    home.write("a_agent.py", python_agent("Same", "return 'a'"));
    home.write("b_agent.py", python_agent("Same", "return 'b'"));
    home.settings("[agents.\"a_agent.py\"]\nenabled = false\n");
    assert_eq!(home.roost(&["call", "Same"]).text(), "b");
}
