//! What one agent sees of another, and of the host: nothing. Workers of all agents come from one warm process.

use roost_tests::{Engine, TestHome, User, python_file, typescript_agent};
use serde_json::{Value, json};
use std::collections::HashSet;

/// In the environment of the host, granted to nobody.
const OF_HOST: (&str, &str) = ("HOST_ONLY_KEY", "value-of-the-host-7e1c");
/// Granted to the first agent.
const OF_FIRST: (&str, &str) = ("FIRST_KEY", "value-of-the-first-93ab");

/// Where values could be found that were never given. What to look for comes in two parts that are never put together:
/// the whole would be in memory then.
const LOOK: &str = "import random
def found_in_memory(parts):
    begin, end = (part.encode() for part in parts)
    places = []
    with open('/proc/self/maps') as maps, open('/proc/self/mem', 'rb', 0) as memory:
        for line in maps:
            span, access = line.split()[:2]
            if 'r' not in access or '[v' in line:
                continue
            first, last = (int(part, 16) for part in span.split('-'))
            try:
                memory.seek(first)
                held = memory.read(last - first)
            except (OSError, ValueError, OverflowError):
                continue
            at = held.find(begin)
            while at >= 0:
                if held[at + len(begin):at + len(begin) + len(end)] == end:
                    places.append(line)
                at = held.find(begin, at + 1)
    return places
def descriptors():
    found = {}
    for name in os.listdir('/proc/self/fd'):
        try:
            found[name] = os.readlink('/proc/self/fd/' + name)
        except OSError:
            continue
    return found
def environ():
    with open('/proc/self/environ', 'rb') as file:
        return file.read().decode('utf-8', 'replace')
";

const REPORT: &str = "return json.dumps({
    'random': [random.random(), os.urandom(4).hex(), id(object())],
    'modules': [name for name in sys.modules if name.startswith(('agents.', 'marker')) or 'agent' in name],
    'marker': getattr(json, 'left_by', None),
    'variables': dict(os.environ),
    'environ': environ(),
    'descriptors': descriptors(),
    'memory': found_in_memory(kwargs['parts']),
})";

fn agent(name: &str, more: &str) -> String {
    python_file(name, &format!("{LOOK}{more}"), REPORT)
}

/// A home with two agents that look around; the first one reads a variable and leaves a mark in a shared module.
fn home(user: User) -> Option<TestHome> {
    let home = user.home(Engine::Python)?;
    let home = home.with_variable(OF_HOST.0, OF_HOST.1).with_variable(OF_FIRST.0, OF_FIRST.1);
    let top = format!(
        "import sqlite3, decimal\njson.left_by = 'first'\nrandom.seed(1)\nos.environ.get('{}')\n",
        OF_FIRST.0
    );
    home.write("first_agent.py", agent("First", &top));
    home.write("second_agent.py", agent("Second", ""));
    user.own(&home);
    let granted = user.roost(&home, &["grant", "first_agent.py", &format!("env:{}", OF_FIRST.0)]);
    assert_eq!(granted.status, 0, "{granted:?}");
    Some(home)
}

/// The text in two parts.
fn parts(text: &str) -> [&str; 2] {
    text.split_at(text.len() / 2).into()
}

