//! The loop on real agents: rounds, parallel calls, cancelling, depth, many tools.

use super::{Stage, chat, say};
use roost_tests::{holders, python_agent, until, until_some};
use serde_json::{Value, json};
use std::io::Write as _;

#[test]
fn a_tool_runs_in_its_sandbox_and_the_model_hears_its_answer() {
    let stage = Stage::new();
    let answer = say(&stage.up(), "call Echo {\"text\": \"hi\"}");
    assert_eq!(answer["response"], "tools said: {\"text\": \"hi\"}");
    assert_eq!(answer["agent_logs"], "[Echo] {\"text\": \"hi\"}");
    assert_eq!(answer["agent_logs_text"], answer["agent_logs"]);
    let call = &answer["agent_calls"][0];
    assert_eq!((&call["name"], &call["args"]), (&json!("Echo"), &json!({ "text": "hi" })));
    assert_eq!(call["receipt"]["enforcement"]["level"], "full");
    assert_eq!(answer["usage"]["completions"], 2);
    assert_eq!((&answer["model"], &answer["requested_model"]), (&json!("scripted"), &json!("scripted")));
}

#[test]
fn an_agent_that_raises_ends_neither_the_turn_nor_the_host() {
    let stage = Stage::new();
    let host = stage.up();
    let answer = say(&host, "call Fails {}\ncall Echo {}");
    assert_eq!(answer["agent_logs"], "[Fails] ERROR: no luck\n[Echo] {}");
    assert_eq!(answer["response"], "tools said: Error: no luck / {}");
    assert_eq!(answer["agent_calls"][0]["reason"], "agent_raised");
}

#[test]
fn three_rounds_with_tools_and_one_without() {
    let stage = Stage::new();
    let answer = say(&stage.up(), "again Echo {\"n\": 1}");
    assert_eq!(answer["agent_calls"].as_array().unwrap().len(), 3);
    let requests = stage.model.requests();
    let with_tools: Vec<bool> = requests.iter().map(|request| request.get("tools").is_some()).collect();
    assert_eq!(with_tools, [true, true, true, false]);
    assert!(requests[3].get("tool_choice").is_none());
}

#[test]
fn calls_of_one_message_run_at_the_same_time() {
    let stage = Stage::new();
    let meets = "import os\nmine, other = kwargs['me'], kwargs['other']\nopen(mine, 'w').close()\nwhile not os.path.exists(other):\n    time.sleep(0.01)\nreturn 'met'";
    stage.home.write("meet_agent.py", python_agent("Meet", meets));
    let host = stage.up();
    let folder = stage.home.own_folder("meet_agent");
    let path = |name: &str| folder.join(name).display().to_string();
    let call =
        |me: &str, other: &str| format!("call Meet {}", json!({ "me": path(me), "other": path(other) }));
    let answer = say(&host, &format!("{}\n{}", call("a", "b"), call("b", "a")));
    assert_eq!(answer["agent_logs"], "[Meet] met\n[Meet] met");
}

