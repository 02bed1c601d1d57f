//! Single files of registries over the package service: agents that answer, senses that are kept, and what is refused.

use super::{agent, left_by_apps, says, works};
use roost_protocol::Digest;
use roost_tests::{RunningHost, StoreServer, TestHome};
use serde_json::{Value, json};
use std::fs;

const SENSE: &str =
    "name = 'eli5'\ndelimiter = '|||ELI5|||'\nresponse_key = 'eli5'\nsystem_prompt = 'Simpler.'\n";

/// Answers of a server that does not give what it was asked for, and the reason that is told.
const HOSTILE: [(&str, &str); 6] = [
    ("HTTP/1.1 404 x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", "fetch_missing"),
    ("HTTP/1.1 500 x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", "fetch_refused"),
    (
        "HTTP/1.1 200 x\r\nContent-Type: text/html\r\nContent-Length: 5\r\nConnection: close\r\n\r\n<html",
        "fetch_garbled",
    ),
    ("HTTP/1.1 200 x\r\nContent-Length: 99999999\r\nConnection: close\r\n\r\nx", "fetch_too_large"),
    ("HTTP/1.1 200 x\r\nContent-Length: 100\r\nConnection: close\r\n\r\nx", "fetch_cut_off"),
    (
        "HTTP/1.1 302 x\r\nLocation: http://elsewhere.example/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        "fetch_redirected",
    ),
];

/// A catalog of apps, a registry of agents and a catalog of senses, on one server.
struct Registries {
    server: StoreServer,
}

impl Registries {
    fn new() -> Self {
        let registries = Self { server: StoreServer::new() };
        registries
            .server
            .publish("/index.json", json!({ "schema": "rapp-store/1.0", "rapplications": [] }).to_string());
        registries.publish_agent(&agent("Tea", "1.0.0", ""), &json!({}));
        registries.publish_sense(SENSE, &json!({}));
        registries
    }

    fn home(&self) -> TestHome {
        TestHome::new()
            .with_variable("RAPPSTORE_URL", self.server.url("/index.json"))
            .with_variable("RAR_URL", self.server.url("/rar/registry.json"))
            .with_variable("SENSESTORE_URL", self.server.url("/senses/index.json"))
    }

    /// Publishes `@ada/tea_time` in place of every other agent.
    fn publish_agent(&self, code: &str, more: &Value) {
        let mut listed = json!({
            "schema": "rapp-agent/1.0", "name": "@ada/tea_time", "version": "1.0.0", "display_name": "Tea time",
            "description": "Says what it is.", "category": "core", "tags": ["tea"],
            "_file": "agents/@ada/tea_agent.py", "_install_filename": "rar_ada_tea_time_agent.py",
            "_sha256": Digest::of(code.as_bytes()),
        });
        listed.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let registry = json!({ "schema": "rapp-registry/1.1", "agents": [listed] }).to_string();
        // A number of more than 64 bits, which the registry has in most of its entries.
        let registry = registry.replacen(
            "{\"schema\":\"rapp-agent",
            "{\"_seed\":36893488147419103232,\"schema\":\"rapp-agent",
            1,
        );
        self.server.publish("/rar/registry.json", registry);
        self.server.publish("/rar/agents/@ada/tea_agent.py", code);
    }

    /// Publishes the sense `eli5` in place of every other.
    fn publish_sense(&self, text: &str, more: &Value) {
        let mut listed = json!({
            "id": "eli5", "name": "ELI5", "slot": "eli5", "delimiter": "|||ELI5|||", "summary": "Simpler.",
            "filename": "eli5_sense.py", "install_path": "utils/senses/eli5_sense.py",
            "url": "files/eli5_sense.py", "sha256": Digest::of(text.as_bytes()),
        });
        listed.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let senses = json!({ "schema": "rapp-sense-store/1.0", "senses": [listed] });
        self.server.publish("/senses/index.json", senses.to_string());
        self.server.publish("/senses/files/eli5_sense.py", text);
    }
}

