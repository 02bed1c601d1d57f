//! Lists of stores: both published forms and ours, and every way in which one can be older than another.

use super::{KeyList, Revocations};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use ed25519_dalek::SigningKey;
use serde_json::{Value, json};

fn key(id: &str, seed: u8) -> Value {
    let public = SigningKey::from_bytes(&[seed; 32]).verifying_key();
    json!({"algorithm": "ed25519", "keyId": id, "publicKey": STANDARD.encode(public.as_bytes())})
}

fn with(mut key: Value, name: &str, value: &str) -> Value {
    key[name] = json!(value);
    key
}

fn keys(json: &Value) -> Result<KeyList, String> {
    KeyList::parse(json.to_string().as_bytes())
}

fn revocations(json: &Value) -> Result<Revocations, String> {
    Revocations::parse(json.to_string().as_bytes())
}

#[test]
fn one_key_as_published_and_several_as_ours_are_read() {
    let one = keys(&key("abcd1234", 1)).unwrap();
    assert_eq!((one.keys.len(), one.edition.serial), (1, None));
    let several = keys(&json!({
        "serial": 3, "issuedAt": "2026-11-01T00:00:00Z",
        "keys": [with(key("a", 1), "notAfter", "2027-01-01T00:00:00Z"), with(key("b", 2), "covers", "tree")],
    }))
    .unwrap();
    assert_eq!((several.keys.len(), several.edition.serial), (2, Some(3)));
    let written = serde_json::to_vec(&several.keys[0]).unwrap();
    assert_eq!(super::PublicKey::parse(&written).unwrap(), several.keys[0]);
}

#[test]
fn what_is_no_list_of_keys_is_refused() {
    let zero = STANDARD.encode([0; 32]);
    let neutral = STANDARD.encode([[1].as_slice(), &[0; 31]].concat());
    for (bad, words) in [
        (json!([]), "not an object"),
        (json!({}), "unsupported signature algorithm"),
        (with(key("a", 1), "algorithm", "rsa"), "unsupported signature algorithm"),
        (with(key("a", 1), "publicKey", "AAAA"), "32 bytes"),
        (with(key("a", 1), "publicKey", &zero), "32 bytes"),
        (with(key("a", 1), "publicKey", &neutral), "32 bytes"),
        (with(key("a", 1), "keyId", "../a"), "no key's id"),
        (with(key("a", 1), "notAfter", "soon"), "no moment"),
        (with(key("a", 1), "covers", "some"), "`covers`"),
        (json!({"keys": [key("a", 1), key("a", 2)]}), "one id"),
        (json!({"keys": {}}), "not a list"),
        (json!({"keys": [key("a", 1)], "publicKey": "x"}), "one key and a list"),
        (json!({"keys": [], "serial": -1}), "no number"),
    ] {
        assert!(keys(&bad).is_err_and(|why| why.contains(words)), "{bad}");
    }
    let twice = r#"{"algorithm":"ed25519","keyId":"a","keyId":"b","publicKey":"x"}"#;
    assert!(KeyList::parse(twice.as_bytes()).is_err_and(|why| why.contains("duplicate")));
    assert!(KeyList::parse(&vec![b' '; 70_000]).is_err_and(|why| why.contains("more than")));
}

#[test]
fn an_older_list_of_keys_does_not_follow_a_newer_one() {
    let list = |serial: Value, issued: Value, keys: Value| {
        self::keys(&json!({"serial": serial, "issuedAt": issued, "keys": keys})).unwrap()
    };
    let (day_1, day_2) = (json!("2026-11-01T00:00:00Z"), json!("2026-11-02T00:00:00Z"));
    let (a, b) = (json!([key("a", 1)]), json!([key("b", 2)]));
    let revoked = json!([with(key("a", 1), "revokedAt", "2026-11-01T00:00:00Z")]);
    for (before, now, follows) in [
        (list(json!(1), json!(null), a.clone()), list(json!(2), json!(null), b.clone()), true),
        (list(json!(2), json!(null), a.clone()), list(json!(2), json!(null), a.clone()), true),
        (list(json!(2), json!(null), a.clone()), list(json!(1), json!(null), a.clone()), false),
        (list(json!(2), json!(null), a.clone()), list(json!(2), json!(null), b.clone()), false),
        (list(json!(2), json!(null), a.clone()), list(json!(null), json!(null), a.clone()), false),
        (list(json!(null), day_1.clone(), a.clone()), list(json!(null), day_2.clone(), b.clone()), true),
        (list(json!(null), day_2.clone(), a.clone()), list(json!(null), day_1.clone(), a.clone()), false),
        (list(json!(1), day_2.clone(), a.clone()), list(json!(2), day_1, a.clone()), false),
        (list(json!(null), day_2, a.clone()), list(json!(null), json!(null), a.clone()), false),
        // A published list has no order: another key is a change of keys, a revoked one that is back is not.
        (list(json!(null), json!(null), a.clone()), list(json!(null), json!(null), b.clone()), true),
        (list(json!(1), json!(null), revoked.clone()), list(json!(2), json!(null), a.clone()), false),
        (list(json!(1), json!(null), revoked.clone()), list(json!(2), json!(null), b.clone()), true),
        (list(json!(null), json!(null), revoked), list(json!(null), json!(null), b), false),
        (list(json!(1), json!(null), a), list(json!(2), json!(null), json!([key("a", 9)])), false),
    ] {
        assert_eq!(now.must_follow(&before).is_ok(), follows, "{:?} after {:?}", now.edition, before.edition);
    }
}

#[test]
fn revocations_are_read_in_every_published_form() {
    for list in [
        json!({"revocations": [{"id": "com.bad", "name": "Bad", "slug": "bad", "version": "1", "revoked_at": "2026-01-01T00:00:00Z"}]}),
        json!({"revocations": ["com.bad"]}),
        json!({"revoked": ["com.bad"]}),
    ] {
        let list = revocations(&list).unwrap();
        assert!(list.names("com.bad") && list.names("COM.Bad") && !list.names("com.good"));
    }
    for bad in [
        json!({}),
        json!({"revocations": [], "revoked": []}),
        json!({"revocations": [{}]}),
        json!({"revocations": [""]}),
        json!({"revocations": [7]}),
        json!({"revocations": "all"}),
        json!({"revocations": [{"id": "a", "revoked_at": "yesterday"}]}),
    ] {
        assert!(revocations(&bad).is_err(), "{bad}");
    }
}

#[test]
fn a_list_that_forgot_a_revocation_is_older_unless_it_counts_up() {
    let list =
        |serial: Value, ids: &[&str]| revocations(&json!({"serial": serial, "revocations": ids})).unwrap();
    let none = json!(null);
    assert!(list(none.clone(), &["a", "b"]).must_follow(&list(none.clone(), &["a"])).is_ok());
    assert!(list(none.clone(), &["b"]).must_follow(&list(none.clone(), &["a"])).is_err());
    assert!(list(none.clone(), &[]).must_follow(&list(none.clone(), &["a"])).is_err());
    assert!(list(json!(2), &[]).must_follow(&list(json!(1), &["a"])).is_ok());
    assert!(list(json!(1), &["a"]).must_follow(&list(json!(2), &["a"])).is_err());
    assert!(list(json!(2), &[]).must_follow(&list(json!(2), &["a"])).is_err());
    assert!(list(none.clone(), &["a"]).must_follow(&list(json!(2), &["a"])).is_err());
}
