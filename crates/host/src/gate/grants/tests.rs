//! The store: what it keeps, what it refuses to touch, and several who write it at once.

use super::{Grants, TRIED_PER_APP_MAX};
use crate::gate::{Caller, disk::Disk, policy::Policy};
use jiff::Timestamp;
use roost_protocol::{AppId, Asks, Digest, Lasting, Origin, Reason, Right};
use std::{
    fs, io,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    sync::Barrier,
    thread,
    time::{Duration, SystemTime},
};

fn right(text: &str) -> Right {
    text.parse().unwrap()
}

fn grant(app: &str, text: &str, lasting: Lasting) -> super::Grant {
    super::Grant {
        app: AppId::new(app),
        right: right(text),
        digest: Digest::of(b"content"),
        asks: Asks::default().digest(),
        lasting,
        granted_by: "me".to_owned(),
        granted_at: Timestamp::now(),
        last_used_at: None,
        runs_unused: 0,
    }
}

fn caller(app: &str, content: &[u8], origin: Origin) -> Caller {
    Caller { app: AppId::new(app), digest: Digest::of(content), origin }
}

fn holding(grants: &Grants, caller: &Caller, text: &str) -> Option<Lasting> {
    grants.holding(caller, &Asks::default(), &Policy::standard(None), &right(text)).unwrap()
}

fn file(home: &Path) -> Vec<u8> {
    fs::read(home.join("grants.json")).unwrap()
}

