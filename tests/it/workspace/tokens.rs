//! Who may ask: tokens, what they are for, how often, and whose files they show.

use super::asking::{Asking, FILES, check, check_refusal, token};
use roost_tests::{Answer, ENGINES, RunningHost, TestHome, home_on};
use serde_json::{Value, json};
use std::fs;

#[test]
fn without_a_token_nobody_is_let_in() {
    let home = TestHome::new();
    let host = home.up();
    let made = token(&home, &[]);
    let right = made["token"].as_str().unwrap();
    for shown in [
        None,
        Some("Bearer".to_owned()),
        Some("Bearer ".to_owned()),
        Some(format!("Basic {right}")),
        Some(format!("Bearer {right}0")),
        Some(format!("Bearer {}", &right[..right.len() - 1])),
        Some(right.to_owned()),
    ] {
        let headers: Vec<(&str, &str)> =
            shown.iter().map(|shown| ("Authorization", shown.as_str())).collect();
        for (method, path) in [
            ("GET", FILES),
            ("GET", "/v1/host/workspace/files/a"),
            ("PUT", "/v1/host/workspace/files/.."),
            ("DELETE", "/v1/host/workspace/files/a"),
        ] {
            let answer = host.send(method, path, &headers, b"not even JSON");
            check_refusal(&answer);
            check(&answer, 401, "unauthenticated");
            assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        }
    }
    let answer = host.send("GET", FILES, &[("authorization", &format!("bearer {right}"))], b"");
    assert_eq!(answer.status, 200);
    let owner = fs::read_to_string(home.root().join("run/owner.token")).unwrap();
    assert_eq!(Asking::with(&host, owner.trim()).put("a.md", "mine", &[]).status, 200);
    assert_eq!(
        Asking::with(&host, right).get("a.md").json()["content"],
        "mine",
        "the owner's files are those of local/default"
    );
}

#[test]
fn a_scope_implies_no_other_and_comes_before_everything_else_that_is_asked() {
    let home = TestHome::new();
    let host = home.up();
    let reader = Asking::new(&home, &host, &["--scope", "workspace:read"]);
    let writer = Asking::new(&home, &host, &["--scope", "workspace:write"]);
    let runner = Asking::new(&home, &host, &["--scope", "runs:read", "--scope", "runs:write"]);
    assert_eq!(writer.put("a.md", "x", &[]).status, 200);
    assert_eq!(reader.get("a.md").status, 200);
    for (answer, scope) in [
        (reader.put("..", "x", &[]), "workspace:write"),
        (reader.delete("..", &[]), "workspace:write"),
        (reader.send("PUT", &format!("{FILES}/a.md"), &[("If-Match", "\"")], b"null"), "workspace:write"),
        (writer.get("%zz"), "workspace:read"),
        (writer.list("?prefix=%zz"), "workspace:read"),
        (runner.get("a.md"), "workspace:read"),
        (runner.put("a.md", "x", &[]), "workspace:write"),
        (writer.send("GET", "/v1/host/workspace/events/poll", &[], b""), "workspace:read"),
    ] {
        check(&answer, 403, "forbidden");
        assert_eq!(answer.json()["details"]["scopeRequired"], scope);
    }
    assert_eq!(writer.delete("a.md", &[]).status, 204);
}

/// Everything of an answer but its time.
type Shown = (u16, Vec<(String, String)>, String);

/// Every way to ask for the file of somebody else, and what an owner without that file hears.
fn everything_about(asking: &Asking<'_>, path: &str, tag: &str) -> Vec<Shown> {
    let answers: Vec<Answer> = vec![
        asking.get(path),
        asking.get(&format!("{path}?version=1")),
        asking.send("GET", &format!("{FILES}/{path}"), &[("If-None-Match", tag)], b""),
        asking.delete(path, &[]),
        asking.delete(path, &[("If-Match", tag)]),
        asking.put(path, "x", &[("If-Match", tag)]),
        asking.list(""),
    ];
    let shown = |answer: Answer| {
        let headers = answer.headers.into_iter().filter(|(name, _)| name != "date").collect();
        (answer.status, headers, answer.body)
    };
    answers.into_iter().map(shown).collect()
}

