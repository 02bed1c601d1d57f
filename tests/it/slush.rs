//! Data sloshing: what an agent knows before it starts, and what reaches the next one.

use roost_tests::{TestHome, python_agent, typescript_agent};
use serde_json::{Value, json};

/// The layers under the names of the specification, and the aliases of the one published implementation.
const LAYERS: &[&str] = &["temporal", "memory", "query", "behavioral", "slush"];
const ALIASES: &[&str] = &[
    "timestamp",
    "memory_echoes",
    "query_signals",
    "upstream_slush",
    "orientation",
    "priors",
    "breadcrumbs",
];

const PYTHON_SENDS: &str =
    "return json.dumps({'said': 'x', 'data_slush': {'from': self.name, 'saw': dict(self.context.slush)}})";
const TYPESCRIPT_SENDS: &str =
    "return JSON.stringify({ said: 'x', data_slush: { from: this.name, saw: this.context.slush } });";

#[test]
fn slush_of_one_agent_reaches_the_next_of_the_run() {
    let home = TestHome::new();
    let a = home.write_outside(
        "a_agent.py",
        python_agent("A", "return json.dumps({'data_slush': {'mood': kwargs['mood']}})"),
    );
    let b = home.write_outside("b_agent.py", python_agent("B", "return f\"{self.context.slush['mood']} {self.context['upstream_slush']['mood']} {kwargs['x']} {self.get_signal('slush.mood')}\""));
    let (a, b) = (a.display().to_string(), b.display().to_string());
    assert_eq!(home.roost(&["run", &a, "mood=sunny", "--then", &b, "x=1"]).text(), "sunny sunny 1 sunny");
    let failed = home.roost(&["run", &a, "--then", &b, "--json"]);
    assert_eq!(
        (failed.status, &failed.json()["agent"]),
        (1, &json!("A")),
        "the chain ends at the first failure"
    );
}

#[test]
fn slush_passes_from_python_to_typescript_and_back() {
    let home = TestHome::new();
    home.write("a_agent.py", python_agent("A", PYTHON_SENDS));
    home.write("b_agent.ts", typescript_agent("B", "", TYPESCRIPT_SENDS));
    home.write("c_agent.py", python_agent("C", PYTHON_SENDS));
    let expected = json!({ "from": "C", "saw": { "from": "B", "saw": { "from": "A", "saw": {} } } });
    let file = |name: &str| home.agents().join(name).display().to_string();
    let words = ["run", &file("a_agent.py"), "--then", &file("b_agent.ts"), "--then", &file("c_agent.py")];
    let check = |words: &[&str]| {
        let outcome = home.json(words);
        assert_eq!(outcome["slush"], expected, "{outcome}");
    };
    check(&words);
    check(&["call", "A", "--then", "B", "--then", "C"]);
    let host = home.up();
    check(&["call", "A", "--then", "B", "--then", "C"]);
    let body = json!({ "arguments": {}, "slush": { "from": "outside" } });
    let outcome = host.post("/v1/agents/B/call", &body).json();
    assert_eq!(outcome["slush"]["saw"], json!({ "from": "outside" }));
}

#[test]
fn objects_carry_slush_as_well_as_text_does() {
    let home = TestHome::new();
    home.write("a_agent.py", python_agent("A", "return {'data_slush': {'n': 1}}"));
    home.write("b_agent.ts", typescript_agent("B", "", "return { data_slush: { n: 2 } };"));
    assert_eq!(home.json(&["call", "A"])["slush"], json!({ "n": 1 }));
    assert_eq!(home.json(&["call", "B"])["slush"], json!({ "n": 2 }));
}

#[test]
fn slush_of_one_run_does_not_leak_into_the_next() {
    let home = TestHome::new();
    home.write("a_agent.py", python_agent("A", "return json.dumps(dict(self.context.slush))"));
    let host = home.up();
    let with = host.post("/v1/agents/A/call", &json!({ "arguments": {}, "slush": { "n": 1 } })).json();
    let without = host.call("A", &json!({})).json();
    assert_eq!((&with["output"], &without["output"]), (&json!("{\"n\": 1}"), &json!("{}")));
    assert_eq!(without["receipt"]["worker"]["reused"], true);
}

#[test]
fn the_context_has_every_layer_under_every_name_in_both_languages() {
    let home = TestHome::new();
    home.write("a_agent.py", python_agent("A", "return json.dumps(self.context)"));
    home.write("b_agent.ts", typescript_agent("B", "", "return JSON.stringify(this.context);"));
    for name in ["A", "B"] {
        let ran = home.roost(&["call", name, "query=What is due for order 1234 today?"]);
        let context: Value = serde_json::from_str(ran.text()).unwrap();
        for layer in LAYERS.iter().chain(ALIASES) {
            assert!(!context[layer].is_null(), "{name} lacks {layer}: {context}");
        }
        assert_eq!(context["query"], context["query_signals"]);
        assert_eq!(context["memory"], context["memory_echoes"]);
        let query = &context["query"];
        assert_eq!(
            (&query["is_question"], &query["has_id_pattern"], &query["hints"]),
            (&json!(true), &json!(true), &json!(["temporal"]))
        );
        for key in [
            "time_of_day",
            "day_of_week",
            "is_weekend",
            "quarter",
            "fiscal",
            "likely_activity",
            "is_urgent_period",
        ] {
            assert!(!context["temporal"][key].is_null(), "{key}");
        }
        for key in ["prefers_brief", "technical_level", "frequent_entities"] {
            assert!(!context["behavioral"][key].is_null(), "{key}");
        }
    }
}
