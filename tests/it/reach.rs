//! Reach: agents that know nothing of a proxy reach the one computer they were granted, and no other. What goes there
//! is counted; a secret goes there without the agent ever seeing it.

use roost_tests::{
    Engine, Ran, RunningHost, TestHome, User, WebServer, find_on_path, python_file, typescript_agent,
};
use serde_json::{Value, json};

/// The value of the secret, which only the server may see.
const SECRET: &str = "sk-real-value-of-the-demo-key";

const URLLIB: &str = "try:\n    with urllib.request.urlopen(kwargs['url'], timeout=5) as answer: return answer.read().decode()\n\
    except OSError as error:\n    return f'failed: {error}'";
const REQUESTS: &str = "try:\n    answer = requests.get(kwargs['url'], timeout=5)\n    answer.raise_for_status()\n    return answer.text\n\
    except requests.RequestException as error:\n    return f'failed: {error}'";
const CURL: &str = "done = subprocess.run(['curl', '-sSf', '--max-time', '5', kwargs['url']], capture_output=True, text=True)\n\
    return done.stdout if done.returncode == 0 else f'failed: {done.stderr}'";
const FETCH: &str = "try {\n  const answer = await fetch(String(kwargs.url));\n  if (!answer.ok) return `failed: ${answer.status}`;\n\
    return await answer.text();\n} catch (error) { return `failed: ${error}`; }";
const NODE_HTTP: &str = "return await new Promise((resolve) => {\n  http.get(String(kwargs.url), (answer) => {\n    let text = '';\n\
    answer.on('data', (part) => { text += part; });\n    answer.on('end', () => resolve(answer.statusCode === 200 ? text : `failed: ${answer.statusCode}`));\n\
    }).on('error', (error) => resolve(`failed: ${error}`));\n});";

#[track_caller]
fn done(ran: &Ran) {
    assert_eq!(ran.status, 0, "{ran:?}");
}

/// Puts the rights it asks for before the source.
fn declaring(engine: Engine, rights: &[String], source: &str) -> String {
    let mark = if engine == Engine::Python { "#" } else { "//" };
    let packages = if source.contains("import requests") { "[\"requests\"]" } else { "[]" };
    let lines = [
        "/// script",
        &format!("dependencies = {packages}"),
        "[tool.roost]",
        &format!("rights = {rights:?}"),
        "///",
    ];
    lines.iter().map(|line| format!("{mark} {line}\n")).chain([source.to_owned()]).collect()
}

fn fetch(host: &RunningHost, url: &str) -> (String, Value) {
    let mut outcome = host.call("Fetch", &json!({ "url": url })).json();
    let output = outcome["output"].as_str().unwrap_or_else(|| panic!("{url}: {outcome}")).to_owned();
    (output, outcome["receipt"].take())
}

/// An agent with this source reaches the allowed server, and its receipt says so; the other one it does not reach.
fn check(engine: Engine, user: User, more: &[&str], source: &str) {
    let Some(home) = user.home(engine) else { return };
    let (open, closed) = (WebServer::new(), WebServer::new());
    let file = if engine == Engine::Python { "fetch_agent.py" } else { "fetch_agent.ts" };
    let mut rights = vec![format!("network:localhost:{}", open.port())];
    rights.extend(more.iter().map(|right| (*right).to_owned()));
    home.write(file, declaring(engine, &rights, source));
    user.own(&home);
    done(&user.roost(&home, &["grant", file, "--asked"]));
    let host = user.up(&home);

    let (output, receipt) = fetch(&host, &open.url("localhost", "/hello"));
    assert_eq!(output, "served /hello", "{engine:?} as {user:?}: {receipt}");
    // Programs look for a service that knows names, on a Unix socket, and go on without; that needs no grant.
    let refused = receipt["refused"].as_array().unwrap();
    assert!(refused.iter().all(|refusal| refusal["right"].is_null()), "{engine:?}: {receipt}");
    let traffic = &receipt["traffic"];
    assert_eq!(traffic.as_array().unwrap().len(), 1, "{engine:?}: {receipt}");
    assert_eq!(
        (&traffic[0]["host"], &traffic[0]["port"]),
        (&json!("localhost"), &json!(open.port())),
        "{traffic}"
    );
    assert_eq!(traffic[0]["requests"], 1, "{engine:?}: {traffic}");
    let bytes = |name: &str| traffic[0][name].as_u64().unwrap();
    assert!(bytes("received_bytes") >= "served /hello".len() as u64, "{engine:?}: {traffic}");
    assert!(bytes("sent_bytes") > 0, "{engine:?}: {traffic}");
    assert!(open.asked()[0].header("proxy-authorization").is_none(), "{:?}", open.asked());

    for url in [closed.url("localhost", "/"), closed.url("127.0.0.1", "/"), open.url("127.0.0.1", "/")] {
        let (output, receipt) = fetch(&host, &url);
        assert!(output.starts_with("failed"), "{engine:?} {url}: {output}");
        let place = url.trim_start_matches("http://").trim_end_matches('/');
        let refused = receipt["refused"].to_string();
        assert!(refused.contains(place), "{engine:?} {url}: {receipt}");
        assert!(
            !receipt["traffic"].to_string().contains(&format!("\"port\":{}", closed.port())),
            "{receipt}"
        );
    }
    assert_eq!(open.asked().len(), 1);
    assert!(closed.asked().is_empty(), "{:?}", closed.asked());
}

