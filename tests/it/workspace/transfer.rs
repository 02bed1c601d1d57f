//! A workspace carried elsewhere and back, all or nothing, the same on both engines.

use super::desk::Desk;
use proptest::{
    strategy::{Strategy as _, ValueTree as _},
    test_runner::{Config, TestRunner},
};
use roost_storage::Engine;
use roost_tests::{ENGINES, TestDatabase, TestHome, file_path, owner, removal, text};
use roost_workspace::{
    Condition, Content, Existing, Extent, Limit, Limits, MIGRATIONS, Owner, Prefix, WorkspaceError,
    Workspaces, Write, Writer,
};
use serde_json::json;

fn anna() -> Writer {
    Writer::person("anna")
}

async fn make(workspaces: &Workspaces, owner: &Owner, write: Write) {
    workspaces.write_one(owner, &anna(), write, None).await.unwrap();
}

/// Everything that can be read of a workspace: by file, oldest first, contents and types; nothing where it was removed.
async fn everything(workspaces: &Workspaces, owner: &Owner) -> Vec<(String, Vec<Option<(Vec<u8>, String)>>)> {
    let mut all = Vec::new();
    // Files that were removed are in no list; events name them.
    let events = workspaces.events(owner, 0, 10_000).await.unwrap().events;
    let mut paths: Vec<String> = events.into_iter().map(|event| event.path).collect();
    paths.sort();
    paths.dedup();
    for path in paths {
        let name = file_path(&path);
        let mut versions = Vec::new();
        for revision in workspaces.history(owner, &name).await.unwrap().iter().rev() {
            versions.push(match revision.removed {
                true => None,
                false => {
                    let file = workspaces.get(owner, &name, Some(revision.version)).await.unwrap();
                    Some((file.content, file.info.content_type))
                }
            });
        }
        all.push((path, versions));
    }
    all
}

/// A few writes to a few files, some of them removals.
fn story() -> impl proptest::strategy::Strategy<Value = Vec<(u8, Option<Vec<u8>>)>> {
    let content = proptest::option::weighted(0.8, proptest::collection::vec(proptest::num::u8::ANY, 0..40));
    proptest::collection::vec((0_u8..4, content), 1..25)
}

#[tokio::test]
async fn what_comes_back_is_what_was_taken() {
    for engine in ENGINES {
        let database = TestDatabase::new(engine, MIGRATIONS).await;
        let workspaces = database.workspaces(Limits { versions_max: 100, ..Limits::default() });
        let mut runner = TestRunner::new(Config::default());
        for round in 0..20 {
            let (from, to) = (owner("acme", &format!("from{round}")), owner("acme", &format!("to{round}")));
            for (file, content) in story().new_tree(&mut runner).unwrap().current() {
                let content_type = "application/octet-stream".to_owned();
                let content = content.map(|bytes| Content { bytes, content_type });
                let write =
                    Write { path: file_path(&format!("f{file}")), condition: Condition::none(), content };
                // Removing what is not there is refused, and no part of the story.
                workspaces.write_one(&from, &anna(), write, None).await.ok();
            }
            let zip = workspaces.export(&from, Extent::History).await.unwrap();
            workspaces.import(&to, &anna(), zip.clone(), Existing::Fail).await.unwrap();
            let (before, after) = (everything(&workspaces, &from).await, everything(&workspaces, &to).await);
            assert_eq!(before, after, "{engine:?}");
            let again = workspaces.import(&to, &anna(), zip, Existing::Fail).await.unwrap();
            assert_eq!((again.create.len(), again.same.len()), (0, before.len()), "{engine:?}");
            assert_eq!(everything(&workspaces, &to).await, after);
            let newest = workspaces.export(&from, Extent::Newest).await.unwrap();
            let third = owner("acme", &format!("third{round}"));
            workspaces.import(&third, &anna(), newest, Existing::Fail).await.unwrap();
            let live = async |owner| {
                let files = workspaces.list(owner, &Prefix::default()).await.unwrap().files;
                let mut contents = Vec::new();
                for file in files {
                    contents.push((
                        file.path.clone(),
                        workspaces.get(owner, &file.path, None).await.unwrap().content,
                    ));
                }
                contents
            };
            assert_eq!(live(&from).await, live(&third).await);
        }
    }
}

