//! Paths as pages write them, cleaned once: what is checked is what is used.

use roost_protocol::{Pattern, Right};
use roost_workspace::FilePath;

/// A path from the root, such as `/docs/a.md`, in the only spelling it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VfsPath(String);

/// The text is no path. Never says whether something is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("Invalid path")]
pub(super) struct InvalidPath;

impl VfsPath {
    /// Adds a slash in front where it is missing, and refuses every other second spelling.
    pub(super) fn parse(text: &str) -> Result<Self, InvalidPath> {
        let path = text.strip_prefix('/').unwrap_or(text);
        let has_blank_end = |segment: &str| segment.trim() != segment;
        let is_wrong = path.split('/').any(has_blank_end) || path.contains('\\') || has_escape(path);
        if is_wrong || FilePath::of_folder(path).is_err() {
            return Err(InvalidPath);
        }
        Ok(Self(format!("/{path}")))
    }

    /// A folder: everything below it is meant. `/` is everything.
    pub(super) fn folder(text: &str) -> Result<Self, InvalidPath> {
        match text.trim_end_matches('/') {
            "" if text.len() <= 1 => Ok(Self("/".to_owned())),
            _ if text.ends_with("//") => Err(InvalidPath),
            folder => Self::parse(folder).map(|path| Self(format!("{}/", path.0))),
        }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// The same file of the workspace, whose names begin without a slash.
    pub(super) fn file(&self) -> Result<FilePath, InvalidPath> {
        FilePath::of_folder(&self.0[1..]).map_err(|_| InvalidPath)
    }

    /// The path as a pattern that only it fits.
    pub(super) fn pattern(&self) -> Result<Pattern, InvalidPath> {
        Pattern::parse(&self.0).map_err(|_| InvalidPath)
    }

    /// True where a name begins with a dot: nothing that a star alone opens.
    pub(super) fn is_hidden(&self) -> bool {
        self.0.split('/').any(|segment| segment.starts_with('.'))
    }

    /// True for what no page may write: any manifest, the SDK, another page's folder, and what every conversation
    /// begins with.
    pub(super) fn is_out_of_reach(&self, own_id: &str) -> bool {
        let leaf = self.0.rsplit('/').next().unwrap_or_default();
        let in_apps = self.0.strip_prefix("/apps/");
        let own = format!("{own_id}/");
        leaf.eq_ignore_ascii_case("manifest.json")
            || in_apps.is_some_and(|below| !below.starts_with(&own))
            || self.0 == "/apps"
            || ["/IDENTITY.md", "/DIRECTIVES.md", "/MEMORY-INDEX.json"].contains(&self.as_str())
    }
}

/// `%2e` and its like would be another name for whoever undoes escapes.
fn has_escape(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_escape = |at: usize| {
        let digits = bytes.get(at + 1..at + 3);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    bytes.iter().enumerate().any(|(at, byte)| *byte == b'%' && is_escape(at))
}

/// True when a right names a path on purpose: a star does not reach into names that begin with a dot.
pub(super) fn names(right: &Right, path: &VfsPath) -> bool {
    let Right::Workspace { pattern, .. } = right else { return false };
    if !pattern.matches(path.as_str()) {
        return false;
    }
    let literal = pattern.as_str().split('*').next().unwrap_or_default();
    let last_hidden = path.as_str().rfind("/.").map_or(0, |at| at + 2);
    literal.len() >= last_hidden
}

/// True when some path below the folder fits the pattern.
pub(super) fn reaches_into(pattern: &Pattern, folder: &VfsPath) -> bool {
    let (literal, has_star) = match pattern.as_str().split_once('*') {
        Some((literal, _)) => (literal, true),
        None => (pattern.as_str(), false),
    };
    literal.starts_with(folder.as_str()) || (has_star && folder.as_str().starts_with(literal))
}

#[cfg(test)]
mod tests {
    use super::{VfsPath, names, reaches_into};
    use roost_protocol::{Pattern, Right};

    #[test]
    fn a_path_has_one_spelling() {
        assert_eq!(VfsPath::parse("/docs/a b.md").unwrap().as_str(), "/docs/a b.md");
        assert_eq!(VfsPath::parse("docs/a.md").unwrap().as_str(), "/docs/a.md");
        assert_eq!(VfsPath::parse("/100%.md").unwrap().as_str(), "/100%.md");
        for bad in [
            "",
            "/",
            "/x/../y",
            "/x/./y",
            "//x",
            "/x//y",
            "/x/",
            "\\x",
            "/x\\y",
            " /x",
            "/x ",
            "/ x",
            "/x/ y",
            "/x\0y",
            "/x\ny",
            "/%2e%2e/y",
            "/x%2Fy",
            "/x%00",
        ] {
            assert!(VfsPath::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_folder_is_named_with_and_without_its_slash() {
        for (text, expected) in
            [("/", "/"), ("", "/"), ("/docs", "/docs/"), ("/docs/", "/docs/"), ("docs", "/docs/")]
        {
            assert_eq!(VfsPath::folder(text).unwrap().as_str(), expected);
        }
        for bad in ["//", "/docs//", "/../x", "/x/..", "\\"] {
            assert!(VfsPath::folder(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_star_does_not_open_what_is_hidden() {
        let named = |pattern: &str, path: &str| {
            let right: Right = format!("workspace:read:{pattern}").parse().unwrap();
            names(&right, &VfsPath::parse(path).unwrap())
        };
        assert!(named("/.memory/*", "/.memory/a") && named("/docs/*", "/docs/a") && named("/*", "/docs/a"));
        assert!(
            !named("/*", "/.memory/a")
                && !named("/docs/*", "/docs/.x/a")
                && !named("/.memory/*", "/.memory/.x")
        );
        assert!(!named("/.memory/*", "/xmemory/a"));
    }

    #[test]
    fn a_pattern_reaches_into_folders_above_and_below_it() {
        let reaches = |pattern: &str, folder: &str| {
            reaches_into(&Pattern::parse(pattern).unwrap(), &VfsPath::folder(folder).unwrap())
        };
        assert!(reaches("/*", "/") && reaches("/docs/*", "/") && reaches("/docs/*", "/docs/x"));
        assert!(
            reaches("/docs/a.md", "/docs")
                && !reaches("/docs/*", "/other")
                && !reaches("/docs/a.md", "/docs/a.md")
        );
    }

    #[test]
    fn what_no_page_may_write_is_known() {
        let out = |path: &str| VfsPath::parse(path).unwrap().is_out_of_reach("me");
        for path in [
            "/apps/me/manifest.json",
            "/x/MANIFEST.json",
            "/apps/_sdk/a.js",
            "/apps/you/a",
            "/apps",
            "/IDENTITY.md",
        ] {
            assert!(out(path), "{path}");
        }
        for path in ["/apps/me/data/a", "/docs/a", "/applications/x"] {
            assert!(!out(path), "{path}");
        }
    }
}