#[test]
fn urllib_reaches_the_allowed_computer_and_no_other() {
    for user in User::ALL {
        check(Engine::Python, user, &[], &python_file("Fetch", "import urllib.request", URLLIB));
    }
}

#[test]
fn requests_reaches_the_allowed_computer_and_no_other() {
    if find_on_path("uv").is_none() {
        return eprintln!("skipped: no uv in PATH");
    }
    check(Engine::Python, User::Caller, &[], &python_file("Fetch", "import requests", REQUESTS));
}

#[test]
fn curl_started_by_an_agent_reaches_the_allowed_computer_and_no_other() {
    if find_on_path("curl").is_none() {
        return eprintln!("skipped: no curl in PATH");
    }
    check(Engine::Python, User::Caller, &["subprocess"], &python_file("Fetch", "import subprocess", CURL));
}

#[test]
fn fetch_reaches_the_allowed_computer_and_no_other() {
    for engine in [Engine::Node, Engine::Deno] {
        for user in User::ALL {
            check(engine, user, &[], &typescript_agent("Fetch", "", FETCH));
        }
    }
}

#[test]
fn the_http_module_of_node_reaches_the_allowed_computer_and_no_other() {
    for engine in [Engine::Node, Engine::Deno] {
        check(
            engine,
            User::Caller,
            &[],
            &typescript_agent("Fetch", "import http from 'node:http';", NODE_HTTP),
        );
    }
}

#[test]
fn several_requests_are_counted_with_their_bytes() {
    let (home, server) = (TestHome::new(), WebServer::new());
    let body = "for number in range(5):\n    urllib.request.urlopen(f\"{kwargs['url']}{'x' * 1000}{number}\").read()\nreturn 'five'";
    let rights = [format!("network:localhost:{}", server.port())];
    let source = python_file("Fetch", "import urllib.request", body);
    home.write("fetch_agent.py", declaring(Engine::Python, &rights, &source));
    done(&home.roost(&["grant", "fetch_agent.py", "--asked"]));
    let outcome =
        home.json(&["run", "agents/fetch_agent.py", &format!("url={}", server.url("localhost", "/"))]);
    assert_eq!(outcome["output"], "five", "{outcome}");
    let traffic = &outcome["receipt"]["traffic"][0];
    assert_eq!(traffic["requests"], 5, "{traffic}");
    assert!(traffic["sent_bytes"].as_u64().unwrap() >= 5_000, "{traffic}");
    assert!(traffic["received_bytes"].as_u64().unwrap() >= 5_000, "{traffic}");
    let again = home.json(&["run", "agents/fetch_agent.py", "url=http://localhost:9/"]);
    assert_ne!(again["output"], "five");
    assert_eq!(again["receipt"]["traffic"], json!([]), "{again}");
}

/// An agent that sends the key in a header of the caller's choice and answers with what it holds.
fn secret_agent(engine: Engine, rights: &[String]) -> String {
    let python = "key = os.environ['DEMO_KEY']\nheaders = {kwargs['header']: kwargs.get('before', '') + key}\n\
        try:\n    urllib.request.urlopen(urllib.request.Request(kwargs['url'], headers=headers), timeout=5).read()\n\
        except OSError as error:\n    return f'failed: {error} {key}'\nreturn key";
    let typescript = "const key = String(process.env.DEMO_KEY);\n\
        const headers = { [String(kwargs.header)]: String(kwargs.before ?? '') + key };\n\
        try { await (await fetch(String(kwargs.url), { headers })).text(); } catch (error) { return `failed: ${error} ${key}`; }\n\
        return key;";
    let source = match engine {
        Engine::Python => python_file("Secretive", "import urllib.request", python),
        Engine::Node | Engine::Deno => {
            typescript_agent("Secretive", "import process from 'node:process';", typescript)
        }
    };
    declaring(engine, rights, &source)
}

