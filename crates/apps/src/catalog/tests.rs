//! Reading catalogs, joining them, and finding what is in them.

use super::{
    Access, Catalog, CatalogAddress, CatalogSource, Catalogs, EntryName, Filters, Freshness, JoinedCatalogs,
    LoadedSource, NamedSources, PartKind, Places, Position, SourceState, Web, WebLimits,
    canned_server::{Answer, CannedServer},
};
use proptest::prelude::*;
use roost_protocol::{Digest, Failure, Reason};
use serde_json::{Value, json};
use std::{
    fs,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

pub(super) fn entry(id: &str, more: Value) -> Value {
    let mut entry = json!({
        "id": id, "name": id.to_uppercase(), "version": "1.0.0", "summary": format!("does {id}"),
        "category": "data", "tags": ["rapplication"], "publisher": "@ada",
        "singleton_filename": format!("{id}_agent.py"), "singleton_url": format!("https://h.example/{id}_agent.py"),
    });
    entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    entry
}

pub(super) fn catalog_of(entries: Vec<Value>) -> Vec<u8> {
    serde_json::to_vec(&json!({ "schema": "rapp-store/1.0", "name": "Test", "rapplications": entries }))
        .unwrap()
}

fn loaded(id: &str, entries: Vec<Value>) -> LoadedSource {
    LoadedSource {
        source: CatalogSource {
            id: id.to_owned(),
            address: CatalogAddress::Folder(PathBuf::from("/nowhere")),
        },
        catalog: Some(Arc::new(Catalog::parse(&catalog_of(entries)).unwrap())),
        fetched_at: None,
        failure: None,
    }
}

/// One entry alone in a catalog of its own: what it is, or what is wrong with it.
#[track_caller]
pub(super) fn read_one(entry: Value) -> Result<Arc<super::Entry>, String> {
    let catalog = Catalog::parse(&catalog_of(vec![entry])).unwrap();
    match (catalog.entries.first(), catalog.bad_entries.first()) {
        (Some(entry), None) => Ok(Arc::clone(entry)),
        (None, Some(bad)) => Err(bad.reason.message.clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_bad_entry_hides_no_other() {
    let catalog = Catalog::parse(&catalog_of(vec![
        entry("tea", json!({})),
        json!("text"),
        entry("Bad", json!({})),
        entry("coffee", json!({ "version": "latest" })),
        entry("rapp-zoo", json!({})),
        entry("tea", json!({})),
        entry("tea", json!({ "publisher": "@bob" })),
    ]))
    .unwrap();
    let names: Vec<String> = catalog.entries.iter().map(|entry| entry.full_name()).collect();
    assert_eq!(names, ["@ada/tea", "@ada/rapp-zoo", "@bob/tea"]);
    let bad: Vec<(usize, Option<&str>)> =
        catalog.bad_entries.iter().map(|bad| (bad.index, bad.id.as_deref())).collect();
    assert_eq!(bad, [(1, None), (2, Some("Bad")), (3, Some("coffee")), (5, Some("tea"))]);
    assert!(catalog.bad_entries.iter().all(|bad| bad.reason.reason == Reason::EntryInvalid));
}

#[test]
fn what_is_no_catalog_is_refused_as_a_whole() {
    for bytes in [
        &b""[..],
        b"[]",
        b"{}",
        b"\xff\xfe",
        br#"{"schema":"rapp-store/2.0","rapplications":[]}"#,
        br#"{"schema":"rapp-store/1.0"}"#,
        br#"{"schema":"rapp-store/1.0","rapplications":{}}"#,
        br#"{"schema":"rapp-store/1.0","rapplications":[NaN]}"#,
    ] {
        assert_eq!(Catalog::parse(bytes).unwrap_err().reason, Reason::CatalogInvalid);
    }
    assert!(Catalog::parse(b"\xef\xbb\xbf{\"schema\":\"rapp-store/1.0\",\"rapplications\":[]}").is_ok());
    let deep = "[".repeat(100_000);
    assert!(
        Catalog::parse(format!(r#"{{"schema":"rapp-store/1.0","rapplications":[{deep}"#).as_bytes()).is_err()
    );
    let deep = format!("{deep}{}", "]".repeat(100_000));
    let whole = format!(r#"{{"schema":"rapp-store/1.0","rapplications":[{{"id":{deep}}}]}}"#);
    assert_eq!(Catalog::parse(whole.as_bytes()).unwrap().bad_entries_total, 1);
}

#[test]
fn every_field_wrong_in_every_way_is_a_sentence() {
    let digest = "0".repeat(64);
    for (wrong, says) in [
        (json!({ "id": null }), "`id`"),
        (json!({ "id": "../x" }), "`id`"),
        (json!({ "id": "x".repeat(101) }), "`id`"),
        (json!({ "publisher": "ada" }), "`publisher`"),
        (json!({ "publisher": ["@ada"] }), "`publisher`"),
        (json!({ "version": 1 }), "`version`"),
        (json!({ "version": "1.0.0\n" }), "`version`"),
        (json!({ "version": "1.0" }), "`version`"),
        (json!({ "access": "secret" }), "`access`"),
        (json!({ "access": ["private"] }), "`access`"),
        (json!({ "private_repo": "no" }), "`private_repo`"),
        (json!({ "private_repo": "a/.." }), "`private_repo`"),
        (json!({ "singleton_filename": "../a.py" }), "`singleton_filename`"),
        (json!({ "singleton_filename": "a/b.py" }), "`singleton_filename`"),
        (json!({ "singleton_filename": 3 }), "`singleton_filename`"),
        (json!({ "singleton_url": ["x"] }), "`singleton_url`"),
        (json!({ "singleton_url": "https://h/a b.py", "singleton_filename": "a.py" }), "`singleton_url`"),
        (json!({ "singleton_sha256": "abc" }), "`singleton_sha256`"),
        (json!({ "ui_url": "https://h/", "ui_sha256": 3 }), "`ui_sha256`"),
        (json!({ "egg_url": "https://h/" }), "`egg_filename`"),
        (json!({ "available_versions": "1.0.0" }), "`available_versions`"),
        (json!({ "available_versions": ["../1"] }), "`available_versions`"),
        (json!({ "source": { "type": "federation" } }), "`source.repo`"),
        (json!({ "source": { "type": "federation", "repo": "a/b", "ref": "a..b/../c" } }), "`source.ref`"),
        (json!({ "source": { "type": "federation", "repo": "a/b", "path": "../c" } }), "`source.path`"),
        (
            json!({ "source": { "type": "federation", "repo": "a/b", "commit_sha": "main" } }),
            "`source.commit_sha`",
        ),
    ] {
        let said = read_one(entry("tea", wrong.clone())).expect_err(&wrong.to_string());
        assert!(said.contains(says), "{wrong}: {said}");
    }
    assert!(read_one(entry("tea", json!({ "singleton_sha256": digest, "tags": "x", "metrics": 3 }))).is_ok());
}

#[test]
fn everything_an_entry_says_is_kept_and_what_is_used_is_read() {
    let written = entry(
        "cockpit",
        json!({
            "access": "private", "private_repo": "kody-w/RAPP_Store_Private", "quality_tier": "private",
            "singleton_sha256": "AA".repeat(32), "ui_url": "https://h.example/ui/main.html",
            "organ_url": "https://h.example/o.py", "egg_url": "https://h.example/s.egg?x=1",
            "auth_hint": "gh auth token \u{1b}[31m", "unknown": { "deep": [1, 2.50] },
            "available_versions": ["0.9.0", { "version": "0.8.0", "singleton_sha256": "bb".repeat(32) }],
        }),
    );
    let text = serde_json::to_string(&written).unwrap();
    let read = read_one(written).unwrap();
    assert_eq!(read.document().get(), text);
    assert_eq!((read.access, read.versions().join(" ")), (Access::Private, "1.0.0 0.9.0 0.8.0".to_owned()));
    let names: Vec<String> = read.parts.iter().map(|part| part.file_name.to_string()).collect();
    assert_eq!(names, ["cockpit_agent.py", "index.html", "o.py", "s.egg"]);
    assert_eq!(read.part(PartKind::Agent).unwrap().sha256, Digest::parse(&"aa".repeat(32)).ok());
    assert_eq!(read.auth_hint.as_deref(), Some("gh auth token  [31m"), "nothing that a terminal obeys");
    assert_eq!(read.available_versions[1].sha256.len(), 1);
}

#[test]
fn names_find_one_entry_or_say_why_not() {
    let joined = JoinedCatalogs::new(vec![
        loaded(
            "first",
            vec![
                entry("tea", json!({})),
                entry("tea", json!({ "publisher": "@bob" })),
                entry("rapp-zoo", json!({})),
            ],
        ),
        loaded(
            "second",
            vec![
                entry("rapp-zoo", json!({ "version": "9.0.0" })),
                entry("rapp-zoo", json!({ "publisher": "@eve" })),
            ],
        ),
    ]);
    let find = |name: &str| joined.find(&EntryName::parse(name).unwrap());
    assert_eq!(find("rapp-zoo").unwrap().source.id, "first");
    assert_eq!(find("@ada/rapp-zoo").unwrap().entry.version, "1.0.0");
    let shadowed = find("@eve/rapp-zoo").unwrap();
    assert_eq!((shadowed.source.id.as_str(), shadowed.shadowed_by.as_deref()), ("second", Some("first")));
    assert_eq!(find("@BOB/tea").unwrap().entry.full_name(), "@bob/tea");
    let ambiguous = find("tea").unwrap_err();
    assert_eq!(ambiguous.reason, Reason::AmbiguousEntry);
    assert!(ambiguous.message.contains("@ada/tea, @bob/tea"), "{}", ambiguous.message);
    assert_eq!(find("none").unwrap_err().reason, Reason::UnknownEntry);
    assert!(find("zoo").unwrap_err().message.contains("near it: @ada/rapp-zoo"));
    let offered = find("tea@2.0.0").unwrap_err();
    assert_eq!(offered.reason, Reason::AmbiguousEntry);
    let version = find("rapp-zoo").unwrap().entry.resolve_version(Some("2.0.0")).unwrap_err();
    assert_eq!(version.reason, Reason::UnknownVersion);
}

#[test]
fn the_best_fit_comes_first_and_every_word_counts() {
    let joined = JoinedCatalogs::new(vec![loaded(
        "a",
        vec![
            entry("notes", json!({ "summary": "keeps a calendar of tea times" })),
            entry("tea_timer", json!({ "tags": ["rapplication", "kitchen"] })),
            entry("tea", json!({ "category": "creative" })),
            entry("steamer", json!({ "publisher": "@bob" })),
            entry("ÜBERSICHT".to_lowercase().as_str(), json!({})),
        ],
    )]);
    let found = |query: &str, filters: &Filters| -> Vec<String> {
        joined.search(query, filters).iter().map(|hit| hit.offer.entry.id.clone()).collect()
    };
    let all = Filters::default();
    assert_eq!(found("tea", &all), ["tea", "tea_timer", "steamer", "notes"]);
    assert_eq!(found("TEA Kitchen", &all), ["tea_timer"]);
    assert_eq!(found("tea nothing", &all), Vec::<String>::new());
    assert_eq!(found("bob", &all), ["steamer"]);
    assert_eq!(found("", &all).len(), 4);
    let of = |filters: Filters| found("tea", &filters);
    assert_eq!(of(Filters { category: Some("Creative".into()), ..Filters::default() }), ["tea"]);
    assert_eq!(of(Filters { publisher: Some("bob".into()), ..Filters::default() }), ["steamer"]);
    assert_eq!(of(Filters { tag: Some("kitchen".into()), ..Filters::default() }), ["tea_timer"]);
    assert_eq!(of(Filters { source: Some("b".into()), ..Filters::default() }), Vec::<String>::new());
}

#[test]
fn single_files_are_found_beside_the_apps() {
    let registry = json!({ "schema": "rapp-registry/1.1", "agents": [
        { "name": "@ada/tea", "version": "1.0.0", "_file": "agents/tea_agent.py" },
        { "name": "@ada/cup", "version": "1.0.0", "_file": "agents/cup_agent.py" },
        { "name": "@bob/cup", "version": "1.0.0", "_file": "agents/cups_agent.py" },
        { "name": "@bob/bad", "version": "1.0.0", "_file": "../bad_agent.py" },
    ] });
    let sense =
        |publisher: &str| json!({ "id": "eli5", "publisher": publisher, "url": "senses/eli5_sense.py" });
    let apps = json!({ "schema": "rapp-store/1.0", "rapplications": [entry("tea", json!({}))],
        "agents": 7, "senses": [sense("@ada"), { "id": "bad" }] });
    let senses = json!({ "schema": "rapp-sense-store/1.0", "senses": [sense("@ada"), sense("@bob")] });
    let sources = [("apps", apps), ("rar", registry), ("senses", senses)].map(|(id, document)| {
        let catalog = Catalog::parse(document.to_string().as_bytes()).unwrap();
        LoadedSource { catalog: Some(Arc::new(catalog)), ..loaded(id, Vec::new()) }
    });
    assert_eq!(sources[1].catalog.as_ref().unwrap().bad_entries[0].id.as_deref(), Some("@bob/bad"));
    assert_eq!(sources[0].catalog.as_ref().unwrap().bad_entries_total, 1);
    let joined = JoinedCatalogs::new(sources.to_vec());
    let name = |text: &str| EntryName::parse(text).unwrap();
    assert_eq!(joined.find(&name("tea")).unwrap().source.id, "apps", "an app of a catalog comes first");
    assert_eq!(joined.find_agent(&name("tea")).unwrap().source.id, "rar");
    assert_eq!(joined.find_agent(&name("@BOB/cup")).unwrap().entry.full_name(), "@bob/cup");
    assert_eq!(joined.find(&name("cup")).unwrap_err().reason, Reason::AmbiguousEntry);
    assert_eq!(joined.find_agent(&name("cup")).unwrap_err().reason, Reason::AmbiguousEntry);
    assert_eq!(joined.find_agent(&name("eli5")).unwrap_err().reason, Reason::UnknownEntry);
    assert_eq!(joined.senses.len(), 2);
    assert_eq!(joined.find_sense(&name("@ada/eli5")).unwrap().source.id, "apps");
    assert_eq!(joined.find_sense(&name("eli5")).unwrap_err().reason, Reason::AmbiguousEntry);
    let failure = Failure::new(Reason::FetchSlow, "slow");
    let silent = LoadedSource { catalog: None, failure: Some(failure), ..loaded("rar", Vec::new()) };
    let silent = JoinedCatalogs::new(vec![silent]);
    assert_eq!(silent.find_agent(&name("tea")).unwrap_err().reason, Reason::FetchSlow, "nobody could look");
    assert_eq!(silent.find_sense(&name("tea")).unwrap_err().reason, Reason::UnknownEntry);
    for wrong in ["rapp-registry/1.1", "rapp-sense-store/1.0", "rapp-registry/2.0", "other"] {
        let document = json!({ "schema": wrong, "rapplications": [] }).to_string();
        assert_eq!(
            Catalog::parse(document.as_bytes()).unwrap_err().reason,
            Reason::CatalogInvalid,
            "{wrong}"
        );
    }
}

/// Another address for the first catalog.
fn at(official: &str) -> NamedSources<'_> {
    NamedSources { official: Some(official), ..NamedSources::default() }
}

fn web() -> Web {
    Web::new(super::web::tests::client(), WebLimits::default())
}

#[tokio::test]
async fn a_catalog_is_kept_and_a_source_that_fails_keeps_what_it_had() {
    let home = tempfile::tempdir().unwrap();
    let turn = Arc::new(AtomicUsize::new(0));
    let turns = Arc::clone(&turn);
    let server =
        CannedServer::new(move |asked| match (turns.load(Ordering::SeqCst), asked.header("if-none-match")) {
            (0, None) => Answer::new(200, "ETag: \"1\"\r\n", &catalog_of(vec![entry("tea", json!({}))])),
            (1, Some("\"1\"")) => Answer::Bytes(b"HTTP/1.1 304 x\r\n\r\n".into()),
            (2, _) => Answer::status(500),
            (3, _) => Answer::ok("{}"),
            _ => Answer::status(400),
        });
    let folder = home.path().join("catalogs");
    let open = || Catalogs::new(folder.clone(), Places::default(), at(&server.url("/index.json"))).unwrap();
    let catalogs = open();
    let source = catalogs.sources().unwrap().remove(0);
    assert_eq!(catalogs.joined().unwrap().sources[0].state(), SourceState::Unfetched);
    assert_eq!(catalogs.outdated(Freshness::AtMost(std::time::Duration::from_secs(60))).unwrap().len(), 1);
    for (number, reason, state) in [
        (0, None, SourceState::Ready),
        (1, None, SourceState::Ready),
        (2, Some(Reason::FetchRefused), SourceState::Stale),
        (3, Some(Reason::CatalogInvalid), SourceState::Stale),
        (1, None, SourceState::Ready),
    ] {
        turn.store(number, Ordering::SeqCst);
        assert_eq!(
            catalogs.fetch(&web(), &source).await.err().map(|failure| failure.reason),
            reason,
            "{number}"
        );
        // Also for a process that comes later.
        for catalogs in [&catalogs, &open()] {
            let joined = catalogs.joined().unwrap();
            assert_eq!((joined.sources[0].state(), joined.offers.len()), (state, 1), "{number}");
        }
    }
    assert!(catalogs.outdated(Freshness::AtMost(std::time::Duration::from_secs(60))).unwrap().is_empty());
    // What was damaged counts as nothing, and is fetched anew.
    let kept = fs::read_dir(&folder)
        .unwrap()
        .flatten()
        .find(|file| file.file_name().to_string_lossy().ends_with(".catalog"));
    let path = kept.unwrap().path();
    let text = fs::read_to_string(&path).unwrap().replace("does tea", "did more");
    fs::write(&path, text).unwrap();
    assert_eq!(open().joined().unwrap().sources[0].state(), SourceState::Unfetched);
}

#[tokio::test]
async fn an_older_catalog_than_was_seen_is_not_taken() {
    let home = tempfile::tempdir().unwrap();
    let dates = Arc::new(AtomicUsize::new(20));
    let day = Arc::clone(&dates);
    let server = CannedServer::new(move |_| {
        let date = format!("2026-05-{}T00:00:00Z", day.load(Ordering::SeqCst));
        let document = json!({ "schema": "rapp-store/1.0", "generated_at": date, "rapplications": [] });
        Answer::ok(document.to_string())
    });
    let catalogs = Catalogs::new(home.path().to_owned(), Places::default(), at(&server.url(""))).unwrap();
    let source = catalogs.sources().unwrap().remove(0);
    for (date, is_taken) in [(20, true), (20, true), (19, false), (21, true)] {
        dates.store(date, Ordering::SeqCst);
        let fetched = catalogs.fetch(&web(), &source).await;
        assert_eq!(fetched.is_ok(), is_taken, "{date}: {fetched:?}");
    }
    assert_eq!(server.paths()[0], "/index.json", "the name of the file is added where it is missing");
}

#[test]
fn sources_have_an_order_and_are_changed_one_at_a_time() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("apps/.catalogs");
    let catalogs = Catalogs::new(folder.clone(), Places::default(), NamedSources::default()).unwrap();
    let ids = || -> Vec<String> { catalogs.sources().unwrap().into_iter().map(|source| source.id).collect() };
    assert_eq!(ids(), ["official", "rar", "senses"]);
    catalogs.add("https://h.example/store/", None, Position::Last).unwrap();
    catalogs.add("/srv/my apps", Some("mine"), Position::First).unwrap();
    catalogs.add("https://github.com/ada/apps", None, Position::Last).unwrap();
    assert_eq!(ids(), ["mine", "official", "store", "apps", "rar", "senses"]);
    assert_eq!(catalogs.remove("rar").unwrap_err().reason, Reason::WrongUse, "it stands in the settings");
    let addresses: Vec<String> =
        catalogs.sources().unwrap().into_iter().map(|source| source.address.to_string()).collect();
    assert_eq!(addresses[2], "https://h.example/store/index.json");
    assert_eq!(addresses[3], "https://raw.githubusercontent.com/ada/apps/main/index.json");
    let twice = catalogs.add("https://h.example/store/index.json", None, Position::Last).unwrap_err();
    assert_eq!(twice.reason, Reason::AlreadyExists);
    for bad in ["http://h.example/", "https://a:b@h.example/", "ftp://h", "https://h.example/?key=1"] {
        assert_eq!(
            catalogs.add(bad, None, Position::Last).unwrap_err().reason,
            Reason::AddressRefused,
            "{bad}"
        );
    }
    assert_eq!(catalogs.add("/x", Some("No"), Position::Last).unwrap_err().reason, Reason::WrongUse);
    catalogs.remove("official").unwrap();
    assert_eq!(catalogs.remove("official").unwrap_err().reason, Reason::UnknownCatalog);
    assert_eq!(ids(), ["mine", "store", "apps"], "what belongs to the official one goes with it");
    let named = Catalogs::new(folder.clone(), Places::default(), at("https://other.example/i.json")).unwrap();
    assert_eq!(named.sources().unwrap()[0].address.to_string(), "https://other.example/i.json");
    assert_eq!(named.sources().unwrap().len(), 4, "nor is it asked beside another");
    let registry =
        NamedSources { agents: Some("https://h.example/registry.json"), ..NamedSources::default() };
    let registry = Catalogs::new(folder.clone(), Places::default(), registry).unwrap().sources().unwrap();
    assert_eq!(registry[3].address.to_string(), "https://h.example/registry.json");
    let bad = NamedSources { senses: Some("http://h.example/"), ..NamedSources::default() };
    let bad = Catalogs::new(folder.clone(), Places::default(), bad).unwrap_err();
    assert!(bad.message.starts_with("SENSESTORE_URL: "), "{}", bad.message);
    fs::write(folder.join("sources.json"), "{").unwrap();
    assert_eq!(catalogs.sources().unwrap_err().reason, Reason::CatalogUnavailable);
    assert!(catalogs.add("/y", None, Position::Last).is_err(), "what cannot be read is not written over");
}

/// Any JSON, a little of everything.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
        Just(json!("federation")),
        Just(json!("private")),
        Just(json!("a/b")),
        Just(json!("1.0.0")),
    ];
    leaf.prop_recursive(3, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::hash_map("[a-z_]{1,12}", inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_document_makes_the_reader_panic(document in any_json(), bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        Catalog::parse(&bytes).ok();
        Catalog::parse(document.to_string().as_bytes()).ok();
    }

    #[test]
    fn no_value_in_an_entry_makes_the_reader_panic_and_none_is_lost(
        values in prop::collection::vec((0usize..KEYS.len(), any_json()), 0..6),
    ) {
        let mut written = entry("tea", json!({}));
        for (key, value) in values {
            written[KEYS[key]] = value;
        }
        let catalog = Catalog::parse(&catalog_of(vec![written.clone()])).unwrap();
        prop_assert_eq!(catalog.entries.len() + catalog.bad_entries_total, 1);
        for entry in &catalog.entries {
            prop_assert!(entry.parts.iter().all(|part| !part.file_name.as_str().contains(['/', '\\', '\0'])));
            // As text: what is kept is what was written, number for number.
            prop_assert_eq!(entry.document().get(), serde_json::to_string(&written).unwrap());
        }
    }

    #[test]
    fn no_query_and_no_name_makes_a_search_panic(query in ".{0,60}") {
        let joined = JoinedCatalogs::new(vec![loaded("a", vec![entry("tea", json!({ "summary": "ünï €" }))])]);
        prop_assert!(joined.search(&query, &Filters::default()).len() <= 1);
        EntryName::parse(&query).ok();
        super::RepositoryAddress::parse(&query).ok();
        super::FileName::parse(&query).ok();
    }
}

const KEYS: &[&str] = &[
    "id",
    "name",
    "version",
    "publisher",
    "manifest_name",
    "summary",
    "tags",
    "access",
    "private_repo",
    "source",
    "available_versions",
    "singleton_url",
    "singleton_filename",
    "singleton_sha256",
    "singleton_bytes",
    "ui_url",
    "ui_filename",
    "service_url",
    "egg_url",
    "organ_url",
    "tools_url",
    "quality_tier",
    "auth_hint",
];