#[test]
fn one_agent_sees_nothing_of_another_or_of_the_host() {
    for user in User::ALL {
        let Some(home) = home(user) else { continue };
        let host = user.up(&home);
        let look = |name: &str, value: &str| -> Value {
            serde_json::from_str(&host.output(name, &json!({ "parts": parts(value) }))).unwrap()
        };
        let first = look("First", OF_FIRST.1);
        assert_eq!(first["variables"][OF_FIRST.0], OF_FIRST.1, "what was granted is there: {first}");
        assert_eq!(first["marker"], "first");
        assert!(!first["memory"].as_array().unwrap().is_empty(), "the search finds what is there");

        for (name, value) in [("Second", OF_FIRST.1), ("Second", OF_HOST.1), ("First", OF_HOST.1)] {
            let seen = look(name, value);
            assert_eq!(seen["memory"], json!([]), "{name} as {user:?} has {value} in memory");
            assert!(!seen["environ"].as_str().unwrap().contains(value), "{name}: {seen}");
            assert!(!seen["variables"].to_string().contains(value), "{name}: {seen}");
            assert!(seen["variables"][OF_HOST.0].is_null(), "{name}: {seen}");
        }
        let second = look("Second", OF_HOST.1);
        assert!(second["variables"][OF_FIRST.0].is_null(), "{second}");
        assert!(second["marker"].is_null(), "a module of the first agent is the second's: {second}");
        let modules = second["modules"].to_string();
        assert!(!modules.contains("first") && !modules.contains("sqlite3"), "{modules}");
        assert_allowed(&first["descriptors"]);
        assert_allowed(&second["descriptors"]);
        assert_eq!(
            first["descriptors"].as_object().unwrap().len(),
            second["descriptors"].as_object().unwrap().len()
        );
    }
}

/// Standard streams, the way to the host, and the listing itself: no file, no memory, no other process.
#[track_caller]
fn assert_allowed(descriptors: &Value) {
    let found = descriptors.as_object().unwrap();
    for (number, place) in found {
        let place = place.as_str().unwrap();
        let is_channel =
            ["pipe:", "socket:", "/dev/null", "anon_inode:[event"].iter().any(|one| place.starts_with(one));
        assert!(is_channel || place.ends_with("/fd"), "descriptor {number} is {place}: {descriptors}");
    }
    assert!(found.len() <= 8, "{descriptors}");
}

#[test]
fn workers_do_not_share_random_numbers() {
    let home = TestHome::new();
    let body =
        "return json.dumps([random.random(), secrets.token_hex(8), str(uuid.uuid4()), tempfile.mktemp()])";
    let names: Vec<String> = (0..6).map(|number| format!("Dice{number}")).collect();
    for name in &names {
        home.write(
            &format!("{}_agent.py", name.to_lowercase()),
            python_file(name, "import random, secrets, tempfile, uuid", body),
        );
    }
    let host = home.up();
    let mut seen = HashSet::new();
    for name in &names {
        let numbers: Vec<Value> = serde_json::from_str(&host.output(name, &json!({}))).unwrap();
        // A temporary name lies in the agent's own folder; only what was drawn for it counts.
        for number in numbers {
            let text = number.to_string();
            assert!(seen.insert(text.rsplit('/').next().unwrap().to_owned()), "{name} drew {text} again");
        }
    }
}

#[test]
fn engines_of_typescript_get_no_variable_that_was_not_granted() {
    for engine in [Engine::Node, Engine::Deno] {
        for user in User::ALL {
            let Some(home) = user.home(engine) else { continue };
            let home = home.with_variable(OF_HOST.0, OF_HOST.1).with_variable(OF_FIRST.0, OF_FIRST.1);
            let top = "import process from 'node:process';";
            let all = "return JSON.stringify({ ...process.env });";
            home.write("other_agent.ts", typescript_agent("Other", top, all));
            let granted = format!("void process.env.{};\n{all}", OF_FIRST.0);
            home.write("given_agent.ts", typescript_agent("Given", top, &granted));
            user.own(&home);
            let ran = user.roost(&home, &["grant", "given_agent.ts", &format!("env:{}", OF_FIRST.0)]);
            assert_eq!(ran.status, 0, "{ran:?}");
            let host = user.up(&home);
            let given = host.output("Given", &json!({}));
            assert!(given.contains(OF_FIRST.1) && !given.contains(OF_HOST.1), "{engine:?}: {given}");
            let other = host.output("Other", &json!({}));
            assert!(!other.contains(OF_FIRST.1) && !other.contains(OF_HOST.1), "{engine:?}: {other}");
        }
    }
}
