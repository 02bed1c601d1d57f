//! The vault: what was set there reaches who was granted it, at once, and stands nowhere in clear.

use roost_tests::{
    Engine, Ran, RunningHost, TestHome, User, WebServer, descendants, python_agent, python_file,
};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

/// Looks like nothing else, so that it can be searched for.
const FIRST: &str = "first-value-48151623";
const SECOND: &str = "second-value-42108642";

#[track_caller]
fn done(ran: &Ran) {
    assert_eq!(ran.status, 0, "{ran:?}");
}

/// Sets a secret as a script does.
#[track_caller]
fn set(home: &TestHome, name: &str, value: &str) {
    let ran = home.roost_with_input(&["secrets", "set", name], format!("{value}\n").as_bytes());
    done(&ran);
    assert!(!ran.stdout.contains(value) && !ran.stderr.contains(value), "{ran:?}");
}

/// An agent that answers with a digest of what it sees, so that the value does not travel in its answer.
fn looking_agent() -> String {
    let body = "import hashlib\nvalue = os.environ.get('DEMO_KEY')\n\
                return 'nothing' if value is None else hashlib.sha256(value.encode()).hexdigest()";
    python_agent("Looking", body)
}

fn seen(value: &str) -> String {
    roost_protocol::Digest::of(value.as_bytes()).to_string()
}

/// A home with that agent and its grant.
fn looking_home() -> TestHome {
    let home = TestHome::new();
    home.write("looking_agent.py", looking_agent());
    done(&home.roost(&["grant", "looking_agent.py", "env:DEMO_KEY"]));
    home
}

fn look(host: &RunningHost) -> String {
    host.output("Looking", &json!({}))
}

