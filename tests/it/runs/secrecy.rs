//! What is never written down: values of the vault, in whatever form an agent lets them out.

use super::{Stage, ask, put, say};
use roost_tests::python_agent;
use serde_json::{Value, json};
use std::{fs, path::Path};

/// Looks like nothing else, so that it can be searched for.
const VALUE: &str = "heron/feather+48151623==";

/// Files below this folder that hold one of the texts.
fn files_with(folder: &Path, texts: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(files_with(&path, texts));
            continue;
        }
        let Ok(bytes) = fs::read(&path) else { continue };
        for text in texts {
            if bytes.windows(text.len()).any(|window| window == text.as_bytes()) {
                found.push(format!("{} holds {text}", path.display()));
            }
        }
    }
    found
}

#[test]
fn a_secret_that_an_agent_lets_out_stands_in_no_file_of_the_home() {
    let stage = Stage::new();
    let leaks = "import base64, sys, urllib.parse\n\
        value = os.environ['DEMO_KEY']\n\
        forms = [value, base64.b64encode(value.encode()).decode(), urllib.parse.quote(value, safe=''), value.encode().hex()]\n\
        for form in forms:\n    print('printed', form)\n    sys.stderr.write(form[:7]); sys.stderr.flush(); sys.stderr.write(form[7:] + '\\n')\n\
        if kwargs.get('raises'):\n    raise ValueError('cannot use ' + value)\n\
        return json.dumps(forms)";
    stage.home.write("leaks_agent.py", python_agent("Leaks", leaks));
    let ran = stage.home.roost_with_input(&["secrets", "set", "DEMO_KEY"], VALUE.as_bytes());
    assert_eq!(ran.status, 0, "{ran:?}");
    assert_eq!(stage.home.roost(&["grant", "leaks_agent.py", "env:DEMO_KEY"]).status, 0);
    let host = stage.home.up();
    let output = host.output("Leaks", &json!({}));
    assert!(output.contains(VALUE), "whoever asked gets what the agent said");
    let turn = say(&host, "call Leaks {}");
    let raised = host.call("Leaks", &json!({ "raises": true })).json();
    assert!(raised["error"].is_object());
    put(&stage.home, &host, "notes.md", &format!("the key is {VALUE}."));
    let file = ask(&stage.home, &host, "GET", "/v1/host/workspace/files/notes.md", &Value::Null).json();
    assert_eq!(file["content"], "the key is [REDACTED:DEMO_KEY].");
    let events = format!("/v1/runs/{}/events/poll", turn["run_id"].as_str().unwrap());
    let events = ask(&stage.home, &host, "GET", &events, &Value::Null);
    assert!(!events.body.contains(VALUE));
    assert!(events.body.contains("[REDACTED:DEMO_KEY]"));
    assert_eq!(host.terminate(), 0);
    let base64 = "aGVyb24vZmVhdGhlcis0ODE1MTYyMz09".to_owned();
    let hexadecimal: String = VALUE.bytes().map(|byte| format!("{byte:02x}")).collect();
    let forms = [VALUE.to_owned(), base64, "heron%2Ffeather%2B48151623%3D%3D".to_owned(), hexadecimal];
    assert_eq!(files_with(&stage.home.root(), &forms), Vec::<String>::new());
    let log = fs::read_to_string(stage.home.root().join("logs/leaks_agent.py.log")).unwrap();
    assert!(log.contains("printed [REDACTED:DEMO_KEY]"), "{log}");
}
