//! What a file may be called, raw and encoded.

use super::asking::{Asking, check};
use roost_tests::TestHome;

#[test]
fn names_are_taken_raw_and_encoded_and_decoded_once() {
    let home = TestHome::new();
    let host = home.up();
    let asking = Asking::new(&home, &host, &[]);
    let longest = "a".repeat(256);
    for (sent, name) in [
        ("x.md", "x.md"),
        ("a/b.md", "a/b.md"),
        ("a%2Fc.md", "a/c.md"),
        ("%61%2f%64", "a/d"),
        ("0-_.x", "0-_.x"),
        ("a/-b", "a/-b"),
        ("history/x/history", "history/x/history"),
        (longest.as_str(), longest.as_str()),
    ] {
        let made = asking.put(sent, name, &[]);
        assert_eq!((made.status, made.json()["path"].as_str()), (200, Some(name)), "{sent}");
        assert_eq!(asking.get(name).json()["content"], name);
        assert_eq!(asking.get(&name.replace('/', "%2F")).json()["content"], name);
    }
}

#[test]
fn what_is_no_name_is_refused_and_never_made_into_another() {
    let home = TestHome::new();
    let host = home.up();
    let asking = Asking::new(&home, &host, &[]);
    asking.put("a/b", "kept", &[]);
    asking.put("b", "kept", &[]);
    let too_long = "a".repeat(257);
    for sent in [
        "",
        "/a",
        "/",
        "%2Fa",
        "..",
        "../b",
        "%2e%2e/b",
        "%2E%2E%2Fb",
        "a/../b",
        "a%2F..%2Fb",
        "a..b",
        "a/..",
        "a//b",
        "a%2F%2Fb",
        "a/./b",
        "a/b/",
        "a%2Fb%2F",
        ".a",
        "-a",
        "_a",
        "a%0A",
        "a%0D%0A",
        "a%00",
        "a%20b",
        "a+b",
        "a~",
        "a%5Cb",
        "a:b",
        "%C3%A9",
        "a%C3%A9",
        "%252e%252e",
        "a%252Fb",
        "a%25",
        "%",
        "a%",
        "a%2",
        "a%zz",
        "a%2%46",
        "%ff",
        "%C3%28",
        too_long.as_str(),
    ] {
        for answer in [asking.get(sent), asking.put(sent, "x", &[]), asking.delete(sent, &[])] {
            check(&answer, 400, "validation_error");
            assert_eq!(answer.json()["details"]["field"], "path", "{sent}");
        }
    }
    assert_eq!(asking.names(""), ["a/b", "b"]);
    assert_eq!(asking.get("a/b").json()["content"], "kept");
}

#[test]
fn the_namespace_is_flat_and_minds_the_case() {
    let home = TestHome::new();
    let host = home.up();
    let asking = Asking::new(&home, &host, &[]);
    for name in ["node", "node/leaf.md", "Node", "node/leaf.md/more", "con", "aux.txt", "dot."] {
        assert_eq!(asking.put(name, name, &[]).json()["version"], 1, "{name}");
    }
    assert_eq!(asking.delete("node", &[]).status, 204);
    assert_eq!(asking.get("node/leaf.md").json()["content"], "node/leaf.md");
    assert_eq!(asking.get("Node").json()["content"], "Node");
    check(&asking.get("node"), 404, "not_found");
    check(&asking.get("dot"), 404, "not_found");
}

#[test]
fn names_that_only_programs_give_are_reached_when_asked_for() {
    let home = TestHome::new();
    let host = home.up();
    let asking = Asking::new(&home, &host, &[]);
    check(&asking.put(".cache%2Fr%C3%A9sum%C3%A9%201.txt", "x", &[]), 400, "validation_error");
    let any = ".cache%2Fr%C3%A9sum%C3%A9%201.txt?names=any";
    assert_eq!(asking.put(any, "x", &[]).json()["path"], ".cache/résumé 1.txt");
    assert_eq!(asking.names(""), Vec::<String>::new(), "the contract knows no such name");
    assert_eq!(asking.names("?names=any"), [".cache/résumé 1.txt"]);
    assert_eq!(asking.get(any).json()["content"], "x");
    check(&asking.get("..%2Fx?names=any"), 400, "validation_error");
    assert_eq!(asking.delete(any, &[]).status, 204);
}