fn install(host: &RunningHost, kind: &str, name: &str) -> (u16, Value) {
    let answer = host.post(&format!("/api/binder/install/{kind}"), &json!({ "name": name }));
    (answer.status, answer.json())
}

/// Refused for this reason, and nothing is left.
#[track_caller]
fn refused(home: &TestHome, host: &RunningHost, (kind, name): (&str, &str), reason: &str) {
    let (status, body) = install(host, kind, name);
    assert!((400..600).contains(&status), "{reason}: {body}");
    assert_eq!(body["reason"], json!(reason), "{body}");
    assert!(left_by_apps(home).is_empty(), "{reason}: {:?}", left_by_apps(home));
    let left = fs::read_dir(home.root().join("senses")).into_iter().flatten().count();
    assert_eq!(left, 0, "{reason}");
}

#[test]
fn an_agent_of_the_registry_comes_answers_and_is_updated_like_an_app() {
    let registries = Registries::new();
    let home = registries.home();
    let host = home.up();
    assert!(registries.server.asked().is_empty(), "nobody is asked at a start");
    let offered = host.get("/api/binder/catalog/agents");
    assert_eq!(offered.json()["agents"][0]["name"], "@ada/tea_time");
    assert!(offered.body.contains("\"_seed\":36893488147419103232"), "word for word: {}", offered.body);
    assert_eq!(
        host.get("/api/binder/catalog").json(),
        json!({ "rapplications": [] }),
        "it is no rapplication"
    );
    let all = host.get("/api/binder/catalog/all").json();
    assert_eq!(
        (&all["rapplications"], &all["agents"][0]["version"], &all["senses"][0]["id"]),
        (&json!([]), &json!("1.0.0"), &json!("eli5"))
    );

    let (status, body) = install(&host, "agent", "@ada/tea_time");
    let file = "rar_ada_tea_time_agent.py";
    let entry = json!({ "id": "tea_time", "version": "1.0.0", "agent_filename": file, "filename": file });
    assert_eq!((status, body), (200, json!({ "status": "ok", "installed": entry })));
    assert_eq!(host.output("Tea", &json!({})), "Tea 1.0.0 in tea_time");
    assert_eq!(install(&host, "agent", "tea_time").0, 200, "the same again, by its short name");
    let app = works(&home, &["apps"])["apps"][0].clone();
    assert_eq!(
        (&app["kind"], &app["publisher"], &app["origin"]["source"]),
        (&json!("agent"), &json!("@ada"), &json!("rar"))
    );
    assert_eq!(works(&home, &["rights", file])["origin"], "catalog", "it is another's work");

    // The registry counts ends of lines as one byte, and the file may have two.
    let newer = agent("Tea", "1.1.0", "");
    registries.publish_agent(&newer, &json!({ "version": "1.1.0" }));
    registries.server.publish("/rar/agents/@ada/tea_agent.py", newer.replace('\n', "\r\n"));
    assert_eq!(works(&home, &["update", "tea_time"])["updates"][0]["state"], "updated");
    assert_eq!(host.output("Tea", &json!({})), "Tea 1.1.0 in tea_time");
    assert_eq!(host.send("DELETE", "/api/binder/installed/tea_time", &[], b"").status, 200);
    assert!(left_by_apps(&home).is_empty(), "{:?}", left_by_apps(&home));
}

