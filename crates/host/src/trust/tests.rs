//! Keys and trust on disk: made, kept, exposed, damaged, and asked of by several at once.

use super::HostTrust;
use crate::settings::Home;
use roost_apps::native::{NativePackage, PublicKey};
use roost_protocol::Reason;
use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

fn trust(home: &Path) -> HostTrust {
    HostTrust::of(&Home::new(home.to_owned(), None), None)
}

/// A package as an author's folder has it.
fn package(folder: &Path) -> NativePackage {
    fs::create_dir_all(folder).unwrap();
    let manifest = r#"{"id": "com.example.a", "name": "A", "version": "1", "provides": ["ui"]}"#;
    for (path, content) in [
        ("manifest.json", manifest),
        ("SKILL.md", "---\nname: a\ndescription: b\n---\n"),
        ("binary", "\x7fELF"),
    ] {
        fs::write(folder.join(path), content).unwrap();
    }
    fs::set_permissions(folder.join("binary"), Permissions::from_mode(0o700)).unwrap();
    NativePackage::from_folder(folder).unwrap()
}

#[tokio::test]
async fn a_new_key_signs_and_is_believed_by_its_home_and_by_nobody_else() {
    let folder = tempfile::tempdir().unwrap();
    let (home, other) = (trust(&folder.path().join("a")), trust(&folder.path().join("b")));
    fs::create_dir(folder.path().join("a")).unwrap();
    fs::create_dir(folder.path().join("b")).unwrap();
    let package = package(&folder.path().join("app"));
    assert_eq!(home.signing_key(None).unwrap_err().reason, Reason::UnknownTrust);
    let made = home.new_signing_key("ada", None).await.unwrap();
    let signed = package.sign(&home.signing_key(None).unwrap()).unwrap();
    assert_eq!(home.verify(signed.clone()).await.unwrap().vouched_by, "ada");
    assert_eq!(other.verify(signed.clone()).await.unwrap_err().reason, Reason::UnknownKey);
    // Exported, the public half is all that the other one needs.
    let exported = serde_json::to_vec(&made.public).unwrap();
    assert!(!String::from_utf8(exported.clone()).unwrap().contains("secret"));
    other.trust_publisher("Ada", PublicKey::parse(&exported).unwrap()).await.unwrap();
    assert_eq!(other.verify(signed.clone()).await.unwrap().vouched_by, "Ada");
    other.remove_publisher(made.id.as_str()).await.unwrap();
    assert_eq!(other.verify(signed).await.unwrap_err().reason, Reason::UnknownKey);
    assert_eq!(other.remove_publisher(made.id.as_str()).await.unwrap_err().reason, Reason::UnknownTrust);
}

#[tokio::test]
async fn keys_are_files_for_their_owner_and_an_exposed_or_swapped_one_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let home = trust(folder.path());
    let made = home.new_signing_key("ada", None).await.unwrap();
    let path = folder.path().join(format!("keys/signing/{}.json", made.id));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    assert_eq!(home.signing_key(None).unwrap_err().reason, Reason::TrustUnusable);
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    fs::rename(&path, path.with_file_name("0000000000000000.json")).unwrap();
    assert_eq!(home.signing_key(None).unwrap_err().reason, Reason::TrustInvalid);
}

#[tokio::test]
async fn a_trust_file_that_cannot_be_read_trusts_nobody_and_is_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let home = trust(folder.path());
    home.new_signing_key("ada", None).await.unwrap();
    let signed = package(&folder.path().join("app")).sign(&home.signing_key(None).unwrap()).unwrap();
    let path = folder.path().join("keys/trust.json");
    let good = fs::read(&path).unwrap();
    for damaged in [&b"{"[..], b"{}", &good[..good.len() / 2]] {
        fs::write(&path, damaged).unwrap();
        assert_eq!(home.verify(signed.clone()).await.unwrap_err().reason, Reason::TrustUnusable);
        assert_eq!(home.new_signing_key("eve", None).await.unwrap_err().reason, Reason::TrustUnusable);
        assert_eq!(fs::read(&path).unwrap(), damaged);
        assert_eq!(home.signing_keys().unwrap().len(), 1);
    }
    fs::write(&path, &good).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
    assert_eq!(home.verify(signed).await.unwrap_err().reason, Reason::TrustUnusable);
}

#[tokio::test]
async fn one_key_is_chosen_only_when_there_is_one_that_counts() {
    let folder = tempfile::tempdir().unwrap();
    let home = trust(folder.path());
    let past = "2020-01-01T00:00:00Z".parse().unwrap();
    let old = home.new_signing_key("old", Some(past)).await.unwrap();
    assert_eq!(home.signing_key(None).unwrap_err().reason, Reason::UnknownTrust);
    assert_eq!(home.signing_key(Some(old.id.as_str())).unwrap_err().reason, Reason::KeyNotValid);
    let new = home.new_signing_key("new", None).await.unwrap();
    assert!(home.signing_key(None).is_ok());
    home.new_signing_key("newer", None).await.unwrap();
    assert_eq!(home.signing_key(None).unwrap_err().reason, Reason::WrongUse);
    assert!(home.signing_key(Some(new.id.as_str())).is_ok());
    assert_eq!(home.signing_key(Some("../x")).unwrap_err().reason, Reason::UnknownTrust);
}

#[tokio::test]
async fn changes_at_the_same_time_are_all_kept() {
    let folder = tempfile::tempdir().unwrap();
    let home = trust(folder.path());
    let other = trust(folder.path());
    let made = futures::future::join_all((0..8).map(|index| {
        let home = if index % 2 == 0 { &home } else { &other };
        async move { home.new_signing_key(&format!("key {index}"), None).await }
    }))
    .await;
    assert!(made.iter().all(Result::is_ok), "{made:?}");
    assert_eq!(home.list().unwrap().publishers.len(), 8);
}
