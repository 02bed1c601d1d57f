//! What the model is told about itself, and what agents may ask of it.

use super::{Stage, chat, say};
use roost_tests::python_agent;
use serde_json::json;
use std::fs;

#[test]
fn the_soul_is_in_every_prompt_and_a_change_counts_at_once() {
    let stage = Stage::new();
    let host = stage.up();
    fs::write(stage.home.root().join("soul.md"), "  I am a test.\n").unwrap();
    let shown = say(&host, "show system")["response"].as_str().unwrap().to_owned();
    assert!(shown.starts_with("I am a test."), "{shown}");
    assert!(shown.contains("You have exactly 2 agent(s)."), "{shown}");
    assert!(shown.contains("- Echo: "), "{shown}");
    assert!(shown.ends_with("Not loaded: none"), "{shown}");
    fs::write(stage.home.root().join("soul.md"), "I am another.").unwrap();
    stage.home.write("broken_agent.py", "x = (\n");
    roost_tests::until("the file is known", || {
        let shown = say(&host, "show system")["response"].as_str().unwrap().to_owned();
        shown.starts_with("I am another.") && shown.contains("Not loaded: broken_agent.py")
    });
}

#[test]
fn the_soul_can_lie_elsewhere() {
    let stage = Stage::with(|home| {
        let path = home.write_outside("other.md", "I am elsewhere.");
        home.with_variable("SOUL_PATH", path.display().to_string())
    });
    assert!(say(&stage.up(), "show system")["response"].as_str().unwrap().starts_with("I am elsewhere."));
}

#[test]
fn agents_add_to_the_prompt_and_one_that_fails_is_left_out() {
    let stage = Stage::new();
    let with = |name: &str, body: &str| {
        let source = python_agent(name, "return ''");
        format!("{source}\n    def system_context(self):\n        {body}\n")
    };
    stage
        .home
        .write("adds_agent.py", with("Adds", "return 'ADDED for ' + str(self.context.get('user_guid'))"));
    stage.home.write("breaks_agent.py", with("Breaks", "raise ValueError('x')"));
    let host = stage.up();
    let body = json!({ "user_input": "show system", "user_guid": "anna" });
    let shown = chat(&host, &body)["response"].as_str().unwrap().to_owned();
    assert!(shown.contains("ADDED for anna"), "{shown}");
}

#[test]
fn voice_and_twin_are_asked_for_only_when_they_are_on() {
    let stage = Stage::new();
    let host = stage.up();
    let asked_for = |host: &roost_tests::RunningHost| {
        let answer = say(host, "say x");
        let request = stage.model.requests().pop().unwrap();
        let system = request["messages"][0]["content"].as_str().unwrap().to_owned();
        let modes = (answer["voice_mode"] == true, answer["twin_mode"] == true);
        assert_eq!((system.contains("|||VOICE|||"), system.contains("|||TWIN|||")), modes);
        modes
    };
    assert_eq!(asked_for(&host), (false, false));
    assert_eq!(host.post("/voice/toggle", &json!({ "enabled": true })).status, 200);
    assert_eq!(asked_for(&host), (true, false));
    assert_eq!(host.post("/twin/toggle", &json!({})).status, 200);
    assert_eq!(asked_for(&host), (true, true));
}

#[test]
fn an_agent_asks_the_hosts_model_and_it_is_counted() {
    let stage = Stage::new();
    let asks = "from utils.llm import call_llm\nreturn 'it said: ' + call_llm([{'role': 'user', 'content': 'say inner'}])";
    let pair = "import sys\ncompletion, model = sys.modules['brainstem'].call_copilot([{'role': 'user', 'content': 'say pair'}])\nreturn completion['choices'][0]['message']['content'] + ' by ' + model";
    stage.home.write("asks_agent.py", python_agent("Asks", asks));
    stage.home.write("pair_agent.py", python_agent("Pair", pair));
    let host = stage.up();
    let answer = say(&host, "call Asks {}\ncall Pair {}");
    assert_eq!(answer["response"], "tools said: it said: inner / pair by scripted");
    assert_eq!(answer["agent_calls"][0]["receipt"]["model"]["completions"], 1);
    assert_eq!(answer["usage"]["completions"], 4, "two of the turn, one of each agent");
}

#[test]
fn another_host_is_an_agent_also_an_old_one() {
    let stage = Stage::new();
    let (one, other) = (Stage::new(), stage.up());
    let address = format!("http://127.0.0.1:{}", other.port());
    assert_eq!(one.home.roost(&["new", "peer", "Neighbour", &address]).status, 0);
    let target = format!("network:127.0.0.1:{}", other.port());
    assert_eq!(one.home.roost(&["grant", "neighbour_agent.py", &target]).status, 0);
    let host = one.up();
    let answer = say(&host, "call Neighbour {\"message\": \"call Echo {\\\"n\\\": 1}\"}");
    assert_eq!(answer["response"], "tools said: tools said: {\"n\": 1}");
    let old = roost_tests::WebServer::new();
    assert_eq!(
        one.home.roost(&["new", "peer", "Old", &format!("http://127.0.0.1:{}", old.port())]).status,
        0
    );
    assert_eq!(
        one.home.roost(&["grant", "old_agent.py", &format!("network:127.0.0.1:{}", old.port())]).status,
        0
    );
    roost_tests::until("the new agent is known", || {
        let answer = say(&host, "call Old {\"message\": \"hello\"}");
        answer["agent_logs"].as_str().unwrap().contains("something that is not JSON")
    });
}
