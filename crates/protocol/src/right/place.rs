//! Places on this computer: a folder or file, with everything below it.

use super::{InvalidRight, invalid};
use std::{
    fmt,
    path::{Path, PathBuf},
};

/// An absolute path, or one that begins with `~` for the person's home folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place(String);

impl Place {
    /// Checks the form. `/*` and `/**` at the end mean the same as nothing: a place always holds what is below it.
    pub fn parse(text: &str) -> Result<Self, InvalidRight> {
        let path = text.strip_suffix("/**").or_else(|| text.strip_suffix("/*")).unwrap_or(text);
        let path = if path.is_empty() && !text.is_empty() { "/" } else { path };
        let is_rooted = path == "~" || path.starts_with("~/") || path.starts_with('/');
        if !is_rooted {
            return Err(invalid(text, "is not a place: begin with `/` or `~/`"));
        }
        if path.contains('*') || path.contains('?') {
            return Err(invalid(text, "has a `*` that is not at its end; name the folder"));
        }
        let mut kept: Vec<&str> = Vec::new();
        for segment in path.split('/').skip(1) {
            match segment {
                "" | "." => {}
                ".." => return Err(invalid(text, "climbs out with `..`")),
                other => kept.push(other),
            }
        }
        let root = if path.starts_with('~') { "~" } else { "" };
        let joined = kept.iter().fold(root.to_owned(), |path, segment| format!("{path}/{segment}"));
        Ok(Self(if joined.is_empty() { "/".to_owned() } else { joined }))
    }

    /// The place of a real path, written from the home folder where it is below that.
    pub fn of_path(path: &Path, home: Option<&Path>) -> Result<Self, InvalidRight> {
        let text = |path: &Path| path.to_str().map(str::to_owned);
        let below_home = home.and_then(|home| path.strip_prefix(home).ok()).and_then(text);
        match (below_home, text(path)) {
            (Some(below), _) => Self::parse(&format!("~/{below}")),
            (None, Some(path)) => Self::parse(&path),
            (None, None) => Err(invalid(&path.to_string_lossy(), "is not text")),
        }
    }

    /// The real path, once it is known where the home folder is.
    #[must_use]
    pub fn path(&self, home: &Path) -> PathBuf {
        match self.0.strip_prefix('~') {
            Some(below) => home.join(below.trim_start_matches('/')),
            None => PathBuf::from(&self.0),
        }
    }

    /// True when the other place is this one or below it.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        Path::new(&other.0).starts_with(&self.0)
    }

    pub(super) fn in_words(&self) -> String {
        match self.0.as_str() {
            "/" => "every file of this computer that you can".to_owned(),
            "~" => "everything in your home folder".to_owned(),
            place => format!("{place} and what is in it"),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.0)
    }
}
