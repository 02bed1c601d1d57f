//! Bodies that are no file: each is refused, nothing changes, and the host stays up.

use super::asking::{Asking, FILES, check};
use roost_tests::TestHome;

#[test]
fn what_is_no_file_is_refused_with_the_field_that_is_wrong() {
    let home = TestHome::new();
    let host = home.up();
    let asking = Asking::new(&home, &host, &[]);
    asking.put("a.md", "kept", &[]);
    let long_type = format!(r#"{{"content": "x", "contentType": "{}"}}"#, "t".repeat(256));
    let deep = format!(r#"{{"content": {}}}"#, "[".repeat(100_000));
    for (body, field) in [
        (&b"null"[..], "body"),
        (b"", "body"),
        (b"  ", "body"),
        (b"[]", "body"),
        (br#"["qqq", "text/plain"]"#, "body"),
        (br#""qqq""#, "body"),
        (b"7", "body"),
        (b"{", "body"),
        (br#"{"content": "qqq""#, "body"),
        (br#"{"content": "qqq"} {}"#, "body"),
        (br#"{"content": "\ud800"}"#, "body"),
        (br#"{"content": "\udc00qqq"}"#, "body"),
        (br#"{"content": "\ud800A"}"#, "body"),
        (b"{\"content\": \"\xff\"}", "body"),
        (b"{\"content\": \"\xed\xa0\x80\"}", "body"),
        (b"\xef\xbb\xbf{\"content\": \"qqq\"}", "body"),
        (b"{\"content\": \"\n\"}", "body"),
        (br"{'content': 'qqq'}", "body"),
        (deep.as_bytes(), "content"),
        (b"{}", "content"),
        (br#"{"Content": "qqq"}"#, "content"),
        (br#"{"content": null}"#, "content"),
        (br#"{"content": 7}"#, "content"),
        (br#"{"content": ["qqq"]}"#, "content"),
        (br#"{"content": {"qqq": 1}}"#, "content"),
        (br#"{"content": "qqq", "content": "qqq"}"#, "content"),
        (br#"{"content": "x", "contentType": null}"#, "contentType"),
        (br#"{"content": "x", "contentType": 7}"#, "contentType"),
        (br#"{"content": "x", "contentType": ""}"#, "contentType"),
        (br#"{"content": "x", "contentType": "a\nqqq"}"#, "contentType"),
        ("{\"content\": \"x\", \"contentType\": \"é\"}".as_bytes(), "contentType"),
        (br#"{"content": "x", "contentType": "a", "contentType": "b"}"#, "contentType"),
        (long_type.as_bytes(), "contentType"),
        (br#"{"content": "x", "qqq": 1}"#, "body"),
        (br#"{"content": "x", "path": "b.md"}"#, "body"),
        (br#"{"content": "x", "version": 9}"#, "body"),
        (br#"{"content": "x", "etag": "qqq"}"#, "body"),
        (br#"{"content": "x", "tenant": "other"}"#, "body"),
    ] {
        let answer = asking.send("PUT", &format!("{FILES}/a.md"), &[], body);
        check(&answer, 400, "validation_error");
        assert_eq!(answer.json()["details"]["field"], field, "{:?}", String::from_utf8_lossy(body));
        assert!(!answer.body.contains("qqq"), "what was sent is not repeated: {answer:?}");
    }
    let kept = asking.get("a.md").json();
    assert_eq!((&kept["content"], &kept["version"]), (&"kept".into(), &1.into()));
    assert_eq!(asking.list("").header("roost-revision"), Some("1"), "nothing of it left a trace");
}

#[test]
fn every_text_is_kept_byte_for_byte() {
    let home = TestHome::new();
    let host = home.up();
    let asking = Asking::new(&home, &host, &[]);
    for content in [
        "",
        " ",
        "\r\n\r",
        "\u{0}\u{1}\u{7f}",
        "\u{feff}x\u{2028}\u{2029}",
        "\u{10ffff}é日本",
        "\"\\/</script>",
    ] {
        assert_eq!(asking.put("a.md", content, &[]).json()["content"], content);
        assert_eq!(asking.get("a.md").json()["content"], content, "{content:?}");
    }
    let escaped = br#"{"content": "\u0041\ud83d\ude00\u0000", "contentType": "text/plain; charset=utf-8"}"#;
    let made =
        asking.send("PUT", &format!("{FILES}/a.md"), &[("Content-Type", "text/plain")], escaped).json();
    assert_eq!(made["content"], "A😀\u{0}", "{made}");
    assert_eq!(made["contentType"], "text/plain; charset=utf-8");
}
