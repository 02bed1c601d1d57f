//! A home without any model: it still talks, runs nothing by itself, and says what to do next.

use roost_tests::TestHome;
use serde_json::json;

fn home() -> TestHome {
    // Nothing is looked for on this machine: a server of the person who runs the tests must not answer.
    let home = TestHome::untouched();
    home.settings("[models]\ndiscover = false\n");
    home
}

#[test]
fn a_sentence_gets_an_offer_with_forms_and_nothing_runs() {
    let home = home();
    let host = home.up();
    roost_tests::until("the agents are known", || {
        host.get("/health").json()["agents"].as_array().unwrap().len() == 3
    });
    let answer = host.post("/chat", &json!({ "user_input": "what is 17 * 23?" })).json();
    let offer = &answer["offer"];
    assert_eq!(offer["choices"][0]["agent"], "Calculator", "{answer}");
    assert!(offer["choices"].as_array().unwrap().len() <= 3);
    assert!(offer["choices"][0]["form"].is_array() && offer["choices"][0]["example"].is_string());
    let text = answer["response"].as_str().unwrap();
    assert_eq!(answer["assistant_response"], text);
    assert!(text.contains("/Calculator") && text.contains("roost models"), "{text}");
    assert_eq!((&answer["model"], &answer["agent_logs"]), (&json!(null), &json!("")));
    let health = host.get("/health").json();
    assert_eq!((&health["status"], &health["model"]), (&json!("unauthenticated"), &json!(null)));
}

#[test]
fn an_explicit_call_runs_at_once_in_chat_and_terminal() {
    let home = home();
    let line = "/Calculator expression=\"17 * 23\"";
    assert!(home.roost(&["chat", line]).text().contains("391"));
    let host = home.up();
    roost_tests::until("the agents are known", || {
        host.get("/health").json()["agents"].as_array().unwrap().len() == 3
    });
    let answer = host.post("/chat", &json!({ "user_input": line })).json();
    assert!(answer["response"].as_str().unwrap().contains("391"), "{answer}");
    assert_eq!(answer["agent_calls"][0]["name"], "Calculator");
    let wrong = host.post("/chat", &json!({ "user_input": "/Calculater expression=1" }));
    assert_eq!(wrong.status, 404, "{wrong:?}");
    assert!(wrong.json()["error"].as_str().unwrap().contains("Calculator"), "{wrong:?}");
}

#[test]
fn the_ways_to_a_model_are_named() {
    let home = home();
    let shown = home.roost(&["models"]);
    for way in ["roost login", "OPENAI_API_KEY", "Ollama", "roost models pull"] {
        assert!(shown.stdout.contains(way) || shown.stderr.contains(way), "{way}: {shown:?}");
    }
}
