//! Adding and removing model files.

use super::LocalModels;
use roost_protocol::Reason;
use std::fs;

#[test]
fn a_file_is_taken_over_under_its_name_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let models = LocalModels { folder: folder.path().join("models") };
    let file = folder.path().join("Tiny.gguf");
    fs::write(&file, b"GGUF and the rest").unwrap();
    let added = models.add(&file, None).unwrap();
    assert_eq!((added.name.as_str(), added.size_bytes), ("tiny", 17));
    assert_eq!(models.list(), [added]);
    assert_eq!(models.add(&file, None).unwrap_err().reason, Reason::AlreadyExists);
    fs::write(&file, b"something else").unwrap();
    assert_eq!(models.add(&file, Some("other")).unwrap_err().reason, Reason::NotAFile);
    for bad in ["", "..", "a/b", ".hidden", "x y", &"x".repeat(65)] {
        assert_eq!(models.add(&file, Some(bad)).unwrap_err().reason, Reason::WrongUse, "{bad}");
    }
    assert_eq!(models.add(&folder.path().join("nothing"), None).unwrap_err().reason, Reason::Unreadable);
    let left: Vec<_> = fs::read_dir(folder.path().join("models")).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "nothing of the failed ones is left: {left:?}");
    models.remove("tiny").unwrap();
    assert_eq!(models.remove("tiny").unwrap_err().reason, Reason::UnknownModel);
}

#[test]
fn what_is_not_what_was_named_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let models = LocalModels { folder: folder.path().to_owned() };
    let mut content = &b"GGUF changed"[..];
    let failure = models.keep("tiny", &mut content, Some(&"0".repeat(64)), &|_| {}).unwrap_err();
    assert_eq!(failure.reason, Reason::DigestMismatch);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn the_catalog_names_where_each_model_comes_from_and_what_it_must_be() {
    for model in super::catalog() {
        assert!(super::is_name(&model.name), "{}", model.name);
        assert!(model.sha256.len() == 64 && model.size_bytes > 0 && !model.licence.is_empty());
        for source in &model.sources {
            assert_eq!(source.packages.len(), source.members.len(), "{}", model.name);
            assert_eq!(source.packages.len(), source.wheels_sha256.len(), "{}", model.name);
            assert!(source.wheels_sha256.iter().all(|digest| digest.len() == 64));
            assert!(source.members.iter().all(|member| !member.contains("..") && !member.starts_with('/')));
        }
    }
}
