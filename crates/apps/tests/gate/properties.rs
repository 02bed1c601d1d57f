//! What holds for every input: what is packed is read again, and no bytes make a reader panic or write elsewhere.

use crate::cases::files_of;
use proptest::prelude::{ProptestConfig, Strategy, any, prop, prop_assert, prop_assert_eq, proptest};
use roost_apps::{
    Bundle, BundleSource, ContainerLimits, Files, NewApp, Rules, Submission, new_app, read_tar, read_zip,
    validate_bundle,
};
use serde_json::Value;
use std::collections::BTreeMap;

const LIMITS: ContainerLimits = ContainerLimits::BUNDLE;

fn contents() -> impl Strategy<Value = BTreeMap<String, Vec<u8>>> {
    let name = "[a-z0-9_é. -]{1,12}";
    let path = prop::collection::vec(name, 1..4).prop_map(|parts| parts.join("/"));
    prop::collection::btree_map(path, prop::collection::vec(any::<u8>(), 0..600), 0..12)
}

proptest! {
    // Each case waits for the disk several times.
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_is_packed_is_read_again(contents in contents()) {
        if let Ok(files) = Files::from_contents(contents) {
            let zip = files.to_zip("root");
            prop_assert_eq!(&zip, &files.to_zip("root"));
            let read = read_zip(&zip, &LIMITS).map_err(|refused| format!("{refused:?}"));
            prop_assert_eq!(read.map(|read| read.below("root")), Ok(files.clone()));
            let folder = tempfile::tempdir().unwrap();
            files.write_beneath(&folder.path().join("x")).unwrap();
            prop_assert_eq!(&Files::read_folder(&folder.path().join("x"), &LIMITS).unwrap(), &files);
        }
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        prop_assert!(read_tar(&bytes, &LIMITS).is_err());
        for rules in [Rules::Reference, Rules::Spec] {
            prop_assert!(!validate_bundle(BundleSource::Zip(&bytes), &Submission::default(), rules).ok);
        }
    }

    #[test]
    fn a_damaged_zip_is_read_whole_or_not(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let files = Files::from_contents(files_of(&Value::Null)).unwrap();
        let mut zip = files.to_zip("demo_app");
        for (at, byte) in changes {
            let at = at.index(zip.len());
            zip[at] = byte;
        }
        for rules in [Rules::Reference, Rules::Spec] {
            let report = validate_bundle(BundleSource::Zip(&zip), &Submission::default(), rules);
            prop_assert_eq!(report.ok, report.errors.is_empty());
        }
        if let Ok(read) = read_zip(&zip, &LIMITS) {
            let folder = tempfile::tempdir().unwrap();
            read.write_beneath(&folder.path().join("x")).unwrap();
            prop_assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        }
    }

    #[test]
    fn a_new_app_passes_whatever_it_is_called(name in "\\PC{1,40}", summary in "\\PC{1,80}") {
        let app = NewApp {
            id: roost_apps::BundleId::parse("new_app").unwrap(),
            publisher: roost_apps::Publisher::parse("@me").unwrap(),
            name,
            summary,
        };
        let files = new_app(&app).unwrap();
        let bundle = Bundle::from_files(files, "new_app", &Submission::default());
        let bundle = bundle.map_err(|errors| format!("{errors:?}"));
        prop_assert!(bundle.is_ok(), "{:?}", bundle);
    }
}
