//! Which paths are safe: alone, below any folder, and together, on any file system.

use super::refusal::{Refusal, Refused};
use std::collections::{HashMap, hash_map::Entry};

/// What every common file system takes as one name.
const COMPONENT_BYTES_MAX: usize = 255;

/// Far below what the operating system takes, so that a home folder before it does not matter.
const PATH_BYTES_MAX: usize = 1024;

/// Deepest path; real ones have three or four.
const DEPTH_MAX: usize = 32;

/// Checks one path on its own.
pub(super) fn check(path: &str) -> Result<(), Refused> {
    let refuse = |refusal, why: &str| Err(Refused::at(refusal, path, why));
    let bytes = path.as_bytes();
    if bytes.contains(&b'\\') {
        return refuse(Refusal::Traversal, "a path has no backslashes");
    }
    if path.starts_with('/') {
        return refuse(Refusal::Traversal, "the path is absolute");
    }
    if bytes.len() >= 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':' {
        return refuse(Refusal::Traversal, "the path names a drive");
    }
    if path.split('/').any(|component| component == "..") {
        return refuse(Refusal::Traversal, "the path climbs out of its folder");
    }
    if path.is_empty() || path.len() > PATH_BYTES_MAX {
        return refuse(Refusal::BadPath, "a path has 1 to 1024 bytes");
    }
    if path.chars().any(char::is_control) {
        return refuse(Refusal::BadPath, "a path has no control characters");
    }
    let mut depth = 0;
    for component in path.split('/') {
        depth += 1;
        if component.is_empty() || component == "." {
            return refuse(Refusal::BadPath, "a part of the path is empty or `.`");
        }
        if component.len() > COMPONENT_BYTES_MAX {
            return refuse(Refusal::BadPath, "a part of the path is longer than 255 bytes");
        }
    }
    if depth > DEPTH_MAX {
        return refuse(Refusal::BadPath, "the path is more than 32 folders deep");
    }
    Ok(())
}

/// What a path stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    /// Named by an entry of its own.
    Folder,
    /// Known only because something is in it.
    Implied,
}

/// Paths seen so far, by what a file system that ignores case makes of them.
#[derive(Debug, Default)]
pub(super) struct Together {
    seen: HashMap<String, (String, Kind)>,
}

impl Together {
    /// Adds a path that was checked alone; refuses one that meets another.
    pub(super) fn add(&mut self, path: &str, kind: Kind) -> Result<(), Refused> {
        for (end, _) in path.match_indices('/') {
            self.add_one(&path[..end], Kind::Implied, path)?;
        }
        self.add_one(path, kind, path)
    }

    fn add_one(&mut self, path: &str, kind: Kind, whole: &str) -> Result<(), Refused> {
        let refuse = |refusal, why: String| Err(Refused::at(refusal, whole, why));
        match self.seen.entry(folded(path)) {
            Entry::Vacant(place) => {
                place.insert((path.to_owned(), kind));
                Ok(())
            }
            Entry::Occupied(mut place) => {
                let (known, before) = place.get().clone();
                if known != path {
                    return refuse(Refusal::CaseTwin, format!("differs from `{known}` in case only"));
                }
                match (before, kind) {
                    (Kind::File, Kind::File) | (Kind::Folder, Kind::Folder) => {
                        refuse(Refusal::Duplicate, "is there twice".to_owned())
                    }
                    (Kind::File, _) | (_, Kind::File) => {
                        refuse(Refusal::FileAndFolder, format!("`{path}` is a file and a folder"))
                    }
                    (Kind::Implied, Kind::Folder) => {
                        place.get_mut().1 = Kind::Folder;
                        Ok(())
                    }
                    (_, Kind::Implied) => Ok(()),
                }
            }
        }
    }
}

/// Upper case first: `ß` and `ss` are one name where case does not count.
fn folded(path: &str) -> String {
    if path.is_ascii() { path.to_ascii_lowercase() } else { path.to_uppercase().to_lowercase() }
}

#[cfg(test)]
mod tests {
    use super::{Kind, Refusal, Together, check};

    #[test]
    fn paths_that_are_safe_anywhere_pass() {
        for path in ["a", "a/b/c.txt", "a..b", "...", ".hidden", "sp ace", "é/ü", "x/a:b", "ab:c", "-x"] {
            assert_eq!(check(path), Ok(()), "{path}");
        }
        assert_eq!(check(&"x".repeat(255)), Ok(()));
    }

    #[test]
    fn every_other_path_has_its_refusal() {
        let long = "x".repeat(256);
        let deep = ["d"; 33].join("/");
        let endless = ["dddd"; 300].join("/");
        for (path, refusal) in [
            ("/etc/passwd", Refusal::Traversal),
            ("../x", Refusal::Traversal),
            ("a/../b", Refusal::Traversal),
            ("a/..", Refusal::Traversal),
            ("a\\b", Refusal::Traversal),
            ("..\\b", Refusal::Traversal),
            ("C:x", Refusal::Traversal),
            ("c:/x", Refusal::Traversal),
            ("", Refusal::BadPath),
            (".", Refusal::BadPath),
            ("a//b", Refusal::BadPath),
            ("./a", Refusal::BadPath),
            ("a/./b", Refusal::BadPath),
            ("a/", Refusal::BadPath),
            ("a\0b", Refusal::BadPath),
            ("a\nb", Refusal::BadPath),
            ("a\u{7f}", Refusal::BadPath),
            (&long, Refusal::BadPath),
            (&deep, Refusal::BadPath),
            (&endless, Refusal::BadPath),
        ] {
            assert_eq!(check(path).map_err(|refused| refused.refusal), Err(refusal), "{path:?}");
        }
    }

    #[test]
    fn two_paths_never_meet() {
        for (first, second, expected) in [
            (("a", Kind::File), ("b", Kind::File), None),
            (("a/b", Kind::File), ("a/c", Kind::File), None),
            (("a", Kind::Folder), ("a/b", Kind::File), None),
            (("a/b", Kind::File), ("a", Kind::Folder), None),
            (("a", Kind::File), ("a", Kind::File), Some(Refusal::Duplicate)),
            (("a", Kind::Folder), ("a", Kind::Folder), Some(Refusal::Duplicate)),
            (("a", Kind::File), ("A", Kind::File), Some(Refusal::CaseTwin)),
            (("a/x", Kind::File), ("A/y", Kind::File), Some(Refusal::CaseTwin)),
            (("straße", Kind::File), ("STRASSE", Kind::File), Some(Refusal::CaseTwin)),
            (("a", Kind::File), ("a/b", Kind::File), Some(Refusal::FileAndFolder)),
            (("a/b", Kind::File), ("a", Kind::File), Some(Refusal::FileAndFolder)),
            (("a", Kind::File), ("a", Kind::Folder), Some(Refusal::FileAndFolder)),
        ] {
            let mut together = Together::default();
            together.add(first.0, first.1).unwrap();
            let refusal = together.add(second.0, second.1).err().map(|refused| refused.refusal);
            assert_eq!(refusal, expected, "{first:?} {second:?}");
        }
    }
}
