//! The log: what is found when somebody changed it, what a crash leaves, and what happens on a full disk.

use super::{
    Audit, Filter, Log, Outcome, Subject, Verified, What,
    pending::Waiting,
    rows,
    segments::{name, path},
    verify,
};
use crate::gate::disk::{Disk, Step};
use roost_protocol::{AppId, Digest, Origin, Reason};
use std::{
    fs, io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

fn subject(app: &str, number: usize) -> Subject {
    Subject {
        app: Some(AppId::new(app)),
        digest: Some(Digest::of(app.as_bytes())),
        origin: Some(Origin::Local),
        what: What::Decide,
        right: Some(format!("env:N{number}").parse().unwrap()),
        detail: None,
        decision: Outcome::Denied,
        why: Some(Reason::RightMissing),
    }
}

fn batch(app: &str, count: usize) -> Vec<Waiting> {
    (0..count).map(|number| Waiting::once(subject(app, number))).collect()
}

fn log_of(folder: &Path, batches: usize) -> Log {
    let mut log = Log::with_segments_of(folder, Disk::default(), 2000).unwrap();
    for _ in 0..batches {
        log.append(&batch("a", 3)).unwrap();
    }
    log
}

/// Fails at the given step, and at every later one where the whole process is to die.
fn failing_at(step: usize, dies: bool) -> Disk {
    let mut reached = 0;
    Disk::interrupted_by(Box::new(move |_| {
        reached += 1;
        let fails = if dies { reached > step } else { reached == step + 1 };
        if fails { Err(io::Error::other("stopped")) } else { Ok(()) }
    }))
}

fn numbers(folder: &Path) -> Vec<u64> {
    rows(folder, &Filter::default()).rows.iter().map(|row| row.sequence).collect()
}

#[test]
fn a_log_that_nobody_touched_is_sound() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(verify(&folder.path().join("none")), Ok(Verified { rows: 0, segments: 0 }));
    drop(log_of(folder.path(), 10));
    let verified = verify(folder.path()).unwrap();
    assert_eq!(verified.rows, 30);
    assert!(verified.segments > 3);
    log_of(folder.path(), 1);
    assert_eq!(verify(folder.path()).unwrap().rows, 33);
    let filter = Filter { limit: Some(2), app: Some(AppId::new("a")), since: None };
    let listing = rows(folder.path(), &filter);
    assert_eq!((listing.rows.len(), listing.left_out, listing.rows[1].sequence), (2, 31, 33));
    assert!(rows(folder.path(), &Filter { app: Some(AppId::new("b")), ..Filter::default() }).rows.is_empty());
    let later = Filter { since: Some(jiff::Timestamp::MAX), ..Filter::default() };
    assert!(rows(folder.path(), &later).rows.is_empty());
}

#[test]
fn every_change_of_a_row_is_found_and_never_repaired() {
    let folder = tempfile::tempdir().unwrap();
    drop(log_of(folder.path(), 4));
    let first = path(folder.path(), 1);
    let good = fs::read_to_string(&first).unwrap();
    let lines: Vec<&str> = good.lines().collect();
    let joined = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let without = |gone: usize| joined(&[&lines[..gone], &lines[gone + 1..]].concat());
    let mut swapped = lines.clone();
    swapped.swap(1, 2);
    for (bad, line) in [
        (good.replacen("denied", "allowed", 1), 1),
        (good.replacen("\"count\":1", "\"count\":2", 1), 1),
        (good.replacen("{\"sequence\":1", "{ \"sequence\":1", 1), 1),
        (good.replacen("\"count\":1", "\"count\":1,\"x\":1", 1), 1),
        (without(0), 1),
        (without(2), 3),
        (joined(&swapped), 2),
        (good.clone() + "\n", lines.len() as u64 + 1),
        (good.replacen('\n', "\0\n", 1), 1),
        (good.clone() + lines[1] + "\n", lines.len() as u64 + 1),
    ] {
        fs::write(&first, &bad).unwrap();
        let broken = verify(folder.path()).unwrap_err();
        assert_eq!((broken.segment, broken.line), (name(1), line), "{}", broken.why);
        let listing = rows(folder.path(), &Filter::default());
        assert_eq!(listing.rows.len() as u64, line - 1);
        assert!(listing.broken.is_some());
        assert_eq!(fs::read_to_string(&first).unwrap(), bad);
    }
    fs::write(&first, &good).unwrap();
    assert!(verify(folder.path()).is_ok());
}

#[test]
fn what_was_cut_off_is_missed_and_nothing_is_written_after_it() {
    let cuts: [fn(&Path); 6] = [
        |folder| {
            let last = path(folder, last_segment(folder));
            let text = fs::read_to_string(&last).unwrap();
            let end = text.trim_end().rfind('\n').map_or(0, |at| at + 1);
            fs::write(last, &text[..end]).unwrap();
        },
        |folder| fs::remove_file(path(folder, last_segment(folder))).unwrap(),
        |folder| fs::remove_file(path(folder, 1)).unwrap(),
        |folder| fs::remove_file(folder.join("head.json")).unwrap(),
        |folder| fs::write(folder.join("head.json"), "{}").unwrap(),
        |folder| fs::write(folder.join("audit-7.jsonl"), "").unwrap(),
    ];
    for (number, cut) in cuts.iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = log_of(folder.path(), 5);
        cut(folder.path());
        assert!(verify(folder.path()).is_err(), "{number}");
        if number < 5 {
            // Whoever has the log open notices too, and so does whoever opens it.
            let failure = log.append(&batch("a", 1)).err().map(|error| error.failure.reason);
            assert!(failure == Some(Reason::AuditBroken) || number == 2, "{number}");
            let failure = Log::open(folder.path(), Disk::default()).unwrap_err();
            assert_eq!(failure.reason, Reason::AuditBroken, "{number}");
            assert!(failure.next_step().contains("evidence"));
        }
    }
}

