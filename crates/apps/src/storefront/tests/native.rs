//! Native apps of a store: signed, counted, taken back, and stopped at every step.

use super::{TestStore, interruption::at_every_step, moment};
use crate::native::{
    Covered, KeyId, KeyList, NativePackage, PublicKey, Revocations, SigningKey, TrustList, TrustedStore,
};
use jiff::Timestamp;
use roost_protocol::Reason;
use std::{fs, os::unix::fs::PermissionsExt as _};

const ID: &str = "com.example.tea";

fn package(id: &str, version: &str) -> NativePackage {
    let folder = tempfile::tempdir().unwrap();
    let manifest = format!(
        r#"{{"id": "{id}", "name": "Tea Time", "version": "{version}", "provides": ["tool:tea"], "permissions": ["user:id"]}}"#
    );
    for (path, text) in [
        ("manifest.json", manifest.as_str()),
        ("SKILL.md", "---\nname: tea\ndescription: Makes tea.\n---\n"),
        ("binary", &format!("\x7fELF {version}")),
    ] {
        fs::write(folder.path().join(path), text).unwrap();
    }
    fs::set_permissions(folder.path().join("binary"), fs::Permissions::from_mode(0o755)).unwrap();
    NativePackage::from_folder(folder.path()).unwrap()
}

fn key(seed: u8) -> (SigningKey, PublicKey) {
    let key = SigningKey::from_bytes(&[seed; 32]);
    let public = key.verifying_key();
    let public = PublicKey {
        id: KeyId::of(&public),
        key: public,
        not_before: None,
        not_after: None,
        revoked_at: None,
        covers: Covered::Tree,
    };
    (key, public)
}

fn add(store: &TestStore, version: &str, seed: u8, second: i64) -> Result<(), Reason> {
    let (key, public) = key(seed);
    let added = store.store.add_native(package(ID, version), &key, &public, moment(second));
    added.map(drop).map_err(|failure| failure.reason)
}

/// What a home that believes this store makes of its lists, after what it believed before.
fn fetched(store: &TestStore, home: &mut TrustList, now: Timestamp) -> Result<(), Reason> {
    let shelf = store.store.native_shelf().unwrap();
    let keys = KeyList::parse(&serde_json::to_vec(&shelf.signing_key()).unwrap()).unwrap();
    let revoked = Revocations::parse(&serde_json::to_vec(&shelf.revoked()).unwrap()).unwrap();
    home.take_keys("https://store", keys, now).map_err(|failure| failure.reason)?;
    home.take_revocations("https://store", revoked, now).map_err(|failure| failure.reason)
}

fn home() -> TrustList {
    let store = TrustedStore { url: "https://store".to_owned(), keys: None, revocations: None };
    TrustList { stores: vec![store], ..TrustList::default() }
}

#[test]
fn what_a_store_signs_is_believed_until_it_takes_it_back() {
    let store = TestStore::new();
    add(&store, "1.0.0", 1, 1).unwrap();
    add(&store, "1.1.0", 1, 2).unwrap();
    for older in ["1.1.0", "1.0.5", "0.9"] {
        assert_eq!(add(&store, older, 1, 3), Err(Reason::VersionNotNewer), "{older}");
    }
    let mut believes = home();
    fetched(&store, &mut believes, moment(4)).unwrap();
    let newest = NativePackage::from_napp(&store.store.native_package(ID, None).unwrap().unwrap()).unwrap();
    assert_eq!(newest.manifest().version, "1.1.0");
    assert_eq!(believes.verify(newest.clone(), moment(5)).unwrap().covers, Covered::Tree);
    let older = store.store.native_package(ID, Some("1.0.0")).unwrap().unwrap();
    assert_eq!(NativePackage::from_napp(&older).unwrap().manifest().version, "1.0.0");
    assert_eq!(store.store.native_package(ID, Some("7")).unwrap(), None);
    assert_eq!(store.store.native_package("../x", None).unwrap(), None);

    let revoked = store.store.revoke_native(ID, moment(6)).unwrap();
    assert_eq!((revoked.slug.as_str(), revoked.version.as_str()), ("tea-time", "1.1.0"));
    assert_eq!(store.store.native_package(ID, None).unwrap(), None);
    assert!(!store.root().join("native").join(ID).exists());
    fetched(&store, &mut believes, moment(7)).unwrap();
    assert_eq!(believes.verify(newest, moment(8)).unwrap_err().reason, Reason::AppRevoked);
    assert_eq!(add(&store, "2.0.0", 1, 9), Err(Reason::AppRevoked));
    assert_eq!(
        store.store.revoke_native("com.example.none", moment(9)).unwrap_err().reason,
        Reason::UnknownEntry
    );
}

