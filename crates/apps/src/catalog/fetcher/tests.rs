//! From entries and repositories to bytes: every fetch failing in every way, and nothing handed on before all fit.

use super::Fetcher;
use crate::catalog::{
    CatalogAddress, CatalogSource, FetchOrigin, FetchedApp, Offer, PartKind, Places, RepositoryAddress,
    Token, TokenSources, Web, WebLimits,
    canned_server::{Answer, CannedServer},
    tests::{entry, read_one},
    web::tests::client,
};
use roost_protocol::{Digest, Failure, Reason};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs, sync::Arc, time::Duration};

const TOKEN: &str = "ghp_tokenOfTheStory0123456789";
const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

fn sha256(text: &str) -> String {
    Digest::of(text.as_bytes()).to_string()
}

/// A server with these files and nothing else.
fn serving(files: &[(&str, &str)]) -> CannedServer {
    let files: BTreeMap<String, String> =
        files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    CannedServer::new(move |asked| files.get(&asked.path).map_or_else(|| Answer::status(404), Answer::ok))
}

fn fetcher(server: &CannedServer) -> Fetcher {
    let places = Places::new(Some(&server.url("/raw")), Some(&server.url("/api"))).unwrap();
    Fetcher::new(Web::new(client(), WebLimits { total: Duration::from_millis(300), redirects: 2 }), places)
}

fn offer(address: CatalogAddress, written: Value) -> Offer {
    let source = Arc::new(CatalogSource { id: "test".to_owned(), address });
    Offer { source, entry: read_one(written).unwrap(), shadowed_by: None }
}

fn at(server: &CannedServer) -> CatalogAddress {
    CatalogAddress::Url(server.url("/index.json"))
}

fn texts(app: &FetchedApp) -> Vec<(PartKind, String, bool)> {
    let text = |file: &crate::catalog::FetchedFile| String::from_utf8_lossy(&file.bytes).into_owned();
    app.files.iter().map(|file| (file.kind, text(file), file.is_verified)).collect()
}

async fn fetch(fetcher: &Fetcher, offer: &Offer) -> Result<FetchedApp, Failure> {
    fetcher.fetch_entry(offer, None, TokenSources::default()).await
}

#[tokio::test]
async fn every_file_of_an_entry_is_brought_and_checked() {
    let server =
        serving(&[("/a.py", "agent"), ("/s.py", "service"), ("/ui/p.html", "page"), ("/x.egg", "egg")]);
    let written = entry(
        "tea",
        json!({
            "singleton_url": server.url("/a.py"), "singleton_sha256": sha256("agent"),
            "service_url": "s.py", "service_sha256": sha256("service").to_uppercase(),
            "ui_url": server.url("/ui/p.html"), "ui_filename": "p.html",
            "egg_url": server.url("/x.egg"), "egg_sha256": sha256("another"),
        }),
    );
    let app = fetch(&fetcher(&server), &offer(at(&server), written)).await.unwrap();
    assert_eq!(
        texts(&app),
        [
            (PartKind::Agent, "agent".to_owned(), true),
            (PartKind::Service, "service".to_owned(), true),
            (PartKind::Page, "page".to_owned(), false),
        ]
    );
    assert_eq!(app.left_out.len(), 1, "a stale egg is left out, with the reason");
    assert_eq!(app.left_out[0].reason.reason, Reason::DigestMismatch);
    assert_eq!(app.origin, FetchOrigin::Catalog { source: "test".to_owned() });
    assert!(server.asked().iter().all(|asked| asked.header("authorization").is_none()));
}

