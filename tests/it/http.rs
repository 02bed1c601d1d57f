//! HTTP: who may ask, what is answered, and what becomes of processes when somebody leaves.

use roost_tests::{
    RunningHost, TestHome, User, descendants, holders, is_alive, python_agent, python_file, status_kb,
    typescript_agent, until, until_some,
};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    path::{Path, PathBuf},
};

/// Holds its mark open and waits for longer than any test.
const WAITS: &str = "mark = open(kwargs['mark'], 'w')\ntime.sleep(600)";
const TYPESCRIPT_WAITS: &str =
    "openSync(String(kwargs.mark), 'w');\nawait new Promise(() => setInterval(() => {}, 1000));";

/// Both of them: name, file and source.
fn waiting_agents() -> [(&'static str, &'static str, String); 2] {
    let top = "import { openSync } from 'node:fs';";
    [
        ("Wait", "wait_agent.py", python_agent("Wait", WAITS)),
        ("WaitTs", "WaitTsAgent.ts", typescript_agent("WaitTs", top, TYPESCRIPT_WAITS)),
    ]
}

fn host_with_agents(home: &TestHome) -> RunningHost {
    home.write("echo_agent.py", python_agent("Echo", "return json.dumps(kwargs)"));
    for (_, file, source) in waiting_agents() {
        home.write(file, source);
    }
    home.write("broken_agent.py", "x = (\n");
    home.write("mark_agent.py", python_agent("Mark", "open(kwargs['mark'], 'w').write('ran')\nreturn ''"));
    home.up()
}

/// A place where the agent of this file may write.
fn mark_of(home: &TestHome, file: &str, name: &str) -> PathBuf {
    home.own_folder(file.split('.').next().unwrap()).join(name)
}

/// The one process that holds the mark of an agent.
#[track_caller]
fn marked(mark: &Path) -> u32 {
    let pids = until_some("the agent runs", || Some(holders(mark)).filter(|pids| !pids.is_empty()));
    assert_eq!(pids.len(), 1, "{pids:?}");
    pids[0]
}

