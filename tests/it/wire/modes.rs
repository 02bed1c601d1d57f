//! The voice and twin switches, and the voice configuration in its encrypted zip.

use super::assert_failed;
use roost_tests::TestHome;
use serde_json::json;
use std::{fs, os::unix::fs::PermissionsExt as _};

#[test]
fn switches_begin_as_the_settings_say_and_can_be_set_or_flipped() {
    let home = TestHome::new();
    let host = home.up();
    assert_eq!(host.get("/voice").json(), json!({ "voice_mode": false }));
    assert_eq!(host.get("/twin").json(), json!({ "twin_mode": false }));
    for (path, key, mut expected) in
        [("/voice/toggle", "voice_mode", false), ("/twin/toggle", "twin_mode", false)]
    {
        for body in [&b""[..], b"{}", b" \n", br#"{"enabled": null}"#] {
            expected = !expected;
            let answer = host.send("POST", path, &[], body);
            assert_eq!((answer.status, answer.json()), (200, json!({ key: expected })), "{body:?}");
        }
        for enabled in [true, true, false] {
            assert_eq!(host.post(path, &json!({ "enabled": enabled })).json(), json!({ key: enabled }));
        }
        for body in [&b"{"[..], b"[]", b"true", b"\xff", br#"{"enabled": "yes"}"#] {
            assert_failed(&host.send("POST", path, &[], body), 400, "bad_request");
        }
    }
    assert_eq!(host.get("/voice").json(), json!({ "voice_mode": false }));
    let home = TestHome::new().with_variable("VOICE_MODE", "true").with_variable("TWIN_MODE", "True");
    let host = home.up();
    assert_eq!(host.get("/voice").json(), json!({ "voice_mode": true }));
    assert_eq!(host.get("/twin").json(), json!({ "twin_mode": false }));
}

#[test]
fn a_voice_configuration_opens_with_its_password_only() {
    let home = TestHome::new();
    let host = home.up();
    assert_eq!(host.get("/voice/config?password=x").json(), json!({}));
    assert_eq!(host.get("/voice/config").json(), json!({}));
    for body in [json!({}), json!({ "key": 1 }), json!({ "_password": "" }), json!({ "_password": 7 })] {
        assert_failed(&host.post("/voice/config", &body), 400, "bad_request");
        assert_failed(&host.post("/voice/export", &body), 400, "bad_request");
    }
    assert!(!home.root().join("voice.zip").exists());
    let answer = host
        .post("/voice/config", &json!({ "_password": "open sesame", "key": "k-1", "voice": "en" }))
        .json();
    assert!(answer["status"] == "ok" && answer["message"].is_string(), "{answer}");
    assert_eq!(host.get("/voice/config?password=open+sesame").json(), json!({ "key": "k-1", "voice": "en" }));
    for path in ["/voice/config?password=other", "/voice/config?password=", "/voice/config"] {
        assert_failed(&host.get(path), 403, "wrong_password");
    }
    let zip = home.root().join("voice.zip");
    assert_eq!(fs::metadata(&zip).unwrap().permissions().mode() & 0o777, 0o600);
    fs::write(&zip, "junk").unwrap();
    assert_failed(&host.get("/voice/config?password=open+sesame"), 500, "home_unusable");
}

#[test]
fn a_voice_configuration_travels_as_a_zip() {
    let home = TestHome::new();
    let host = home.up();
    let answer = host.post("/voice/export", &json!({ "_password": "pw", "key": "k-1" }));
    assert_eq!(answer.header("content-type"), Some("application/zip"));
    assert_eq!(answer.header("content-disposition"), Some("attachment; filename=\"voice.zip\""));
    assert!(answer.bytes.starts_with(b"PK"));
    let zip = answer.bytes;
    assert_eq!(host.get("/voice/config?password=pw").json(), json!({}));
    let import = |zip: &[u8], password: &str| {
        host.form(
            "/voice/import",
            &[("file", Some("voice.zip"), zip), ("password", None, password.as_bytes())],
        )
    };
    assert_failed(&import(&zip, "other"), 403, "wrong_password");
    assert_failed(&import(&zip, ""), 403, "wrong_password");
    assert_failed(&import(b"junk", "pw"), 400, "bad_request");
    assert_failed(&import(&zip[..zip.len() / 2], "pw"), 400, "bad_request");
    assert_failed(&import(&vec![0; 3 << 20], "pw"), 413, "body_too_large");
    assert_failed(&host.form("/voice/import", &[("password", None, b"pw")]), 400, "bad_request");
    assert!(!home.root().join("voice.zip").exists());
    assert_eq!(import(&zip, "pw").json(), json!({ "key": "k-1" }));
    assert_eq!(host.get("/voice/config?password=pw").json(), json!({ "key": "k-1" }));
    let again = host.post("/voice/export", &json!({ "_password": "pw" })).bytes;
    assert_eq!(import(&again, "pw").json(), json!({ "key": "k-1" }));
}

#[test]
fn the_hosts_own_password_opens_the_zip_for_its_owner_only() {
    let home = TestHome::new().with_variable("VOICE_ZIP_PASSWORD", "pw");
    let host = home.up();
    assert_eq!(host.post("/voice/config", &json!({ "_password": "pw", "key": "k-1" })).status, 200);
    assert_failed(&host.get("/voice/config"), 403, "wrong_password");
    let path = home.root().join("run/owner.token");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let token = fs::read_to_string(path).unwrap();
    let ask =
        |authorization: &str| host.send("GET", "/voice/config", &[("Authorization", authorization)], b"");
    assert_eq!(ask(&format!("Bearer {token}")).json(), json!({ "key": "k-1" }));
    assert_eq!(ask(&format!("bearer {token}")).status, 200);
    for wrong in [format!("Bearer {token}0"), format!("Basic {token}"), token.clone(), "Bearer ".to_owned()] {
        assert_failed(&ask(&wrong), 403, "wrong_password");
    }
    drop(host);
    home.up();
    assert_eq!(fs::read_to_string(home.root().join("run/owner.token")).unwrap(), token);
}
