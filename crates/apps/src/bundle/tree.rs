//! A bundle's files seen from its root: which folder that is, and what a declared path leads to.

use super::{
    Rules,
    code::{BundleError, Code},
    manifest_checks,
};
use std::collections::BTreeMap;

/// The files of a bundle and what its folder is called.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tree<'a> {
    pub(super) files: &'a BTreeMap<String, Vec<u8>>,
    /// The path of the root within the files, with its slash; empty when they are the root.
    prefix: &'a str,
    pub(super) name: &'a str,
}

impl<'a> Tree<'a> {
    /// The files are the root.
    pub(super) fn top(files: &'a BTreeMap<String, Vec<u8>>, name: &'a str) -> Self {
        Self { files, prefix: "", name }
    }

    /// Finds the root: the top, else the folder directly below it that has a manifest.
    pub(super) fn find(
        files: &'a BTreeMap<String, Vec<u8>>,
        top_name: &'a str,
        rules: Rules,
    ) -> Result<Self, BundleError> {
        if files.contains_key(manifest_checks::FILE) {
            return Ok(Self::top(files, top_name));
        }
        let mut roots = files.keys().filter_map(|path| {
            let prefix = path.strip_suffix(manifest_checks::FILE)?;
            let name = prefix.strip_suffix('/')?;
            (!name.contains('/') && !name.starts_with('.')).then_some((prefix, name))
        });
        let Some((prefix, name)) = roots.next() else {
            return Err(BundleError::new(Code::NoManifest, "there is no `manifest.json` in it"));
        };
        if let (Some((_, other)), Rules::Spec) = (roots.next(), rules) {
            let message = format!("`{name}` and `{other}` both have a `manifest.json`");
            return Err(BundleError::new(Code::ManyRoots, message));
        }
        Ok(Self { files, prefix, name })
    }

    /// The root as a folder of the files, when it is not their top.
    pub(super) fn folder(&self) -> Option<&'a str> {
        self.prefix.strip_suffix('/')
    }

    /// A file by its path from the root.
    pub(super) fn get(&self, path: &str) -> Option<&'a [u8]> {
        let content = if self.prefix.is_empty() {
            self.files.get(path)
        } else {
            self.files.get(&format!("{}{path}", self.prefix))
        };
        content.map(Vec::as_slice)
    }

    /// The path that a manifest declares, as it is among the files; nothing when it leads to no file of the bundle.
    pub(super) fn resolve(&self, declared: &str, rules: Rules) -> Option<String> {
        if declared.starts_with('/') || (rules == Rules::Spec && declared.contains(['\\', '\0'])) {
            return None;
        }
        let mut parts: Vec<&str> = Vec::new();
        for part in declared.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    // The operating system goes up only from a folder that is there.
                    if rules == Rules::Spec || !self.has_folder(&parts.join("/")) {
                        return None;
                    }
                    parts.pop()?;
                }
                name => parts.push(name),
            }
        }
        let path = parts.join("/");
        self.get(&path).is_some().then_some(path)
    }

    fn has_folder(&self, path: &str) -> bool {
        let start = format!("{}{path}/", self.prefix);
        self.files.range(start.clone()..).next().is_some_and(|(file, _)| file.starts_with(&start))
    }
}
