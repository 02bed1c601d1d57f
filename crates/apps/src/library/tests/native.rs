//! Programs in the library: the same machine as for files, cut off at every step, and programs that are taken away.

use super::{Home, TIME, cut_off_everywhere};
use crate::{
    library::{AppKind, AppOrigin, AppRecord, Change, Changed, Library, Package, Quarantine},
    native::{
        Covered, KeyId, NativePackage, PublicKey, SigningKey, TrustList, TrustedPublisher, VerifiedPackage,
    },
};
use roost_protocol::{Failure, Reason};
use std::{fs, os::unix::fs::PermissionsExt as _};

const ID: &str = "com.example.tea";

fn verified(id: &str, version: &str) -> VerifiedPackage {
    let folder = tempfile::tempdir().unwrap();
    let manifest = format!(
        r#"{{"id": "{id}", "name": "Tea", "version": "{version}", "provides": ["tool:tea", "ui"], "permissions": ["user:id"]}}"#
    );
    fs::create_dir(folder.path().join("ui")).unwrap();
    for (path, text) in [
        ("manifest.json", manifest.as_str()),
        ("SKILL.md", "---\nname: tea\ndescription: Makes tea.\n---\n"),
        ("binary", &format!("\x7fELF {version}")),
        ("ui/index.html", &format!("<p>{version}")),
    ] {
        fs::write(folder.path().join(path), text).unwrap();
    }
    fs::set_permissions(folder.path().join("binary"), fs::Permissions::from_mode(0o755)).unwrap();
    let key = SigningKey::from_bytes(&[7; 32]);
    let public = key.verifying_key();
    let publisher = TrustedPublisher {
        name: "ada".to_owned(),
        key: PublicKey {
            id: KeyId::of(&public),
            key: public,
            not_before: None,
            not_after: None,
            revoked_at: None,
            covers: Covered::Tree,
        },
    };
    let trust = TrustList { publishers: vec![publisher], ..TrustList::default() };
    let package = NativePackage::from_folder(folder.path()).unwrap().sign(&key).unwrap();
    trust.verify(package, jiff::Timestamp::now()).unwrap()
}

fn package(version: u32) -> Package {
    let version = format!("{version}.0.0-rc.1");
    Package::from_verified(&verified(ID, &version), AppOrigin::Sent).unwrap()
}

fn put(library: &Library, version: u32) -> Result<Changed, Failure> {
    library.change(TIME, |before| {
        let package = package(version);
        let current = package.record(Vec::new(), TIME.to_owned());
        let app = AppRecord {
            id: package.id.clone(),
            publisher: package.publisher.clone(),
            kind: AppKind::Native,
            name: package.name.clone(),
            summary: package.summary.clone(),
            current: current.clone(),
            previous: before.app(ID).map(|app| app.current.clone()),
            waiting: None,
            seen: None,
            reason: None,
            quarantine: None,
        };
        Ok(Change::Put { app: Box::new(app), bring: vec![(current, package.files)] })
    })
}

fn remove(library: &Library) -> Result<Changed, Failure> {
    library.change(TIME, |_| Ok(Change::Remove { id: ID.to_owned() }))
}

fn quarantine(library: &Library) -> Result<Changed, Failure> {
    library.change(TIME, |before| {
        let mut app = before.app(ID).unwrap().clone();
        let reason = Failure::plain(Reason::AppRevoked);
        app.quarantine = Some(Quarantine { at: TIME.to_owned(), reason });
        Ok(Change::Put { app: Box::new(app), bring: Vec::new() })
    })
}

#[test]
fn a_program_that_is_cut_off_anywhere_is_there_or_not_the_old_or_the_new_one() {
    let home = Home::new();
    put(&home.library(), 1).unwrap();
    remove(&home.library()).unwrap();
    cut_off_everywhere(&home, |library| put(library, 1));
    put(&home.library(), 1).unwrap();
    fs::write(home.library().places().native_data(ID).join("mine.txt"), "kept").unwrap();
    cut_off_everywhere(&home, |library| put(library, 2));
    cut_off_everywhere(&home, remove);
    cut_off_everywhere(&home, quarantine);
}

#[test]
fn a_program_is_its_owners_alone_and_its_data_is_no_part_of_a_version() {
    let home = Home::new();
    let library = home.library();
    put(&library, 1).unwrap();
    let contents = library.read().unwrap();
    let app = contents.app(ID).unwrap();
    let tree = library.places().version(app, &app.current);
    let mode = |path: &str| fs::metadata(tree.join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(""), mode("binary"), mode("manifest.json"), mode("ui")), (0o700, 0o700, 0o600, 0o700));
    assert_eq!(library.files(app, &app.current).unwrap(), package(1).files);
    assert!(!home.seen().contains_key("data/binder.json") || !home.seen()["data/binder.json"].contains(ID));
    fs::write(library.places().native_data(ID).join("mine.txt"), "kept").unwrap();
    put(&library, 2).unwrap();
    assert_eq!(library.read().unwrap().app(ID).unwrap().versions().count(), 2);
    fs::write(tree.join("SKILL.md"), "changed").unwrap();
    assert_eq!(library.files(app, &app.current).unwrap_err().reason, Reason::DigestMismatch);
    remove(&library).unwrap();
    assert_eq!(home.seen()[&format!("native/{ID}/data/mine.txt")], "kept");
    assert!(!tree.exists());
}

#[test]
fn quarantine_takes_the_program_and_leaves_what_it_kept_and_printed() {
    let home = Home::new();
    let library = home.library();
    put(&library, 1).unwrap();
    put(&library, 2).unwrap();
    fs::write(library.places().native_data(ID).join("mine.txt"), "kept").unwrap();
    fs::write(library.places().native_logs(ID).join("stdout.log"), "said").unwrap();
    quarantine(&library).unwrap();
    let left: Vec<String> = home.seen().into_keys().collect();
    let own = |name: &str| format!("native/{ID}/{name}");
    assert_eq!(
        left,
        [
            "apps/library.json".to_owned(),
            "data/binder.json".to_owned(),
            own("data/mine.txt"),
            own("logs/stdout.log"),
            "roost.lock".to_owned()
        ]
    );
    let contents = library.read().unwrap();
    let app = contents.app(ID).unwrap();
    assert!(library.files(app, &app.current).is_err());
    remove(&library).unwrap();
    assert!(library.read().unwrap().app(ID).is_none());
}

#[test]
fn ids_of_programs_that_are_names_of_files_are_refused() {
    for id in ["library.json", "Library.Lock"] {
        let refused = Package::from_verified(&verified(id, "1.0.0"), AppOrigin::Sent);
        assert_eq!(refused.unwrap_err().reason, Reason::PackageInvalid, "{id}");
    }
}

#[test]
fn a_list_with_a_program_that_cannot_be_one_is_not_used() {
    let home = Home::new();
    put(&home.library(), 1).unwrap();
    let list = home.root().join("apps/library.json");
    let whole = fs::read_to_string(&list).unwrap();
    for (from, to) in [
        (format!("\"{ID}\""), "\"../tea\"".to_owned()),
        ("\"binary\": \"binary\"".to_owned(), "\"binary\": \"../x\"".to_owned()),
        ("1.0.0-rc.1".to_owned(), "../1".to_owned()),
        ("\"kind\": \"native\"".to_owned(), "\"kind\": \"rapplication\"".to_owned()),
    ] {
        let bad = whole.replace(&from, &to);
        assert_ne!(bad, whole, "{from}");
        fs::write(&list, bad).unwrap();
        assert_eq!(home.library().read().unwrap_err().reason, Reason::LibraryUnusable, "{to}");
    }
}