#[test]
fn an_agent_is_found_by_name_where_no_catalog_has_an_app_of_it() {
    let registries = Registries::new();
    let home = registries.home();
    let found = works(&home, &["store", "search", "tea"]);
    assert_eq!((&found["found"][0]["id"], &found["found"][0]["kind"]), (&json!("tea_time"), &json!("agent")));
    let installed = works(&home, &["install", "tea_time", "--yes"]);
    assert_eq!((&installed["app"]["kind"], &installed["app"]["state"]), (&json!("agent"), &json!("enabled")));
    assert_eq!(says(&home, "Tea"), "Tea 1.0.0 in tea_time");
    works(&home, &["remove", "tea_time"]);

    let app = agent("Tea", "of the catalog", "");
    let entry = json!({
        "id": "tea_time", "name": "Tea", "version": "3.0.0", "publisher": "@bob", "summary": "Tea.",
        "singleton_filename": "tea_time_agent.py", "singleton_url": "tea_time_agent.py",
        "singleton_sha256": Digest::of(app.as_bytes()),
    });
    let index = json!({ "schema": "rapp-store/1.0", "rapplications": [entry] });
    registries.server.publish("/index.json", index.to_string());
    registries.server.publish("/tea_time_agent.py", app);
    works(&home, &["store", "refresh"]);
    assert_eq!(
        works(&home, &["install", "tea_time", "--dry-run"])["publisher"],
        "@bob",
        "an app comes first"
    );
    assert_eq!(works(&home, &["install", "@ada/tea_time", "--dry-run"])["publisher"], "@ada");
    let host = home.up();
    assert_eq!(host.get("/api/binder/catalog/agents").json()["agents"][0]["name"], "@ada/tea_time");
    let (status, body) = install(&host, "agent", "tea_time");
    assert_eq!(
        (status, &body["installed"]["version"]),
        (200, &json!("1.0.0")),
        "an agent was asked for: {body}"
    );
    works(&home, &["remove", "tea_time"]);
    works(&home, &["install", "tea_time", "--yes"]);
    let (_, body) = install(&host, "agent", "tea_time");
    assert_eq!(body["reason"], "id_taken", "an agent does not take the place of an app: {body}");
    assert_eq!(host.output("Tea", &json!({})), "Tea of the catalog in tea_time");
}

#[test]
fn an_agent_that_is_not_what_the_registry_says_leaves_nothing() {
    let registries = Registries::new();
    let home = registries.home();
    let host = home.up();
    let tea = ("agent", "@ada/tea_time");
    refused(&home, &host, ("agent", "coffee"), "unknown_entry");
    refused(&home, &host, ("agent", "@bob/tea_time"), "unknown_entry");
    refused(&home, &host, ("agent", "tea_time@9.9.9"), "unknown_version");
    for hostile in ["../tea_time", "/etc/passwd", "https://127.0.0.1/tea_agent.py", "@ada/../tea_time", "a/b"]
    {
        refused(&home, &host, ("agent", hostile), "wrong_use");
    }
    for nothing in [json!({}), json!({ "name": " " })] {
        assert_eq!(host.post("/api/binder/install/agent", &nothing).status, 400);
    }
    assert_eq!(host.post("/api/binder/install/organ", &json!({ "name": "tea_time" })).status, 400);
    let file = "/rar/agents/@ada/tea_agent.py";
    for (answer, reason) in HOSTILE {
        registries.server.answer(file, Some(answer));
        refused(&home, &host, tea, reason);
    }
    registries.server.answer(file, None);
    let code = agent("Tea", "1.0.0", "");
    for (code, more, reason) in [
        (code.as_str(), json!({ "_sha256": "0".repeat(64) }), "digest_mismatch"),
        (code.as_str(), json!({ "_install_filename": "../../tea_agent.py" }), "unknown_entry"),
        (code.as_str(), json!({ "_install_filename": "basic_agent.py" }), "invalid_file_name"),
        (code.as_str(), json!({ "_file": "../../../etc/passwd" }), "unknown_entry"),
        (code.as_str(), json!({ "_file": "https://elsewhere.example/tea_agent.py" }), "unknown_entry"),
        (code.as_str(), json!({ "_source": { "type": "github_private" } }), "unknown_entry"),
        ("raise RuntimeError('no')\n", json!({}), "import_failed"),
        ("def f(:\n", json!({}), "bundle_invalid"),
        ("x = 1\n", json!({}), "no_agent"),
    ] {
        registries.publish_agent(code, &more);
        works(&home, &["store", "refresh"]);
        refused(&home, &host, tea, reason);
    }
    assert_eq!(host.get("/api/binder").json(), json!({ "installed": [] }));
}

