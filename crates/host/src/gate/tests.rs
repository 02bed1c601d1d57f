//! Decisions, what they leave in the log, and what is said about them.

use super::{Caller, Decision, Gate, Giving, Source, Why};
use crate::gate::{
    audit::{Filter, Outcome, Row, What, rows, verify},
    policy::Policy,
};
use roost_protocol::{
    AppId, Ask, Asks, Digest, Evidence, Lasting, Origin, Reason, Refusal, RefusedBy, Right,
};
use std::{fs, path::Path};

fn right(text: &str) -> Right {
    text.parse().unwrap()
}

fn caller(content: &str) -> Caller {
    Caller { app: AppId::new("my agent.py"), digest: Digest::of(content.as_bytes()), origin: Origin::Local }
}

fn asks(declared: bool, rights: &[&str]) -> Asks {
    let ask =
        |text: &&str| Ask { right: right(text), evidence: Evidence::Source, line: None, original: None };
    Asks { declared, asks: rights.iter().map(ask).collect() }
}

fn giving(text: &str, lasting: Lasting) -> Giving {
    Giving { right: right(text), lasting, granted_by: "test".to_owned() }
}

fn open(home: &Path, policy: &str) -> Gate {
    Gate::open(home, Policy::from_table(policy.parse().unwrap(), None).unwrap()).unwrap()
}

fn why(decision: &Decision) -> Option<Why> {
    match decision {
        Decision::Allowed { .. } => None,
        Decision::Denied { why, .. } => Some(*why),
    }
}

fn next(decision: &Decision) -> &str {
    match decision {
        Decision::Allowed { .. } => "",
        Decision::Denied { next, .. } => next,
    }
}

fn log(gate: &Gate) -> Vec<Row> {
    gate.audit().flush().unwrap();
    let listing = rows(gate.audit().folder(), &Filter::default());
    assert_eq!(listing.broken, None);
    listing.rows
}

#[test]
fn a_right_needs_an_ask_and_a_grant_and_no_denial() {
    let home = tempfile::tempdir().unwrap();
    let gate = open(home.path(), "deny = [\"network:*.internal\"]");
    let one = caller("1");
    let wants = asks(false, &["network:db.internal", "network:a.example", "model"]);
    let decide = |text: &str| gate.decide(&one, &wants, &right(text));
    assert_eq!(decide("model"), Decision::Allowed { by: Source::Policy });
    let denied = decide("network:a.example");
    assert_eq!(why(&denied), Some(Why::NotGranted));
    assert_eq!(next(&denied), "roost grant 'my agent.py' network:a.example");
    assert_eq!(denied.failure(&right("model")).unwrap().reason, Reason::RightMissing);
    assert_eq!(why(&decide("network:db.internal")), Some(Why::Policy));
    gate.grant(&one, &wants, giving("network:a.example", Lasting::Version)).unwrap();
    assert_eq!(decide("network:a.example"), Decision::Allowed { by: Source::Grant(Lasting::Version) });
    assert_eq!(why(&gate.decide(&caller("2"), &wants, &right("network:a.example"))), Some(Why::NotGranted));
}

#[test]
fn what_was_tried_may_be_granted_but_is_not_given_by_the_policy() {
    let home = tempfile::tempdir().unwrap();
    let gate = open(home.path(), "");
    let (one, nothing) = (caller("1"), asks(false, &[]));
    let decide = |text: &str| gate.decide(&one, &nothing, &right(text));
    let denied = decide("model");
    assert_eq!((why(&denied), next(&denied)), (Some(Why::NotAsked), "roost grant 'my agent.py' model"));
    assert_eq!(why(&decide("model")), Some(Why::NotGranted));
    let refusal = gate.grant(&one, &nothing, giving("clipboard", Lasting::Once)).unwrap_err();
    assert_eq!(refusal.reason, Reason::RightNotAsked);
    gate.grants().note_run(&one.app, &[]).unwrap();
    // Another process sees what was tried.
    let other = open(home.path(), "");
    other.grant(&one, &nothing, giving("model", Lasting::Once)).unwrap();
    assert_eq!(decide("model"), Decision::Allowed { by: Source::Grant(Lasting::Once) });
    gate.grants().consume_once(&one.app, &one.digest).unwrap();
    assert_eq!(why(&decide("model")), Some(Why::NotGranted));
}

#[test]
fn an_app_that_declares_its_rights_gets_no_others() {
    let home = tempfile::tempdir().unwrap();
    let gate = open(home.path(), "");
    let (one, declared) = (caller("1"), asks(true, &["clipboard"]));
    for _ in 0..2 {
        let denied = gate.decide(&one, &declared, &right("model"));
        assert_eq!(why(&denied), Some(Why::NotAsked));
        assert_eq!(next(&denied), "declare `model` in its [tool.roost] table");
    }
    let refusal = gate.grant(&one, &declared, giving("model", Lasting::Always)).unwrap_err();
    assert_eq!(refusal.reason, Reason::RightNotAsked);
    assert!(gate.grant(&one, &declared, giving("clipboard", Lasting::Always)).is_ok());
}

