//! A repository as a person writes it: `https://github.com/OWNER/REPOSITORY[/tree/REF[/PATH]]`.

use super::entry::{is_inner_path, is_reference, is_repository, shown};
use roost_protocol::{Failure, Reason};

/// A place in a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryAddress {
    /// `owner/repository`.
    pub repo: String,
    /// Branch, tag or commit: one segment, because nothing tells where a longer one ends.
    pub reference: String,
    /// Folder or file in it; empty for its top.
    pub path: String,
}

impl RepositoryAddress {
    /// Reads the address; nothing for one that is on another computer.
    #[must_use]
    pub fn is_meant(text: &str) -> bool {
        rest_of(text).is_some()
    }

    /// Reads the address.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let wrong = || {
            Failure::new(Reason::AddressRefused, format!("not the address of a repository: {}", shown(text)))
                .with_next("write https://github.com/OWNER/REPOSITORY, and /tree/BRANCH/FOLDER where it is not the top")
        };
        let rest = rest_of(text).ok_or_else(wrong)?;
        let mut parts = rest.trim_end_matches('/').split('/');
        let (owner, name) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let name = name.strip_suffix(".git").unwrap_or(name);
        let repo = format!("{owner}/{name}");
        let (reference, path) = match parts.next() {
            None => ("main", String::new()),
            Some("tree" | "blob") => {
                let reference = parts.next().ok_or_else(wrong)?;
                (reference, parts.collect::<Vec<_>>().join("/"))
            }
            Some(_) => return Err(wrong()),
        };
        Self::of_parts(&repo, reference, &path).ok_or_else(wrong)
    }

    /// A place whose parts are known already; nothing when they are not what they are called.
    #[must_use]
    pub fn of_parts(repo: &str, reference: &str, path: &str) -> Option<Self> {
        let fits = is_repository(repo) && is_reference(reference) && (path.is_empty() || is_inner_path(path));
        fits.then(|| Self { repo: repo.to_owned(), reference: reference.to_owned(), path: path.to_owned() })
    }

    /// True when it names one file instead of a folder.
    #[must_use]
    pub fn names_a_file(&self) -> bool {
        let last = self.path.rsplit('/').next().unwrap_or_default();
        [".py", ".ts", ".js"].iter().any(|ending| last.ends_with(ending))
    }
}

fn rest_of(text: &str) -> Option<&str> {
    let text = text.trim();
    ["https://github.com/", "http://github.com/"].iter().find_map(|beginning| text.strip_prefix(beginning))
}

#[cfg(test)]
mod tests {
    use super::RepositoryAddress;

    #[test]
    fn addresses_are_read_as_people_copy_them() {
        for (text, repo, reference, path) in [
            ("https://github.com/ada/apps", "ada/apps", "main", ""),
            (" http://github.com/ada/apps.git/ ", "ada/apps", "main", ""),
            ("https://github.com/ada/a.b_c-d/tree/v1.2", "ada/a.b_c-d", "v1.2", ""),
            ("https://github.com/ada/apps/tree/dev/one/two/", "ada/apps", "dev", "one/two"),
            ("https://github.com/ada/apps/blob/main/tea_agent.py", "ada/apps", "main", "tea_agent.py"),
        ] {
            let read = RepositoryAddress::parse(text).unwrap();
            assert_eq!(
                (read.repo.as_str(), read.reference.as_str(), read.path.as_str()),
                (repo, reference, path)
            );
        }
        assert!(RepositoryAddress::parse("https://github.com/a/b/blob/main/x.py").unwrap().names_a_file());
        for bad in [
            "",
            "ada/apps",
            "https://github.com/ada",
            "https://github.com/ada/apps/issues/1",
            "https://gitlab.com/a/b",
            "https://github.com/ada/apps/tree",
            "https://github.com/ada/apps/tree/..",
            "https://github.com/../apps",
            "https://github.com/a/b/tree/main/../c",
            "https://github.com/a/b?x=1",
            "https://github.com/a b/c",
            "https://github.com/a/b/tree/main/%2e%2e/c",
            "https://github.com.evil/a/b",
        ] {
            assert!(RepositoryAddress::parse(bad).is_err(), "{bad}");
        }
    }
}