fn last_segment(folder: &Path) -> u32 {
    super::segments::count(folder).unwrap().unwrap()
}

#[test]
fn half_a_row_at_the_end_is_set_aside_and_the_chain_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    drop(log_of(folder.path(), 2));
    let last = path(folder.path(), last_segment(folder.path()));
    let good = fs::read(&last).unwrap();
    fs::write(&last, [&good[..], b"{\"sequence\":7,\"ti"].concat()).unwrap();
    assert!(verify(folder.path()).unwrap_err().why.contains("half"));
    log_of(folder.path(), 1);
    assert_eq!(verify(folder.path()).unwrap().rows, 10);
    let listed = rows(folder.path(), &Filter::default()).rows;
    assert_eq!(listed[6].what, What::Repaired);
    let detail = listed[6].detail.clone().unwrap();
    let torn = detail.rsplit(' ').next().unwrap();
    assert_eq!(fs::read(folder.path().join(torn)).unwrap(), b"{\"sequence\":7,\"ti");
}

#[test]
fn an_append_that_dies_at_any_step_leaves_a_log_that_opens_and_is_sound() {
    for fresh in [true, false] {
        for step in 0.. {
            let folder = tempfile::tempdir().unwrap();
            let before = if fresh { 0 } else { log_of(folder.path(), 3).append(&[]).map_or(0, |()| 9) };
            let written = Log::with_segments_of(folder.path(), failing_at(step, true), 2000)
                .map(|mut log| log.append(&batch("b", 3)).is_ok())
                .unwrap_or(false);
            drop(log_of(folder.path(), 1));
            let verified = verify(folder.path()).unwrap_or_else(|broken| panic!("{step}: {broken}"));
            assert!(verified.rows >= before + 3, "{step}: {}", verified.rows);
            assert_eq!(numbers(folder.path()), (1..=verified.rows).collect::<Vec<_>>());
            if written {
                assert_eq!(verified.rows, before + 6);
                break;
            }
        }
    }
}

#[test]
fn an_append_that_fails_once_at_any_step_is_made_up_for_by_the_same_writer() {
    for step in 0.. {
        let folder = tempfile::tempdir().unwrap();
        drop(log_of(folder.path(), 3));
        let mut log = Log::with_segments_of(folder.path(), failing_at(step, false), 2000).unwrap();
        let first = log.append(&batch("b", 3));
        if let Err(error) = &first {
            assert_eq!(error.failure.reason, Reason::AuditUnusable);
            let again = if error.rows_are_kept { Vec::new() } else { batch("b", 3) };
            log.append(&again).unwrap_or_else(|error| panic!("{step}: {}", error.failure));
        }
        assert!(verify(folder.path()).is_ok(), "{step}");
        let filter = Filter { app: Some(AppId::new("b")), ..Filter::default() };
        assert_eq!(rows(folder.path(), &filter).rows.len(), 3, "{step}");
        if first.is_ok() {
            break;
        }
    }
}

#[test]
fn a_full_disk_stops_everything_until_there_is_room_again() {
    let folder = tempfile::tempdir().unwrap();
    let is_full = Arc::new(AtomicBool::new(false));
    let full = Arc::clone(&is_full);
    let disk = Disk::interrupted_by(Box::new(move |step| {
        let fails = step == Step::Write && full.load(Ordering::Relaxed);
        if fails { Err(io::Error::from(io::ErrorKind::StorageFull)) } else { Ok(()) }
    }));
    let audit = Audit::with_log(Log::open(folder.path(), disk).unwrap()).unwrap();
    audit.push(subject("a", 1), 1).unwrap();
    audit.flush().unwrap();
    is_full.store(true, Ordering::Relaxed);
    audit.push(subject("a", 2), 1).unwrap();
    assert_eq!(audit.flush().unwrap_err().reason, Reason::AuditUnusable);
    for number in 0..10 {
        assert_eq!(audit.push(subject("a", number), 1).unwrap_err().reason, Reason::AuditUnusable);
    }
    assert_eq!(verify(folder.path()).unwrap().rows, 1, "no part of a row stays");
    is_full.store(false, Ordering::Relaxed);
    audit.flush().unwrap();
    audit.push(subject("a", 3), 1).unwrap();
    drop(audit);
    let listed = rows(folder.path(), &Filter::default()).rows;
    let seen: Vec<_> = listed.iter().map(|row| (row.what, row.count)).collect();
    assert_eq!(seen, [(What::Decide, 1), (What::Decide, 1), (What::Repaired, 10), (What::Decide, 1)]);
    assert!(verify(folder.path()).is_ok());
}

#[test]
fn several_writers_share_one_chain() {
    let folder = tempfile::tempdir().unwrap();
    thread::scope(|scope| {
        for writer in 0..8 {
            let folder = folder.path();
            scope.spawn(move || {
                let audit = Audit::open(folder).unwrap();
                for number in 0..50 {
                    audit.push(subject(&format!("app{writer}"), number), 1).unwrap();
                    if number % 10 == 0 {
                        audit.flush().unwrap();
                    }
                }
            });
        }
    });
    assert_eq!(verify(folder.path()).unwrap().rows, 400);
}

#[test]
fn a_flood_of_different_rows_waits_for_the_disk_and_none_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let audit = Audit::open(folder.path()).unwrap();
    for number in 0..3 * super::WAITING_ROWS_MAX {
        audit.push(subject("a", number), 1).unwrap();
    }
    drop(audit);
    assert_eq!(verify(folder.path()).unwrap().rows, 3 * super::WAITING_ROWS_MAX as u64);
}
