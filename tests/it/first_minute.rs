//! The first minute with Roost: what the README promises, and the JSON that programs rely on.

use roost_tests::{TestHome, python_agent, repository_root};
use serde_json::{Value, json};

/// The document with everything that differs from run to run and machine to machine replaced by its kind.
fn stable(mut document: Value, home: &TestHome) -> Value {
    replace(&mut document, &home.root().display().to_string());
    document
}

fn replace(value: &mut Value, home: &str) {
    match value {
        Value::Object(object) => {
            for (key, inner) in object {
                match key.as_str() {
                    "pid" | "duration_us" | "cpu_us" | "peak_memory_kb" | "landlock_abi"
                        if inner.is_u64() =>
                    {
                        *inner = json!("[number]")
                    }
                    "call" if inner.as_str().is_some_and(is_call_id) => *inner = json!("[call]"),
                    "run" if inner.as_str().is_some_and(|text| text.starts_with("run_")) => {
                        *inner = json!("[run]")
                    }
                    "digest" if inner.as_str().is_some_and(|text| text.len() == 64) => {
                        *inner = json!("[digest]")
                    }
                    "enforced" | "missing" | "observed" if inner.is_array() => *inner = json!("[names]"),
                    "runtime" => *inner = json!("[runtime]"),
                    _ => replace(inner, home),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, home)),
        Value::String(text) => *text = text.replace(home, "[home]"),
        _ => {}
    }
}

/// Looks like `c0198a1b2c3d-4e5f-0`.
fn is_call_id(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    text.starts_with('c') && parts.len() == 3 && text[1..].chars().all(|c| c == '-' || c.is_ascii_hexdigit())
}

#[test]
fn the_example_runs_without_any_setup() {
    let home = TestHome::untouched();
    let example = repository_root().join("examples/python/weather_agent.py");
    let ran = home.roost(&["run", &example.display().to_string(), "city=Paris"]);
    let answer: Value = serde_json::from_str(ran.text()).unwrap();
    assert_eq!((&answer["status"], &answer["city"]), (&json!("success"), &json!("Paris")));
}

#[test]
fn the_commands_of_the_readme_work_beside_a_running_host() {
    let home = TestHome::untouched();
    let _host = home.up();
    let example = repository_root().join("examples/python/weather_agent.py").display().to_string();
    for words in [
        &["run", &example, "city=Paris"][..],
        &["new", "agent", "Hello"],
        &["agents"],
        &["call", "Hello", "query=is anybody there?"],
        &["call", "Calculator", "expression=2*(3+4)"],
        &["why", "Hello"],
    ] {
        let ran = home.roost(words);
        assert!(ran.status == 0 && !ran.stdout.is_empty(), "{words:?}: {ran:?}");
    }
    assert!(home.roost(&["call", "Calculator", "expression=2*(3+4)"]).text().contains("14"));
}

#[test]
fn every_example_and_every_shipped_agent_passes_its_checks() {
    let home = TestHome::untouched();
    let agents = home.listing();
    let names: Vec<&str> = agents.iter().filter_map(|agent| agent["name"].as_str()).collect();
    assert_eq!(names, ["Calculator", "ContextMemory", "ManageMemory"]);
    for file in ["calculator_agent.py", "context_memory_agent.py", "manage_memory_agent.py"] {
        let path = home.agents().join(file).display().to_string();
        let ran = home.roost(&["test", &path, "--json"]);
        assert_eq!(ran.status, 0, "{file}: {}", ran.stdout);
        assert_eq!(ran.json()["tests"].as_array().unwrap().len(), 10);
    }
    for file in ["python/weather_agent.py", "typescript/DiceAgent.ts", "typescript/greeting_agent.js"] {
        let path = repository_root().join("examples").join(file).display().to_string();
        for verb in ["test", "validate"] {
            let ran = home.roost(&[verb, &path]);
            assert_eq!(ran.status, 0, "{verb} {file}: {ran:?}");
        }
    }
}

#[test]
fn a_new_agent_works_as_it_is_in_both_languages() {
    for (language, name, file) in
        [("python", "WeatherPoet", "weather_poet_agent.py"), ("typescript", "Dice", "DiceAgent.ts")]
    {
        let home = TestHome::new();
        let ran = home.roost(&["new", "agent", name, "--language", language]);
        let path = home.agents().join(file).display().to_string();
        assert_eq!(ran.text(), path);
        let answer: Value = serde_json::from_str(home.roost(&["run", &path, "query=hi"]).text()).unwrap();
        assert_eq!(answer["data_slush"], json!({ "query": "hi" }));
        let listed = home.roost(&["agents"]);
        assert!(listed.text().starts_with(name) && listed.text().contains("ready"), "{listed:?}");
        let answer: Value = serde_json::from_str(home.roost(&["call", name, "query=ho"]).text()).unwrap();
        assert_eq!(answer["status"], "success");
        assert_eq!(home.roost(&["validate", &path]).status, 0);
    }
}

#[test]
fn values_are_typed_by_the_schema_and_help_comes_from_it() {
    let home = TestHome::new();
    let source = python_agent("Typed", "return repr(sorted(kwargs.items()))").replace(
        "\"properties\": {}",
        "\"properties\": {\"count\": {\"type\": \"integer\", \"description\": \"How many\"}, \"loud\": {\"type\": \"boolean\"}, \
         \"unit\": {\"type\": \"string\", \"enum\": [\"km\", \"mi\"]}, \"tags\": {\"type\": \"array\"}}, \"required\": [\"count\"]",
    );
    let path = home.write("typed_agent.py", source).display().to_string();
    let ran = home.roost(&["run", &path, "count=3", "loud=yes", "tags=a,b", "other=7"]);
    assert_eq!(ran.text(), "[('count', 3), ('loud', True), ('other', '7'), ('tags', ['a', 'b'])]");
    let given = home.roost(&["call", "Typed", "--args", r#"{"count": 1}"#, "unit=mi"]);
    assert_eq!(given.text(), "[('count', 1), ('unit', 'mi')]");
    for words in [["run", &path, "--help"], ["call", "Typed", "--help"]] {
        let help = home.roost(&words);
        assert!(
            help.text().contains("How many (integer, required)") && help.text().contains("km|mi"),
            "{help:?}"
        );
    }
    for wrong in ["count=three", "loud=perhaps", "unit=yd", "loose"] {
        let ran = home.roost(&["call", "Typed", "count=1", wrong, "--json"]);
        assert_eq!((ran.status, &ran.json()["error"]["reason"]), (2, &json!("bad_arguments")), "{wrong}");
    }
}

#[test]
fn an_agent_in_a_listing_has_this_shape() {
    let home = TestHome::new();
    home.write("echo_agent.py", python_agent("Echo", "return 'here'"));
    home.write("wrong_agent.py", "x = (\n");
    insta::assert_json_snapshot!(stable(home.json(&["agents"]), &home), @r#"
    {
      "agents": [
        {
          "name": "Echo",
          "file": "echo_agent.py",
          "language": "python",
          "state": "ready",
          "description": "Does Echo.",
          "parameters": {
            "type": "object",
            "properties": {}
          },
          "serving": "current",
          "digest": "[digest]"
        },
        {
          "name": "wrong_agent",
          "file": "wrong_agent.py",
          "language": "python",
          "state": "failed",
          "reason": {
            "reason": "syntax_error",
            "message": "unexpected EOF while parsing",
            "line": 1,
            "next": "fix the line that is named"
          },
          "description": "",
          "parameters": {
            "type": "object",
            "properties": {}
          },
          "digest": "[digest]"
        }
      ]
    }
    "#);
}

#[test]
#[expect(clippy::too_many_lines, reason = "the shape has many")]
fn an_outcome_has_this_shape() {
    let home = TestHome::new();
    home.write("echo_agent.py", python_agent("Echo", "return json.dumps({'data_slush': kwargs})"));
    let ran = stable(home.json(&["run", "agents/echo_agent.py", "a=1"]), &home);
    let mut called = stable(home.json(&["call", "Echo", "a=1"]), &home);
    insta::assert_json_snapshot!(called, @r#"
    {
      "agent": "Echo",
      "output": "{\"data_slush\": {\"a\": \"1\"}}",
      "slush": {
        "a": "1"
      },
      "receipt": {
        "call": "[call]",
        "run": "[run]",
        "enforcement": {
          "level": "full",
          "landlock_abi": "[number]",
          "seccomp": true,
          "namespaces": [
            "user",
            "pid",
            "ipc",
            "mount",
            "network"
          ],
          "network": "none",
          "enforced": "[names]",
          "missing": "[names]",
          "observed": "[names]"
        },
        "rights": [],
        "limits": {
          "wall_seconds": 120,
          "load_seconds": 20,
          "cpu_seconds": 60,
          "memory_mb": 1024,
          "processes": 128,
          "open_files": 256,
          "output_mb": 8,
          "result_mb": 16,
          "disk_mb": 512
        },
        "environment": [
          "AGENTS_PATH",
          "BRAINSTEM_HOME",
          "HOME",
          "LANG",
          "PATH",
          "RAPP_HOME",
          "ROOST_HOME",
          "SOUL_PATH",
          "TMPDIR",
          "XDG_CACHE_HOME"
        ],
        "digest": "[digest]",
        "serving": "current",
        "worker": {
          "pid": "[number]",
          "reused": false,
          "runtime": "[runtime]"
        },
        "duration_us": "[number]",
        "cpu_us": "[number]",
        "peak_memory_kb": "[number]",
        "traffic": [],
        "refused": [],
        "stray_processes": 0
      }
    }
    "#);
    // The process that described the file for `run` also answers.
    called["receipt"]["worker"]["reused"] = json!(true);
    assert_eq!(ran, called);
}

#[test]
fn a_failed_outcome_has_this_shape() {
    let home = TestHome::new();
    home.write("bad_agent.py", python_agent("Bad", "raise ValueError('no')"));
    let ran = home.roost(&["call", "Bad", "--json"]);
    assert_eq!(ran.status, 1);
    let mut outcome = stable(ran.json(), &home);
    outcome["receipt"] = Value::Null;
    insta::assert_json_snapshot!(outcome, @r#"
    {
      "agent": "Bad",
      "output": "",
      "error": {
        "reason": "agent_raised",
        "message": "no",
        "line": 15,
        "next": "see the agent's log"
      },
      "receipt": null
    }
    "#);
    let ran = home.roost(&["call", "Bad"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (1, ""));
    assert_eq!(ran.stderr, "error[agent_raised]: no (line 15)\n  next: see the agent's log\n");
}

#[test]
fn a_validation_has_this_shape() {
    let home = TestHome::new();
    home.write("good_agent.py", python_agent("Good", "return ''"));
    home.write("bad_agent.py", "x = (\n");
    home.write("BadAgent.ts", "const x = (;\n");
    let of = |file: &str| {
        let ran = home.roost(&["validate", &home.agents().join(file).display().to_string(), "--json"]);
        json!({ "status": ran.status, "document": stable(ran.json(), &home) })
    };
    insta::assert_json_snapshot!([of("good_agent.py"), of("bad_agent.py"), of("BadAgent.ts")], @r#"
    [
      {
        "status": 0,
        "document": {
          "ok": true,
          "kind": "agent",
          "errors": []
        }
      },
      {
        "status": 1,
        "document": {
          "ok": false,
          "kind": "agent",
          "errors": [
            {
              "code": "syntax_error",
              "message": "unexpected EOF while parsing",
              "path": "[home]/agents/bad_agent.py:1"
            }
          ]
        }
      },
      {
        "status": 1,
        "document": {
          "ok": false,
          "kind": "agent",
          "errors": [
            {
              "code": "syntax_error",
              "message": "Unexpected token",
              "path": "[home]/agents/BadAgent.ts:1"
            }
          ]
        }
      }
    ]
    "#);
}

#[test]
fn a_test_result_has_this_shape() {
    let home = TestHome::new();
    let path = home.write("good_agent.py", python_agent("Good", "return ''")).display().to_string();
    let ran = home.roost(&["test", &path, "--json"]);
    assert_eq!(ran.status, 1);
    insta::assert_json_snapshot!(ran.json(), @r#"
    {
      "ok": false,
      "tests": [
        {
          "test": "has_manifest",
          "passed": false,
          "message": "no __manifest__ dict in file"
        },
        {
          "test": "manifest_fields",
          "passed": false,
          "message": "missing fields: schema, name, version, display_name, description, author, tags, category"
        },
        {
          "test": "name_format",
          "passed": false,
          "message": "name \"\" must be in the form @publisher/slug"
        },
        {
          "test": "has_basic_agent",
          "passed": true,
          "message": "class GoodAgent"
        },
        {
          "test": "instantiation",
          "passed": true,
          "message": "constructed without arguments"
        },
        {
          "test": "runtime_name_is_tool_safe",
          "passed": true,
          "message": "the name is Good"
        },
        {
          "test": "perform_returns_str",
          "passed": true,
          "message": "0 characters"
        },
        {
          "test": "standalone_execution",
          "passed": true,
          "message": "exits with status 0"
        },
        {
          "test": "has_docstring",
          "passed": false,
          "message": "module docstring missing or empty"
        },
        {
          "test": "no_hardcoded_secrets",
          "passed": true,
          "message": "no hardcoded secret patterns detected"
        }
      ]
    }
    "#);
}

#[test]
fn an_explanation_has_this_shape() {
    let home = TestHome::new();
    home.write("good_agent.py", python_agent("Good", "return ''"));
    home.write("bad_agent.py", "import sys\nprint('about to fail')\nsys.exit('gone')\n");
    let of = |subject: &str| {
        let ran = home.roost(&["why", subject, "--json"]);
        json!({ "status": ran.status, "document": stable(ran.json(), &home) })
    };
    let mut broken = of("bad_agent.py");
    let evidence = broken["document"]["evidence"].take();
    assert!(evidence.as_array().unwrap().iter().any(|line| line == "about to fail"), "{evidence}");
    insta::assert_json_snapshot!([of("Good"), broken, of("port_in_use")], @r#"
    [
      {
        "status": 0,
        "document": {
          "subject": "Good",
          "works": true,
          "cause": "It is loaded and can be called.",
          "place": "[home]/agents/good_agent.py",
          "next": "roost call Good"
        }
      },
      {
        "status": 1,
        "document": {
          "subject": "bad_agent",
          "works": false,
          "reason": "exit_at_import",
          "cause": "the file called exit with status gone while it was loaded",
          "place": "[home]/agents/bad_agent.py:3",
          "evidence": null,
          "next": "move the call below `if __name__ == \"__main__\":`"
        }
      },
      {
        "status": 1,
        "document": {
          "subject": "port_in_use",
          "works": false,
          "reason": "port_in_use",
          "cause": "The port is already in use.",
          "next": "choose another with --port, or `--port 0` for a free one"
        }
      }
    ]
    "#);
}

#[test]
fn the_doctor_says_what_is_there_and_what_is_missing() {
    let home = TestHome::new();
    let ran = home.roost(&["doctor", "--json"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    let document = ran.json();
    assert_eq!(document["ok"], true);
    let findings = document["findings"].as_array().unwrap();
    for wanted in
        ["home", "kernel", "sandbox", "python", "uv", "environments", "typescript", "self-test", "records"]
    {
        let finding = findings.iter().find(|finding| finding["name"] == wanted).unwrap();
        assert!(finding["detail"].is_string());
        assert!(["ok", "limited", "missing"].contains(&finding["state"].as_str().unwrap()));
    }
    for finding in findings.iter().filter(|finding| finding["state"] != "ok") {
        assert!(finding["cost"].is_string() && finding["next"].is_string(), "{finding}");
    }
    let bare = home.with_variable("ROOST_PYTHON", "/nowhere/python3");
    let ran = bare.roost(&["doctor", "--json"]);
    assert_eq!((ran.status, &ran.json()["ok"]), (1, &json!(false)));
}

#[test]
fn every_verb_fails_in_the_same_shape() {
    let home = TestHome::new();
    std::fs::write(home.root().join("notes.txt"), "").unwrap();
    home.write("echo_agent.py", python_agent("Echo", "return ''"));
    for (words, status, reason) in [
        (&["nonsense"][..], 2, "wrong_use"),
        (&["run"], 2, "wrong_use"),
        (&["call"], 2, "wrong_use"),
        (&["agents", "--nonsense"], 2, "wrong_use"),
        (&["up", "--port", "x"], 2, "wrong_use"),
        (&["new", "agent"], 2, "wrong_use"),
        (&["test"], 2, "wrong_use"),
        (&["validate"], 2, "wrong_use"),
        (&["why"], 2, "wrong_use"),
        (&["doctor", "--nonsense"], 2, "wrong_use"),
        (&["run", "nowhere_agent.py"], 1, "unreadable"),
        (&["run", "agents/echo_agent.py", "--agent", "Nobody"], 1, "unknown_agent"),
        (&["run", "agents/echo_agent.py", "--then"], 2, "wrong_use"),
        (&["run", "agents/echo_agent.py", "loose"], 2, "bad_arguments"),
        (&["run", "roost.txt"], 1, "unreadable"),
        (&["run", "notes.txt"], 1, "invalid_file_name"),
        (&["call", "Nobody"], 1, "unknown_agent"),
        (&["call", "Echo", "--args", "[]"], 2, "wrong_use"),
        (&["call", "Echo", "--user", "../x"], 2, "wrong_use"),
        (&["call", "Echo", "--nonsense"], 2, "wrong_use"),
        (&["new", "agent", "two words"], 1, "invalid_name"),
        (&["new", "agent", "Echo"], 1, "already_exists"),
        (&["test", "nowhere_agent.py"], 1, "unreadable"),
        (&["why", "Nobody"], 1, "unknown_agent"),
    ] {
        let words: Vec<&str> = ["--json"].iter().chain(words).copied().collect();
        let ran = home.roost(&words);
        let error = ran.json()["error"].clone();
        assert_eq!((ran.status, error["reason"].as_str()), (status, Some(reason)), "{words:?}: {error}");
        for key in ["message", "next"] {
            assert!(error[key].as_str().is_some_and(|text| !text.is_empty()), "{words:?}: {error}");
        }
    }
}

#[test]
fn help_is_no_error_and_needs_no_home() {
    let home = TestHome::untouched();
    for words in
        [&["--help"][..], &["run", "--help"], &["call", "--help"], &["agents", "--help"], &["--version"]]
    {
        let ran = home.roost(words);
        assert!(ran.status == 0 && !ran.stdout.is_empty() && ran.stderr.is_empty(), "{words:?}: {ran:?}");
    }
    assert!(!home.agents().exists());
}
