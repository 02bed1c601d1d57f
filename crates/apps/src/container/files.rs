//! What came out of an archive or a folder: paths and bytes, checked, in order.

use super::{
    ContainerLimits, folder,
    paths::{self, Kind, Together},
    refusal::{Refusal, Refused},
    tar_writer,
    write_beneath::{self, Permissions},
    zip_writer,
};
use roost_protocol::Digest;
use std::{collections::BTreeMap, io, path::Path};

/// Files that arrived together. Every path is relative, made of plain names, and meets no other on any file system.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Files {
    entries: BTreeMap<String, Vec<u8>>,
}

impl Files {
    /// Checks paths that were made here rather than read.
    pub fn from_contents(
        contents: impl IntoIterator<Item = (String, Vec<u8>)>,
    ) -> Result<Self, Vec<Refused>> {
        let mut entries = BTreeMap::new();
        let mut together = Together::default();
        for (path, content) in contents {
            paths::check(&path)
                .and_then(|()| together.add(&path, Kind::File))
                .map_err(|refused| vec![refused])?;
            entries.insert(path, content);
        }
        Ok(Self { entries })
    }

    /// Invariant: every path was checked alone and together.
    pub(super) fn checked(entries: BTreeMap<String, Vec<u8>>) -> Self {
        Self { entries }
    }

    /// Reads a folder under the limits and rules of an archive; links are refused, not followed.
    pub fn read_folder(folder: &Path, limits: &ContainerLimits) -> Result<Self, Vec<Refused>> {
        folder::read(folder, limits, &|_| true)
    }

    /// Reads a folder without what is named `left_out`: at any depth, or with `/` before the name at the top only.
    pub fn read_folder_without(
        folder: &Path,
        limits: &ContainerLimits,
        left_out: &[&str],
    ) -> Result<Self, Vec<Refused>> {
        let is_left_out = |path: &str| {
            let name = path.rsplit('/').next().unwrap_or(path);
            left_out.iter().any(|left| left.strip_prefix('/').map_or(*left == name, |top| top == path))
        };
        folder::read(folder, limits, &|path| !is_left_out(path))
    }

    /// Reads those parts of a folder whose path is taken; what is below a folder that is not taken is not looked at.
    pub(crate) fn read_parts(
        folder: &Path,
        limits: &ContainerLimits,
        takes: impl Fn(&str) -> bool,
    ) -> Result<Self, Vec<Refused>> {
        folder::read(folder, limits, &takes)
    }

    /// The content of a file.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&[u8]> {
        self.entries.get(path).map(Vec::as_slice)
    }

    /// Every file, by path.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.entries.iter().map(|(path, content)| (path.as_str(), content.as_slice()))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True when there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// One digest of all paths and contents: equal for equal files, whatever they travelled in.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut text = String::new();
        for (path, content) in self.iter() {
            text.push_str(&format!("{} {} {path}\n", Digest::of(content), content.len()));
        }
        Digest::of(text.as_bytes())
    }

    /// The files below one folder, with paths from there; the others are dropped.
    #[must_use]
    pub fn below(self, folder: &str) -> Self {
        let prefix = format!("{folder}/");
        let strip = |(path, content): (String, Vec<u8>)| {
            path.strip_prefix(&prefix).map(|rest| (rest.to_owned(), content))
        };
        Self { entries: self.entries.into_iter().filter_map(strip).collect() }
    }

    /// The only folder at the top, where everything is in one.
    pub fn only_root(&self) -> Result<&str, Refused> {
        let many = || Refused::new(Refusal::ManyRoots, "not everything is in one folder");
        let mut roots = self.entries.keys().map(|path| path.split_once('/').map(|(root, _)| root));
        let first = roots.next().flatten().ok_or_else(many)?;
        if roots.all(|root| root == Some(first)) { Ok(first) } else { Err(many()) }
    }

    /// Writes every file below `folder`, which is made when it is not there. Nothing that is there is replaced or
    /// followed; when it returns, all of it is on disk, and when it fails, nothing of it is.
    pub fn write_beneath(&self, folder: &Path) -> io::Result<()> {
        write_beneath::write(self, folder, &Permissions::PUBLIC, &mut |_| Ok(()))
    }

    /// The same for files that only their owner may use; one of them may be executed.
    pub(crate) fn write_private_beneath(&self, folder: &Path, program: &str) -> io::Result<()> {
        let permissions = Permissions { program: Some(program), ..Permissions::PRIVATE };
        write_beneath::write(self, folder, &permissions, &mut |_| Ok(()))
    }

    /// The files as a tar, packed with gzip; one of them may be executed. The same files always make the same bytes.
    pub(crate) fn to_tar_gz(&self, program: &str) -> io::Result<Vec<u8>> {
        tar_writer::write(self, program)
    }

    /// The same files with this one added, or in place of the one of its path.
    pub(crate) fn with(mut self, path: &str, content: Vec<u8>) -> Result<Self, Vec<Refused>> {
        self.entries.remove(path);
        let contents = self.entries.into_iter().chain([(path.to_owned(), content)]);
        Self::from_contents(contents)
    }

    /// The files as a zip, each below the folder `root`. The same files always make the same bytes.
    #[must_use]
    pub fn to_zip(&self, root: &str) -> Vec<u8> {
        zip_writer::write(self, &format!("{root}/"))
    }

    /// The files as a zip, without a folder around them.
    #[must_use]
    pub fn to_flat_zip(&self) -> Vec<u8> {
        zip_writer::write(self, "")
    }

    pub(crate) fn entries(&self) -> &BTreeMap<String, Vec<u8>> {
        &self.entries
    }
}

#[cfg(test)]
mod tests {
    use super::Files;

    fn files(paths: &[&str]) -> Files {
        Files::from_contents(paths.iter().map(|path| ((*path).to_owned(), Vec::new()))).unwrap()
    }

    #[test]
    fn one_root_is_one_folder_for_everything() {
        assert_eq!(files(&["a/b", "a/c/d"]).only_root(), Ok("a"));
        for paths in [&["a/b", "c/d"][..], &["a/b", "c"], &["a"], &[], &["a/b", "ab/c"]] {
            assert!(files(paths).only_root().is_err(), "{paths:?}");
        }
        assert_eq!(files(&["a/b", "a/c/d", "ab/c"]).below("a"), files(&["b", "c/d"]));
    }

    #[test]
    fn the_digest_is_of_paths_and_contents() {
        assert_eq!(files(&["a", "b"]).digest(), files(&["b", "a"]).digest());
        assert_ne!(files(&["a"]).digest(), files(&["b"]).digest());
    }
}
