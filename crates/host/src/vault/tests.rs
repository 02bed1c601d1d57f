//! The vault against wrong keys, damaged files, other users, other writers and disks that fail at any step.

use super::{KeyPlace, Keychain, Vault, keychain::Kind, value::SecretValue};
use crate::{gate::Disk, settings::Home};
use roost_protocol::{Failure, Reason, VariableName};
use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn home(&self) -> Home {
        Home::new(self.folder.path().to_owned(), None)
    }

    /// Another process's view of the same home.
    fn vault(&self) -> Vault {
        Vault::open(&self.home(), Keychain::default())
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("keys/vault.json")
    }

    fn key(&self) -> PathBuf {
        self.folder.path().join("keys/vault.key")
    }

    /// A home whose vault has two names.
    async fn filled() -> Self {
        let place = Self::new();
        set(&place.vault(), "ONE", "value-of-one").await.unwrap();
        set(&place.vault(), "TWO", "value-of-two").await.unwrap();
        place
    }

    /// The vault gives nothing, takes nothing and leaves its file as it is.
    async fn refuses(&self, why: &str) {
        let before = fs::read(self.file()).ok();
        let vault = self.vault();
        let failures = [
            get(&vault, "ONE").await.map(drop).unwrap_err(),
            set(&vault, "ONE", "other").await.unwrap_err(),
            vault.remove(&name("ONE")).await.unwrap_err(),
            vault.list().await.unwrap_err(),
            vault.resolve(&[name("ONE")]).await.map(drop).unwrap_err(),
        ];
        for failure in failures {
            assert_eq!(failure.reason, Reason::VaultUnusable, "{failure}");
            assert!(failure.message.contains(why), "{failure} does not say `{why}`");
            assert!(!failure.message.contains("value-of"), "{failure}");
            assert!(failure.next.is_some_and(|next| next.contains("keys/vault")), "no next step: {why}");
        }
        assert_eq!(fs::read(self.file()).ok(), before, "{why}: the file was touched");
    }
}

fn name(text: &str) -> VariableName {
    VariableName::parse(text).unwrap()
}

async fn set(vault: &Vault, name: &str, value: &str) -> Result<bool, Failure> {
    vault.set(&self::name(name), &SecretValue::parse(value.as_bytes()).unwrap()).await
}

async fn get(vault: &Vault, name: &str) -> Result<Option<String>, Failure> {
    Ok(vault.get(&self::name(name)).await?.map(|value| value.expose().to_owned()))
}

