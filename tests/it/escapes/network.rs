//! With a way out to one port: everything else stays closed, whether the agent goes around the proxy or through it.

use super::{Probes, attempt, bait::Bait, mentions, refused};
use roost_tests::{Engine, RunningHost, TestHome, User, WebServer, python_file, typescript_agent};
use serde_json::{Value, json};

/// A probe, what it is led to, and the words for its refusal; no words where nobody notices.
type Attempt = (&'static str, Value, &'static [&'static str]);

/// An agent's own loopback is its own: that only the proxy listens there is no refusal to the kernel, which answers as
/// it does everywhere.
const NOT_SEEN: &[&str] = &[];

/// Everything that leads elsewhere, with the words for its refusal.
fn attempts(closed: &str) -> Vec<Attempt> {
    let mapped = format!("[::ffff:127.0.0.1]:{}", closed.rsplit(':').next().unwrap());
    vec![
        ("tcp_connect", json!({ "tcp_address": closed }), NOT_SEEN),
        ("tcp_connect", json!({ "tcp_address": "192.0.2.1:443" }), &["192.0.2.1"]),
        ("tcp_connect", json!({ "tcp_address": "169.254.169.254:80" }), &["169.254.169.254"]),
        ("ip_literal", json!({ "ip_address": "192.0.2.1:443" }), &["192.0.2.1"]),
        ("ip_literal", json!({ "ip_address": mapped }), NOT_SEEN),
        ("ip_literal", json!({ "ip_address": "[::ffff:192.0.2.1]:443" }), &["192.0.2.1"]),
        ("udp_send", json!({}), &["send datagrams"]),
        ("dns_lookup", json!({ "dns_name": "example.com" }), &["example.com"]),
        ("proxy_other_host", json!({ "other_url": format!("http://{closed}/") }), &["127.0.0.1:"]),
        ("proxy_other_host", json!({ "other_url": "http://other.example/" }), &["other.example"]),
        ("proxy_other_host", json!({ "other_url": format!("http://{mapped}/") }), &["127.0.0.1"]),
        ("proxy_connect_private", json!({ "private_address": closed }), &["127.0.0.1:"]),
        ("proxy_connect_private", json!({ "private_address": "169.254.169.254:80" }), &["169.254.169.254"]),
        ("proxy_connect_private", json!({ "private_address": "10.0.0.1:22" }), &["10.0.0.1"]),
        ("raw_socket", json!({}), &["open a raw socket"]),
        ("packet_socket", json!({}), &["open a packet socket"]),
        ("netlink_socket", json!({}), &["open a netlink socket"]),
        ("host_socket_path", json!({}), &["Unix socket", "/sockets/path"]),
        ("host_socket_abstract", json!({}), &["Unix socket"]),
        ("datagram_socketpair", json!({}), &["datagram"]),
    ]
}

fn check(engine: Engine, user: User) {
    let Some(probes) = Probes::put(user, engine, "") else { return };
    let (bait, open) = (Bait::lay(&probes.home), WebServer::new());
    let address = format!("127.0.0.1:{}", open.port());
    probes.declare(&[&format!("network:{address}"), "subprocess"]);
    user.own(&probes.home);
    probes.grant("--asked");
    let host = user.up(&probes.home);
    let targets = bait.targets(&host, probes.stem());
    let (said, receipt) =
        attempt(&host, "proxy_other_host", &json!({ "other_url": format!("http://{address}/") }));
    assert_eq!(said["escaped"], true, "the one way that was granted: {said} {receipt}");
    assert_eq!(receipt["enforcement"]["network"], "hosts", "{receipt}");
    let mut wrong = Vec::new();
    for (probe, more, words) in attempts(&bait.tcp_address()) {
        let mut given = targets.clone();
        given.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (said, receipt) = attempt(&host, probe, &given);
        let lines = refused(&receipt);
        if said["escaped"] != false || !said["skipped"].is_null() {
            wrong.push(format!("{probe} {more}: {said}"));
        } else if receipt["enforcement"]["level"] != "full" {
            wrong.push(format!("{probe} {more}: {}", receipt["enforcement"]));
        } else if !words.is_empty() && !mentions(&lines, words) {
            wrong.push(format!("{probe} {more}: nothing of {words:?} in {lines:?}; it said {said}"));
        }
    }
    let rows = probes.refused_in_audit(&host);
    for word in ["169.254.169.254", "other.example", "send datagrams", "10.0.0.1"] {
        if !mentions(&rows, &[word]) {
            wrong.push(format!("the audit log has no row with {word}"));
        }
    }
    assert!(wrong.is_empty(), "{engine:?} as {user:?}:\n{}", wrong.join("\n"));
    bait.assert_untouched();
}

#[test]
fn one_granted_port_opens_no_other_way_out_of_python() {
    User::ALL.into_iter().for_each(|user| check(Engine::Python, user));
}

#[test]
fn one_granted_port_opens_no_other_way_out_of_node() {
    User::ALL.into_iter().for_each(|user| check(Engine::Node, user));
}

#[test]
fn one_granted_port_opens_no_other_way_out_of_deno() {
    User::ALL.into_iter().for_each(|user| check(Engine::Deno, user));
}

/// An agent that fetches what it is told to and follows where it is sent.
fn follower(engine: Engine) -> Option<(TestHome, &'static str)> {
    let home = User::Caller.home(engine)?;
    let file = if engine == Engine::Python { "follower_agent.py" } else { "follower_agent.ts" };
    let python = "try:\n    with urllib.request.urlopen(kwargs['url'], timeout=5) as answer: return answer.read().decode()\n\
        except OSError as error:\n    return 'failed: ' + str(error)";
    let typescript = "try { return await (await fetch(String(kwargs.url))).text(); }\n\
        catch (error) { return `failed: ${error}`; }";
    match engine {
        Engine::Python => home.write(file, python_file("Follower", "import urllib.request", python)),
        Engine::Node | Engine::Deno => home.write(file, typescript_agent("Follower", "", typescript)),
    };
    Some((home, file))
}

fn fetch(host: &RunningHost, url: &str) -> (String, Value) {
    let mut outcome = host.call("Follower", &json!({ "url": url })).json();
    (outcome["output"].as_str().unwrap_or_default().to_owned(), outcome["receipt"].take())
}

#[test]
fn a_redirect_of_the_allowed_server_leads_nowhere_else() {
    for engine in Engine::ALL {
        let Some((home, file)) = follower(engine) else { continue };
        let (open, closed) = (WebServer::new(), WebServer::new());
        let host = home.up();
        let (_, receipt) = fetch(&host, &open.url("127.0.0.1", "/first"));
        assert!(mentions(&refused(&receipt), &["127.0.0.1"]), "{engine:?}: {receipt}");
        let right = format!("network:127.0.0.1:{}", open.port());
        let granted = home.roost(&["grant", file, &right]);
        assert_eq!(granted.status, 0, "{engine:?}: {granted:?}");
        let (output, receipt) = fetch(&host, &open.url("127.0.0.1", "/first"));
        assert_eq!(output, "served /first", "{engine:?}: {receipt}");

        let elsewhere = [
            ("169.254.169.254".to_owned(), "169.254.169.254"),
            (format!("127.0.0.1:{}", closed.port()), "127.0.0.1:"),
            (format!("localhost:{}", closed.port()), "localhost:"),
            (format!("[::ffff:127.0.0.1]:{}", closed.port()), "127.0.0.1"),
            ("10.0.0.1".to_owned(), "10.0.0.1"),
        ];
        for (place, words) in &elsewhere {
            let (output, receipt) = fetch(&host, &open.url("127.0.0.1", &format!("/to/{place}")));
            assert!(!output.contains("served"), "{engine:?} {place}: {output}");
            assert!(mentions(&refused(&receipt), &[words]), "{engine:?} {place}: {output}, {receipt}");
        }
        assert_eq!(open.asked().len(), 1 + elsewhere.len(), "{engine:?}: {:?}", open.asked());
        assert!(closed.asked().is_empty(), "{engine:?}: {:?}", closed.asked());
    }
}
