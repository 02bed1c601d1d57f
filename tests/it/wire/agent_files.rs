//! Agent files that are listed, exported, imported, removed and invoked.

use super::{assert_failed, files_of};
use roost_protocol::Digest;
use roost_tests::{RunningHost, TestHome, python_agent, typescript_agent};
use serde_json::{Value, json};
use std::fs;

fn greeting(text: &str) -> String {
    python_agent("Greet", &format!("return '{text}'"))
}

fn host_with(home: &TestHome, files: &[(&str, String)]) -> RunningHost {
    for (name, source) in files {
        home.write(name, source);
    }
    let host = home.up();
    assert!(!host.listing().is_empty() || files.is_empty());
    host
}

fn import(host: &RunningHost, name: &str, source: &str) -> roost_tests::Answer {
    host.form("/agents/import", &[("file", Some(name), source.as_bytes())])
}

fn delete(host: &RunningHost, path: &str) -> roost_tests::Answer {
    host.send("DELETE", path, &[], b"")
}

#[test]
fn files_are_listed_shown_in_full_and_exported() {
    let home = TestHome::new();
    let script = typescript_agent("Script", "", "return 'here';");
    let host = host_with(
        &home,
        &[
            ("greet_agent.py", greeting("hi")),
            ("ScriptAgent.ts", script.clone()),
            ("bad_agent.py", "x = (\n".to_owned()),
        ],
    );
    let listed = json!([
        { "filename": "ScriptAgent.ts", "agents": ["Script"] },
        { "filename": "bad_agent.py", "agents": [] },
        { "filename": "greet_agent.py", "agents": ["Greet"] },
    ]);
    assert_eq!(host.get("/agents").json(), json!({ "files": listed }));
    let full = host.get("/agents/full").json();
    assert_eq!(
        full["files"][2],
        json!({ "filename": "greet_agent.py", "agents": ["Greet"], "source": greeting("hi") })
    );
    assert_eq!(full["files"][1]["source"], "x = (\n");
    for (file, content_type, source) in
        [("greet_agent.py", "text/x-python", greeting("hi")), ("ScriptAgent.ts", "text/typescript", script)]
    {
        let answer = host.get(&format!("/agents/export/{file}"));
        assert_eq!((answer.status, answer.body.as_str()), (200, source.as_str()));
        assert_eq!(answer.header("content-type"), Some(content_type));
        let disposition = format!("attachment; filename=\"{file}\"");
        assert_eq!(answer.header("content-disposition"), Some(disposition.as_str()));
    }
    assert_failed(&host.get("/agents/export/nobody_agent.py"), 404, "unknown_agent");
}

#[test]
fn a_removed_file_is_gone_at_once_and_can_be_taken_back() {
    let home = TestHome::new();
    let host = host_with(&home, &[("greet_agent.py", greeting("hi"))]);
    assert_eq!(host.output("Greet", &json!({})), "hi");
    let answer = delete(&host, "/agents/greet_agent.py").json();
    assert_eq!(answer["status"], "ok", "{answer}");
    assert_eq!(host.failure("Greet", &json!({})), "unknown_agent");
    assert_eq!(host.get("/agents").json(), json!({ "files": [] }));
    let message = answer["message"].as_str().unwrap();
    let kept = message.split(' ').find(|word| word.starts_with("trash/agents/")).unwrap();
    fs::copy(home.root().join(kept), home.agents().join("greet_agent.py")).unwrap();
    assert_eq!(host.output("Greet", &json!({})), "hi");
    assert_eq!(delete(&host, "/agents/greet_agent.py").status, 200);
    assert_failed(&delete(&host, "/agents/greet_agent.py"), 404, "unknown_agent");
    assert_failed(&delete(&host, "/agents/basic_agent.py"), 400, "bad_request");
}