#[test]
fn the_files_of_others_look_as_if_they_were_not_there() {
    for engine in ENGINES {
        let (home, _server) = home_on(engine);
        let host = home.up();
        let who = |tenant: &str, workspace: &str| {
            Asking::new(&home, &host, &["--tenant", tenant, "--workspace", workspace])
        };
        let (one, two) = (who("ab", "c"), who("a", "bc"));
        let (neighbour, sibling) = (who("ab", "d"), who("b", "c"));
        let made = one.put("IDENTITY.md", "secret of one", &[]);
        let tag = made.header("etag").unwrap();
        for other in [&two, &neighbour, &sibling] {
            let about_it = everything_about(other, "IDENTITY.md", tag);
            let about_nothing = everything_about(other, "NOTHINGX.md", tag);
            assert_eq!(about_it, about_nothing, "{engine:?}");
            assert!(!format!("{about_it:?}").contains("secret of one"));
        }
        // What a request says about its owner means nothing.
        let hints = [("X-Tenant", "ab"), ("X-Workspace", "c"), ("X-OpenWOP-Tenant", "ab")];
        let hinted = two.send("GET", &format!("{FILES}/IDENTITY.md?tenant=ab&workspace=c"), &hints, b"");
        check(&hinted, 404, "not_found");
        let second = two.put("IDENTITY.md", "of two", &[]);
        assert_eq!(second.json()["version"], 1);
        assert_ne!(second.header("etag"), Some(tag));
        assert_eq!(one.get("IDENTITY.md").json(), made.json());
        assert_eq!(one.names(""), ["IDENTITY.md"]);
        two.delete("IDENTITY.md", &[]);
        assert_eq!(one.get("IDENTITY.md").json(), made.json());
        let events =
            |asking: &Asking<'_>| asking.send("GET", "/v1/host/workspace/events/poll", &[], b"").json();
        assert_eq!(events(&one)["revision"], 1);
        assert_eq!(events(&neighbour), json!({ "events": [], "revision": 0 }));
    }
}

#[test]
fn who_asks_too_often_is_told_when_to_come_back_before_anything_else() {
    let home = TestHome::new();
    let host = home.up();
    let made = token(&home, &["--rate", "1", "--scope", "workspace:read"]);
    let asking = Asking::with(&host, made["token"].as_str().unwrap());
    let mut limited = None;
    // The bucket holds two; more than a few requests in this time cannot all be let through.
    for _ in 0..50 {
        let answer = asking.put("..", "x", &[]);
        if answer.status == 429 {
            limited = Some(answer);
            break;
        }
        check(&answer, 403, "forbidden");
    }
    let limited = limited.expect("the limit is met");
    check(&limited, 429, "rate_limited");
    assert!(limited.header("retry-after").unwrap().parse::<u64>().unwrap() >= 1);
    let details = &limited.json()["details"];
    assert!(details["retryAfterMs"].as_u64().unwrap() >= 1 && details["scope"].is_string(), "{details}");
    let other = Asking::new(&home, &host, &[]);
    assert_eq!(other.list("").status, 200, "others are not slowed down");
}

#[test]
fn a_token_ends_when_it_is_taken_back_or_its_time_is_over() {
    for engine in ENGINES {
        let (home, server) = home_on(engine);
        let host = home.up();
        let made = token(&home, &[]);
        let asking = Asking::with(&host, made["token"].as_str().unwrap());
        assert_eq!(asking.list("").status, 200);
        let id = made["id"].as_str().unwrap();
        assert_eq!(home.json(&["keys", "token", "revoke", id]), json!({ "revoked": id }));
        check(&asking.list(""), 401, "key_revoked");
        let again = home.roost(&["keys", "token", "revoke", id, "--json"]);
        assert_eq!((again.status, &again.json()["error"]["reason"]), (1, &json!("unknown_token")));
        let short = token(&home, &["--expires", "1s"]);
        let short = Asking::with(&host, short["token"].as_str().unwrap());
        roost_tests::until("its time is over", || short.list("").status != 200);
        check(&short.list(""), 401, "key_expired");
        if let Some(server) = server {
            let hashes = server.sql("SELECT encode(hash, 'hex') FROM roost.shared_tokens");
            assert!(
                !hashes.contains(made["token"].as_str().unwrap().trim_start_matches("roost_")),
                "{hashes}"
            );
        }
    }
}

