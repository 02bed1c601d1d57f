//! What is a right, what it covers, and how it reads.

use super::Right;
use proptest::prelude::*;

fn right(text: &str) -> Right {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_right_reads_back_as_written() {
    for text in [
        "network:*",
        "network:api.example.com",
        "network:*.example.com:8443",
        "network:127.0.0.1:8080",
        "network:[::1]:8080",
        "subprocess",
        "files:read:~/notes",
        "files:write:/srv/data",
        "files:read:/",
        "env:OPENAI_API_KEY",
        "secret:KEY@api.example.com:authorization",
        "secret:KEY@localhost:8080:x-api-key",
        "secret:KEY@http://localhost:8080:x-api-key",
        "secret:KEY@http://printer.example:x-api-key",
        "agents:read",
        "agents:write",
        "agents:call:Weather*",
        "memory:read",
        "memory:write",
        "model",
        "workspace:read:/docs/*",
        "events:watch:agent:*",
        "events:emit:app:me:*",
        "hooks:message.before",
        "schedule",
        "notifications",
        "clipboard",
        "storage:1048576",
        "feature:session:create",
    ] {
        assert_eq!(right(text).to_string(), text);
        assert!(!right(text).sentence().is_empty());
    }
}

#[test]
fn what_means_the_same_is_written_the_same() {
    for (text, canonical) in [
        ("network:API.Example.COM.", "network:api.example.com"),
        ("network:::ffff:127.0.0.1", "network:127.0.0.1"),
        ("files:read:~/a//b/./c/", "files:read:~/a/b/c"),
        ("files:read:/srv/*", "files:read:/srv"),
        ("files:read:/*", "files:read:/"),
        ("secret:K@h.example:X-Key", "secret:K@h.example:x-key"),
    ] {
        assert_eq!(right(text).to_string(), canonical);
    }
}

#[test]
fn what_could_mislead_is_no_right() {
    for text in [
        "",
        "root",
        "network:",
        "network:exa\u{202e}mple.com",
        "network:exam\u{200b}ple.com",
        "network:ex\u{e4}mple.com",
        "network:127.1",
        "network:0x7f.0.0.1",
        "network:2130706433",
        "network:host:0",
        "network:host:+80",
        "network:host:65536",
        "network:*.com",
        "network:a..b",
        "files:read:notes",
        "files:read:../x",
        "files:read:~/../etc",
        "files:read:/a/*/b",
        "files:execute:/a",
        "env:",
        "env:1A",
        "env:A=B",
        "env:A\nB",
        "workspace:read:a/../b",
        "workspace:read:*a*b*c*d*e*f*g*h*i*",
        "feature:admin:root",
        "feature:session:",
        "subprocess:all",
        "storage:many",
        &format!("files:read:/{}", "x".repeat(5000)),
    ] {
        assert!(text.parse::<Right>().is_err(), "{text:?}");
    }
}

#[test]
fn wider_rights_cover_narrower_ones_only() {
    for (wide, narrow) in [
        ("network:*", "network:example.com"),
        ("network:example.com", "network:example.com:443"),
        ("network:*.example.com", "network:a.b.example.com"),
        ("files:write:~/a", "files:read:~/a/b"),
        ("files:read:/", "files:read:/etc/passwd"),
        ("memory:write", "memory:read"),
        ("workspace:read:/docs/*", "workspace:read:/docs/a/b.md"),
        ("agents:write", "agents:read"),
        ("env:KEY", "secret:KEY@api.example.com:authorization"),
        ("feature:session:*", "feature:session:create"),
    ] {
        assert!(right(wide).covers(&right(narrow)), "{wide} {narrow}");
        assert!(!right(narrow).covers(&right(wide)), "{narrow} {wide}");
    }
    for (one, other) in [
        ("network:example.com", "network:example.com:8080"),
        ("network:*.example.com", "network:example.com"),
        ("network:*.example.com", "network:evilexample.com"),
        ("files:read:~/a", "files:read:~/ab"),
        ("files:read:~/a", "files:write:~/a"),
        ("files:read:~", "files:read:/etc"),
        ("events:watch:*", "events:emit:x"),
        ("env:A", "env:B"),
        ("subprocess", "network:*"),
    ] {
        assert!(!right(one).covers(&right(other)), "{one} {other}");
    }
}

proptest! {
    #[test]
    fn no_text_breaks_the_reader_and_what_is_read_reads_back(text in ".{0,40}") {
        if let Ok(right) = text.parse::<Right>() {
            prop_assert_eq!(right.to_string().parse::<Right>(), Ok(right));
        }
    }

    #[test]
    fn a_right_covers_itself(kind in 0..6usize, tail in "[a-z]{1,8}") {
        let text = [
            format!("network:{tail}.example"), format!("files:read:/{tail}"), format!("env:{tail}"),
            format!("workspace:write:{tail}/*"), format!("hooks:{tail}"), format!("agents:call:{tail}"),
        ][kind].clone();
        let right = text.parse::<Right>().unwrap();
        prop_assert!(right.covers(&right));
    }
}