#[test]
fn an_imported_file_answers_at_once() {
    let home = TestHome::new();
    let host = host_with(&home, &[]);
    let mut answer = import(&host, "../../Greet it.py", &greeting("hi")).json();
    assert_eq!(answer["sha256"], Digest::of(greeting("hi").as_bytes()).to_string());
    answer["sha256"] = "…".into();
    insta::assert_json_snapshot!(answer, @r#"
    {
      "status": "ok",
      "message": "imported Greet_it_agent.py with Greet",
      "filename": "Greet_it_agent.py",
      "agents": [
        "Greet"
      ],
      "sha256": "…",
      "replaced": null
    }
    "#);
    assert_eq!(host.output("Greet", &json!({})), "hi");
    assert_eq!(fs::read_to_string(home.agents().join("Greet_it_agent.py")).unwrap(), greeting("hi"));
    let answer = import(&host, "ScriptAgent.ts", &typescript_agent("Script", "", "return 'here';"));
    assert_eq!(answer.json()["filename"], "ScriptAgent.ts");
    assert_eq!(host.output("Script", &json!({})), "here");
}

#[test]
fn an_import_over_a_file_keeps_what_it_replaces() {
    let home = TestHome::new();
    let host = host_with(&home, &[("greet_agent.py", greeting("old"))]);
    assert_eq!(host.output("Greet", &json!({})), "old");
    let answer = import(&host, "greet_agent.py", &greeting("new")).json();
    assert_eq!(host.output("Greet", &json!({})), "new");
    let kept = home.root().join(answer["replaced"].as_str().unwrap());
    assert_eq!(fs::read_to_string(kept).unwrap(), greeting("old"));
    assert_eq!(import(&host, "greet_agent.py", &greeting("new")).json()["replaced"], Value::Null);
}

#[test]
fn a_file_that_is_not_let_in_changes_nothing() {
    let home = TestHome::new();
    let host = host_with(
        &home,
        &[("greet_agent.py", greeting("old")), ("other_agent.py", python_agent("Other", "return ''"))],
    );
    assert_eq!(host.output("Greet", &json!({})), "old");
    let before = files_of(&home);
    let path = "/agents/import";
    let good = greeting("new");
    let exits = "import sys\nsys.exit(0)\n";
    let digest = Digest::of(b"something else").to_string();
    for (answer, status, reason) in [
        (import(&host, "greet_agent.py", "x = (\n"), 422, "syntax_error"),
        (import(&host, "greet_agent.py", "x = 1\n"), 422, "no_agent"),
        (import(&host, "greet_agent.py", "raise ValueError('no')\n"), 422, "import_failed"),
        (import(&host, "greet_agent.py", exits), 422, "exit_at_import"),
        (import(&host, "greet_agent.py", ""), 422, "no_agent"),
        (import(&host, "greet_agent.py", &"#".repeat((1 << 20) + 1)), 422, "file_too_large"),
        (import(&host, "a_agent.py", &python_agent("Other", "return 'mine'")), 409, "shadowed"),
        (import(&host, "basic_agent.py", &good), 400, "invalid_file_name"),
        (import(&host, "basic.py", &good), 400, "invalid_file_name"),
        (import(&host, "greet.txt", &good), 400, "invalid_file_name"),
        (import(&host, "types.ts", &good), 400, "invalid_file_name"),
        (import(&host, ".py", &good), 400, "invalid_file_name"),
        (import(&host, "", &good), 400, "bad_request"),
        (host.form(path, &[("file", None, good.as_bytes())]), 400, "bad_request"),
        (host.form(path, &[("other", Some("greet_agent.py"), good.as_bytes())]), 400, "bad_request"),
        (host.form(path, &[]), 400, "bad_request"),
        (
            host.form(
                path,
                &[("file", Some("greet_agent.py"), good.as_bytes()), ("sha256", None, digest.as_bytes())],
            ),
            400,
            "digest_mismatch",
        ),
        (
            host.form(
                path,
                &[("file", Some("greet_agent.py"), good.as_bytes()), ("sha256", None, b"not one")],
            ),
            400,
            "digest_mismatch",
        ),
        (import(&host, "greet_agent.py", &"#".repeat(3 << 20)), 413, "body_too_large"),
        (host.post(path, &json!({})), 400, "bad_request"),
        (host.send("POST", path, &[("Content-Type", roost_tests::FORM_TYPE)], b"--half"), 400, "bad_request"),
    ] {
        assert_failed(&answer, status, reason);
        assert!(files_of(&home) == before, "{answer:?} left something behind");
    }
    assert_eq!(
        (host.output("Greet", &json!({})), host.output("Other", &json!({}))),
        ("old".to_owned(), String::new())
    );
    let digest = Digest::of(good.as_bytes()).to_string().to_uppercase();
    let parts = [("file", Some("greet_agent.py"), good.as_bytes()), ("sha256", None, digest.as_bytes())];
    assert_eq!(host.form(path, &parts).status, 200);
    assert_eq!(host.output("Greet", &json!({})), "new");
}

#[test]
fn of_two_files_with_one_name_imported_at_once_one_is_let_in() {
    let home = TestHome::new();
    let host = host_with(&home, &[]);
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let imports: Vec<_> = (0..4)
            .map(|number| {
                let host = &host;
                scope.spawn(move || {
                    import(host, &format!("n{number}_agent.py"), &greeting(&number.to_string())).status
                })
            })
            .collect();
        imports.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == 409).count(), 3, "{statuses:?}");
    assert_eq!(fs::read_dir(home.agents()).unwrap().count(), 1);
}