#[tokio::test]
async fn histories_say_who_wrote_and_who_brought_it() {
    let database = TestDatabase::new(Engine::Sqlite, MIGRATIONS).await;
    let workspaces = database.workspaces(Limits::default());
    let (from, to) = (owner("acme", "from"), owner("other", "to"));
    make(&workspaces, &from, text("a.md", Condition::none(), "one")).await;
    let zip = workspaces.export(&from, Extent::History).await.unwrap();
    workspaces.import(&to, &Writer::person("ben"), zip, Existing::Fail).await.unwrap();
    let history = workspaces.history(&to, &file_path("a.md")).await.unwrap();
    assert_eq!(history[0].author.principal, "ben");
    let reason = history[0].author.reason.clone().unwrap();
    assert!(reason.starts_with("imported, written by anna at 2"), "{reason}");
}

#[tokio::test]
async fn files_that_are_there_are_kept_replaced_or_stop_it() {
    for engine in ENGINES {
        let database = TestDatabase::new(engine, MIGRATIONS).await;
        let workspaces = database.workspaces(Limits::default());
        let (from, to) = (owner("acme", "from"), owner("acme", "to"));
        for (path, content) in
            [("a", "1"), ("a", "2"), ("b", "same"), ("c", "1"), ("c", "2"), ("d", "x"), ("e", "x")]
        {
            make(&workspaces, &from, text(path, Condition::none(), content)).await;
        }
        make(&workspaces, &from, removal("d", Condition::none())).await;
        make(&workspaces, &from, removal("e", Condition::none())).await;
        for (path, content) in [("a", "other"), ("b", "same"), ("d", "x"), ("e", "y")] {
            make(&workspaces, &to, text(path, Condition::none(), content)).await;
        }
        make(&workspaces, &to, removal("e", Condition::none())).await;
        let zip = workspaces.export(&from, Extent::History).await.unwrap();
        let before = everything(&workspaces, &to).await;
        let usage = workspaces.usage(&to).await.unwrap();

        let refused = workspaces.import(&to, &anna(), zip.clone(), Existing::Fail).await.unwrap_err();
        let paths = vec![file_path("a"), file_path("d")];
        assert_eq!(refused, WorkspaceError::AlreadyThere { paths: paths.clone(), current_version: 1 });
        for (existing, replace, conflict) in [
            (Existing::Fail, vec![], paths.clone()),
            (Existing::Skip, vec![], paths.clone()),
            (Existing::Replace, paths.clone(), vec![]),
        ] {
            let plan = workspaces.rehearse_import(&to, &anna(), zip.clone(), existing).await.unwrap();
            assert_eq!(
                (plan.create, plan.same),
                (vec![file_path("c")], vec![file_path("b"), file_path("e")])
            );
            assert_eq!((plan.replace, plan.conflict), (replace, conflict), "{engine:?} {existing:?}");
        }
        assert_eq!(everything(&workspaces, &to).await, before, "{engine:?}");
        assert_eq!(workspaces.usage(&to).await.unwrap(), usage);

        workspaces.import(&to, &anna(), zip.clone(), Existing::Skip).await.unwrap();
        let read = async |path: &str| workspaces.get(&to, &file_path(path), None).await;
        assert_eq!(read("a").await.unwrap().content, b"other");
        assert_eq!(
            (read("c").await.unwrap().content, read("c").await.unwrap().info.version),
            (b"2".to_vec(), 2)
        );
        workspaces.import(&to, &anna(), zip, Existing::Replace).await.unwrap();
        assert_eq!(
            (read("a").await.unwrap().content, read("a").await.unwrap().info.version),
            (b"2".to_vec(), 2)
        );
        assert_eq!(read("d").await, Err(WorkspaceError::NotFound));
    }
}