#[test]
fn a_registry_that_gives_nothing_is_an_empty_list_with_a_reason_elsewhere() {
    let registries = Registries::new();
    let home = registries.home();
    let host = home.up();
    let no_json = "HTTP/1.1 200 x\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
    for (answer, reason) in HOSTILE.into_iter().chain([(no_json, "catalog_invalid")]) {
        registries.server.answer("/rar/registry.json", Some(answer));
        registries.server.answer("/senses/index.json", Some(answer));
        home.roost(&["store", "refresh"]);
        assert_eq!(host.get("/api/binder/catalog/agents").json(), json!({ "agents": [] }), "{reason}");
        assert_eq!(host.get("/api/binder/catalog/senses").json(), json!({ "senses": [] }), "{reason}");
        refused(&home, &host, ("agent", "tea_time"), reason);
        refused(&home, &host, ("sense", "eli5"), reason);
        let listed = home.json(&["store", "list"]);
        let told = |id: &str| {
            let sources = listed["sources"].as_array().unwrap();
            sources.iter().find(|source| source["id"] == id).unwrap()["reason"]["reason"].clone()
        };
        assert_eq!((told("rar"), told("senses")), (json!(reason), json!(reason)), "{listed}");
    }
    registries.server.answer("/rar/registry.json", None);
    works(&home, &["store", "refresh", "rar"]);
    assert_eq!(install(&host, "agent", "tea_time").0, 200, "it works again when the registry does");
}

#[test]
fn a_sense_is_kept_in_one_folder_and_listed() {
    let registries = Registries::new();
    let home = registries.home();
    let host = home.up();
    let (status, body) = install(&host, "sense", "eli5");
    let entry = json!({ "id": "eli5", "version": null, "agent_filename": null, "filename": "eli5_sense.py" });
    assert_eq!((status, body), (200, json!({ "status": "ok", "installed": entry })));
    assert_eq!(host.get("/api/binder").json(), json!({ "installed": [], "senses": [entry] }));
    let kept = home.root().join("senses/eli5_sense.py");
    assert_eq!(fs::read_to_string(&kept).unwrap(), SENSE);
    assert_eq!(install(&host, "sense", "eli5").0, 200, "the same again");
    fs::write(&kept, "mine = 1\n").unwrap();
    let (_, body) = install(&host, "sense", "eli5");
    assert_eq!(body["reason"], "file_taken", "a person's file is never replaced: {body}");
    assert_eq!(fs::read_to_string(&kept).unwrap(), "mine = 1\n");
}

#[test]
fn a_sense_that_is_not_what_its_catalog_says_leaves_nothing() {
    let registries = Registries::new();
    let home = registries.home();
    let host = home.up();
    refused(&home, &host, ("sense", "haiku"), "unknown_entry");
    refused(&home, &host, ("sense", "../eli5"), "wrong_use");
    for (answer, reason) in HOSTILE {
        registries.server.answer("/senses/files/eli5_sense.py", Some(answer));
        refused(&home, &host, ("sense", "eli5"), reason);
    }
    registries.server.answer("/senses/files/eli5_sense.py", None);
    for (text, more, reason) in [
        (SENSE, json!({ "sha256": "0".repeat(64) }), "digest_mismatch"),
        (SENSE, json!({ "filename": "../agents/eli5_sense.py" }), "unknown_entry"),
        (SENSE, json!({ "install_path": "../../eli5_sense.py" }), "unknown_entry"),
        (SENSE, json!({ "install_path": "/etc/eli5_sense.py" }), "unknown_entry"),
        (SENSE, json!({ "url": "../rar/registry.json" }), "entry_invalid"),
        (SENSE, json!({ "url": "http://elsewhere.example/eli5_sense.py" }), "address_refused"),
        ("def f(:\n", json!({}), "syntax_error"),
        ("name = 'eli5'\n", json!({}), "bundle_invalid"),
    ] {
        registries.publish_sense(text, &more);
        works(&home, &["store", "refresh"]);
        refused(&home, &host, ("sense", "eli5"), reason);
    }
}