#[test]
fn the_first_agent_of_a_file_can_be_invoked() {
    let home = TestHome::new();
    let needs = python_agent("Needs", "return city").replace("self, **kwargs", "self, city");
    let host = host_with(
        &home,
        &[
            ("echo_agent.py", python_agent("Echo", "return json.dumps(kwargs)")),
            ("raise_agent.py", python_agent("Raise", "raise ValueError('no luck')")),
            ("needs_agent.py", needs),
            ("bad_agent.py", "x = (\n".to_owned()),
        ],
    );
    let invoke = |file: &str, body: &Value| host.post(&format!("/agents/invoke/{file}"), body);
    let answer = invoke("echo_agent.py", &json!({ "a": 1 })).json();
    let mut keys: Vec<&String> = answer.as_object().unwrap().keys().collect();
    keys.sort();
    assert_eq!(keys, ["agent", "filename", "receipt", "result"]);
    assert_eq!(
        (&answer["agent"], &answer["filename"], &answer["result"]),
        (&json!("Echo"), &json!("echo_agent.py"), &json!(r#"{"a": 1}"#))
    );
    assert!(answer["receipt"]["call"].is_string());
    assert_eq!(host.send("POST", "/agents/invoke/echo_agent.py", &[], b"").json()["result"], "{}");
    let raised = invoke("raise_agent.py", &json!({}));
    assert_failed(&raised, 500, "agent_raised");
    assert!(raised.json()["error"].as_str().unwrap().contains("no luck"));
    assert_failed(&invoke("needs_agent.py", &json!({ "town": "x" })), 400, "bad_arguments");
    assert_eq!(invoke("needs_agent.py", &json!({ "city": "x" })).json()["result"], "x");
    assert_failed(&invoke("bad_agent.py", &json!({})), 422, "syntax_error");
    assert_failed(&invoke("nobody_agent.py", &json!({})), 404, "unknown_agent");
    assert_failed(&invoke("echo_agent.py", &json!([])), 400, "bad_request");
}

#[test]
fn paths_that_lead_elsewhere_lead_nowhere() {
    let home = TestHome::new();
    let host = host_with(&home, &[("greet_agent.py", greeting("hi"))]);
    fs::write(home.root().join("secret_agent.py"), greeting("secret")).unwrap();
    let before = files_of(&home);
    for name in [
        "..%2fsecret_agent.py",
        "..%2Fsecret_agent.py",
        "%2e%2e%2fsecret_agent.py",
        "..%5csecret_agent.py",
        "%252e%252e%252fsecret_agent.py",
        "greet_agent.py%00",
        "greet_agent.py%00.txt",
        "%ff",
        "%",
        "%zz",
        ".",
        "..",
        "%2e",
        "greet_agent.py%2f",
        "soul.md",
        "..%2fsoul.md",
        "%2fetc%2fpasswd",
        "GREET_AGENT.PY",
    ] {
        for (method, path) in [
            ("DELETE", format!("/agents/{name}")),
            ("GET", format!("/agents/export/{name}")),
            ("POST", format!("/agents/invoke/{name}")),
        ] {
            let answer = host.send(method, &path, &[], b"");
            assert!(matches!(answer.status, 400 | 404 | 405), "{method} {path}: {answer:?}");
            assert!(
                answer.json()["reason"].is_string() && !answer.body.contains("secret'"),
                "{method} {path}: {answer:?}"
            );
        }
    }
    assert!(files_of(&home) == before);
    assert!(home.root().join("secret_agent.py").exists());
}