#[tokio::test]
async fn an_import_that_is_cut_off_anywhere_leaves_nothing() {
    for engine in ENGINES {
        let database = TestDatabase::new(engine, MIGRATIONS).await;
        let workspaces = database.workspaces(Limits::default());
        let (from, to) = (owner("acme", "from"), owner("acme", "to"));
        for (path, content) in [("a", "1"), ("a", "2"), ("b", "1")] {
            make(&workspaces, &from, text(path, Condition::none(), content)).await;
        }
        make(&workspaces, &from, removal("b", Condition::none())).await;
        let zip = workspaces.export(&from, Extent::History).await.unwrap();
        let mut failed = 0;
        for step in 0..1000 {
            database.faults.fail_after(step);
            let imported = workspaces.import(&to, &anna(), zip.clone(), Existing::Fail).await;
            let never_came = database.faults.take_back();
            if never_came {
                imported.unwrap();
                break;
            }
            if imported.is_err() {
                failed += 1;
                assert!(everything(&workspaces, &to).await.is_empty(), "{engine:?} step {step}");
                let usage = workspaces.usage(&to).await.unwrap();
                assert_eq!((usage.files, usage.bytes, usage.versions, usage.sequence), (0, 0, 0, 0));
            } else {
                // The engine took the step again by itself; start anew.
                panic!("{engine:?}: a failed step {step} was hidden");
            }
        }
        assert!(failed > 5, "{engine:?}: {failed}");
        assert_eq!(everything(&workspaces, &to).await, everything(&workspaces, &from).await);
    }
}

