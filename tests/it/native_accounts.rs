//! Accounts elsewhere: signing in at a provider on loopback, and everything that must not work there.

use crate::{
    native_pages::Story,
    native_running::{app_folder, call, settings, started},
};
use roost_host::{
    Host,
    native::{OauthProvider, WrittenProvider},
};
use roost_protocol::Reason;
use roost_tests::{Answer, TestHome};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{Ipv4Addr, TcpListener},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

const ID: &str = "com.example.Board";
const POLICY: &str = "[policy]\nallow = [\"feature:oauth:test\"]\n";

/// Gives out what it was told to, and remembers what it was asked.
struct Provider {
    port: u16,
    answers: Arc<Mutex<Vec<(u16, String)>>>,
    asked: Arc<Mutex<Vec<BTreeMap<String, String>>>>,
}

impl Provider {
    fn new() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let answers: Arc<Mutex<Vec<(u16, String)>>> = Arc::default();
        let asked: Arc<Mutex<Vec<BTreeMap<String, String>>>> = Arc::default();
        let (given, kept) = (Arc::clone(&answers), Arc::clone(&asked));
        // Ends with the process of the test.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut reader = BufReader::new(&stream);
                let (mut line, mut length) = (String::new(), 0);
                while reader.read_line(&mut line).is_ok_and(|bytes| bytes > 2) {
                    let lower = line.to_ascii_lowercase();
                    if let Some(value) = lower.strip_prefix("content-length:") {
                        length = value.trim().parse().unwrap();
                    }
                    line.clear();
                }
                let mut body = vec![0; length];
                reader.read_exact(&mut body).unwrap();
                kept.lock().unwrap().push(pairs(&String::from_utf8(body).unwrap()));
                let (status, body) = given.lock().unwrap().pop().unwrap_or((500, String::new()));
                let head = format!(
                    "HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                    body.len()
                );
                (&stream).write_all(format!("{head}{body}").as_bytes()).ok();
            }
        });
        Self { port, answers, asked }
    }

    fn gives(&self, status: u16, answer: &Value) {
        self.answers.lock().unwrap().insert(0, (status, answer.to_string()));
    }

    fn asked(&self) -> BTreeMap<String, String> {
        self.asked.lock().unwrap().last().cloned().unwrap_or_default()
    }

    fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    fn settings(&self, more: &str) -> String {
        let port = self.port;
        format!(
            "{more}\n[oauth.test]\nauthorize_url = \"http://127.0.0.1:{port}/authorize\"\n\
             token_url = \"http://127.0.0.1:{port}/token\"\nclient_id = \"me & you\"\nclient_secret = \"TEST_SECRET\"\n"
        )
    }
}

fn pairs(text: &str) -> BTreeMap<String, String> {
    let decoded = |text: &str| {
        let mut bytes = Vec::new();
        let mut rest = text.as_bytes();
        while let Some((first, more)) = rest.split_first() {
            if *first == b'%' {
                bytes.push(u8::from_str_radix(std::str::from_utf8(&more[..2]).unwrap(), 16).unwrap());
                rest = &more[2..];
            } else {
                bytes.push(*first);
                rest = more;
            }
        }
        String::from_utf8(bytes).unwrap()
    };
    text.split('&').filter_map(|pair| pair.split_once('=')).map(|(a, b)| (decoded(a), decoded(b))).collect()
}

fn manifest() -> Value {
    json!({
        "permissions": ["oauth:test"],
        "oauth": [{ "provider": "test", "scopes": ["mail.read", "mail.send"] }, { "provider": "google", "scopes": [] }],
    })
}

impl Story {
    fn connect(&self, query: &str) -> Answer {
        self.owner("GET", &format!("/api/v1/apps/{ID}/oauth/test/connect{query}"), &Value::Null)
    }

    /// What the provider is asked for a person.
    fn begun(&self) -> BTreeMap<String, String> {
        let sent = self.connect("");
        assert_eq!(sent.status, 302, "{sent:?}");
        pairs(sent.header("location").unwrap().split_once('?').unwrap().1)
    }

