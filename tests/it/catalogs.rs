//! Catalogs as a person uses them: several sources, offline, one of them broken, and apps whose files are private.

use roost_host::{
    Home, HostSettings, ModeSettings, Policy, SandboxSettings, StoreSettings, Variables,
    catalogs::{CatalogSettings, EntryName, HostCatalogs},
};
use roost_protocol::{Digest, Limits, Reason};
use roost_runtime::{PoolSettings, Surface};
use roost_tests::{StoreServer, TestHome};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::Path,
    sync::{Arc, Mutex},
};
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

const TOKEN: &str = "ghp_tokenOfTheStory0123456789abcdef";

fn entry(id: &str, url: String, more: Value) -> Value {
    let mut entry = json!({
        "id": id, "name": id, "version": "1.0.0", "publisher": "@ada", "summary": format!("Makes {id}."),
        "category": "data", "tags": ["rapplication"], "singleton_filename": format!("{id}_agent.py"),
        "singleton_url": url,
    });
    entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    entry
}

fn catalog(entries: &[Value]) -> String {
    json!({ "schema": "rapp-store/1.0", "name": "A store", "rapplications": entries }).to_string()
}

/// A home whose first catalog is on this server.
fn home_of(server: &StoreServer) -> TestHome {
    let home = TestHome::new().with_variable("RAPPSTORE_URL", server.url("/index.json"));
    let (raw, api) = (server.url("/raw"), server.url("/api"));
    home.settings(&format!("[store]\nraw = \"{raw}\"\ncommits = \"{api}\"\n"));
    home
}

#[track_caller]
fn failed(home: &TestHome, words: &[&str], reason: &str) -> Value {
    let words: Vec<&str> = words.iter().copied().chain(["--json"]).collect();
    let ran = home.roost(&words);
    assert_eq!((ran.status == 0, &ran.json()["error"]["reason"]), (false, &json!(reason)), "{ran:?}");
    ran.json()["error"].clone()
}

#[test]
fn apps_are_found_in_several_catalogs_the_first_of_which_counts() {
    let server = StoreServer::new();
    let tea = entry("tea", server.url("/tea_agent.py"), json!({ "unknown": { "kept": [1] } }));
    server.publish("/index.json", catalog(&[tea, json!({ "id": "BAD" })]));
    let home = home_of(&server);
    let folder = home.outside().join("store");
    fs::create_dir_all(&folder).unwrap();
    let others = [
        entry("tea", "tea_agent.py".into(), json!({ "version": "9.0.0" })),
        entry("cup", "cup_agent.py".into(), json!({})),
    ];
    fs::write(folder.join("index.json"), catalog(&others)).unwrap();
    let added = home.json(&["store", "add", folder.to_str().unwrap(), "--name", "mine"]);
    assert_eq!((&added["added"]["entries"], &added["added"]["kind"]), (&json!(2), &json!("folder")));

    let found = home.json(&["store", "search", "tea"]);
    let versions: Vec<(&Value, &Value)> = found["found"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| (&found["version"], &found["shadowed_by"]))
        .collect();
    assert_eq!(versions, [(&json!("1.0.0"), &Value::Null), (&json!("9.0.0"), &json!("official"))]);
    let shown = home.json(&["store", "show", "@ada/tea"]);
    assert_eq!((&shown["source"], &shown["entry"]["unknown"]["kept"]), (&json!("official"), &json!([1])));
    assert_eq!(shown["also_in"], json!(["mine"]));
    failed(&home, &["store", "show", "saucer"], "unknown_entry");
    failed(&home, &["store", "show", "tea@2.0.0"], "unknown_version");
    failed(&home, &["store", "show", "../tea"], "wrong_use");

    let listed = home.json(&["store", "list"]);
    assert_eq!(listed["sources"][0]["bad_entries"], 1);
    assert_eq!(listed["sources"][0]["problems"][0]["id"], "BAD");
    let text = home.roost(&["store", "search", "tea"]);
    assert!(text.text().contains("@ada/tea  1.0.0  tea"), "{text:?}");
    assert_eq!(home.json(&["store", "remove", "mine"])["removed"], "mine");
    failed(&home, &["store", "remove", "mine"], "unknown_catalog");
    assert_eq!(home.json(&["store", "search"])["total"], 1);
}