/// Starts a call and leaves it unanswered.
fn start_call(host: &RunningHost, agent: &str, mark: &Path) -> std::net::TcpStream {
    let body = json!({ "arguments": { "mark": mark } }).to_string();
    let path = format!("/v1/agents/{agent}/call");
    let mut stream = host.start("POST", &path, &[("Content-Type", "application/json")], body.len()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    stream
}

#[test]
fn the_surfaces_say_what_is_there() {
    let home = TestHome::new();
    let host = host_with_agents(&home);
    assert_eq!(host.listing().len(), 5);
    let health = host.get("/health").json();
    assert_eq!(
        (&health["status"], &health["agents"]),
        (&json!("unauthenticated"), &json!(["WaitTs", "Echo", "Mark", "Wait"])),
        "there is no model"
    );
    assert_eq!(health["quarantined"][0]["code"], "syntax_error");
    let files = host.get("/agents").json();
    let of = |name: &str| {
        files["files"].as_array().unwrap().iter().find(|file| file["filename"] == name).cloned().unwrap()
    };
    assert_eq!(of("echo_agent.py")["agents"], json!(["Echo"]));
    assert_eq!(of("broken_agent.py")["agents"], json!([]));
    assert_eq!(host.get("/version").json(), json!({ "version": health["version"] }));
    let page = host.get("/ui/plain");
    assert!(page.status == 200 && page.body.contains("Echo") && page.body.contains("syntax_error"));
    let page = host.get("/");
    assert!(page.status == 200 && page.body.contains("<title>Roost</title>"), "{page:?}");
}

#[test]
fn a_call_is_answered_with_its_outcome() {
    let home = TestHome::new();
    let host = host_with_agents(&home);
    let answer = host.call("Echo", &json!({ "a": [1, "ü"] }));
    assert_eq!(answer.status, 200);
    assert_eq!(answer.json()["output"], r#"{"a": [1, "\u00fc"]}"#);
    let twice = host.call("Echo", &json!({})).json();
    assert_eq!(twice["receipt"]["worker"]["reused"], true);
}

#[test]
fn what_cannot_be_answered_is_refused_in_one_shape() {
    let home = TestHome::new();
    let host = host_with_agents(&home);
    let json_type = [("Content-Type", "application/json")];
    let call = "/v1/agents/Echo/call";
    for (answer, status, reason) in [
        (host.get("/nowhere"), 404, "unknown_route"),
        (host.get(call), 405, "method_not_allowed"),
        (host.post("/health", &json!({})), 405, "method_not_allowed"),
        (host.call("Nobody", &json!({})), 404, "unknown_agent"),
        (host.call("broken_agent", &json!({})), 422, "syntax_error"),
        (host.call("%2e%2e%2f", &json!({})), 404, "unknown_agent"),
        (host.send("POST", call, &json_type, b"{ half"), 400, "bad_request"),
        (host.send("POST", call, &json_type, b""), 400, "bad_request"),
        (host.send("POST", call, &json_type, b"\xff\xfe"), 400, "bad_request"),
        (host.send("POST", call, &json_type, br#"{"arguments": []}"#), 400, "bad_request"),
        (host.send("POST", call, &json_type, br#"{"argument": {}}"#), 400, "bad_request"),
        (host.send("POST", call, &[("Content-Type", "text/plain")], b"[]"), 400, "bad_request"),
    ] {
        let body = answer.json();
        assert_eq!((answer.status, body["reason"].as_str()), (status, Some(reason)), "{answer:?}");
        assert!(body["error"].is_string() && body["next"].is_string(), "{body}");
    }
    assert_eq!(host.output("Echo", &json!({})), "{}");
    // What the content type says does not matter.
    assert_eq!(host.send("POST", call, &[("Content-Type", "text/plain")], b"{}").status, 200);
}

#[test]
fn pages_from_elsewhere_may_not_call_and_nothing_runs() {
    let home = TestHome::new();
    let host = host_with_agents(&home);
    let mark = mark_of(&home, "mark_agent.py", "mark");
    let body = json!({ "arguments": { "mark": mark } }).to_string();
    let own = format!("http://127.0.0.1:{}", host.port());
    for (header, value, reason) in [
        ("Origin", "https://evil.example", "foreign_origin"),
        ("Origin", "null", "foreign_origin"),
        ("Origin", "http://127.0.0.1:1", "foreign_origin"),
        ("Host", "evil.example", "foreign_host"),
        ("Host", "evil.example:7071", "foreign_host"),
    ] {
        let headers = [("Content-Type", "application/json"), (header, value)];
        let answer = host.send("POST", "/v1/agents/Mark/call", &headers, body.as_bytes());
        assert_eq!((answer.status, &answer.json()["reason"]), (403, &json!(reason)), "{header}: {value}");
        assert_eq!(host.send("GET", "/v1/agents", &[(header, value)], b"").status, 403);
    }
    assert!(!mark.exists());
    let headers = [("Content-Type", "application/json"), ("Origin", own.as_str())];
    assert_eq!(host.send("POST", "/v1/agents/Mark/call", &headers, body.as_bytes()).status, 200);
    assert!(mark.exists());
}

#[test]
fn a_body_of_a_hundred_megabytes_is_refused() {
    let home = TestHome::new();
    let host = host_with_agents(&home);
    assert_eq!(host.output("Echo", &json!({})), "{}");
    let most_kb = || status_kb(host.pid(), "VmHWM:").unwrap();
    let before = most_kb();
    let mut stream = host
        .start("POST", "/v1/agents/Echo/call", &[("Content-Type", "application/json")], 100 << 20)
        .unwrap();
    let chunk = vec![b' '; 1 << 20];
    // The host may stop to read at any moment; then writing fails, and the answer is there.
    for _ in 0..100 {
        if stream.write_all(&chunk).is_err() {
            break;
        }
    }
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok();
    let text = String::from_utf8_lossy(&answer);
    assert!(text.is_empty() || text.starts_with("HTTP/1.1 4"), "{text:.300}");
    assert_eq!(host.output("Echo", &json!({})), "{}");
    // What the host itself takes differs with how it was built. Of the body at most 16 MiB are ever held.
    let taken = most_kb() - before;
    assert!(taken < 32 << 10, "the host took {taken} kB for a body it refuses");
}

#[test]
fn a_client_that_leaves_ends_the_worker() {
    let home = TestHome::new();
    let host = host_with_agents(&home);
    for (agent, file, _) in waiting_agents() {
        let mark = mark_of(&home, file, "mark");
        let stream = start_call(&host, agent, &mark);
        let pid = marked(&mark);
        assert!(is_alive(pid));
        drop(stream);
        until(&format!("the worker of {agent} ends"), || !is_alive(pid));
    }
    assert_eq!(host.output("Echo", &json!({})), "{}");
}

#[test]
fn the_command_line_uses_the_running_host() {
    let home = TestHome::new();
    let host = host_with_agents(&home);
    let first = home.json(&["call", "Echo", "a=1"]);
    let second = home.json(&["call", "Echo", "a=2"]);
    assert_eq!(second["output"], r#"{"a": "2"}"#, "{second}");
    assert_eq!(first["receipt"]["worker"]["pid"], second["receipt"]["worker"]["pid"]);
    assert_eq!(second["receipt"]["worker"]["reused"], true);
    let ran = home.roost(&["call", "Nobody", "--json"]);
    assert_eq!((ran.status, &ran.json()["error"]["reason"]), (1, &json!("unknown_agent")));
    let ran = home.roost(&["call", "broken_agent", "--json"]);
    assert_eq!(
        (ran.status, &ran.json()["error"]["reason"], &ran.json()["error"]["line"]),
        (1, &json!("syntax_error"), &json!(1))
    );
    drop(host);
    let alone = home.json(&["call", "Echo"]);
    assert_eq!(alone["receipt"]["worker"]["reused"], false, "{alone}");
}

#[test]
fn what_the_running_host_refused_can_be_granted_from_a_command_line() {
    let home = TestHome::new();
    let place = home.outside().join("kept");
    fs::create_dir(&place).unwrap();
    fs::write(place.join("note"), "here").unwrap();
    home.write("read_agent.py", python_agent("Read", "return open(kwargs['file']).read()"));
    let host = home.up();
    let arguments = json!({ "file": place.join("note") });
    let refused = host.call("Read", &arguments).json();
    let next = "roost grant read_agent.py 'files:read:~/kept'";
    assert_eq!(
        (&refused["error"]["reason"], &refused["error"]["next"]),
        (&json!("right_missing"), &json!(next))
    );
    let granted = home.roost(&["grant", "read_agent.py", "files:read:~/kept"]);
    assert_eq!(granted.status, 0, "{granted:?}");
    assert_eq!(host.output("Read", &arguments), "here");
}

#[test]
fn a_record_of_a_host_that_died_is_no_obstacle() {
    let home = TestHome::new();
    home.write("echo_agent.py", python_agent("Echo", "return 'here'"));
    let host = home.up();
    assert_eq!(host.output("Echo", &json!({})), "here");
    let record = home.root().join("run/host.json");
    host.kill();
    assert!(record.exists());
    assert_eq!(home.roost(&["call", "Echo"]).text(), "here");
    let host = home.up();
    assert_eq!(host.output("Echo", &json!({})), "here");
    assert_eq!(host.terminate(), 0);
    assert!(!record.exists());
}

#[test]
fn a_record_that_leads_to_another_program_is_no_obstacle() {
    let home = TestHome::new();
    home.write("echo_agent.py", python_agent("Echo", "return 'here'"));
    assert_eq!(home.roost(&["call", "Echo"]).text(), "here");
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port();
    let answering = std::thread::spawn(move || {
        // Whatever is asked, this is no host.
        for stream in other.incoming().take(3) {
            let mut stream = stream.unwrap();
            stream.set_read_timeout(Some(std::time::Duration::from_millis(200))).unwrap();
            let head = BufReader::new(&stream).lines().map_while(Result::ok);
            head.take_while(|line| !line.is_empty()).for_each(drop);
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello").ok();
        }
    });
    fs::write(home.root().join("run/host.json"), json!({ "pid": 1, "port": port }).to_string()).unwrap();
    let ran = home.roost(&["call", "Echo", "--json"]);
    let document = ran.json();
    assert!(ran.status == 0 || document["error"]["reason"] == "host_unreachable", "{document}");
    // The listener thread waits for connections that may not come.
    drop(answering);
}

#[test]
fn a_port_in_use_is_said_so() {
    let home = TestHome::new();
    let host = home.up();
    let other = TestHome::new();
    let ran = other.roost(&["up", "--port", &host.port().to_string(), "--json"]);
    assert_eq!((ran.status, &ran.json()["error"]["reason"]), (3, &json!("port_in_use")));
}

fn busy_host(home: &TestHome) -> (RunningHost, Vec<u32>, Vec<std::net::TcpStream>) {
    let host = host_with_agents(home);
    assert_eq!(host.output("Echo", &json!({})), "{}");
    let (streams, mut pids): (Vec<_>, Vec<_>) = waiting_agents()
        .iter()
        .map(|(agent, file, _)| {
            let mark = mark_of(home, file, "mark");
            let stream = start_call(&host, agent, &mark);
            (stream, marked(&mark))
        })
        .unzip();
    pids.extend(descendants(host.pid()));
    (host, pids, streams)
}

#[test]
fn a_host_that_is_told_to_stop_takes_all_its_workers_along() {
    let home = TestHome::new();
    let (host, pids, streams) = busy_host(&home);
    assert!(pids.len() > 3, "{pids:?}");
    // Callers that wait would be waited for.
    drop(streams);
    assert_eq!(host.terminate(), 0);
    until("every process of the host ends", || !pids.iter().any(|pid| is_alive(*pid)));
}

#[test]
fn a_host_that_is_killed_leaves_no_worker_behind() {
    let home = TestHome::new();
    let (host, pids, _streams) = busy_host(&home);
    host.kill();
    until("every process of the host ends", || !pids.iter().any(|pid| is_alive(*pid)));
}

#[test]
fn a_command_that_is_killed_leaves_no_worker_behind() {
    let home = TestHome::new();
    for (_, file, source) in waiting_agents() {
        let path = home.write(file, source).display().to_string();
        let mark = mark_of(&home, file, "mark");
        let mut running = home.command(&["run", &path, &format!("mark={}", mark.display())]).spawn().unwrap();
        let pid = marked(&mark);
        let below = descendants(running.id());
        assert!(below.contains(&pid), "{below:?} has no {pid}");
        running.kill().unwrap();
        running.wait().unwrap();
        until("every process of the command ends", || !below.iter().any(|pid| is_alive(*pid)));
    }
}

#[test]
fn calls_of_one_agent_run_side_by_side_and_others_are_not_held_up() {
    let home = TestHome::new();
    let host = host_with_agents(&home);
    let streams: Vec<_> = (0..4)
        .map(|number| {
            let mark = mark_of(&home, "wait_agent.py", &format!("wait-{number}"));
            let stream = start_call(&host, "Wait", &mark);
            (stream, marked(&mark))
        })
        .collect();
    let pids: Vec<u32> = streams.iter().map(|(_, pid)| *pid).collect();
    assert!(pids.iter().all(|pid| is_alive(*pid)));
    assert_eq!(pids.iter().collect::<BTreeSet<_>>().len(), 4, "{pids:?}");
    let outcome: Value = host.call("Echo", &json!({})).json();
    assert_eq!(outcome["output"], "{}");
}

#[test]
fn another_account_of_the_machine_is_refused_unless_it_was_let_in() {
    let home = TestHome::new();
    home.write("echo_agent.py", python_file("Echo", "", "return 'here'"));
    let host = home.up();
    for (method, path) in
        [("GET", "/health"), ("POST", "/agents/import"), ("GET", "/"), ("GET", "/v1/agents")]
    {
        let Some((status, body)) = User::Ordinary.asks(&host, method, path) else { return };
        assert_eq!(status, 403, "{path}: {body}");
        assert!(body.contains("foreign_account") || body.contains("another account"), "{path}: {body}");
    }
    assert_eq!(User::Caller.asks(&host, "GET", "/health").unwrap().0, 200);
    drop(host);
    home.settings("allow_other_accounts = true\n");
    assert_eq!(User::Ordinary.asks(&home.up(), "GET", "/health").unwrap().0, 200);
}
