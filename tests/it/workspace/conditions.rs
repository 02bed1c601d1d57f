//! Conditions on the current version, and many writers at once.

use super::asking::{Asking, FILES, check};
use roost_tests::{ENGINES, RunningHost, TestHome, home_on};
use serde_json::json;
use std::sync::Barrier;

#[track_caller]
fn conflict(answer: &roost_tests::Answer, current_version: i64) {
    check(answer, 409, "workspace_conflict");
    assert_eq!(answer.json()["details"]["currentVersion"], json!(current_version), "{answer:?}");
}

#[test]
fn a_write_happens_only_over_the_version_that_was_seen() {
    for engine in ENGINES {
        let (home, _server) = home_on(engine);
        let host = home.up();
        let asking = Asking::new(&home, &host, &[]);
        let put = |tags: &str| asking.put("a.md", "x", &[("If-Match", tags)]);
        conflict(&put("\"definitely-stale\""), 0);
        conflict(&put("*"), 0);
        let tag = |answer: roost_tests::Answer| answer.json()["etag"].as_str().unwrap().to_owned();
        let first = tag(asking.put("a.md", "one", &[]));
        conflict(&put("\"definitely-stale\""), 1);
        conflict(&put(&format!("W/{first}")), 1);
        conflict(&put(&first.to_uppercase()), 1);
        let second = put(&first);
        assert_eq!((second.status, &second.json()["version"]), (200, &json!(2)), "{engine:?}");
        conflict(&put(&first), 2);
        let second = tag(second);
        let third = tag(put(&format!("\"a\" , {second}, W/\"b\"")));
        let fourth = tag(put(third.trim_matches('"')));
        let fifth = asking.put("a.md", "x", &[("If-Match", "\"no\""), ("If-Match", &fourth)]);
        assert_eq!(fifth.json()["version"], 5, "several lines are one list");
        assert_eq!(put("*").json()["version"], 6);
        let other = tag(asking.put("b.md", "x", &[]));
        conflict(&put(&other), 6);

        conflict(&asking.put("a.md", "x", &[("If-None-Match", "*")]), 6);
        let new = asking.put("new.md", "x", &[("If-None-Match", "*")]);
        assert_eq!((new.status, &new.json()["version"]), (200, &json!(1)));

        conflict(&asking.delete("a.md", &[("If-Match", &first)]), 6);
        let current = tag(asking.get("a.md"));
        assert_eq!(asking.delete("a.md", &[("If-Match", &current)]).status, 204);
        conflict(&put(&current), 0);
        conflict(&asking.delete("a.md", &[("If-Match", &current)]), 0);
        let back = asking.put("a.md", "x", &[("If-None-Match", "*")]);
        assert_eq!((back.status, &back.json()["version"]), (200, &json!(8)), "{engine:?}");
        conflict(&put(&current), 8);
    }
}

#[test]
fn lists_of_tags_that_are_none_are_refused() {
    let home = TestHome::new();
    let host = home.up();
    let asking = Asking::new(&home, &host, &[]);
    let too_long = format!("\"{}\"", "a".repeat(254));
    let lines = "a".repeat(128);
    for name in ["If-Match", "If-None-Match"] {
        for bad in ["", "\"a", "\"a\" \"b\"", "*, \"a\"", too_long.as_str(), "\u{e9}"] {
            let answer = asking.put("a.md", "x", &[(name, bad)]);
            check(&answer, 400, "validation_error");
            assert_eq!(answer.json()["details"]["field"], name, "{bad}");
        }
        check(&asking.put("a.md", "x", &[(name, &lines), (name, &lines)]), 400, "validation_error");
    }
    check(&asking.delete("a.md", &[("If-Match", "\"a")]), 400, "validation_error");
    check(&asking.get("a.md"), 404, "not_found");
    let longest = format!("\"{}\"", "a".repeat(253));
    check(&asking.put("a.md", "x", &[("If-Match", &longest)]), 409, "workspace_conflict");
}

#[test]
fn a_reader_who_has_the_version_is_told_so() {
    let home = TestHome::new();
    let host = home.up();
    let asking = Asking::new(&home, &host, &[]);
    let first = asking.put("a.md", "one", &[]).header("etag").unwrap().to_owned();
    let get = |query: &str, tags: &str| {
        asking.send("GET", &format!("{FILES}/a.md{query}"), &[("If-None-Match", tags)], b"")
    };
    for tags in [first.as_str(), "*", &format!("\"x\", W/{first}")] {
        let same = get("", tags);
        assert_eq!((same.status, same.body.as_str(), same.header("etag")), (304, "", Some(first.as_str())));
    }
    asking.put("a.md", "two", &[]);
    assert_eq!(get("", &first).json()["content"], "two");
    assert_eq!(get("?version=1", &first).status, 304);
    check(&get("?version=9", &first), 404, "not_found");
}

fn count_up(host: &RunningHost, home: &TestHome, writers: usize, rounds: usize) {
    let asking = Asking::new(home, host, &[]);
    asking.put("count", "0", &[]);
    std::thread::scope(|scope| {
        for _ in 0..writers {
            scope.spawn(|| {
                for _ in 0..rounds {
                    loop {
                        let seen = asking.get("count").json();
                        let next = seen["content"].as_str().unwrap().parse::<usize>().unwrap() + 1;
                        let tag = seen["etag"].as_str().unwrap();
                        let written = asking.put("count", &next.to_string(), &[("If-Match", tag)]);
                        if written.status == 200 {
                            assert_eq!(written.json()["version"], json!(next + 1), "no gap");
                            break;
                        }
                        check(&written, 409, "workspace_conflict");
                        let current = written.json()["details"]["currentVersion"].as_u64();
                        assert!(current > seen["version"].as_u64(), "{written:?}");
                    }
                }
            });
        }
    });
    let end = asking.get("count").json();
    assert_eq!(
        (&end["content"], &end["version"]),
        (&json!((writers * rounds).to_string()), &json!(writers * rounds + 1))
    );
}

#[test]
fn sixteen_writers_lose_nothing() {
    for engine in ENGINES {
        let (home, _server) = home_on(engine);
        let host = home.up();
        count_up(&host, &home, 16, 8);
    }
}

#[test]
fn of_writers_with_the_same_tag_exactly_one_succeeds() {
    for engine in ENGINES {
        let (home, _server) = home_on(engine);
        let host = home.up();
        let asking = Asking::new(&home, &host, &[]);
        for round in 0..10 {
            let tag = asking.put("a.md", "start", &[]).header("etag").unwrap().to_owned();
            let start = Barrier::new(4);
            let won: usize = std::thread::scope(|scope| {
                let writers: Vec<_> = (0..4)
                    .map(|writer| {
                        let (asking, start, tag) = (asking.clone(), &start, &tag);
                        scope.spawn(move || {
                            start.wait();
                            asking.put("a.md", &format!("{round} {writer}"), &[("If-Match", tag)]).status
                        })
                    })
                    .collect();
                writers.into_iter().map(|writer| usize::from(writer.join().unwrap() == 200)).sum()
            });
            assert_eq!(won, 1, "{engine:?}");
        }
    }
}
