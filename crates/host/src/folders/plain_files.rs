//! Files of one folder as people and programs of the host use them: through no link, by names that stay in the folder.

use super::tree::Tree;
use roost_protocol::{Failure, Reason};
use roost_workspace::FilePath;
use rustix::io::Errno;
use std::path::{Path, PathBuf};

/// The folder, opened. Made where it is not there.
pub(crate) struct FolderFiles {
    tree: Tree,
    path: PathBuf,
}

impl FolderFiles {
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let unusable = |error: std::io::Error| unusable(path, &error);
        Tree::make(path).map_err(unusable)?;
        let tree = Tree::open(path).map_err(|error| unusable(error.into()))?;
        Ok(Self { tree, path: path.to_owned() })
    }

    /// Names of all files.
    pub(crate) fn names(&self) -> Result<Vec<String>, Failure> {
        Ok(self.list()?.into_iter().map(|(name, _, _)| name).collect())
    }

    /// Name, size and time of change of all files, by name.
    pub(crate) fn list(&self) -> Result<Vec<(String, u64, i64)>, Failure> {
        let seen = self.tree.look(&mut |_| ()).map_err(|error| self.unusable(error))?;
        let listed = seen.files.into_iter();
        Ok(listed.map(|(path, stamp)| (path.to_string(), stamp.bytes, stamp.modified_seconds())).collect())
    }

    /// A file of at most so many bytes; nothing where there is none.
    pub(crate) fn read(&self, name: &str, bytes_max: u64) -> Result<Option<Vec<u8>>, Failure> {
        let read = self.tree.read(&named(name)?, bytes_max).map_err(|error| self.unusable(error))?;
        Ok(read.map(|content| content.bytes))
    }

    /// Puts a content under a name, whole.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        self.tree.put(&named(name)?, bytes).map(drop).map_err(|error| self.unusable(error))
    }

    /// Removes a file; false where there is none.
    pub(crate) fn remove(&self, name: &str) -> Result<bool, Failure> {
        let path = named(name)?;
        if self.tree.stamp(&path).is_none() {
            return Ok(false);
        }
        self.tree.remove(&path).map(|()| true).map_err(|error| self.unusable(error))
    }

    fn unusable(&self, error: Errno) -> Failure {
        unusable(&self.path, &error.into())
    }
}

fn unusable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(Reason::HomeUnusable, format!("{}: {error}", path.display()))
}

fn named(name: &str) -> Result<FilePath, Failure> {
    FilePath::of_folder(name).map_err(|error| {
        let shown: String = name.escape_debug().take(100).collect();
        Failure::new(Reason::InvalidFileName, format!("invalid_name: `{shown}`: {error}"))
            .with_next("name a file in the folder, without `..`")
    })
}

#[cfg(test)]
mod tests {
    use super::FolderFiles;
    use roost_protocol::Reason;
    use std::{fs, os::unix::fs::symlink};

    #[test]
    fn files_are_listed_read_written_and_removed() {
        let home = tempfile::tempdir().unwrap();
        let files = FolderFiles::open(&home.path().join("tea")).unwrap();
        files.write("a/b.txt", b"one").unwrap();
        files.write("a/b.txt", b"two").unwrap();
        assert_eq!(files.names().unwrap(), ["a/b.txt"]);
        assert_eq!(files.read("a/b.txt", 10).unwrap().unwrap(), b"two");
        assert!(files.remove("a/b.txt").unwrap() && !files.remove("a/b.txt").unwrap());
        assert_eq!(files.read("a/b.txt", 10).unwrap(), None);
    }

    #[test]
    fn no_name_and_no_link_leads_out_of_the_folder() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("secret"), "secret").unwrap();
        let folder = home.path().join("tea");
        let files = FolderFiles::open(&folder).unwrap();
        symlink(home.path().join("secret"), folder.join("link")).unwrap();
        symlink(home.path(), folder.join("out")).unwrap();
        for name in ["link", "out/secret"] {
            assert!(!matches!(files.read(name, 100), Ok(Some(_))), "{name}");
        }
        assert!(files.write("out/secret", b"changed").is_err());
        assert_eq!(fs::read_to_string(home.path().join("secret")).unwrap(), "secret");
        for name in ["", ".", "..", "../secret", "/etc/passwd", "a/../../secret", "a\0b", "a//b"] {
            assert_eq!(files.read(name, 100).unwrap_err().reason, Reason::InvalidFileName, "{name}");
            assert!(files.write(name, b"x").is_err(), "{name}");
        }
        assert_eq!(files.names().unwrap(), Vec::<String>::new());
    }
}