#[tokio::test]
async fn each_fetch_can_fail_in_each_way_and_says_which_one_did() {
    let ways: [(&str, Reason); 7] = [
        ("404", Reason::FetchMissing),
        ("500", Reason::FetchRefused),
        ("cut", Reason::FetchCutOff),
        ("stall", Reason::FetchSlow),
        ("loop", Reason::FetchRedirected),
        ("garbage", Reason::FetchGarbled),
        ("other", Reason::DigestMismatch),
    ];
    for (bad, word) in [
        ("/a.py", "the agent of @ada/tea"),
        ("/s.py", "the service of @ada/tea"),
        ("/p.html", "the page of @ada/tea"),
    ] {
        for (way, reason) in ways {
            let server =
                CannedServer::new(
                    move |asked| {
                        if asked.path == bad { failing(way, bad) } else { Answer::ok("fine") }
                    },
                );
            let written = entry(
                "tea",
                json!({
                    "singleton_url": server.url("/a.py"), "singleton_sha256": sha256("fine"),
                    "service_url": server.url("/s.py"), "service_sha256": sha256("fine"),
                    "ui_url": server.url("/p.html"), "ui_sha256": sha256("fine"),
                }),
            );
            let failure = fetch(&fetcher(&server), &offer(at(&server), written)).await.unwrap_err();
            assert_eq!(failure.reason, reason, "{bad} {way}: {}", failure.message);
            assert!(failure.message.starts_with(word), "{bad} {way}: {}", failure.message);
        }
    }
}

/// An answer that fails in this way.
fn failing(way: &str, path: &str) -> Answer {
    match way {
        "404" => Answer::status(404),
        "500" => Answer::status(500),
        "cut" => Answer::Bytes(b"HTTP/1.1 200 x\r\nContent-Length: 4\r\n\r\nfi".into()),
        "stall" => Answer::Hang(b"HTTP/1.1 200 x\r\nContent-Length: 4\r\n\r\nfi".into()),
        "loop" => Answer::redirect(path),
        "garbage" => Answer::Bytes(b"garbage".into()),
        _ => Answer::ok("another"),
    }
}

#[tokio::test]
async fn each_fetch_of_a_repository_can_fail_in_each_way_and_says_which_one_did() {
    let fetches = [
        ("/commits/main", "the commit of ada/apps"),
        ("/manifest.json", "the manifest of ada/apps"),
        ("/a.py", "the agent of ada/apps"),
        ("/s.py", "the service of ada/apps"),
        ("/p.html", "the page of ada/apps"),
    ];
    let ways = [
        ("404", Reason::FetchMissing),
        ("500", Reason::FetchRefused),
        ("cut", Reason::FetchCutOff),
        ("stall", Reason::FetchSlow),
        ("loop", Reason::FetchRedirected),
        ("garbage", Reason::FetchGarbled),
    ];
    for (bad, word) in fetches {
        for (way, reason) in ways {
            let server = CannedServer::new(move |asked| match asked.path.as_str() {
                path if path.ends_with(bad) => failing(way, path),
                path if path.starts_with("/api/") => Answer::ok(json!({ "sha": COMMIT }).to_string()),
                path if path.ends_with("/manifest.json") => Answer::ok(
                    json!({ "id": "tea", "agent": "a.py", "service": "s.py", "ui": "p.html" }).to_string(),
                ),
                _ => Answer::ok("fine"),
            });
            let address = RepositoryAddress::parse("https://github.com/ada/apps").unwrap();
            let failure = fetcher(&server).fetch_repository(&address).await.unwrap_err();
            let expect = if bad == "/commits/main" { Reason::CommitUnknown } else { reason };
            assert_eq!(failure.reason, expect, "{bad} {way}: {}", failure.message);
            assert!(failure.message.starts_with(word), "{bad} {way}: {}", failure.message);
        }
    }
}

#[tokio::test]
async fn a_catalog_from_elsewhere_does_not_lead_into_this_machine() {
    let server = serving(&[("/a.py", "agent")]);
    let written = entry("tea", json!({ "singleton_url": server.url("/a.py") }));
    let elsewhere = CatalogAddress::Url("https://h.example/index.json".to_owned());
    let failure = fetch(&fetcher(&server), &offer(elsewhere, written)).await.unwrap_err();
    assert_eq!(failure.reason, Reason::AddressRefused);
    assert!(server.asked().is_empty());
}