#[test]
fn a_client_that_leaves_ends_the_turn_the_model_and_the_agents() {
    let stage = Stage::new();
    stage
        .home
        .write("wait_agent.py", python_agent("Wait", "mark = open(kwargs['mark'], 'w')\ntime.sleep(600)"));
    let host = stage.up();
    let start = |body: Value| {
        let body = body.to_string();
        let mut stream = host.start("POST", "/chat", &[], body.len()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        stream
    };
    let mark = stage.home.own_folder("wait_agent").join("mark");
    let waiting = start(json!({ "user_input": format!("call Wait {}", json!({ "mark": mark })) }));
    until_some("the agent runs", || Some(holders(&mark)).filter(|pids| !pids.is_empty()));
    drop(waiting);
    until("the agent is ended", || holders(&mark).is_empty());
    let waiting = start(json!({ "user_input": "silence" }));
    until("the model is asked", || stage.model.waiting() == 1);
    drop(waiting);
    until("the model's request is ended", || stage.model.waiting() == 0);
}

#[test]
fn an_agent_may_call_the_hosts_own_chat_and_not_without_end() {
    let stage = Stage::new();
    let asks = "import urllib.request\nurl = f\"http://localhost:{kwargs['port']}/chat\"\nbody = json.dumps({'user_input': kwargs['say']}).encode()\ntry:\n    with urllib.request.urlopen(urllib.request.Request(url, data=body)) as answer:\n        return json.loads(answer.read())['response']\nexcept urllib.error.HTTPError as error:\n    return json.loads(error.read())['reason']";
    let source = format!(
        "# /// script\n# [tool.roost]\n# rights = [\"network:localhost:*\"]\n# ///\n{}",
        python_agent("Ask", asks)
    );
    stage.home.write("ask_agent.py", source.replace("network:localhost:*", "network:*"));
    let host = stage.up();
    let grant = format!("network:localhost:{}", host.port());
    let source = source.replace("network:localhost:*", &grant);
    stage.home.write("ask_agent.py", source);
    assert_eq!(stage.home.roost(&["grant", "ask_agent.py", &grant]).status, 0);
    let once = json!({ "port": host.port(), "say": "call Echo {\"deep\": 1}" });
    let answer = say(&host, &format!("call Ask {once}"));
    assert_eq!(answer["response"], "tools said: tools said: {\"deep\": 1}");
    let endless = |inner: &str| format!("call Ask {}", json!({ "port": host.port(), "say": inner }));
    let six = (0..6).fold("say bottom".to_owned(), |inner, _| endless(&inner));
    let answer = say(&host, &six);
    assert!(answer["response"].as_str().unwrap().ends_with("too_deep"), "{answer}");
    let four = (0..4).fold("say bottom".to_owned(), |inner, _| endless(&inner));
    assert!(say(&host, &four)["response"].as_str().unwrap().ends_with("bottom"));
}

#[test]
fn what_a_model_writes_as_identity_does_not_count() {
    let stage = Stage::new();
    stage.home.write("who_agent.py", python_agent("Who", "return kwargs.get('user_guid', 'nobody')"));
    let host = stage.up();
    let body = json!({ "user_input": "call Who {\"user_guid\": \"bert\"}", "user_guid": "anna" });
    assert_eq!(chat(&host, &body)["response"], "tools said: anna");
    let default = chat(&host, &json!({ "user_input": "call Who {\"user_guid\": \"bert\"}" }));
    assert_eq!(default["response"], "tools said: c0p110t0-aaaa-bbbb-cccc-123456789abc");
}

#[test]
fn many_agents_are_shortlisted_and_the_answer_says_so() {
    let stage = Stage::with(|home| home);
    for index in 0..140 {
        let name = format!("Filler{index}");
        let source = python_agent(&name, "return ''").replace("A test agent", "Counts the beans in jar");
        stage.home.write(&format!("filler{index}_agent.py"), source);
    }
    stage.home.settings("[chat]\npinned = [\"Filler77\"]\n");
    let host = stage.up();
    let answer = say(&host, "call Echo {\"n\": 1}");
    assert_eq!(answer["response"], "tools said: {\"n\": 1}");
    let request = &stage.model.requests()[0];
    let tools = request["tools"].as_array().unwrap();
    assert!(tools.len() <= 128 && request["tools"].to_string().len() <= 32 << 10, "{} tools", tools.len());
    let named = |name: &str| tools.iter().any(|tool| tool["function"]["name"] == name);
    assert!(named("Filler77") && named("Echo"));
    assert_eq!(answer["tools_left_out"].as_u64().unwrap() as usize, 142 - tools.len());
    let system = request["messages"][0]["content"].as_str().unwrap();
    assert!(system.contains("You have exactly 142 agent(s)."), "{system}");
}