#[test]
fn a_grant_for_always_ends_when_the_app_asks_for_something_else() {
    let home = tempfile::tempdir().unwrap();
    let gate = open(home.path(), "");
    let wants = asks(false, &["clipboard"]);
    gate.grant(&caller("1"), &wants, giving("clipboard", Lasting::Always)).unwrap();
    let edited = caller("2");
    let kept = Decision::Allowed { by: Source::Grant(Lasting::Always) };
    assert_eq!(gate.decide(&edited, &wants, &right("clipboard")), kept);
    let more = asks(false, &["clipboard", "network:a.example"]);
    assert_eq!(why(&gate.decide(&edited, &more, &right("clipboard"))), Some(Why::NotGranted));
    let catalog = Caller { origin: Origin::Catalog, ..edited };
    assert_eq!(why(&gate.decide(&catalog, &wants, &right("clipboard"))), Some(Why::NotGranted));
}

#[test]
fn a_denied_right_cannot_be_granted_and_an_old_grant_of_it_does_not_hold() {
    let home = tempfile::tempdir().unwrap();
    let (one, wants) = (caller("1"), asks(false, &["clipboard"]));
    let gate = open(home.path(), "");
    gate.grant(&one, &wants, giving("clipboard", Lasting::Always)).unwrap();
    drop(gate);
    let strict = open(home.path(), "[local]\ndeny = [\"clipboard\"]");
    let denied = strict.decide(&one, &wants, &right("clipboard"));
    assert_eq!(why(&denied), Some(Why::Policy));
    assert!(next(&denied).contains("[policy.local]"), "{}", next(&denied));
    let refusal = strict.grant(&one, &wants, giving("clipboard", Lasting::Once)).unwrap_err();
    assert_eq!(refusal.reason, Reason::DeniedByPolicy);
}

#[test]
fn a_store_that_cannot_be_read_gives_nothing_and_keeps_its_bytes() {
    let home = tempfile::tempdir().unwrap();
    let (one, wants) = (caller("1"), asks(false, &["clipboard", "model"]));
    let gate = open(home.path(), "");
    fs::write(home.path().join("grants.json"), "{").unwrap();
    let denied = gate.decide(&one, &wants, &right("clipboard"));
    assert_eq!(why(&denied), Some(Why::GrantsUnusable));
    assert!(next(&denied).contains("restore"), "{}", next(&denied));
    assert_eq!(gate.decide(&one, &wants, &right("model")), Decision::Allowed { by: Source::Policy });
    let refusal = gate.grant(&one, &wants, giving("clipboard", Lasting::Once)).unwrap_err();
    assert_eq!(refusal.reason, Reason::GrantsUnusable);
    assert_eq!(fs::read(home.path().join("grants.json")).unwrap(), b"{");
    let outcomes: Vec<Outcome> =
        log(&gate).iter().filter(|row| row.what == What::Grant).map(|row| row.decision).collect();
    assert_eq!(outcomes, [Outcome::Done, Outcome::Failed]);
}

#[test]
fn every_event_is_a_row_and_equal_ones_are_counted() {
    let home = tempfile::tempdir().unwrap();
    let gate = open(home.path(), "");
    let (one, wants) = (caller("1"), asks(false, &["clipboard", "model"]));
    for _ in 0..100 {
        assert_eq!(why(&gate.decide(&one, &wants, &right("model"))), None);
    }
    assert_eq!(log(&gate).iter().map(|row| row.count).sum::<u64>(), 100);
    let before = log(&gate).len();
    gate.refuse(&one, &right("clipboard")).unwrap();
    assert!(gate.grants().was_refused(&one.app, &one.digest, &right("clipboard")).unwrap());
    gate.grant(&one, &wants, giving("clipboard", Lasting::Always)).unwrap();
    assert!(!gate.grants().was_refused(&one.app, &one.digest, &right("clipboard")).unwrap());
    assert_eq!(gate.revoke(&one.app, None).unwrap().removed.len(), 1);
    let what = "open /x\n{\"forged\":\u{202e} 1} ".to_owned() + &"y".repeat(400);
    let refusal = Refusal { what, right: None, by: RefusedBy::Files, count: 7, next: String::new() };
    gate.note_refusal(&one, &refusal).unwrap();
    let rows = log(&gate)[before..].to_vec();
    let seen: Vec<_> = rows.iter().map(|row| (row.what, row.decision, row.count)).collect();
    assert_eq!(
        seen,
        [
            (What::Grant, Outcome::Denied, 1),
            (What::Grant, Outcome::Done, 1),
            (What::Revoke, Outcome::Done, 1),
            (What::Refused, Outcome::Refused, 7),
        ]
    );
    let detail = rows[3].detail.as_deref().unwrap();
    assert!(
        detail.starts_with("open /x\\u{a}{\"forged\":\\u{202e} 1} yy") && detail.ends_with('…'),
        "{detail}"
    );
    assert_eq!((rows[3].app.as_str(), rows[2].origin), ("my agent.py", None));
    assert!(verify(gate.audit().folder()).is_ok());
}