#[test]
fn tokens_are_made_listed_and_taken_back_with_and_without_a_running_host() {
    let home = TestHome::new();
    assert_eq!(home.json(&["keys", "token", "list"]), json!({ "tokens": [] }));
    let before = token(
        &home,
        &[
            "--tenant",
            "acme",
            "--workspace",
            "main",
            "--scope",
            "workspace:read",
            "--expires",
            "30d",
            "--note",
            "ci",
        ],
    );
    let mut keys: Vec<&str> = before.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["expires", "id", "scopes", "tenant", "token", "workspace"]);
    let host = home.up();
    let with_host = token(&home, &[]);
    let expected = (&json!("local"), &json!("default"), &json!(["workspace:read", "workspace:write"]), None);
    assert_eq!(
        (&with_host["tenant"], &with_host["workspace"], &with_host["scopes"], with_host.get("expires")),
        expected
    );
    let listed = home.json(&["keys", "token", "list"]);
    let tokens = listed["tokens"].as_array().unwrap();
    assert_eq!(
        tokens.iter().map(|token| &token["id"]).collect::<Vec<_>>(),
        [&before["id"], &with_host["id"]]
    );
    assert_eq!((&tokens[0]["note"], &tokens[0]["expires"]), (&json!("ci"), &before["expires"]));
    let shown = home.roost(&["keys", "token", "create"]);
    assert!(shown.text().starts_with("roost_") && shown.text().lines().count() == 1, "{shown:?}");
    for made in [&before, &with_host] {
        let secret = made["token"].as_str().unwrap();
        assert_eq!(Asking::with(&host, secret).list("").status, 200);
        assert!(!listed.to_string().contains(secret));
        for file in ["roost.db", "roost.db-wal"] {
            let bytes = fs::read(home.root().join(file)).unwrap_or_default();
            assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()), "{file}");
        }
    }
    for words in [
        &["--tenant", "a/b"][..],
        &["--tenant", "roost"],
        &["--workspace", ""],
        &["--scope", "workspace:all"],
        &["--expires", "yesterday"],
        &["--expires", "2020-01-01"],
        &["--rate", "-1"],
    ] {
        let ran = home.roost(&[&["keys", "token", "create", "--json"], words].concat());
        assert_eq!(
            (ran.status, &ran.json()["error"]["reason"]),
            (2, &json!("wrong_use")),
            "{words:?}: {ran:?}"
        );
    }
    assert_eq!(home.json(&["keys", "token", "list"])["tokens"].as_array().unwrap().len(), 3);
}

fn ask(host: &RunningHost, method: &str, path: &str, headers: &[(&str, &str)], body: &Value) -> (u16, Value) {
    let answer = host.send(method, path, headers, body.to_string().as_bytes());
    (answer.status, answer.json())
}

#[test]
fn over_http_tokens_are_the_owners_alone() {
    let home = TestHome::new();
    let host = home.up();
    let made = token(&home, &[]);
    let bearer = format!("Bearer {}", made["token"].as_str().unwrap());
    for headers in [&[][..], &[("Authorization", bearer.as_str())]] {
        for (method, path) in [("GET", "/tokens"), ("POST", "/tokens"), ("DELETE", "/tokens/x")] {
            let (status, answer) = ask(&host, method, path, headers, &json!({}));
            assert_eq!((status, &answer["reason"]), (403, &json!("owner_only")), "{method} {path}");
        }
    }
    let owner = fs::read_to_string(home.root().join("run/owner.token")).unwrap();
    let owner = format!("Bearer {}", owner.trim());
    let owner = [("Authorization", owner.as_str())];
    let wanted = json!({ "tenant": "acme", "scopes": ["runs:read", "runs:read"], "requestsPerSecond": 5 });
    let (status, answer) = ask(&host, "POST", "/tokens", &owner, &wanted);
    assert_eq!((status, &answer["scopes"]), (200, &json!(["runs:read"])), "{answer}");
    let (_, listed) = ask(&host, "GET", "/tokens", &owner, &Value::Null);
    assert_eq!(listed["tokens"][1]["requestsPerSecond"], 5, "{listed}");
    for bad in [
        json!({ "scopes": [] }),
        json!({ "note": "a\nb" }),
        json!({ "more": 1 }),
        json!({ "expires": "soon" }),
    ] {
        let (status, answer) = ask(&host, "POST", "/tokens", &owner, &bad);
        assert_eq!((status, &answer["reason"]), (400, &json!("bad_request")), "{bad}: {answer}");
    }
    assert_eq!(ask(&host, "DELETE", "/tokens/tok_0", &owner, &Value::Null).0, 404);
}

#[test]
fn pages_that_were_allowed_may_use_and_see_what_the_contract_needs() {
    let home = TestHome::new().with_variable("RAPP_CORS_ORIGINS", "https://page.example");
    let host = home.up();
    let asks = [("Origin", "https://page.example"), ("Access-Control-Request-Method", "PUT")];
    let allowed = host.send("OPTIONS", &format!("{FILES}/a.md"), &asks, b"");
    assert_eq!(allowed.status, 204, "{allowed:?}");
    let headers = allowed.header("access-control-allow-headers").unwrap();
    for name in ["authorization", "if-match", "if-none-match", "idempotency-key", "last-event-id"] {
        assert!(headers.split(", ").any(|allowed| allowed == name), "{headers}");
    }
    let asking = Asking::new(&home, &host, &[]);
    let answer = asking.send("GET", FILES, &asks[..1], b"");
    let exposed = answer.header("access-control-expose-headers").unwrap();
    for name in ["etag", "roost-revision", "retry-after", "openwop-idempotent-replay"] {
        assert!(exposed.split(", ").any(|exposed| exposed == name), "{exposed}");
    }
}