#[test]
fn a_key_is_added_and_taken_back_and_no_list_goes_back() {
    let store = TestStore::new();
    add(&store, "1.0.0", 1, 1).unwrap();
    // One key is served in the published form.
    let one = store.store.native_shelf().unwrap().signing_key();
    assert_eq!((one["algorithm"].as_str(), one["serial"].as_u64()), (Some("ed25519"), Some(1)));
    let mut believes = home();
    fetched(&store, &mut believes, moment(2)).unwrap();
    let signed = NativePackage::from_napp(&store.store.native_package(ID, None).unwrap().unwrap()).unwrap();
    let (_, second) = key(2);
    store.store.add_native_key(&second, moment(3)).unwrap();
    let (_, first) = key(1);
    let both = store.store.native_shelf().unwrap();
    assert_eq!(both.signing_key()["keys"].as_array().unwrap().len(), 2);
    store.store.revoke_native_key(first.id.as_str(), moment(4)).unwrap();
    fetched(&store, &mut believes, moment(5)).unwrap();
    assert_eq!(believes.verify(signed, moment(6)).unwrap_err().reason, Reason::KeyRevoked);
    // The list from before the key was taken back.
    let old = KeyList::parse(&serde_json::to_vec(&both.signing_key()).unwrap()).unwrap();
    let held_back = believes.take_keys("https://store", old, moment(7));
    assert_eq!(held_back.unwrap_err().reason, Reason::TrustRolledBack);
    assert_eq!(store.store.revoke_native_key("none", moment(8)).unwrap_err().reason, Reason::UnknownTrust);
}

#[test]
fn publishing_and_taking_back_a_program_are_all_or_nothing() {
    let published = || {
        let store = TestStore::new();
        add(&store, "1.0.0", 1, 1).unwrap();
        store
    };
    let is_whole = |store: &TestStore| {
        let shelf = store.store.native_shelf().unwrap();
        for app in &shelf.apps {
            for version in &app.versions {
                assert!(store.store.native_package(&app.id, Some(&version.version)).unwrap().is_some());
            }
        }
    };
    let steps = at_every_step(
        &published(),
        |store| {
            let (key, public) = key(1);
            store.add_native(package(ID, "2.0.0"), &key, &public, moment(2)).is_ok()
        },
        is_whole,
    );
    assert!(steps >= 5, "{steps}");
    let steps = at_every_step(&published(), |store| store.revoke_native(ID, moment(3)).is_ok(), is_whole);
    assert!(steps >= 4, "{steps}");
}

#[test]
fn a_shelf_that_was_changed_by_hand_gives_nothing() {
    let store = TestStore::new();
    add(&store, "1.0.0", 1, 1).unwrap();
    let napp = store.root().join(format!("native/{ID}/1.0.0.napp"));
    let good = fs::read(&napp).unwrap();
    fs::write(&napp, [&good[..], b"x"].concat()).unwrap();
    assert_eq!(store.store.native_package(ID, None).unwrap_err().reason, Reason::StoreUnusable);
    fs::write(&napp, good).unwrap();
    let shelf = store.root().join("native/shelf.json");
    let whole = fs::read_to_string(&shelf).unwrap();
    for bad in [
        "",
        "{}",
        &whole.replace(ID, "../x"),
        &whole.replace("shelf/1", "shelf/9"),
        &whole.replace("1.0.0", "../1"),
    ] {
        fs::write(&shelf, bad).unwrap();
        assert_eq!(store.store.native_shelf().unwrap_err().reason, Reason::StoreUnusable, "{bad}");
    }
}
