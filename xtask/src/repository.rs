//! The files that the tidy checks look at, read once.
//!
//! Left out: what is built or downloaded, and test material, which is often wrong on purpose.

use anyhow::{Context as _, Result};
use std::{collections::BTreeSet, fs, path::Path};

/// Folders that hold nothing anybody wrote here.
const FOREIGN_FOLDERS: &[&str] = &["target", "node_modules", "dist", "__pycache__"];

/// The hidden folders that are ours; the others belong to git, to downloaded tools and to editors.
const HIDDEN_FOLDERS: &[&str] = &[".cargo", ".ci", ".config", ".github"];

/// Folders of inputs and expected outputs: their bytes are the test, so no rule of style applies.
const MATERIAL: &[&str] = &["tests/fixtures", "tests/conformance/cases"];

/// Endings of files that are text and are checked. A file without an ending counts as text too.
const TEXT_ENDINGS: &[&str] =
    &["rs", "toml", "md", "py", "mjs", "js", "ts", "svelte", "css", "html", "sh", "yml", "yaml", "proto"];

/// What is in the repository.
#[derive(Debug, Default)]
pub(crate) struct Repository {
    files: Vec<TextFile>,
    /// Every file and folder, text or not, for links.
    paths: BTreeSet<String>,
}

/// One text file.
#[derive(Debug)]
pub(crate) struct TextFile {
    /// Path from the root of the repository, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Repository {
    /// Reads the repository at `root`.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let mut repository = Self::default();
        repository.read_folder(root, "")?;
        Ok(repository)
    }

    /// A repository of these files, for the tests of a check.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let mut repository = Self::default();
        for (path, text) in files {
            let folders = path.match_indices('/').map(|(end, _)| path[..end].to_owned());
            repository.paths.extend(folders.chain([(*path).to_owned()]));
            repository.files.push(TextFile { path: (*path).to_owned(), text: (*text).to_owned() });
        }
        repository
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = &TextFile> {
        self.files.iter()
    }

    /// The Rust files.
    pub(crate) fn rust(&self) -> impl Iterator<Item = &TextFile> {
        self.files.iter().filter(|file| file.ending() == "rs")
    }

    pub(crate) fn file(&self, path: &str) -> Option<&TextFile> {
        self.files.iter().find(|file| file.path == path)
    }

    /// True for a file or folder of the repository, text or not.
    pub(crate) fn has(&self, path: &str) -> bool {
        path.is_empty() || self.paths.contains(path)
    }

    fn read_folder(&mut self, folder: &Path, prefix: &str) -> Result<()> {
        let entries = fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))?;
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}/{name}") };
            // The type of the entry itself: a link is never followed, so a cycle cannot trap the walk.
            let kind = entry.file_type()?;
            if kind.is_dir() && is_foreign(&name) {
                continue;
            }
            self.paths.insert(path.clone());
            if kind.is_dir() {
                self.read_folder(&entry.path(), &path)?;
            } else if kind.is_file() && is_checked(&path) {
                let bytes = fs::read(entry.path()).with_context(|| format!("read {path}"))?;
                self.files.push(TextFile { text: String::from_utf8_lossy(&bytes).into_owned(), path });
            }
        }
        Ok(())
    }
}

impl TextFile {
    /// The file's name without folders.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// What follows the last dot of the name; empty without one.
    pub(crate) fn ending(&self) -> &str {
        ending(&self.path)
    }

    /// True below one of these folders.
    pub(crate) fn is_below(&self, folders: &[&str]) -> bool {
        folders.iter().any(|folder| is_below(&self.path, folder))
    }

    /// True for a file that holds tests only. The harness in `tests/src` is ordinary code.
    pub(crate) fn holds_only_tests(&self) -> bool {
        let in_tests_folder = self.path.split('/').skip(1).any(|folder| folder == "tests");
        let in_tests_crate = self.is_below(&["tests"]) && !self.is_below(&["tests/src"]);
        in_tests_folder || in_tests_crate || self.name() == "tests.rs" || self.name().ends_with(".spec.ts")
    }
}

fn is_foreign(folder: &str) -> bool {
    FOREIGN_FOLDERS.contains(&folder) || (folder.starts_with('.') && !HIDDEN_FOLDERS.contains(&folder))
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

fn is_checked(path: &str) -> bool {
    let is_text = ending(path).is_empty() || TEXT_ENDINGS.contains(&ending(path));
    is_text && !MATERIAL.iter().any(|folder| is_below(path, folder))
}

fn ending(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    // A leading dot hides a file; it does not begin an ending.
    match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() => ending,
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::{TextFile, ending, is_checked, is_foreign};

    #[test]
    fn material_and_unknown_endings_are_left_out() {
        for path in ["crates/apps/src/lib.rs", "Makefile", ".gitignore", "tests/it/start.rs", ".ci/run"] {
            assert!(is_checked(path), "{path}");
        }
        for path in ["tests/fixtures/broken_agent.py", "docs/picture.png", "Cargo.lock", "x/y.snap"] {
            assert!(!is_checked(path), "{path}");
        }
        assert_eq!(ending(".gitignore"), "");
    }

    #[test]
    fn built_and_hidden_folders_are_foreign() {
        for folder in ["target", ".git", ".tools", ".venv"] {
            assert!(is_foreign(folder), "{folder}");
        }
        assert!(!is_foreign(".ci") && !is_foreign("crates"));
    }

    #[test]
    fn the_harness_is_ordinary_code_and_stories_are_tests() {
        let holds_only_tests =
            |path: &str| TextFile { path: path.to_owned(), text: String::new() }.holds_only_tests();
        for path in ["tests/it/start.rs", "crates/apps/tests/read.rs", "crates/apps/src/scan/tests.rs"] {
            assert!(holds_only_tests(path), "{path}");
        }
        for path in ["tests/src/lib.rs", "crates/apps/src/lib.rs", "xtask/src/tidy/test_rules.rs"] {
            assert!(!holds_only_tests(path), "{path}");
        }
    }
}
