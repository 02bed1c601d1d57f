//! A real model on this machine, in a process of its own. Runs where `ROOST_TEST_MODEL` names a model file and the
//! program is built; the step `local model` of the checks sees to both.

use roost_tests::{RunningHost, TestHome, descendants, until};
use serde_json::{Value, json};
use std::path::PathBuf;

#[expect(clippy::disallowed_methods, reason = "says where the model is that was fetched for this story")]
fn model_file() -> Option<PathBuf> {
    let file = std::env::var_os("ROOST_TEST_MODEL").map(PathBuf::from);
    if file.is_none() {
        eprintln!("skipped: ROOST_TEST_MODEL does not name a model file");
    }
    file
}

fn home_with(model: &std::path::Path) -> TestHome {
    let home = TestHome::new();
    home.settings("[models]\ndiscover = false\nwait_seconds = 300\n");
    let added = home.json(&["models", "add", &model.display().to_string(), "--name", "tiny"]);
    assert_eq!(added["name"], "tiny");
    home
}

/// The processes of the local model.
fn model_processes(host: &RunningHost) -> Vec<u32> {
    let name = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    descendants(host.pid()).into_iter().filter(|pid| name(*pid).starts_with("roost-local-mo")).collect()
}

#[test]
fn it_answers_streams_and_comes_back_after_a_crash() {
    let Some(model) = model_file() else { return };
    let home = home_with(&model);
    let host = home.up();
    assert!(model_processes(&host).is_empty(), "nothing is loaded before it is asked");
    let health = host.get("/health").json();
    assert_eq!((&health["status"], &health["model"]), (&json!("ok"), &json!("tiny")));
    let ask = |text: &str| {
        let answer = host.post("/chat", &json!({ "user_input": text }));
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    };
    let first = ask("Say hello.");
    assert!(!first["response"].as_str().unwrap().is_empty(), "{first}");
    assert_eq!(first["model"], "tiny");
    assert!(first["usage"]["completion_tokens"].as_u64().unwrap() > 0);
    let streamed = host.post("/chat/stream", &json!({ "user_input": "Count to three." }));
    let events: Vec<Value> = streamed
        .body
        .lines()
        .filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok())
        .collect();
    assert!(events.iter().filter(|event| event["type"] == "delta").count() > 1, "{events:?}");
    let processes = model_processes(&host);
    assert_eq!(processes.len(), 1);
    let pid = rustix::process::Pid::from_raw(i32::try_from(processes[0]).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    until("it is gone", || model_processes(&host).is_empty());
    assert_eq!(ask("Are you there?")["model"], "tiny", "it is started again");
}

#[test]
fn a_file_that_is_no_model_is_an_error_and_the_host_goes_on() {
    if model_file().is_none() {
        return;
    }
    let home = TestHome::new();
    home.settings("[models]\ndiscover = false\n");
    let file = home.write_outside("broken.gguf", b"GGUF and nothing that follows from it");
    assert_eq!(home.roost(&["models", "add", &file.display().to_string()]).status, 0);
    let host = home.up();
    let answer = host.post("/chat", &json!({ "user_input": "hello" }));
    assert_eq!(
        (answer.status, answer.json()["reason"].clone()),
        (502, json!("local_model_failed")),
        "{answer:?}"
    );
    assert_eq!(host.get("/health").status, 200);
}