#[test]
fn a_catalog_that_fails_is_shown_with_its_reason_and_searched_as_it_was() {
    let server = StoreServer::new();
    server.publish("/index.json", catalog(&[entry("tea", server.url("/a.py"), json!({}))]));
    let home = home_of(&server);
    let listed = home.json(&["store", "list"]);
    assert_eq!(listed["sources"][0]["state"], "unfetched");
    assert!(server.asked().is_empty(), "a list asks nobody");
    assert_eq!(home.json(&["store", "search", "tea"])["total"], 1);

    server.fail(Some(500));
    let refreshed = home.json(&["store", "refresh"]);
    let source = &refreshed["sources"][0];
    assert_eq!((&source["state"], &source["reason"]["reason"]), (&json!("stale"), &json!("fetch_refused")));
    assert!(source["age_seconds"].is_u64() && source["reason"]["next"].is_string(), "{source}");
    let asked = server.asked().len();
    let found = home.json(&["store", "search", "tea"]);
    assert_eq!((&found["total"], &found["sources"][0]["state"]), (&json!(1), &json!("stale")));
    assert_eq!(server.asked().len(), asked, "what was fetched today is not fetched again");

    let error = failed(&home, &["store", "add", &server.url("/other.json")], "fetch_refused");
    assert!(error["message"].as_str().unwrap().contains("answered 500"), "{error}");
    server.fail(None);
    failed(&home, &["store", "add", &server.url("/missing.json")], "fetch_missing");
    server.publish("/page.json", "<html>");
    failed(&home, &["store", "add", &server.url("/page.json")], "catalog_invalid");
    failed(&home, &["store", "add", "http://store.example/index.json"], "address_refused");
    failed(&home, &["store", "add", "/nowhere/at/all"], "catalog_unavailable");
    assert_eq!(
        home.json(&["store", "list"])["sources"].as_array().unwrap().len(),
        1,
        "what fails is not added"
    );
    assert_eq!(home.json(&["store", "refresh", "official"])["sources"][0]["state"], "ready");
}

/// Everything that is logged while it is the subscriber, at every level.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<String>>);

impl Visit for Log {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        writeln!(self.0.lock().unwrap(), "{}={value:?}", field.name()).unwrap();
    }
}

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &span::Attributes<'_>) -> span::Id {
        attributes.record(&mut self.clone());
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, values: &span::Record<'_>) {
        values.record(&mut self.clone());
    }

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// The catalogs of a home as a host opens them.
pub(crate) fn catalogs(home: &TestHome, server: &StoreServer, variables: &[(&str, &str)]) -> HostCatalogs {
    catalogs_of(home, server, variables, Path::new("/nowhere"))
}

/// The same with what other programs stored in this folder.
fn catalogs_of(
    home: &TestHome,
    server: &StoreServer,
    variables: &[(&str, &str)],
    stored: &Path,
) -> HostCatalogs {
    let variables: BTreeMap<String, String> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let settings = HostSettings {
        home: Home::new(home.root(), None),
        surface: Surface::default(),
        pool: PoolSettings::default(),
        environment: BTreeMap::new(),
        working_directory: home.root(),
        sandbox: SandboxSettings::default(),
        policy: Arc::new(Policy::standard(None)),
        variables: Variables::new(variables),
        limits: Limits::default(),
        models: roost_host::chat::ModelSettings::default(),
        tracker: None,
        pinned_agents: Vec::new(),
        agents: BTreeMap::new(),
        modes: ModeSettings::default(),
        store: StoreSettings::default(),
        apps: roost_host::library::AppSettings::default(),
        native: roost_host::native::NativePace::default(),
        catalogs: CatalogSettings {
            official: Some(server.url("/index.json")),
            agents: None,
            senses: None,
            raw: Some(server.url("/raw")),
            commits: Some(server.url("/api")),
            gh_hosts: Some(stored.join("hosts.yml")),
            netrc: Some(stored.join("netrc")),
        },
    };
    HostCatalogs::open(&settings).unwrap()
}

/// Files below a folder that hold this text.
fn files_with(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_with(&path, text));
        } else if fs::read(&path)
            .is_ok_and(|bytes| bytes.windows(text.len()).any(|part| part == text.as_bytes()))
        {
            found.push(path.display().to_string());
        }
    }
    found
}