/// Files in this folder that hold the text.
fn files_with(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(files_with(&path, text));
        } else if fs::read(&path)
            .is_ok_and(|bytes| bytes.windows(text.len()).any(|window| window == text.as_bytes()))
        {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn an_agent_sees_the_vaults_value_before_the_variables_and_the_next_call_sees_the_next() {
    let home = looking_home().with_variable("DEMO_KEY", "from-the-environment");
    let run = || home.roost(&["run", "agents/looking_agent.py"]).text().to_owned();
    assert_eq!(run(), seen("from-the-environment"));
    set(&home, "DEMO_KEY", FIRST);
    assert_eq!(run(), seen(FIRST));

    let host = home.up();
    assert_eq!(look(&host), seen(FIRST));
    set(&home, "DEMO_KEY", SECOND);
    assert_eq!(look(&host), seen(SECOND), "without a restart");
    assert_eq!(look(&host), seen(SECOND));
    done(&home.roost(&["secrets", "remove", "DEMO_KEY"]));
    assert_eq!(look(&host), seen("from-the-environment"));
}

#[test]
fn a_value_is_nobodys_without_a_grant() {
    let home = TestHome::new();
    home.write("looking_agent.py", looking_agent());
    set(&home, "DEMO_KEY", FIRST);
    let host = home.up();
    assert_eq!(look(&host), "nothing");
    done(&home.roost(&["grant", "looking_agent.py", "env:DEMO_KEY", "--once"]));
    assert_eq!(look(&host), seen(FIRST));
    assert_eq!(look(&host), "nothing");
}

#[test]
fn a_host_notices_what_another_process_wrote_into_the_vault() {
    let (home, other) = (looking_home(), TestHome::new());
    let host = home.up();
    assert_eq!(look(&host), "nothing");
    // As a command without this host, or a copy from elsewhere, leaves it.
    set(&other, "DEMO_KEY", FIRST);
    let keys = home.root().join("keys");
    fs::create_dir(&keys).unwrap();
    fs::set_permissions(&keys, fs::Permissions::from_mode(0o700)).unwrap();
    for name in ["vault.key", "vault.json"] {
        fs::copy(other.root().join("keys").join(name), keys.join(name)).unwrap();
    }
    assert_eq!(look(&host), seen(FIRST));
    fs::remove_file(keys.join("vault.json")).unwrap();
    assert_eq!(look(&host), "nothing");
}

#[test]
fn the_list_has_names_and_who_was_granted_them_and_no_values() {
    let home = looking_home();
    assert_eq!(home.json(&["secrets"]), json!({ "key": null, "secrets": [] }));
    set(&home, "DEMO_KEY", FIRST);
    let again = home.roost_with_input(&["secrets", "set", "OTHER_KEY", "--json"], SECOND.as_bytes());
    assert_eq!(again.json(), json!({ "name": "OTHER_KEY", "replaced": false }));
    for running in [false, true] {
        let host = running.then(|| home.up());
        let ran = home.roost(&["secrets", "list", "--json"]);
        let listed = ran.json();
        assert_eq!(listed["key"], "file", "{listed}");
        let secrets = listed["secrets"].as_array().unwrap();
        let names: Vec<&Value> = secrets.iter().map(|secret| &secret["name"]).collect();
        assert_eq!(names, ["DEMO_KEY", "OTHER_KEY"], "{listed}");
        let users = json!([{ "app": "looking_agent.py", "right": "env:DEMO_KEY" }]);
        assert_eq!((&secrets[0]["used_by"], &secrets[1]["used_by"]), (&users, &json!([])), "{listed}");
        assert!(secrets[0]["set_at"].as_str().is_some_and(|at| at.ends_with('Z')), "{listed}");
        let text = home.roost(&["secrets"]);
        assert!(text.text().contains("DEMO_KEY") && text.text().contains("looking_agent.py"), "{text:?}");
        for printed in [&ran.stdout, &ran.stderr, &text.stdout, &text.stderr] {
            assert!(!printed.contains(FIRST) && !printed.contains(SECOND), "{printed}");
        }
        drop(host);
    }
    let removed = home.json(&["secrets", "remove", "OTHER_KEY"]);
    assert_eq!(removed, json!({ "removed": "OTHER_KEY" }));
    let again = home.roost(&["secrets", "remove", "OTHER_KEY", "--json"]);
    assert_eq!((again.status, &again.json()["error"]["reason"]), (1, &json!("unknown_secret")));
}

#[test]
fn what_is_no_name_or_no_value_is_wrong_use_and_changes_nothing() {
    let home = TestHome::new();
    let too_large = "x".repeat((64 << 10) + 1);
    for (name, value) in [
        ("1ST", FIRST.as_bytes()),
        ("A-B", FIRST.as_bytes()),
        ("A/../B", FIRST.as_bytes()),
        ("", FIRST.as_bytes()),
        ("A", b""),
        ("A", b"\n"),
        ("A", b"a\0b"),
        ("A", b"a\xffb"),
        ("A", too_large.as_bytes()),
    ] {
        let ran = home.roost_with_input(&["secrets", "set", name, "--json"], value);
        assert_eq!((ran.status, &ran.json()["error"]["reason"]), (2, &json!("wrong_use")), "{name}: {ran:?}");
        assert!(!ran.stdout.contains(FIRST), "{ran:?}");
    }
    // The command line is everybody's to read, so no value is taken from it.
    assert_eq!(home.roost(&["secrets", "set", "A", FIRST]).status, 2);
    assert!(!home.root().join("keys").exists());
    let largest = home.roost_with_input(&["secrets", "set", "A"], &too_large.as_bytes()[1..]);
    done(&largest);
    let lines = home.roost_with_input(&["secrets", "set", "DEMO_KEY"], b"two\nlines\r\n");
    done(&lines);
    home.write("looking_agent.py", looking_agent());
    done(&home.roost(&["grant", "looking_agent.py", "env:DEMO_KEY"]));
    assert_eq!(home.roost(&["run", "agents/looking_agent.py"]).text(), seen("two\nlines"));
}

#[test]
fn a_value_stands_in_no_file_of_the_home_and_in_no_command_line() {
    let home = looking_home();
    let clues = |host: Option<&RunningHost>| {
        let mut found = files_with(&home.root(), FIRST);
        for pid in
            host.map(|host| host.pid()).into_iter().flat_map(|pid| [vec![pid], descendants(pid)].concat())
        {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            if String::from_utf8_lossy(&words).contains(FIRST) {
                found.push(format!("command line of {pid}"));
            }
        }
        found
    };
    set(&home, "DEMO_KEY", FIRST);
    assert_eq!(clues(None), Vec::<String>::new(), "after it was set");
    let host = home.up();
    assert_eq!(look(&host), seen(FIRST));
    assert_eq!(clues(Some(&host)), Vec::<String>::new(), "while the host runs");
    let outcome = host.call("Looking", &json!({})).json();
    assert!(!outcome.to_string().contains(FIRST), "{outcome}");
    set(&home, "OTHER_KEY", FIRST);
    done(&home.roost(&["doctor", "--json"]));
    assert_eq!(host.terminate(), 0);
    assert_eq!(clues(None), Vec::<String>::new(), "after calls");
    for name in ["vault.json", "vault.key", "vault.lock"] {
        let mode = fs::metadata(home.root().join("keys").join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let mode = fs::metadata(home.root().join("keys")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn a_secret_behind_a_placeholder_comes_from_the_vault_and_changes_with_it() {
    let Some(home) = User::Caller.home(Engine::Python) else { return };
    let server = WebServer::new();
    let right = format!("secret:DEMO_KEY@http://localhost:{}:authorization", server.port());
    let body = "key = os.environ['DEMO_KEY']\nrequest = urllib.request.Request(kwargs['url'], headers={'Authorization': key})\n\
                urllib.request.urlopen(request, timeout=5).read()\nreturn key";
    let source = python_file("Sending", "import urllib.request", body);
    let head =
        format!("# /// script\n# dependencies = []\n# [tool.roost]\n# rights = [\"{right}\"]\n# ///\n");
    home.write("sending_agent.py", head + &source);
    done(&home.roost(&["grant", "sending_agent.py", "--asked"]));
    let host = home.up();
    let arguments = json!({ "url": server.url("localhost", "/") });
    let send = || {
        let placeholder = host.output("Sending", &arguments);
        let asked = server.asked().pop().unwrap();
        (placeholder, asked.header("authorization").map(str::to_owned))
    };
    assert!(matches!(&*host.failure("Sending", &arguments), "secret_missing" | "unknown_agent"));
    set(&home, "DEMO_KEY", FIRST);
    let (first, arrived) = send();
    assert_eq!(arrived.as_deref(), Some(FIRST), "it works as soon as it is set");
    assert_eq!(send().0, first);
    set(&home, "DEMO_KEY", SECOND);
    let (second, arrived) = send();
    assert_eq!(arrived.as_deref(), Some(SECOND), "the worker with the old one is not asked again");
    assert_ne!(first, second);
    assert_eq!(files_with(&home.root(), FIRST), Vec::<String>::new());
    assert_eq!(files_with(&home.root(), SECOND), Vec::<String>::new());
}

fn ask(host: &RunningHost, method: &str, path: &str, headers: &[(&str, &str)], body: &Value) -> (u16, Value) {
    let answer = host.send(method, path, headers, body.to_string().as_bytes());
    (answer.status, answer.json())
}

#[test]
fn over_http_the_vault_is_the_owners_alone() {
    let home = TestHome::new();
    set(&home, "DEMO_KEY", FIRST);
    let host = home.up();
    let token = fs::read_to_string(home.root().join("run/owner.token")).unwrap();
    let bearer = format!("Bearer {}", token.trim());
    let owner = [("Authorization", bearer.as_str())];
    let before = fs::read(home.root().join("keys/vault.json")).unwrap();
    let body = json!({ "value": SECOND });
    for headers in [&[][..], &[("Authorization", "Bearer 00000000")], &[("X-Owner", token.trim())]] {
        for (method, path) in
            [("GET", "/secrets"), ("PUT", "/secrets/DEMO_KEY"), ("DELETE", "/secrets/DEMO_KEY")]
        {
            let (status, answer) = ask(&host, method, path, headers, &body);
            assert_eq!((status, &answer["reason"]), (403, &json!("owner_only")), "{method} {path}: {answer}");
            assert!(!answer.to_string().contains("DEMO_KEY"), "{answer}");
        }
    }
    let page = [owner[0], ("Origin", "https://evil.example")];
    assert_eq!(ask(&host, "PUT", "/secrets/DEMO_KEY", &page, &body).0, 403);
    assert_eq!(fs::read(home.root().join("keys/vault.json")).unwrap(), before);

    let (status, listed) = ask(&host, "GET", "/secrets", &owner, &Value::Null);
    assert_eq!((status, &listed["secrets"][0]["name"]), (200, &json!("DEMO_KEY")), "{listed}");
    assert!(!listed.to_string().contains(FIRST), "{listed}");
    let (status, answer) = ask(&host, "PUT", "/secrets/DEMO_KEY", &owner, &body);
    assert_eq!((status, answer), (200, json!({ "name": "DEMO_KEY", "replaced": true })));
    for (path, body) in [
        ("/secrets/DEMO-KEY", json!({ "value": FIRST })),
        ("/secrets/%2e%2e", json!({ "value": FIRST })),
        ("/secrets/DEMO_KEY", json!({ "value": "" })),
        ("/secrets/DEMO_KEY", json!({ "value": "a\u{0}b" })),
        ("/secrets/DEMO_KEY", json!({ "value": 1 })),
        ("/secrets/DEMO_KEY", json!({ "value": FIRST, "more": 1 })),
        ("/secrets/DEMO_KEY", json!({})),
    ] {
        let (status, answer) = ask(&host, "PUT", path, &owner, &body);
        assert_eq!((status, &answer["reason"]), (400, &json!("bad_request")), "{path} {body}: {answer}");
        assert!(!answer.to_string().contains(FIRST), "{answer}");
    }
    assert_eq!(ask(&host, "DELETE", "/secrets/DEMO_KEY", &owner, &Value::Null).0, 200);
    assert_eq!(ask(&host, "DELETE", "/secrets/DEMO_KEY", &owner, &Value::Null).0, 404);
    assert_eq!(files_with(&home.root(), SECOND), Vec::<String>::new());
}

#[test]
fn a_vault_that_cannot_be_read_gives_nothing_says_why_and_stays_as_it_is() {
    let home = looking_home().with_variable("DEMO_KEY", "from-the-environment");
    home.write("plain_agent.py", python_agent("Plain", "return 'works'"));
    let vault = |findings: &Value| {
        let all =
            findings["findings"].as_array().or(findings.as_array()).unwrap_or_else(|| panic!("{findings}"));
        all.iter().find(|finding| finding["name"] == "vault").cloned()
    };
    assert_eq!(vault(&home.json(&["doctor"])), None, "there is none");
    set(&home, "DEMO_KEY", FIRST);
    assert_eq!(vault(&home.json(&["doctor"])).unwrap()["state"], "ok");
    let host = home.up();
    assert_eq!(look(&host), seen(FIRST));
    let path = home.root().join("keys/vault.json");
    let good = fs::read(&path).unwrap();
    fs::write(&path, &good[..good.len() / 2]).unwrap();
    assert_eq!(host.failure("Looking", &json!({})), "vault_unusable", "not what the variable says either");
    assert_eq!(host.output("Plain", &json!({})), "works");
    let refused = home.roost_with_input(&["secrets", "set", "DEMO_KEY", "--json"], SECOND.as_bytes());
    assert_eq!((refused.status, &refused.json()["error"]["reason"]), (1, &json!("vault_unusable")));
    assert!(refused.json()["error"]["next"].as_str().unwrap().contains("vault.json"), "{refused:?}");
    let finding = vault(&home.json(&["doctor"])).unwrap();
    assert_eq!(finding["state"], "missing", "{finding}");
    assert_eq!(fs::read(&path).unwrap(), good[..good.len() / 2]);

    fs::write(&path, &good).unwrap();
    assert_eq!(look(&host), seen(FIRST), "as soon as it is whole again");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(host.failure("Looking", &json!({})), "vault_unusable");
}

#[test]
fn no_agent_reaches_the_files_of_the_vault() {
    let home = TestHome::new();
    set(&home, "DEMO_KEY", FIRST);
    let keys = home.root().join("keys");
    let body = "found = []\nfor name in ('vault.key', 'vault.json'):\n    try:\n        \
                found.append(open(os.path.join(kwargs['keys'], name)).read())\n    except OSError:\n        pass\n\
                return json.dumps(found)";
    home.write("prying_agent.py", python_agent("Prying", body));
    let host = home.up();
    assert_eq!(host.output("Prying", &json!({ "keys": keys })), "[]");
    for right in ["read", "write"] {
        let right = format!("files:{right}:{}", keys.display());
        let refused = home.roost(&["grant", "prying_agent.py", &right, "--json"]);
        assert_eq!(refused.json()["error"]["reason"], "denied_by_policy", "{refused:?}");
    }
    assert_eq!(host.output("Prying", &json!({ "keys": keys })), "[]");
}

#[test]
fn a_program_that_only_has_the_port_of_the_host_is_not_told_the_value() {
    let (home, impostor) = (TestHome::new(), WebServer::new());
    let run = home.root().join("run");
    fs::create_dir_all(&run).unwrap();
    // As a host leaves it that crashed before somebody else took its port: nothing proves who listens there.
    let record = json!({ "pid": 1, "port": impostor.port(), "listeners": [] });
    fs::write(run.join("host.json"), record.to_string()).unwrap();
    set(&home, "DEMO_KEY", FIRST);
    assert!(impostor.asked().is_empty(), "{:?}", impostor.asked());
    assert!(home.root().join("keys/vault.json").exists());
}