#[tokio::test]
async fn an_older_version_comes_from_the_archive_and_is_checked_where_that_is_possible() {
    let server = serving(&[
        ("/apps/@ada/tea/versions/0.9.0/singleton/tea_agent.py", "nine"),
        ("/apps/@ada/tea/versions/0.8.0/tea_agent.py", "eight"),
        ("/apps/@ada/tea/singleton/versions/0.7.0/tea_agent.py", "seven"),
    ]);
    let written = entry(
        "tea",
        json!({
            "singleton_url": server.url("/apps/@ada/tea/singleton/tea_agent.py"),
            "singleton_sha256": sha256("current"),
            "available_versions": [
                { "version": "0.9.0", "singleton_sha256": sha256("nine") }, "0.8.0", "0.7.0",
                { "version": "0.6.0", "singleton_sha256": sha256("six") },
            ],
        }),
    );
    let (fetcher, offer) = (fetcher(&server), offer(at(&server), written));
    let get = async |version: &str| fetcher.fetch_entry(&offer, Some(version), TokenSources::default()).await;
    for (version, text, is_verified) in
        [("0.9.0", "nine", true), ("0.8.0", "eight", false), ("0.7.0", "seven", false)]
    {
        let app = get(version).await.unwrap();
        assert_eq!(texts(&app), [(PartKind::Agent, text.to_owned(), is_verified)]);
        assert_eq!(app.version.as_deref(), Some(version));
    }
    assert_eq!(get("0.6.0").await.unwrap_err().reason, Reason::FetchMissing);
    assert_eq!(
        get("1.0.0").await.unwrap_err().reason,
        Reason::FetchMissing,
        "the current one has its own place"
    );
    let unknown = get("0.1.0").await.unwrap_err();
    assert_eq!(unknown.reason, Reason::UnknownVersion);
    assert!(unknown.message.contains("1.0.0, 0.9.0, 0.8.0"), "{}", unknown.message);
}

#[tokio::test]
async fn federated_files_come_from_one_commit_and_never_from_a_branch() {
    let server = CannedServer::new(|asked| match asked.path.as_str() {
        "/api/repos/alice/cool/commits/main" => Answer::ok(json!({ "sha": COMMIT }).to_string()),
        "/api/repos/alice/cool/commits/odd" => Answer::ok(json!({ "sha": "main" }).to_string()),
        path if path == format!("/raw/alice/cool/{COMMIT}/tea/a.py") => Answer::ok("agent"),
        _ => Answer::status(404),
    });
    let fetcher = fetcher(&server);
    let federated = |source: Value, url: &str| {
        offer(
            CatalogAddress::Url("https://h.example/index.json".to_owned()),
            entry(
                "tea",
                json!({ "singleton_url": url, "singleton_sha256": sha256("agent"), "source": source }),
            ),
        )
    };
    let main = "https://raw.githubusercontent.com/alice/cool/main/tea/a.py";
    let source = |reference: &str| json!({ "type": "federation", "repo": "alice/cool", "ref": reference });
    let mut pinned = source("main");
    pinned["commit_sha"] = json!(COMMIT);
    for source in [source("main"), pinned] {
        let app = fetch(&fetcher, &federated(source, main)).await.unwrap();
        let origin = FetchOrigin::Federation {
            source: "test".into(),
            repo: "alice/cool".into(),
            commit: COMMIT.into(),
        };
        assert_eq!((app.origin.clone(), texts(&app)[0].1.as_str()), (origin, "agent"));
    }
    assert_eq!(
        server.paths().iter().filter(|path| path.starts_with("/api")).count(),
        1,
        "a pinned commit is not looked up"
    );
    for (reference, reason) in [("odd", Reason::CommitUnknown), ("gone", Reason::CommitUnknown)] {
        let failure = fetch(&fetcher, &federated(source(reference), main)).await.unwrap_err();
        assert_eq!(failure.reason, reason, "{}", failure.message);
    }
    for other in ["https://raw.githubusercontent.com/eve/cool/main/tea/a.py", "https://h.example/a.py"] {
        let failure = fetch(&fetcher, &federated(source("main"), other)).await.unwrap_err();
        assert_eq!(failure.reason, Reason::EntryInvalid, "{}", failure.message);
    }
    assert!(!server.paths().iter().any(|path| path.contains("/cool/main/")), "{:?}", server.paths());
}

fn gated_server() -> CannedServer {
    CannedServer::new(|asked| {
        let may_read = asked.header("authorization") == Some(&format!("Bearer {TOKEN}"));
        match asked.path.as_str() {
            "/raw/wild/private/main/a.py" if may_read => Answer::ok("agent"),
            "/raw/wild/private/main/p.html" if may_read => Answer::ok("page"),
            "/raw/wild/open/main/a.py" => Answer::ok("agent"),
            _ => Answer::status(404),
        }
    })
}

