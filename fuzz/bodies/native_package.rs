//! Any bytes as a native package, its manifest, its skill, its signatures, and lists of keys and revocations: read whole or
//! refused, and what was read travels unchanged.

use roost_apps::native::{
    KeyList, NativeManifest, NativePackage, NativeSource, PublicKey, Revocations, Signatures, Skill,
    TrustList, validate_native,
};

pub(crate) fn run(bytes: &[u8]) {
    let report = validate_native(NativeSource::Napp(bytes));
    assert_eq!(report.ok, report.errors.is_empty());
    if let Ok(package) = NativePackage::from_napp(bytes) {
        let napp = package.to_napp().expect("memory is written");
        assert_eq!(NativePackage::from_napp(&napp).as_ref(), Ok(&package));
    }
    match NativeManifest::parse(bytes) {
        Err(errors) => assert!(!errors.is_empty()),
        Ok(manifest) => {
            assert!(!manifest.provides.is_empty() && !manifest.id.as_str().contains(['/', '\\']));
        }
    }
    if let Err(errors) = Skill::parse(bytes, "SKILL.md") {
        assert!(!errors.is_empty());
    }
    Signatures::parse(bytes).ok();
    if let Ok(key) = PublicKey::parse(bytes) {
        let written = serde_json::to_vec(&key).expect("a key is written");
        assert_eq!(PublicKey::parse(&written), Ok(key));
    }
    if let Ok(list) = KeyList::parse(bytes) {
        assert!(list.must_follow(&list).is_ok());
    }
    if let Ok(list) = Revocations::parse(bytes) {
        assert!(list.must_follow(&list).is_ok() && list.apps.keys().all(|id| list.names(id)));
    }
    if let Ok(trust) = TrustList::parse(bytes) {
        assert_eq!(TrustList::parse(&trust.to_bytes()), Ok(trust));
    }
}
