//! Memory: many writers at once lose nothing, and nobody writes outside the data folder.

use roost_tests::{TestHome, python_file};
use serde_json::{Map, Value, json};
use std::{fs, path::Path, thread};

const WRITERS: usize = 16;
const EACH: usize = 10;

fn memories(path: &Path) -> Map<String, Value> {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn sixteen_callers_of_a_running_host_lose_no_memory() {
    let home = TestHome::untouched();
    let host = home.up();
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let host = &host;
            scope.spawn(move || {
                for number in 0..EACH {
                    let content = format!("writer {writer} says {number}");
                    let output =
                        host.output("ManageMemory", &json!({ "memory_type": "fact", "content": content }));
                    assert!(output.starts_with("Stored this fact in shared memory"), "{output}");
                }
            });
        }
    });
    let stored = memories(&home.root().join(".brainstem_data/shared_memories/memory.json"));
    eprintln!("memory: {} of {} kept by a running host", stored.len(), WRITERS * EACH);
    assert_eq!(stored.len(), WRITERS * EACH);
    let recalled = host.output("ContextMemory", &json!({ "keywords": ["writer 7"], "max_messages": 100 }));
    assert_eq!(recalled.lines().filter(|line| line.contains("writer 7")).count(), EACH);
}

#[test]
fn sixteen_processes_lose_no_memory() {
    let home = TestHome::new();
    let top = "import uuid\nfrom utils.storage_factory import get_storage_manager";
    let perform = "for number in range(10):\n    s = get_storage_manager()\n    s.set_memory_context('anna')\n    m = s.read_json()\n    m[str(uuid.uuid4())] = {'message': str(number)}\n    s.write_json(m)\nreturn 'done'";
    let path = home.write("store_agent.py", python_file("Store", top, perform)).display().to_string();
    let mut running: Vec<_> = (0..WRITERS)
        .map(|_| home.command(&["run", &path]).stdout(std::process::Stdio::null()).spawn().unwrap())
        .collect();
    for process in &mut running {
        assert!(process.wait().unwrap().success());
    }
    let stored = memories(&home.root().join(".brainstem_data/memory/anna/user_memory.json"));
    eprintln!("memory: {} of {} kept by processes", stored.len(), WRITERS * EACH);
    assert_eq!(stored.len(), WRITERS * EACH);
}

#[test]
fn a_user_guid_that_is_a_path_is_refused() {
    let home = TestHome::untouched();
    let host = home.up();
    for guid in ["../../../escaped", "..", "a/b", "a\u{0}b", "/etc/x"] {
        let arguments = json!({ "memory_type": "fact", "content": "x", "user_guid": guid });
        let said = host.output("ManageMemory", &arguments);
        assert!(said.contains("The user_guid is not valid"), "{guid:?}: {said}");
        let body = json!({ "arguments": {}, "user_guid": guid });
        let answer = host.post("/v1/agents/ContextMemory/call", &body);
        assert_eq!((answer.status, &answer.json()["reason"]), (400, &json!("bad_request")), "{guid:?}");
    }
    let top = "from utils.storage_factory import get_storage_manager";
    let perform = "s = get_storage_manager()\nout = []\nfor path in ['../x', '/etc/x', 'a/../../x']:\n    try:\n        s.write_file(path, 'x'); out.append('written')\n    except Exception as error:\n        out.append('refused')\nreturn ' '.join(out)";
    home.write("escape_agent.py", python_file("Escape", top, perform));
    assert!(!host.output("Escape", &json!({})).contains("written"));
    assert!(!home.root().join("x").exists() && !home.outside().join("escaped").exists());
}

#[test]
fn users_have_memories_of_their_own_and_the_context_shows_the_right_ones() {
    let home = TestHome::untouched();
    let host = home.up();
    for (user, content) in [("anna", "Anna likes green tea"), ("bert", "Bert likes black coffee")] {
        let said = host
            .output("ManageMemory", &json!({ "memory_type": "fact", "content": content, "user_guid": user }));
        assert!(said.contains(&format!("for user {user}")), "{said}");
    }
    home.write("echo_agent.py", python_file("Echo", "", "return json.dumps(self.context['memory'])"));
    let body = json!({ "arguments": { "query": "what tea does she like" }, "user_guid": "anna" });
    let outcome = host.post("/v1/agents/Echo/call", &body).json();
    let echoes: Value = serde_json::from_str(outcome["output"].as_str().unwrap()).unwrap();
    assert_eq!(echoes[0]["message"], "Anna likes green tea", "{echoes}");
    assert!(!echoes.to_string().contains("coffee"));
}