fn gated(more: Value) -> Offer {
    let raw = "https://raw.githubusercontent.com/wild/private/main";
    let mut written = entry(
        "cockpit",
        json!({
            "access": "private", "private_repo": "wild/private", "quality_tier": "private",
            "singleton_url": format!("{raw}/a.py"), "singleton_sha256": sha256("agent"),
            "ui_url": format!("{raw}/p.html"), "ui_sha256": sha256("page"),
            "auth_hint": "gh auth login first", "access_note": "Ask Wilma for access.",
        }),
    );
    written.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    offer(CatalogAddress::Url("https://h.example/index.json".to_owned()), written)
}

fn with_token(token: &str) -> TokenSources {
    TokenSources { github_token: Token::parse(token), ..TokenSources::default() }
}

#[tokio::test]
async fn private_files_are_given_to_a_token_and_never_asked_for_without_one() {
    let server = gated_server();
    let fetcher = fetcher(&server);
    let without = fetch(&fetcher, &gated(json!({}))).await.unwrap_err();
    assert_eq!(without.reason, Reason::GatedNoToken);
    assert!(
        without.message.contains("Ask Wilma") && without.next_step().contains("gh auth login first"),
        "{without:?}"
    );
    assert!(server.asked().is_empty(), "not even once");
    let app = fetcher.fetch_entry(&gated(json!({})), None, with_token(TOKEN)).await.unwrap();
    assert_eq!(app.origin, FetchOrigin::Gated { source: "test".into(), repo: "wild/private".into() });
    assert!(texts(&app).iter().all(|(_, _, is_verified)| *is_verified) && app.files.len() == 2);
    assert!(!format!("{app:?}").contains(TOKEN));
    let wrong = "ghp_anotherTokenWithoutAccess";
    let closed = fetcher.fetch_entry(&gated(json!({})), None, with_token(wrong)).await.unwrap_err();
    assert_eq!(closed.reason, Reason::GatedNoAccess);
    assert!(
        closed.message.contains("may not read wild/private, or the file is not there"),
        "{}",
        closed.message
    );
    assert!(!format!("{closed:?}").contains(wrong));
}

#[tokio::test]
async fn a_gated_entry_that_breaks_the_contract_gets_no_token() {
    let server = gated_server();
    let fetcher = fetcher(&server);
    let raw = "https://raw.githubusercontent.com";
    for bad in [
        json!({ "private_repo": null }),
        json!({ "singleton_sha256": null }),
        json!({ "ui_sha256": "" }),
        json!({ "singleton_url": format!("{raw}/wild/private2/main/a.py") }),
        json!({ "singleton_url": format!("{raw}/wild/private/../open/main/a.py") }),
        json!({ "singleton_url": format!("{raw}/wild/private/%2e%2e/open/main/a.py") }),
        json!({ "singleton_url": "https://evil.example/wild/private/main/a.py" }),
        json!({ "singleton_url": server.url("/wild/private/main/a.py") }),
        json!({ "ui_url": "p.html" }),
        json!({ "singleton_sha256": sha256("catalog drift") }),
    ] {
        let result = fetcher.fetch_entry(&gated(bad.clone()), None, with_token(TOKEN)).await;
        let failure = result.expect_err(&bad.to_string());
        let drifted = failure.reason == Reason::DigestMismatch;
        assert!(
            drifted || matches!(failure.reason, Reason::EntryInvalid | Reason::AddressRefused),
            "{bad}: {failure:?}"
        );
        assert!(!format!("{failure:?}").contains(TOKEN));
    }
    for asked in server.asked() {
        assert!(asked.path.starts_with("/raw/wild/private/main/"), "{asked:?}");
    }
}

#[tokio::test]
async fn a_gate_is_probed_without_a_token() {
    let server = gated_server();
    let fetcher = fetcher(&server);
    fetcher.probe_gate(&gated(json!({})).entry).await.unwrap();
    let raw = "https://raw.githubusercontent.com/wild/open/main";
    let open = gated(json!({
        "private_repo": "wild/open", "singleton_url": format!("{raw}/a.py"), "ui_url": format!("{raw}/p.html"),
    }));
    assert_eq!(fetcher.probe_gate(&open.entry).await.unwrap_err().reason, Reason::GatedOpen);
    assert!(server.asked().iter().all(|asked| asked.header("authorization").is_none()));
}