async fn names(vault: &Vault) -> Vec<String> {
    let listed = vault.list().await.unwrap();
    listed.into_iter().flat_map(|(_, names)| names).map(|(name, _)| name.as_str().to_owned()).collect()
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn a_home_without_a_vault_has_no_secrets_and_gets_no_files() {
    let place = Place::new();
    let vault = place.vault();
    assert!(vault.list().await.unwrap().is_none());
    assert_eq!(get(&vault, "ONE").await.unwrap(), None);
    assert_eq!(vault.remove(&name("ONE")).await.unwrap_err().reason, Reason::UnknownSecret);
    assert_eq!(fs::read_dir(place.folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn what_is_set_is_there_for_every_process_and_sealed_on_disk() {
    let place = Place::new();
    let (one, other) = (place.vault(), place.vault());
    assert_eq!(get(&other, "ONE").await.unwrap(), None);
    assert!(!set(&one, "ONE", "value-of-one").await.unwrap());
    assert_eq!(get(&other, "ONE").await.unwrap().as_deref(), Some("value-of-one"));
    assert!(set(&other, "ONE", "value-of-one-again").await.unwrap());
    assert_eq!(get(&one, "ONE").await.unwrap().as_deref(), Some("value-of-one-again"));
    assert_eq!(one.list().await.unwrap().unwrap().0, KeyPlace::File);
    assert_eq!(names(&one).await, ["ONE"]);
    other.remove(&name("ONE")).await.unwrap();
    assert_eq!(get(&one, "ONE").await.unwrap(), None);
    assert_eq!(one.remove(&name("ONE")).await.unwrap_err().reason, Reason::UnknownSecret);

    set(&one, "ONE", "value-of-one").await.unwrap();
    let text = fs::read_to_string(place.file()).unwrap();
    assert!(text.contains("\"ONE\"") && !text.contains("value-of"), "{text}");
    assert_eq!((mode(&place.file()), mode(&place.key())), (0o600, 0o600));
    assert_eq!(mode(place.file().parent().unwrap()), 0o700);
    assert!(!format!("{one:?}").contains("value-of"), "{one:?}");
    let key = fs::read_to_string(place.key()).unwrap();
    assert!(!format!("{one:?}").contains(&key), "{one:?}");
}

#[tokio::test]
async fn equal_values_are_sealed_to_different_texts() {
    let place = Place::new();
    set(&place.vault(), "ONE", "same").await.unwrap();
    let state = place.vault().state(&[name("ONE")]);
    let first = fs::read_to_string(place.file()).unwrap();
    set(&place.vault(), "ONE", "same").await.unwrap();
    assert_ne!(fs::read_to_string(place.file()).unwrap(), first);
    assert_ne!(place.vault().state(&[name("ONE")]), state);
}

#[tokio::test]
async fn the_state_of_a_name_changes_with_its_value_only() {
    let place = Place::filled().await;
    let vault = place.vault();
    let [one, two, missing] = ["ONE", "TWO", "THREE"].map(|text| vec![name(text)]);
    let before = [&one, &two, &missing].map(|names| vault.state(names));
    set(&place.vault(), "TWO", "other").await.unwrap();
    assert_eq!(vault.state(&one), before[0]);
    assert_ne!(vault.state(&two), before[1]);
    assert_eq!(vault.state(&missing), before[2]);
    assert_eq!(vault.resolve(&one).await.unwrap().state, before[0]);
    place.vault().remove(&name("ONE")).await.unwrap();
    assert_ne!(vault.state(&one), before[0]);
    set(&place.vault(), "THREE", "new").await.unwrap();
    assert_ne!(vault.state(&missing), before[2]);
    let resolved = vault.resolve(&[name("ONE"), name("TWO"), name("THREE")]).await.unwrap();
    let found: Vec<_> = resolved.secrets.iter().map(|one| (one.name.as_str(), one.value.expose())).collect();
    assert_eq!(found, [("TWO", "other"), ("THREE", "new")]);
}

#[tokio::test]
async fn another_key_opens_nothing() {
    let (place, other) = (Place::filled().await, Place::filled().await);
    fs::copy(other.key(), place.key()).unwrap();
    place.refuses("not sealed with this key").await;
    fs::write(place.key(), "").unwrap();
    place.refuses("holds no key").await;
    fs::write(place.key(), "0".repeat(63)).unwrap();
    place.refuses("holds no key").await;
    fs::remove_file(place.key()).unwrap();
    place.refuses("is gone").await;
    assert!(!place.key().exists(), "a new key would not open what is there");
}

#[tokio::test]
async fn sealed_values_cannot_change_places() {
    let place = Place::filled().await;
    let good: serde_json::Value = serde_json::from_slice(&fs::read(place.file()).unwrap()).unwrap();
    let write = |value: &serde_json::Value| fs::write(place.file(), value.to_string()).unwrap();

    let mut swapped = good.clone();
    swapped["secrets"]["ONE"] = good["secrets"]["TWO"].clone();
    swapped["secrets"]["TWO"] = good["secrets"]["ONE"].clone();
    write(&swapped);
    place.refuses("not what was sealed there").await;

    let mut renamed = good.clone();
    let one = renamed["secrets"].as_object_mut().unwrap().remove("ONE").unwrap();
    renamed["secrets"]["THREE"] = one;
    write(&renamed);
    place.refuses("`THREE`").await;

    let mut redated = good.clone();
    redated["secrets"]["ONE"]["set_at"] = "2020-01-01T00:00:00Z".into();
    write(&redated);
    place.refuses("`ONE`").await;

    // The same key, another vault.
    let other = Place::new();
    fs::create_dir(other.folder.path().join("keys")).unwrap();
    chmod(&other.folder.path().join("keys"), 0o700);
    fs::copy(place.key(), other.key()).unwrap();
    set(&other.vault(), "ONE", "value-of-other").await.unwrap();
    let other: serde_json::Value = serde_json::from_slice(&fs::read(other.file()).unwrap()).unwrap();
    let mut foreign = good.clone();
    foreign["secrets"]["ONE"] = other["secrets"]["ONE"].clone();
    write(&foreign);
    place.refuses("`ONE`").await;

    write(&good);
    assert_eq!(get(&place.vault(), "ONE").await.unwrap().as_deref(), Some("value-of-one"));
}

#[tokio::test]
async fn a_damaged_file_is_refused_at_every_length_and_with_any_byte_changed() {
    let place = Place::filled().await;
    let good = fs::read(place.file()).unwrap();
    for length in 0..good.len() {
        fs::write(place.file(), &good[..length]).unwrap();
        let failure = place.vault().list().await.map(drop).unwrap_err();
        assert_eq!(failure.reason, Reason::VaultUnusable, "{length} of {}", good.len());
    }
    fs::write(place.file(), &good[..good.len() / 2]).unwrap();
    place.refuses("vault.json").await;
    for position in 0..good.len() {
        let mut changed = good.clone();
        changed[position] ^= 1;
        fs::write(place.file(), &changed).unwrap();
        // White space is nothing, and a changed id, name or time opens nothing.
        if let Ok(Some((_, names))) = place.vault().list().await {
            assert_eq!(names.len(), 2, "byte {position}");
            assert_eq!(get(&place.vault(), "ONE").await.unwrap().as_deref(), Some("value-of-one"));
        }
    }
    for text in ["", "{}", "[]", r#"{"version": 2}"#, r#"{"version": 1, "more": 1}"#] {
        fs::write(place.file(), text).unwrap();
        place.refuses("vault.json").await;
    }
    fs::write(place.file(), &good).unwrap();
    assert_eq!(names(&place.vault()).await, ["ONE", "TWO"]);
}

#[tokio::test]
async fn files_that_others_can_use_are_refused() {
    for (open, closed) in [(0o640, 0o600), (0o604, 0o600), (0o620, 0o600)] {
        let place = Place::filled().await;
        let vault = place.vault();
        for path in [place.file(), place.key()] {
            assert_eq!(get(&vault, "ONE").await.unwrap().as_deref(), Some("value-of-one"));
            chmod(&path, open);
            place.refuses("other users").await;
            assert!(get(&vault, "ONE").await.is_err(), "it was remembered");
            chmod(&path, closed);
            assert_eq!(get(&vault, "ONE").await.unwrap().as_deref(), Some("value-of-one"));
        }
    }
    let place = Place::filled().await;
    chmod(place.file().parent().unwrap(), 0o755);
    assert_eq!(set(&place.vault(), "ONE", "x").await.unwrap_err().reason, Reason::VaultUnusable);
}

#[tokio::test]
async fn a_link_or_a_pipe_is_no_vault() {
    let place = Place::filled().await;
    let elsewhere = place.folder.path().join("elsewhere.json");
    fs::rename(place.file(), &elsewhere).unwrap();
    symlink(&elsewhere, place.file()).unwrap();
    assert_eq!(get(&place.vault(), "ONE").await.unwrap_err().reason, Reason::VaultUnusable);
    assert_eq!(set(&place.vault(), "ONE", "x").await.unwrap_err().reason, Reason::VaultUnusable);
    fs::remove_file(place.file()).unwrap();
    let private = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, place.file(), rustix::fs::FileType::Fifo, private, 0).unwrap();
    assert_eq!(get(&place.vault(), "ONE").await.unwrap_err().reason, Reason::VaultUnusable);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writers_do_not_lose_each_others_names() {
    let place = Arc::new(Place::new());
    let writers: Vec<_> = (0..8)
        .map(|writer| {
            let place = Arc::clone(&place);
            tokio::spawn(async move {
                let vault = place.vault();
                for round in 0..4 {
                    set(&vault, &format!("W{writer}_{round}"), &format!("{writer}/{round}")).await.unwrap();
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let vault = place.vault();
    assert_eq!(names(&vault).await.len(), 32);
    assert_eq!(get(&vault, "W7_3").await.unwrap().as_deref(), Some("7/3"));
}

/// A vault whose N-th step of writing fails, as a full or dying disk would let it.
fn failing_at(place: &Place, step: usize) -> Vault {
    let reached = AtomicUsize::new(0);
    let disk = Disk::interrupted_by(Box::new(move |_| {
        if reached.fetch_add(1, Ordering::Relaxed) == step {
            Err(io::Error::other("stopped"))
        } else {
            Ok(())
        }
    }));
    Vault::on(&place.home(), Keychain::default(), disk)
}

#[tokio::test]
async fn a_write_that_is_cut_off_anywhere_leaves_the_old_or_the_new() {
    let mut stopped = 0;
    for step in 0.. {
        let place = Place::filled().await;
        let cut = set(&failing_at(&place, step), "ONE", "new").await;
        let vault = place.vault();
        let found = get(&vault, "ONE").await.unwrap().unwrap();
        assert!(found == "new" || found == "value-of-one", "step {step}: {found}");
        assert_eq!(get(&vault, "TWO").await.unwrap().as_deref(), Some("value-of-two"), "step {step}");
        if cut.is_ok() {
            assert_eq!(found, "new");
            break;
        }
        stopped += 1;
        // What was left behind is in nobody's way.
        set(&vault, "ONE", "newer").await.unwrap();
        assert_eq!(get(&place.vault(), "ONE").await.unwrap().as_deref(), Some("newer"));
        let files = fs::read_dir(place.file().parent().unwrap()).unwrap().count();
        assert_eq!(files, 3, "step {step}: vault, key and lock");
    }
    assert_eq!(stopped, 5, "create, write, sync, rename, sync of the folder");
}

#[tokio::test]
async fn a_first_write_that_is_cut_off_anywhere_leaves_nothing_or_everything() {
    let mut stopped = 0;
    for step in 0.. {
        let place = Place::new();
        let cut = set(&failing_at(&place, step), "ONE", "value-of-one").await;
        let found = get(&place.vault(), "ONE").await.unwrap();
        assert!(found.is_none() || found.as_deref() == Some("value-of-one"), "step {step}");
        if cut.is_ok() {
            break;
        }
        stopped += 1;
        set(&place.vault(), "TWO", "value-of-two").await.unwrap();
        assert_eq!(get(&place.vault(), "TWO").await.unwrap().as_deref(), Some("value-of-two"));
        assert_eq!(get(&place.vault(), "ONE").await.unwrap(), found, "step {step}");
    }
    assert_eq!(stopped, 10, "the key, then the vault");
}

#[tokio::test]
async fn there_is_an_end_to_how_many_a_vault_takes() {
    let place = Place::new();
    let vault = place.vault();
    for number in 0..256 {
        set(&vault, &format!("N{number}"), "x").await.unwrap();
    }
    let failure = set(&vault, "ONE_MORE", "x").await.unwrap_err();
    assert!(failure.message.contains("256"), "{failure}");
    assert!(set(&vault, "N0", "y").await.unwrap());
    assert_eq!(names(&vault).await.len(), 256);
}

/// Does what the real programs do with what they are told, and writes down how they were started.
const PROGRAM: &str = r#"#!/bin/sh
echo "$@" >> "$STORE/asked"
[ -e "$STORE/locked" ] && exit 1
case "$1" in
store) cat > "$STORE/$6" ;;
lookup) cat "$STORE/$5" ;;
-i) read -r _ _ _ service _ account _ key; printf %s "$key" > "$STORE/$account" ;;
find-generic-password) cat "$STORE/$5" ;;
esac
"#;

#[tokio::test]
async fn the_key_is_in_the_keychain_where_there_is_one() {
    for kind in [Kind::SecretTool, Kind::Security] {
        let place = Place::new();
        let store = place.folder.path().join("store");
        fs::create_dir(&store).unwrap();
        let program = place.folder.path().join("keychain");
        fs::write(&program, PROGRAM).unwrap();
        chmod(&program, 0o700);
        let environment = BTreeMap::from([
            ("STORE".to_owned(), store.display().to_string()),
            ("PATH".to_owned(), "/usr/bin:/bin".to_owned()),
        ]);
        let keychain = Keychain::with_program(kind, program, environment);
        let vault = || Vault::open(&place.home(), keychain.clone());
        set(&vault(), "ONE", "value-of-one").await.unwrap();
        assert_eq!(vault().list().await.unwrap().unwrap().0, KeyPlace::Keychain, "{kind:?}");
        assert_eq!(get(&vault(), "ONE").await.unwrap().as_deref(), Some("value-of-one"));
        assert!(!place.key().exists());
        let file: serde_json::Value = serde_json::from_slice(&fs::read(place.file()).unwrap()).unwrap();
        let key = fs::read_to_string(store.join(file["id"].as_str().unwrap())).unwrap();
        assert_eq!(key.len(), 64);
        let asked = fs::read_to_string(store.join("asked")).unwrap();
        assert!(!asked.contains(&key), "{kind:?}: everybody can read it: {asked}");

        // One that opened it goes on; one that comes later has to wait for the person.
        let open = vault();
        assert!(get(&open, "ONE").await.unwrap().is_some());
        fs::write(store.join("locked"), "").unwrap();
        assert!(get(&open, "ONE").await.unwrap().is_some());
        let before = fs::read(place.file()).unwrap();
        for failure in [get(&vault(), "ONE").await.unwrap_err(), set(&vault(), "TWO", "x").await.unwrap_err()]
        {
            assert_eq!(failure.reason, Reason::VaultUnusable, "{failure}");
            assert!(failure.next.is_some_and(|next| next.contains("unlock the keychain")), "{kind:?}");
        }
        assert_eq!(fs::read(place.file()).unwrap(), before);

        // A new vault does not wait for a keychain that takes nothing.
        fs::remove_file(place.file()).unwrap();
        set(&vault(), "ONE", "value-of-one").await.unwrap();
        assert_eq!(vault().list().await.unwrap().unwrap().0, KeyPlace::File, "{kind:?}");
    }
}