    /// A browser that the provider sends back.
    fn back(&self, query: &str) -> Answer {
        let headers = [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate")];
        self.host.send("GET", &format!("/api/v1/apps/oauth/callback?{query}"), &headers, b"")
    }

    fn accounts(&self) -> Value {
        self.owner("GET", &format!("/api/v1/apps/{ID}/oauth/grants"), &Value::Null).json()["grants"].clone()
    }

    fn heard(&self) -> Value {
        self.host.get(&format!("/api/v1/apps/{ID}/api/settings")).json()["settings"].clone()
    }
}

#[test]
fn a_person_connects_an_account_and_the_app_is_told_the_token_beside_its_settings() {
    let provider = Provider::new();
    let story = Story::with("Board", &manifest(), &provider.settings(POLICY));
    story.owner("PUT", "/secrets/TEST_SECRET", &json!({ "value": "s3cr3t" }));
    story.owner("PUT", &format!("/v1/native-apps/{ID}/settings"), &json!({ "settings": { "name": "Ada" } }));
    let asked = story.begun();
    assert_eq!((asked["response_type"].as_str(), asked["client_id"].as_str()), ("code", "me & you"));
    assert_eq!(
        (asked["scope"].as_str(), asked["code_challenge_method"].as_str()),
        ("mail.read mail.send", "S256")
    );
    assert_eq!(
        asked["redirect_uri"],
        format!("http://127.0.0.1:{}/api/v1/apps/oauth/callback", story.host.port())
    );
    assert!(asked["state"].len() >= 43 && asked["code_challenge"].len() == 43, "{asked:?}");
    assert_eq!(story.accounts()[0]["connection_status"], "pending");

    provider.gives(200, &json!({ "access_token": "at-1", "refresh_token": "rt-1", "expires_in": 3600, "token_type": "bearer" }));
    let done = story.back(&format!("state={}&code=abc", asked["state"]));
    assert!(done.status == 200 && done.body.contains("window.close()"), "{done:?}");
    let exchanged = provider.asked();
    assert_eq!((exchanged["grant_type"].as_str(), exchanged["code"].as_str()), ("authorization_code", "abc"));
    assert_eq!(
        (exchanged["client_secret"].as_str(), exchanged["redirect_uri"].as_str()),
        ("s3cr3t", asked["redirect_uri"].as_str())
    );
    assert!(exchanged["code_verifier"].len() == 43);
    let heard = story.heard();
    assert_eq!((&heard["name"], &heard["oauth:test:access_token"]), (&json!("Ada"), &json!("at-1")));
    assert_eq!(heard["oauth:test:token_type"], "bearer");
    assert!(heard["oauth:test:expires_at"].as_str().unwrap().ends_with('Z'), "{heard}");
    assert!(!heard.to_string().contains("rt-1"));
    let accounts = story.accounts();
    assert_eq!(
        (&accounts[0]["connection_status"], &accounts[0]["scopes"]),
        (&json!("connected"), &json!("mail.read mail.send"))
    );
    assert!(!accounts.to_string().contains("at-1"));

    // The state was for one answer.
    let again = story.back(&format!("state={}&code=abc", asked["state"]));
    assert_eq!((again.status, &again.json()["code"], provider.count()), (400, &json!(400), 1));
    let gone = story.owner("DELETE", &format!("/api/v1/apps/{ID}/oauth/test"), &Value::Null);
    assert_eq!(gone.json(), json!({ "ok": true }));
    let heard = story.heard();
    assert_eq!((&heard["name"], &heard["oauth:test:access_token"]), (&json!("Ada"), &json!("")));
    assert_eq!(story.accounts(), json!([]));
}

#[test]
fn accounts_are_connected_listed_and_disconnected_at_the_command_line() {
    let provider = Provider::new();
    let story = Story::with("Board", &manifest(), &provider.settings(POLICY));
    story.owner("PUT", "/secrets/TEST_SECRET", &json!({ "value": "s3cr3t" }));
    let roost = |arguments: &[&str]| story.home.roost(&[&["accounts", ID], arguments].concat());
    assert!(roost(&[]).stdout.contains("uses no account"));
    let begun = roost(&["connect", "test", "--scopes", "mail.read"]);
    let asked = pairs(begun.stdout.trim().split_once('?').unwrap().1);
    assert_eq!((asked["scope"].as_str(), begun.status), ("mail.read", 0), "{}", begun.stderr);
    assert!(asked["redirect_uri"].contains(&format!(":{}/", story.host.port())), "{asked:?}");
    provider.gives(200, &json!({ "access_token": "at-1", "expires_in": 3600 }));
    assert_eq!(story.back(&format!("state={}&code=abc", asked["state"])).status, 200);
    let listed = roost(&["--json"]);
    let account = &listed.json()[0];
    assert_eq!((&account["provider"], &account["connection_status"]), (&json!("test"), &json!("connected")));
    let shown = roost(&[]).stdout;
    assert!(shown.contains("test  connected  until ") && shown.contains("mail.read"), "{shown}");
    assert!(!shown.contains("at-1") && !listed.stdout.contains("at-1"));

    // What the host refuses is told as everywhere.
    for (arguments, reason) in [
        (&["connect", "test", "--scopes", "mail.read,admin"][..], "oauth_refused"),
        (&["connect", "elsewhere"], "oauth_refused"),
        (&["connect", "google"], "right_not_asked"),
    ] {
        let refused = roost(&[arguments, &["--json"]].concat());
        assert_eq!(
            (refused.status, &refused.json()["error"]["reason"]),
            (1, &json!(reason)),
            "{arguments:?}"
        );
    }
    let unknown = story.home.roost(&["accounts", "com.example.none", "disconnect", "test", "--json"]);
    assert_eq!(unknown.json()["error"]["reason"], "unknown_native_app");

    assert_eq!(roost(&["disconnect", "test", "--json"]).json(), json!({ "ok": true }));
    assert_eq!(story.heard()["oauth:test:access_token"], "");
    assert_eq!(roost(&["--json"]).json(), json!([]));
    assert!(roost(&["disconnect", "test"]).stdout.contains("was not connected"));
}

#[test]
fn only_what_the_manifest_names_and_a_person_granted_is_asked_of_a_provider() {
    let provider = Provider::new();
    let story = Story::with("Board", &manifest(), &provider.settings(""));
    // Named, and granted by nobody.
    assert_eq!(story.connect("").status, 403);
    let granted = story.home.roost(&["grant", &format!("native:{ID}"), "feature:oauth:test"]);
    assert_eq!(granted.status, 0, "{}", granted.stderr);
    assert_eq!(story.connect("").status, 302);
    assert_eq!(story.connect("?scopes=mail.read").status, 302);
    assert_eq!(story.connect("?scopes=mail.read%20admin").status, 400);
    let other = |name: &str| {
        story.owner("GET", &format!("/api/v1/apps/{ID}/oauth/{name}/connect"), &Value::Null).status
    };
    // Not named; named without a permission; and nobody but the owner begins.
    assert_eq!((other("elsewhere"), other("google"), other("%2A")), (400, 403, 400));
    assert_eq!(story.host.get(&format!("/api/v1/apps/{ID}/oauth/test/connect")).status, 403);
    let ours = story.owner("POST", &format!("/v1/native-apps/{ID}/accounts/test"), &Value::Null).json();
    assert!(ours["url"].as_str().unwrap().contains("code_challenge="), "{ours}");
    // What was taken back meanwhile is not used.
    let state = story.begun()["state"].clone();
    story.home.roost(&["revoke", &format!("native:{ID}"), "feature:oauth:test"]);
    assert_eq!((story.back(&format!("state={state}&code=x")).status, provider.count()), (403, 0));
}

#[test]
fn what_comes_back_wrong_connects_nothing() {
    let provider = Provider::new();
    let story = Story::with("Board", &manifest(), &provider.settings(POLICY));
    for query in ["", "code=x", "state=", "state=guessed&code=x"] {
        assert_eq!(story.back(query).status, 400, "{query}");
    }
    let state = story.begun()["state"].clone();
    let refused = story.back(&format!("state={state}&error=access_denied"));
    assert_eq!((refused.status, provider.count()), (400, 0));
    // An error uses the state up, too.
    assert_eq!(story.back(&format!("state={state}&code=x")).status, 400);
    // Without its secret the provider is not asked.
    let state = story.begun()["state"].clone();
    assert_eq!(story.back(&format!("state={state}&code=x")).status, 400);
    assert_eq!(provider.count(), 0);
    story.owner("PUT", "/secrets/TEST_SECRET", &json!({ "value": "s3cr3t" }));
    for (status, answer) in [
        (400, json!({ "error": "invalid_grant", "error_description": "s3cr3t" })),
        (200, json!({ "error": "bad_verification_code" })),
        (200, json!({ "access_token": "" })),
        (200, json!([])),
        (302, json!({ "access_token": "x" })),
        (200, json!({ "access_token": "x".repeat(20_000) })),
    ] {
        provider.gives(status, &answer);
        let state = story.begun()["state"].clone();
        let failed = story.back(&format!("state={state}&code=x"));
        assert_eq!(failed.status, 502, "{answer} {failed:?}");
        assert!(!failed.body.contains("s3cr3t"), "{}", failed.body);
    }
    assert!(story.heard().get("oauth:test:access_token").is_none());
    assert_eq!(story.back("state=x&code=y").header("content-type"), Some("application/json; charset=utf-8"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_is_too_slow_connects_nothing_and_the_reason_says_so() {
    let home = TestHome::new();
    // It takes connections and says nothing.
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("http://127.0.0.1:{}/", silent.local_addr().unwrap().port());
    let written = WrittenProvider {
        authorize_url: Some(url.clone()),
        token_url: Some(url),
        client_id: "me".to_owned(),
        ..WrittenProvider::default()
    };
    let mut settings = settings(&home, "allow = [\"feature:oauth:test\"]");
    settings.apps.oauth.insert("test".to_owned(), OauthProvider::read("test", written).unwrap());
    settings.native.exchange_within = Duration::from_millis(200);
    let host = Host::open(settings).await.unwrap();
    let mut more = manifest();
    more["provides"] = json!(["tool:echo"]);
    started(&host, &app_folder(&home, ID, "Board", &more)).await.unwrap();
    let here = "http://127.0.0.1:1/back";
    let sent = host.connect_account(ID, "test", None, here).await.unwrap();
    let state = pairs(sent.split_once('?').unwrap().1)["state"].clone();
    let failure = host.finish_account(&state, Ok("code")).await.unwrap_err();
    assert_eq!(failure.reason, Reason::OauthFailed);
    assert_eq!(failure.message, "the provider did not answer within 200ms");
    assert_eq!(host.accounts(ID).await.unwrap(), []);
    let told = call(&host, "echo", json!({ "do": "tell settings" })).await.unwrap().output;
    assert!(!told.contains("oauth:test"), "{told}");
    // What was begun is over: the state does not count again.
    let again = host.finish_account(&state, Ok("code")).await.unwrap_err();
    assert_eq!(again.reason, Reason::OauthRefused);
}

#[test]
fn a_token_that_ends_is_renewed_and_the_old_way_of_renewing_is_kept() {
    let provider = Provider::new();
    let mut story = Story::with("Board", &manifest(), &provider.settings(POLICY));
    story.owner("PUT", "/secrets/TEST_SECRET", &json!({ "value": "s3cr3t" }));
    provider.gives(200, &json!({ "access_token": "at-1", "refresh_token": "rt-1", "expires_in": 60 }));
    let state = story.begun()["state"].clone();
    assert_eq!(story.back(&format!("state={state}&code=x")).status, 200);
    provider.gives(200, &json!({ "access_token": "at-2", "expires_in": 60 }));
    // A host that begins looks at once.
    story = story.again();
    roost_tests::until("the token is renewed", || story.heard()["oauth:test:access_token"] == "at-2");
    let asked = provider.asked();
    assert_eq!((asked["grant_type"].as_str(), asked["refresh_token"].as_str()), ("refresh_token", "rt-1"));
    // One that cannot be renewed is told, and asked for again with the same.
    provider.gives(400, &json!({ "error": "invalid_grant" }));
    story = story.again();
    roost_tests::until("it was tried", || story.accounts()[0]["connection_status"] == "error");
    assert_eq!(provider.asked()["refresh_token"], "rt-1");
    assert_eq!(story.heard()["oauth:test:access_token"], "at-2");
}