#[tokio::test]
async fn a_repository_is_brought_from_one_commit() {
    let manifest = json!({
        "schema": "rapp-application/1.0", "id": "tea", "version": "1.2.3", "publisher": "@ada",
        "singleton": "singleton/brew.py",
    });
    let files: BTreeMap<String, String> = [
        ("tea/manifest.json", manifest.to_string()),
        ("tea/singleton/brew.py", "agent".to_owned()),
        ("tea/ui/index.html", "page".to_owned()),
        ("bad/manifest.json", json!({ "id": "bad", "agent": "../../x.py" }).to_string()),
        ("none/manifest.json", json!({ "id": "none" }).to_string()),
        ("text/manifest.json", "[]".to_owned()),
        ("one_agent.py", "one".to_owned()),
    ]
    .into_iter()
    .map(|(path, text)| (format!("/raw/ada/apps/{COMMIT}/{path}"), text))
    .collect();
    let server = CannedServer::new(move |asked| match asked.path.as_str() {
        "/api/repos/ada/apps/commits/main" => Answer::ok(json!({ "sha": COMMIT }).to_string()),
        path => files.get(path).map_or_else(|| Answer::status(404), Answer::ok),
    });
    let fetcher = fetcher(&server);
    let get = async |path: &str| {
        let address = RepositoryAddress::parse(&format!("https://github.com/ada/apps/tree/{path}")).unwrap();
        fetcher.fetch_repository(&address).await
    };
    let app = get("main/tea").await.unwrap();
    let kinds: Vec<PartKind> = app.files.iter().map(|file| file.kind).collect();
    assert_eq!(kinds, [PartKind::Manifest, PartKind::Agent, PartKind::Page]);
    assert_eq!((app.id.as_str(), app.version.as_deref()), ("tea", Some("1.2.3")));
    assert!(matches!(&app.origin, FetchOrigin::Repository { commit, .. } if commit == COMMIT));
    let one = get("main/one_agent.py").await.unwrap();
    assert_eq!((one.id.as_str(), one.files.len()), ("one_agent", 1));
    for (path, reason) in [
        ("main/bad", Reason::EntryInvalid),
        ("main/none", Reason::EntryInvalid),
        ("main/text", Reason::EntryInvalid),
        ("main/gone", Reason::FetchMissing),
        ("dev/tea", Reason::CommitUnknown),
    ] {
        assert_eq!(get(path).await.unwrap_err().reason, reason, "{path}");
    }
    let file =
        fetcher.fetch_file(&server.url(&format!("/raw/ada/apps/{COMMIT}/one_agent.py"))).await.unwrap();
    assert_eq!((file.id.as_str(), file.files[0].bytes.as_slice()), ("one_agent", &b"one"[..]));
    assert!(fetcher.fetch_file("http://example.org/a.py").await.is_err());
    assert!(fetcher.fetch_file(&server.url("/")).await.is_err());
}

#[tokio::test]
async fn a_folder_is_a_catalog_whose_files_lie_beside_it() {
    let server = serving(&[]);
    let folder = tempfile::tempdir().unwrap();
    let app = folder.path().join("apps/@ada/tea/singleton");
    fs::create_dir_all(&app).unwrap();
    fs::write(app.join("tea_agent.py"), "agent").unwrap();
    for url in [
        "https://raw.githubusercontent.com/kody-w/rapp_store/main/apps/@ada/tea/singleton/tea_agent.py",
        "apps/@ada/tea/singleton/tea_agent.py",
    ] {
        let written = entry("tea", json!({ "singleton_url": url, "singleton_sha256": sha256("agent") }));
        let offer = offer(CatalogAddress::Folder(folder.path().to_owned()), written);
        let fetched = fetch(&fetcher(&server), &offer).await.unwrap();
        assert_eq!(texts(&fetched), [(PartKind::Agent, "agent".to_owned(), true)]);
    }
    let written = entry("tea", json!({ "singleton_url": "../outside.py", "singleton_filename": "a.py" }));
    let offer = offer(CatalogAddress::Folder(folder.path().to_owned()), written);
    assert_eq!(fetch(&fetcher(&server), &offer).await.unwrap_err().reason, Reason::EntryInvalid);
    assert!(server.asked().is_empty());
}