#[tokio::test]
async fn a_private_app_is_fetched_with_a_token_that_is_seen_nowhere() {
    let server = StoreServer::new();
    let agent = "print('private')";
    let url = "https://raw.githubusercontent.com/wild/private/main/cockpit_agent.py".to_owned();
    let gated = json!({
        "access": "private", "private_repo": "wild/private", "quality_tier": "private",
        "singleton_sha256": Digest::of(agent.as_bytes()), "auth_hint": "gh auth login, then again",
        "access_note": "Ask Wilma.",
    });
    server.publish("/index.json", catalog(&[entry("cockpit", url, gated)]));
    server.publish("/raw/wild/private/main/cockpit_agent.py", agent);
    server.gate("/raw/wild/private/", TOKEN);
    let home = home_of(&server).with_variable("GITHUB_TOKEN", TOKEN);
    let log = Log::default();
    let _logging = tracing::subscriber::set_default(log.clone());
    let mut seen = String::new();

    // Nobody has a token: the reason is that, and nobody is asked.
    let name = EntryName::parse("@ada/cockpit").unwrap();
    let failure = catalogs(&home, &server, &[]).fetch(&name).await.unwrap_err();
    assert_eq!(failure.reason, Reason::GatedNoToken);
    assert!(
        failure.message.contains("Ask Wilma") && failure.next_step().contains("gh auth login, then again")
    );
    assert!(!server.asked().iter().any(|asked| asked.path.contains("private")));

    // Each place in turn.
    let with_variable = catalogs(&home, &server, &[("GITHUB_TOKEN", TOKEN)]).fetch(&name).await.unwrap();
    assert_eq!(with_variable.files[0].bytes, agent.as_bytes());
    let kept = home.roost_with_input(&["secrets", "set", "rapp-store/wild/private"], TOKEN.as_bytes());
    let listed = home.roost(&["secrets", "list"]);
    assert!(listed.text().contains("rapp-store/wild/private"), "{listed:?}");
    let from_vault = catalogs(&home, &server, &[]).fetch(&name).await.unwrap();
    for (file, text) in [
        ("hosts.yml", format!("github.com:\n    oauth_token: {TOKEN}\n    user: ada\n")),
        ("netrc", format!("machine 127.0.0.1 login ada password {TOKEN}\n")),
    ] {
        let stored = tempfile::tempdir().unwrap();
        fs::write(stored.path().join(file), text).unwrap();
        let fetched = catalogs_of(&home, &server, &[], stored.path()).fetch(&name).await.unwrap();
        write!(seen, "{fetched:?}").unwrap();
    }
    write!(seen, "{failure:?} {with_variable:?} {from_vault:?} {kept:?} {listed:?}").unwrap();

    // The first place counts, also when what it has opens nothing.
    let wrong = "ghp_anotherTokenThatOpensNothing";
    let closed = catalogs(&home, &server, &[("GITHUB_TOKEN", wrong)]).fetch(&name).await.unwrap_err();
    assert_eq!(closed.reason, Reason::GatedNoAccess);
    assert!(closed.message.contains("GITHUB_TOKEN") && closed.message.contains("or the file is not there"));
    for words in [
        &["store", "show", "cockpit"][..],
        &["store", "search", "--verbose"],
        &["store", "refresh"],
        &["doctor"],
    ] {
        write!(seen, "{:?}", home.roost(words)).unwrap();
    }
    write!(seen, "{closed:?}").unwrap();

    server.fail(Some(500));
    catalogs(&home, &server, &[("GITHUB_TOKEN", TOKEN)]).refresh(None).await.unwrap();
    assert!(log.0.lock().unwrap().contains("answered 500"), "the log is listened to");
    for token in [TOKEN, wrong] {
        assert!(!seen.contains(token), "{seen}");
        assert!(!log.0.lock().unwrap().contains(token), "in the log");
        assert_eq!(files_with(&home.root(), token), Vec::<String>::new());
        assert_eq!(files_with(&home.outside(), token), Vec::<String>::new());
    }
    for asked in server.asked().iter().filter(|asked| asked.header("authorization").is_some()) {
        assert!(asked.path.starts_with("/raw/wild/private/"), "{asked:?}");
    }
}