#[test]
fn grants_are_bound_to_the_content_unless_they_last_always_and_the_origin_keeps_them() {
    let home = tempfile::tempdir().unwrap();
    let grants = Grants::open(home.path());
    assert_eq!(grants.list(None).unwrap(), []);
    grants.add(grant("a", "network:*.b.c", Lasting::Always)).unwrap();
    grants.add(grant("a", "clipboard", Lasting::Version)).unwrap();
    let local = caller("a", b"content", Origin::Local);
    assert_eq!(holding(&grants, &local, "network:x.b.c"), Some(Lasting::Always));
    assert_eq!(holding(&grants, &local, "clipboard"), Some(Lasting::Version));
    assert_eq!(holding(&grants, &caller("b", b"content", Origin::Local), "clipboard"), None);
    let edited = caller("a", b"other", Origin::Local);
    assert_eq!(holding(&grants, &edited, "network:x.b.c"), Some(Lasting::Always));
    assert_eq!(holding(&grants, &edited, "clipboard"), None);
    assert_eq!(holding(&grants, &caller("a", b"other", Origin::Catalog), "network:x.b.c"), None);
    let mode = fs::metadata(home.path().join("grants.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_change_by_another_process_is_seen_at_once() {
    let home = tempfile::tempdir().unwrap();
    let (one, other) = (Grants::open(home.path()), Grants::open(home.path()));
    let caller = caller("a", b"content", Origin::Local);
    for round in 0..20 {
        one.add(grant("a", "clipboard", Lasting::Version)).unwrap();
        assert!(holding(&other, &caller, "clipboard").is_some(), "{round}");
        other.revoke(&caller.app, None).unwrap();
        assert!(holding(&one, &caller, "clipboard").is_none(), "{round}");
    }
}

#[test]
fn a_change_that_leaves_the_same_stamp_is_seen_while_the_stamp_is_fresh() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("grants.json");
    let grants = Grants::open(home.path());
    grants.add(grant("a", "clipboard", Lasting::Version)).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    // Never older than the clock, and so never settled.
    let time = SystemTime::now() + Duration::from_secs(3600);
    for written in ["clipboard", "env:CLIPS"] {
        fs::write(&path, text.replace("clipboard", written)).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        assert_eq!(grants.list(None).unwrap()[0].right, right(written));
    }
}

#[test]
fn revoking_takes_narrower_rights_too_and_tells_of_wider_ones() {
    let home = tempfile::tempdir().unwrap();
    let grants = Grants::open(home.path());
    for text in ["network:a.b.c", "network:*.b.c", "clipboard"] {
        grants.add(grant("a", text, Lasting::Version)).unwrap();
    }
    let app = AppId::new("a");
    let revoked = grants.revoke(&app, Some(&right("network:a.b.c"))).unwrap();
    assert_eq!((revoked.removed.len(), revoked.wider.len()), (1, 1));
    let revoked = grants.revoke(&app, Some(&right("network:*"))).unwrap();
    assert_eq!((revoked.removed.len(), revoked.wider.len()), (1, 0));
    assert_eq!(grants.revoke(&AppId::new("b"), None).unwrap().removed.len(), 0);
    assert_eq!(grants.revoke(&app, None).unwrap().removed.len(), 1);
}

#[test]
fn what_cannot_be_understood_is_neither_used_nor_written_over() {
    let home = tempfile::tempdir().unwrap();
    let grants = Grants::open(home.path());
    grants.add(grant("a", "clipboard", Lasting::Version)).unwrap();
    let good = String::from_utf8(file(home.path())).unwrap();
    let newer =
        good.replace("\"version\": 1", "\"version\": 2").replace("\"grants\"", "\"future\": [], \"grants\"");
    for bad in [
        String::new(),
        "{".to_owned(),
        "[]".to_owned(),
        "null".to_owned(),
        good[..good.len() / 2].to_owned(),
        good.clone() + "x",
        newer.clone(),
        good.replace("\"version\": 1", "\"version\": 0"),
        good.replace("\"version\": 1", "\"version\": \"1\""),
        good.replace("\"version\": 1,", ""),
        good.replace("\"granted_by\"", "\"granted_for\""),
        good.replace("\"version\": 1", "\"version\": 1, \"more\": 1"),
        good.replace("clipboard", "clipboards"),
        good.replace("\"version\"", "\"once\": \"version\""),
    ] {
        fs::write(home.path().join("grants.json"), &bad).unwrap();
        let app = AppId::new("a");
        let policy = Policy::standard(None);
        let caller = caller("a", b"content", Origin::Local);
        let failures = [
            grants.holding(&caller, &Asks::default(), &policy, &right("clipboard")).unwrap_err(),
            grants.add(grant("a", "model", Lasting::Once)).unwrap_err(),
            grants.revoke(&app, None).unwrap_err(),
            grants.refuse(&app, Digest::of(b""), &right("model")).unwrap_err(),
            grants.consume_once(&app, &Digest::of(b"content")).unwrap_err(),
            grants.list(None).unwrap_err(),
            grants.note_run(&app, &[]).unwrap_err(),
        ];
        for failure in failures {
            assert_eq!(failure.reason, Reason::GrantsUnusable, "{bad}");
            assert!(failure.next_step().contains("aside"), "{failure:?}");
        }
        grants.note_tried(&app, Digest::of(b""), &right("model"));
        assert!(grants.flush().is_err());
        assert_eq!(file(home.path()), bad.as_bytes());
    }
    fs::write(home.path().join("grants.json"), &newer).unwrap();
    assert!(grants.list(None).unwrap_err().message.contains("newer"));
    fs::write(home.path().join("grants.json"), &good).unwrap();
    assert_eq!(grants.list(None).unwrap().len(), 1);
}

#[test]
fn grants_made_at_once_are_all_kept() {
    const EACH: usize = 12;
    let home = tempfile::tempdir().unwrap();
    let start = Barrier::new(8);
    thread::scope(|scope| {
        for writer in 0..8 {
            let (home, start) = (home.path(), &start);
            scope.spawn(move || {
                let grants = Grants::open(home);
                start.wait();
                for number in 0..EACH {
                    grants
                        .add(grant(&format!("app{writer}"), &format!("env:N{number}"), Lasting::Version))
                        .unwrap();
                }
            });
        }
    });
    assert_eq!(Grants::open(home.path()).list(None).unwrap().len(), 8 * EACH);
}

#[test]
fn runs_are_counted_in_memory_and_kept_when_closed() {
    let home = tempfile::tempdir().unwrap();
    let grants = Grants::open(home.path());
    grants.add(grant("a", "network:*.b.c", Lasting::Always)).unwrap();
    grants.add(grant("a", "clipboard", Lasting::Always)).unwrap();
    grants.add(grant("b", "clipboard", Lasting::Always)).unwrap();
    let before = file(home.path());
    let app = AppId::new("a");
    grants.note_run(&app, &[right("clipboard")]).unwrap();
    for _ in 0..3 {
        grants.note_run(&app, &[right("network:x.b.c")]).unwrap();
    }
    assert_eq!(file(home.path()), before, "no write for each run");
    let unused = |grants: &Grants, runs| -> Vec<(String, u64)> {
        let unused = grants.unused(None, runs).unwrap();
        unused.iter().map(|grant| (format!("{} {}", grant.app, grant.right), grant.runs_unused)).collect()
    };
    assert_eq!(unused(&grants, 3), [("a clipboard".to_owned(), 3)]);
    // A change writes the counters along; nothing is counted twice.
    grants.add(grant("c", "model", Lasting::Version)).unwrap();
    assert_eq!(unused(&grants, 1), [("a clipboard".to_owned(), 3)]);
    grants.note_run(&app, &[]).unwrap();
    drop(grants);
    let grants = Grants::open(home.path());
    assert_eq!(unused(&grants, 1), [("a network:*.b.c".to_owned(), 1), ("a clipboard".to_owned(), 4)]);
    assert!(grants.list(Some(&app)).unwrap().iter().all(|grant| grant.last_used_at.is_some()));
}

#[test]
fn an_app_that_tries_everything_does_not_fill_the_store() {
    let home = tempfile::tempdir().unwrap();
    let grants = Grants::open(home.path());
    let (app, digest) = (AppId::new("a"), Digest::of(b"content"));
    for number in 0..1000 {
        grants.note_tried(&app, digest, &right(&format!("network:h{number}.example.com")));
    }
    grants.note_run(&app, &[]).unwrap();
    grants.note_tried(&app, digest, &right("model"));
    assert_eq!(grants.tried(&app, &digest).unwrap().len(), TRIED_PER_APP_MAX);
    assert_eq!(Grants::open(home.path()).tried(&app, &digest).unwrap().len(), TRIED_PER_APP_MAX);
}

#[test]
fn a_write_that_fails_at_any_step_leaves_the_old_grants_or_the_new() {
    for step in 0..6 {
        let home = tempfile::tempdir().unwrap();
        Grants::open(home.path()).add(grant("a", "clipboard", Lasting::Version)).unwrap();
        let mut left = step;
        let failing = Disk::interrupted_by(Box::new(move |_| {
            left -= 1;
            if left < 0 { Err(io::Error::other("disk full")) } else { Ok(()) }
        }));
        let result = Grants::on(home.path(), failing).add(grant("a", "model", Lasting::Version));
        let kept = Grants::open(home.path()).list(None).unwrap().len();
        assert_eq!(result.is_ok(), step == 5);
        assert_eq!(kept, if step >= 4 { 2 } else { 1 }, "{step}");
    }
}