// Only in clear text here: the proxy believes no server that signed its own certificate, as it should.
#[test]
fn a_secret_is_seen_by_its_server_in_its_header_and_by_nobody_else() {
    for engine in Engine::ALL {
        let Some(home) = User::Caller.home(engine) else { continue };
        let home = home.with_variable("DEMO_KEY", SECRET);
        let (server, other) = (WebServer::new(), WebServer::new());
        let file = if engine == Engine::Python { "secretive_agent.py" } else { "secretive_agent.ts" };
        let rights = [
            format!("secret:DEMO_KEY@http://localhost:{}:authorization", server.port()),
            format!("network:localhost:{}", server.port()),
            format!("network:localhost:{}", other.port()),
        ];
        home.write(file, secret_agent(engine, &rights));
        done(&home.roost(&["grant", file, "--asked"]));
        let host = home.up();
        let send = |server: &WebServer, header: &str, before: &str| {
            let url = server.url("localhost", "/secret");
            let outcome =
                host.call("Secretive", &json!({ "url": url, "header": header, "before": before })).json();
            let output = outcome["output"].as_str().unwrap_or_default().to_owned();
            assert!(!outcome.to_string().contains(SECRET), "{engine:?}: the agent saw it: {outcome}");
            assert!(outcome["error"].is_null() && !output.starts_with("failed"), "{engine:?}: {outcome}");
            let asked =
                server.asked().pop().unwrap_or_else(|| panic!("{engine:?}: nothing arrived: {output}"));
            (output, asked.header(header).map(str::to_owned), format!("{asked:?}"))
        };
        let (placeholder, arrived, _) = send(&server, "authorization", "Bearer ");
        assert_eq!(arrived, Some(format!("Bearer {SECRET}")), "{engine:?}");
        let (_, arrived, all) = send(&server, "x-other", "");
        assert_eq!(arrived, Some(placeholder.clone()), "{engine:?}: another header");
        assert!(!all.contains(SECRET), "{engine:?}: {all}");
        let (_, arrived, all) = send(&other, "authorization", "");
        assert_eq!(arrived, Some(placeholder), "{engine:?}: another computer");
        assert!(!all.contains(SECRET), "{engine:?}: {all}");
    }
}

/// A Python agent with these rights sends the secret once.
fn send_once(home: &TestHome, server: &WebServer, rights: &[&str]) -> Ran {
    let rights: Vec<String> =
        rights.iter().map(|right| right.replace("PORT", &server.port().to_string())).collect();
    home.write("secretive_agent.py", secret_agent(Engine::Python, &rights));
    done(&home.roost(&["grant", "secretive_agent.py", "--asked"]));
    let url = format!("url={}", server.url("localhost", "/secret"));
    home.roost(&["run", "agents/secretive_agent.py", &url, "header=authorization", "--json"])
}

#[test]
fn the_right_to_use_a_secret_is_enough_to_reach_its_computer() {
    let (home, server) = (TestHome::new().with_variable("DEMO_KEY", SECRET), WebServer::new());
    let ran = send_once(&home, &server, &["secret:DEMO_KEY@http://localhost:PORT:authorization"]);
    let asked = server.asked();
    assert_eq!(asked.first().and_then(|asked| asked.header("authorization")), Some(SECRET), "{ran:?}");
}

#[test]
fn a_secret_is_nowhere_in_receipts_logs_or_the_home() {
    let (home, server) = (TestHome::new().with_variable("DEMO_KEY", SECRET), WebServer::new());
    let rights = ["secret:DEMO_KEY@http://localhost:PORT:authorization", "network:localhost:PORT"];
    let ran = send_once(&home, &server, &rights);
    let asked = server.asked();
    assert_eq!(asked.first().and_then(|asked| asked.header("authorization")), Some(SECRET), "{ran:?}");
    assert!(!ran.stdout.contains(SECRET) && !ran.stderr.contains(SECRET), "{ran:?}");
    assert_eq!(files_with(&home.root(), SECRET), Vec::<String>::new());
}

/// Files in this folder that hold the text.
fn files_with(folder: &std::path::Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(files_with(&path, text));
        } else if std::fs::read(&path).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(text)) {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn a_secret_that_the_host_does_not_have_is_missed_before_the_agent_runs() {
    let home = TestHome::new();
    let rights = ["secret:DEMO_KEY@http://localhost:8123:authorization".to_owned()];
    home.write("secretive_agent.py", secret_agent(Engine::Python, &rights));
    done(&home.roost(&["grant", "secretive_agent.py", "--asked"]));
    let outcome = home.json(&[
        "run",
        "agents/secretive_agent.py",
        "url=http://localhost:8123/",
        "header=authorization",
    ]);
    let text = outcome.to_string();
    assert!(text.contains("DEMO_KEY") && text.contains(".env"), "{outcome}");
}
