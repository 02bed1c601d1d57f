//! How much there may be, counted as the contract counts.

use super::asking::{Asking, FILES, check};
use roost_tests::{ENGINES, TestHome, home_on, until};
use serde_json::json;
use std::io::{Read as _, Write as _};

#[test]
fn bytes_are_counted_of_the_text_and_not_of_the_json() {
    for engine in ENGINES {
        let (home, _server) = home_on(engine);
        home.settings("[workspace]\nfile_bytes_max = 1000\nfiles_max = 2\n");
        let host = home.up();
        let asking = Asking::new(&home, &host, &[]);
        let escaped = format!(r#"{{"content": "{}"}}"#, r"\u0041".repeat(1000));
        assert_eq!(asking.send("PUT", &format!("{FILES}/a.md"), &[], escaped.as_bytes()).status, 200);
        assert_eq!(asking.put("a.md", &"é".repeat(500), &[]).status, 200);
        let large = asking.put("a.md", &"é".repeat(501), &[("If-Match", "\"stale\"")]);
        check(&large, 413, "workspace_too_large");
        let details = &large.json()["details"];
        assert_eq!(
            (&details["maxBytes"], &details["providedBytes"]),
            (&json!(1000), &json!(1002)),
            "size first"
        );
        assert_eq!(asking.put("b.md", "", &[]).status, 200);
        let third = asking.put("c.md", "", &[]);
        check(&third, 413, "workspace_too_large");
        assert_eq!(third.json()["details"]["maxFiles"], 2);
        let stale = asking.put("c.md", "", &[("If-Match", "\"stale\"")]);
        check(&stale, 409, "workspace_conflict");
        assert_eq!(asking.put("b.md", "replaced at the ceiling", &[]).status, 200);
        assert_eq!(asking.delete("b.md", &[]).status, 204);
        assert_eq!(asking.put("c.md", "", &[]).status, 200);
        assert_eq!(asking.list("").header("roost-revision"), Some("6"), "{engine:?}");
    }
}

#[test]
fn a_file_may_be_as_large_as_is_said_and_no_larger() {
    let home = TestHome::new();
    let host = home.up();
    let asking = Asking::new(&home, &host, &[]);
    let max = host.get("/.well-known/openwop").json()["workspace"]["maxFileBytes"].as_u64().unwrap();
    let max = usize::try_from(max).unwrap();
    assert_eq!(asking.put("a.md", &"x".repeat(max), &[]).status, 200);
    assert_eq!(asking.get("a.md").json()["content"].as_str().unwrap().len(), max);
    let escaped = format!(r#"{{"content": "{}"}}"#, r"\u0041".repeat(max));
    assert_eq!(asking.send("PUT", &format!("{FILES}/a.md"), &[], escaped.as_bytes()).status, 200);
    for bytes in [max + 1, 10 * max] {
        let large = asking.put("a.md", &"x".repeat(bytes), &[]);
        check(&large, 413, "workspace_too_large");
        assert_eq!(large.json()["details"]["maxBytes"], json!(max));
        assert!(large.json()["details"]["providedBytes"].as_u64().unwrap() > max as u64);
    }
    assert_eq!(asking.get("a.md").json()["version"], 2);
}

#[test]
fn a_body_without_a_length_is_read_no_further_than_it_may_be() {
    let home = TestHome::new();
    home.settings("[workspace]\nfile_bytes_max = 1000\n");
    let host = home.up();
    let token = super::asking::token(&home, &[]);
    let bearer = format!("Bearer {}", token["token"].as_str().unwrap());
    let head = format!(
        "PUT {FILES}/a.md HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: {bearer}\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", host.port())).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    let piece = [b"10000\r\n".to_vec(), vec![b'x'; 0x10000], b"\r\n".to_vec()].concat();
    for _ in 0..8 {
        stream.write_all(&piece).unwrap();
    }
    stream.write_all(b"0\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 413") && answer.contains("workspace_too_large"), "{answer}");
    until("the host still answers", || host.get("/version").status == 200);
}
