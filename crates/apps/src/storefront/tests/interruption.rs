//! Stopped at every step: afterwards the store is as it was or as it was to be.

use super::{App, Approval, Payload, StoreFacts, Storefront, Submitter, TestStore, moment};
use crate::catalog::Catalog;
use roost_protocol::Digest;
use std::{
    collections::BTreeMap,
    fs, io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

/// The same store, which stops after so many steps.
fn stopping(root: &Path, steps: usize) -> Storefront {
    let count = AtomicUsize::new(0);
    let after = move |_: &str| {
        if count.fetch_add(1, Ordering::SeqCst) >= steps { Err(io::Error::other("stopped")) } else { Ok(()) }
    };
    Storefront::open_with(root, Arc::new(after)).unwrap()
}

/// Another store with the same files.
fn copy(store: &TestStore) -> TestStore {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    copy_folder(&store.root(), &root);
    let store = Storefront::open(&root).unwrap();
    TestStore { folder, store }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_folder(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}

/// Does the work stopped after 0, 1, 2, … steps until it is not stopped any more, each time on a copy of the store.
pub(super) fn at_every_step(
    prepared: &TestStore,
    work: impl Fn(&Storefront) -> bool,
    is_consistent: impl Fn(&TestStore),
) -> usize {
    let done = {
        let store = copy(prepared);
        assert!(work(&store.store));
        comparable(&store)
    };
    let mut steps = 0;
    loop {
        let store = copy(prepared);
        let before = comparable(&store);
        let finished = work(&stopping(&store.root(), steps));
        // Whoever comes next finds the old state or the new one, whole.
        Storefront::open(&store.root()).unwrap();
        let after = comparable(&store);
        assert!(after == before || after == done, "stopped after {steps}: {:?}", after.keys());
        assert!(!finished || after == done);
        assert!(!store.root().join(".store/journal.json").exists(), "{steps}");
        is_consistent(&store);
        if finished {
            return steps;
        }
        steps += 1;
    }
}

/// Every file; the same work on two stores makes the same.
fn comparable(store: &TestStore) -> BTreeMap<String, Vec<u8>> {
    store.everything()
}

/// Every entry has the files it names, with the digests it names.
fn check(store: &TestStore) {
    let catalog = Catalog::parse(&fs::read(store.root().join("index.json")).unwrap()).unwrap();
    for part in catalog.entries.iter().flat_map(|entry| &entry.parts) {
        assert_eq!(part.sha256, Some(Digest::of(&fs::read(store.root().join(&part.url)).unwrap())));
    }
    for item in store.store.pending().unwrap() {
        store.store.reexamine_staged(&item).unwrap();
    }
}

fn submitted(store: &Storefront, app: &App<'_>) -> bool {
    let submitter = Submitter::account(app.publisher).unwrap();
    let examined = store.examine_zip(&app.zip(), submitter, &Payload::default()).unwrap();
    store.stage(&examined, moment(1)).is_ok()
}

fn waiting() -> TestStore {
    let store = TestStore::new();
    store.publish(&App::default());
    store.publish(&App { version: "1.1.0", ..App::default() });
    store.publish(&App { id: "cup", ..App::default() });
    assert!(submitted(&store.store, &App { version: "1.2.0", ..App::default() }));
    store
}

#[test]
fn receiving_is_all_or_nothing() {
    let steps = at_every_step(
        &waiting(),
        |store| submitted(store, &App { version: "1.3.0", ..App::default() }),
        check,
    );
    assert!(steps >= 8, "{steps}");
}

#[test]
fn approving_is_all_or_nothing() {
    let steps = at_every_step(
        &waiting(),
        |store| {
            let item = store.pending().unwrap().remove(0);
            let examined = store.reexamine_staged(&item).unwrap();
            store.promote(&item, &examined, &Approval::default(), moment(2)).is_ok()
        },
        check,
    );
    assert!(steps >= 16, "{steps}");
}

#[test]
fn rejecting_is_all_or_nothing() {
    let steps = at_every_step(
        &waiting(),
        |store| {
            let item = store.pending().unwrap().remove(0);
            store.reject(&item).is_ok()
        },
        check,
    );
    assert!(steps >= 5, "{steps}");
}

#[test]
fn indexing_is_all_or_nothing() {
    let store = waiting();
    fs::remove_dir_all(store.root().join("apps/@ada/cup")).unwrap();
    let steps = at_every_step(&store, |store| store.rebuild(moment(9)).is_ok(), |_| ());
    assert!(steps >= 7, "{steps}");
}

#[test]
fn a_store_is_not_made_where_one_is() {
    let store = TestStore::new();
    let before = store.everything();
    assert!(Storefront::init(&store.root(), &StoreFacts::new("B"), moment(1)).is_err());
    assert_eq!(store.everything(), before);
}