#[tokio::test]
async fn limits_hold_for_what_comes_in_and_goes_out() {
    for engine in ENGINES {
        let database = TestDatabase::new(engine, MIGRATIONS).await;
        let wide = database.workspaces(Limits { versions_max: 10, ..Limits::default() });
        let (from, to) = (owner("acme", "from"), owner("acme", "to"));
        for round in 0..6 {
            make(&wide, &from, text("a", Condition::none(), &format!("a{round}"))).await;
            make(&wide, &from, text("b", Condition::none(), &format!("b{round}"))).await;
        }
        let zip = wide.export(&from, Extent::History).await.unwrap();
        let narrow = database.workspaces(Limits { files_max: 1, ..Limits::default() });
        let expected = WorkspaceError::TooLarge { limit: Limit::Files, max: 1, provided: 2 };
        let refused = narrow.rehearse_import(&to, &anna(), zip.clone(), Existing::Fail).await;
        assert_eq!(refused.unwrap_err(), expected, "a rehearsal meets the same limits");
        assert_eq!(narrow.import(&to, &anna(), zip.clone(), Existing::Fail).await.unwrap_err(), expected);
        assert!(wide.list(&to, &Prefix::default()).await.unwrap().files.is_empty(), "{engine:?}");
        let short = database.workspaces(Limits { versions_max: 2, ..Limits::default() });
        short.import(&to, &anna(), zip, Existing::Fail).await.unwrap();
        let history = wide.history(&to, &file_path("a")).await.unwrap();
        assert_eq!(history.iter().map(|revision| revision.version).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(wide.get(&to, &file_path("a"), Some(1)).await.unwrap().content, b"a4");
    }
}

#[tokio::test]
async fn only_what_was_removed_and_nobody_needs_is_forgotten() {
    for engine in ENGINES {
        let database = TestDatabase::new(engine, MIGRATIONS).await;
        let workspaces = database.workspaces(Limits::default());
        let (owner, path) = (owner("acme", "main"), file_path("a"));
        let free = Condition::none;
        assert_eq!(workspaces.purge(&owner, &path).await, Err(WorkspaceError::NotFound), "{engine:?}");
        make(&workspaces, &owner, text("a", free(), "1")).await;
        make(&workspaces, &owner, text("keep", free(), "k")).await;
        let live = Err(WorkspaceError::Conflict { current_version: 1 });
        assert_eq!(workspaces.purge(&owner, &path).await, live);
        let moment = workspaces.take_snapshot(&owner).await.unwrap();
        make(&workspaces, &owner, text("a", free(), "2")).await;
        make(&workspaces, &owner, removal("a", free())).await;
        assert_eq!(workspaces.purge(&owner, &path).await, Err(WorkspaceError::Pinned), "{engine:?}");
        assert_eq!(workspaces.get_then(&owner, moment, &path).await.unwrap().content, b"1");
        let other = roost_tests::owner("other", "main");
        assert_eq!(workspaces.purge(&other, &path).await, Err(WorkspaceError::NotFound));
        workspaces.drop_snapshot(&owner, moment).await.unwrap();
        // A moment when it was gone already needs none of it.
        let later = workspaces.take_snapshot(&owner).await.unwrap();
        let events = workspaces.events(&owner, 0, 100).await.unwrap();
        assert_eq!(workspaces.purge(&owner, &path).await, Ok(3), "{engine:?}");
        assert_eq!(workspaces.events(&owner, 0, 100).await.unwrap(), events, "what happened stays told");
        assert_eq!(workspaces.history(&owner, &path).await, Err(WorkspaceError::NotFound));
        let then = workspaces.list_then(&owner, later).await.unwrap();
        assert_eq!(then.iter().map(|entry| entry.path.as_str()).collect::<Vec<_>>(), ["keep"]);
        make(&workspaces, &owner, text("a", Condition::create_only(), "new")).await;
        assert_eq!(workspaces.get(&owner, &path, None).await.unwrap().info.version, 1);
        assert_eq!(workspaces.usage(&owner).await.unwrap().files, 2);
    }
}

#[test]
fn over_http_a_zip_goes_out_and_in() {
    let home = TestHome::new();
    let desk = Desk::open(&home);
    desk.put("a.md", "one");
    desk.put("a.md", "two");
    let binary = json!({ "op": "put", "path": "b.bin", "content": "AJ+Slv8=", "encoding": "base64" });
    assert_eq!(desk.post("batch", &json!({ "operations": [binary] })).0, 200);
    let zip = desk.send("GET", "export", &[], b"");
    assert_eq!((zip.status, zip.header("content-type")), (200, Some("application/zip")));
    let other = Desk { workspace: Some("other".to_owned()), ..desk };
    let import = |query: &str, body: &[u8]| {
        let answer = other.send("POST", &format!("import{query}"), &[], body);
        (answer.status, answer.json())
    };
    let plan = |dry_run: bool, create: &[&str], same: &[&str]| {
        let none: [&str; 0] = [];
        json!({ "dryRun": dry_run, "create": create, "replace": none, "same": same, "conflict": none })
    };
    let both = ["a.md", "b.bin"];
    assert_eq!(import("?dryRun=true", &zip.bytes), (200, plan(true, &both, &[])));
    assert_eq!(other.get("usage").1["files"], 0);
    assert_eq!(import("", &zip.bytes), (200, plan(false, &both, &[])));
    assert_eq!(import("", &zip.bytes), (200, plan(false, &[], &both)));
    assert_eq!(other.get("history?path=a.md").1["versions"].as_array().unwrap().len(), 2);

    other.put("a.md", "three");
    let (status, refused) = import("", &zip.bytes);
    assert_eq!((status, &refused["error"]), (409, &json!("workspace_conflict")));
    assert_eq!(refused["details"], json!({ "currentVersion": 3, "conflict": ["a.md"] }));
    assert_eq!(import("?onConflict=skip", &zip.bytes).1["conflict"], json!(["a.md"]));
    assert_eq!(import("?onConflict=replace", &zip.bytes).1["replace"], json!(["a.md"]));
    for (query, body, field) in [
        ("?onConflict=merge", &zip.bytes[..], "onConflict"),
        ("?dryRun=1", &zip.bytes, "dryRun"),
        ("?dryRun=true&dryRun=true", &zip.bytes, "dryRun"),
        ("?other=1", &zip.bytes, "query"),
        ("", b"not a zip", "body"),
        ("", b"", "body"),
    ] {
        let (status, refused) = import(query, body);
        assert_eq!((status, &refused["details"]["field"]), (400, &json!(field)), "{query}: {refused}");
        assert!(
            refused.as_object().unwrap().keys().all(|key| ["error", "message", "details"].contains(&&**key))
        );
    }
    let newest = other.send("GET", "export?history=false", &[], b"");
    assert!(newest.bytes.len() < zip.bytes.len());
}
