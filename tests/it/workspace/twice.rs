//! Requests that are sent twice count once.

use super::asking::{Asking, FILES, check};
use roost_tests::{Answer, ENGINES, TestHome, home_on};

const KEY: &str = "Idempotency-Key";
const REPLAYED: &str = "openwop-idempotent-replay";

#[track_caller]
fn replayed(answer: &Answer, of: &Answer) {
    assert_eq!(answer.header(REPLAYED), Some("true"), "{answer:?}");
    assert_eq!((answer.status, &answer.body), (of.status, &of.body));
    assert_eq!(answer.header("etag"), of.header("etag"));
}

#[test]
fn the_first_answer_is_given_again() {
    for engine in ENGINES {
        let (home, _server) = home_on(engine);
        let host = home.up();
        let asking = Asking::new(&home, &host, &[]);
        let first = asking.put("a.md", "one", &[(KEY, "k1")]);
        assert_eq!((first.status, first.header(REPLAYED)), (200, None));
        asking.put("a.md", "two", &[]);
        replayed(&asking.put("a.md", "one", &[(KEY, "k1")]), &first);
        assert_eq!(asking.get("a.md").json()["content"], "two", "nothing was written again, {engine:?}");
        for other in [
            asking.put("a.md", "other", &[(KEY, "k1")]),
            asking.put("a.md", "one", &[(KEY, "k1"), ("If-Match", "*")]),
            asking.send(
                "PUT",
                &format!("{FILES}/a.md"),
                &[(KEY, "k1")],
                br#"{"content": "one", "contentType": "text/plain"}"#,
            ),
        ] {
            check(&other, 409, "idempotency_key_mismatch");
        }
        assert_eq!(
            asking.put("b.md", "one", &[(KEY, "k1")]).json()["version"],
            1,
            "another file, another request"
        );
        let gone = asking.delete("a.md", &[(KEY, "k1")]);
        assert_eq!((gone.status, gone.header(REPLAYED)), (204, None), "another operation, another request");
        replayed(&asking.delete("a.md", &[(KEY, "k1")]), &gone);
        let stranger = Asking::new(&home, &host, &["--tenant", "other"]);
        assert_eq!(
            stranger.put("a.md", "secret", &[(KEY, "k1")]).json()["version"],
            1,
            "keys are the owner's"
        );
    }
}

#[test]
fn a_request_that_was_refused_may_be_sent_again() {
    let home = TestHome::new();
    let host = home.up();
    let asking = Asking::new(&home, &host, &[]);
    check(&asking.put("a.md", "x", &[(KEY, "k"), ("If-Match", "*")]), 409, "workspace_conflict");
    asking.put("a.md", "there", &[]);
    let written = asking.put("a.md", "x", &[(KEY, "k"), ("If-Match", "*")]);
    assert_eq!((written.status, written.header(REPLAYED)), (200, None));
    let longest = "k".repeat(255);
    assert_eq!(asking.put("a.md", "x", &[(KEY, &longest)]).status, 200);
    for bad in ["", &"k".repeat(256), "\u{e9}", "a\tb"] {
        let answer = asking.put("a.md", "x", &[(KEY, bad)]);
        check(&answer, 400, "validation_error");
        assert_eq!(answer.json()["details"]["field"], KEY);
        check(&asking.delete("a.md", &[(KEY, bad)]), 400, "validation_error");
    }
    check(&asking.put("a.md", "x", &[(KEY, "a"), (KEY, "a")]), 400, "validation_error");
}

#[test]
fn of_many_that_are_sent_at_once_one_counts() {
    for engine in ENGINES {
        let (home, _server) = home_on(engine);
        let host = home.up();
        let asking = Asking::new(&home, &host, &[]);
        let answers: Vec<Answer> = std::thread::scope(|scope| {
            let senders: Vec<_> =
                (0..8).map(|_| scope.spawn(|| asking.put("a.md", "x", &[(KEY, "same")]))).collect();
            senders.into_iter().map(|sender| sender.join().unwrap()).collect()
        });
        assert!(
            answers.iter().all(|answer| answer.status == 200 && answer.json()["version"] == 1),
            "{answers:?}"
        );
        let first = answers.iter().filter(|answer| answer.header(REPLAYED).is_none()).count();
        assert_eq!(first, 1, "{engine:?}");
        assert_eq!(asking.list("").header("roost-revision"), Some("1"));
    }
}
