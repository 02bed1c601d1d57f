//! Where repositories are: the address of raw files, and of the look-up of commits. Both are settings, for GitHub
//! Enterprise, for mirrors and for tests.

use super::{
    entry::is_commit,
    web_address::{self, Reach},
};
use reqwest::Url;
use roost_protocol::{Failure, Reason};

/// Where catalogs say that raw files are.
const PUBLISHED_RAW: &str = "https://raw.githubusercontent.com";

/// Where commits are looked up.
const PUBLISHED_COMMITS: &str = "https://api.github.com";

/// The catalog that everybody begins with.
const OFFICIAL_CATALOG: &str = "kody-w/rapp_store/main/index.json";

/// The registry of agents, and the catalog of senses, that belong to it.
const AGENT_REGISTRY: &str = "kody-w/RAR/main/registry.json";
const SENSE_REGISTRY: &str = "kody-w/RAPP_Sense_Store/main/index.json";

/// The two addresses, without a slash at their end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    raw: String,
    commits: String,
}

impl Default for Places {
    fn default() -> Self {
        Self { raw: PUBLISHED_RAW.to_owned(), commits: PUBLISHED_COMMITS.to_owned() }
    }
}

impl Places {
    /// The usual addresses, but for those that are given.
    pub fn new(raw: Option<&str>, commits: Option<&str>) -> Result<Self, Failure> {
        let checked = |given: Option<&str>, usual: &str, name: &str| {
            let text = given.unwrap_or(usual).trim_end_matches('/');
            let url = web_address::parse(text, Reach::Anywhere);
            let is_plain = url.as_ref().is_ok_and(|url| url.query().is_none() && url.fragment().is_none());
            if is_plain {
                return Ok(text.to_owned());
            }
            let why = url.err().map_or_else(|| "it has a query".to_owned(), |failure| failure.message);
            Err(Failure::new(Reason::InvalidSettings, format!("[store]: `{name}`: {why}")))
        };
        Ok(Self {
            raw: checked(raw, PUBLISHED_RAW, "raw")?,
            commits: checked(commits, PUBLISHED_COMMITS, "commits")?,
        })
    }

    /// True for an address of raw files.
    #[must_use]
    pub fn is_raw(&self, url: &str) -> bool {
        let below = |place: &str| url.strip_prefix(place).is_some_and(|rest| rest.starts_with('/'));
        below(&self.raw) || below(PUBLISHED_RAW)
    }

    /// The catalog that everybody begins with.
    #[must_use]
    pub fn official_catalog(&self) -> String {
        format!("{}/{OFFICIAL_CATALOG}", self.raw)
    }

    /// The registry of agents that belongs to it.
    pub(super) fn agent_registry(&self) -> String {
        format!("{}/{AGENT_REGISTRY}", self.raw)
    }

    /// The catalog of senses that belongs to it.
    pub(super) fn sense_registry(&self) -> String {
        format!("{}/{SENSE_REGISTRY}", self.raw)
    }

    /// An address as it is asked: what was published for raw files is asked where this host has them.
    pub(super) fn here(&self, url: &str) -> String {
        let rest = url.strip_prefix(PUBLISHED_RAW).filter(|rest| rest.starts_with('/'));
        rest.map_or_else(|| url.to_owned(), |rest| format!("{}{rest}", self.raw))
    }

    /// One file of a repository at a commit.
    pub(super) fn raw_file(&self, repository: &str, commit: &str, path: &str) -> String {
        format!("{}/{repository}/{commit}/{path}", self.raw)
    }

    /// The beginning of every address in a repository.
    pub(super) fn below(&self, repository: &str) -> Result<Url, Failure> {
        web_address::parse(&format!("{}/{repository}/", self.raw), Reach::Anywhere)
    }

    /// Where the commit of a branch or tag is told.
    pub(super) fn commit(&self, repository: &str, reference: &str) -> String {
        format!("{}/repos/{repository}/commits/{reference}", self.commits)
    }

    /// The computer that raw files come from.
    pub(super) fn raw_machine(&self) -> String {
        let url = web_address::parse(&self.raw, Reach::Anywhere).ok();
        url.and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default()
    }

    /// Which computers an address may name: an operator may have put these places on this machine.
    pub(super) fn reach_of(&self, url: &str, otherwise: Reach) -> Reach {
        let is_ours = [&self.raw, &self.commits]
            .into_iter()
            .any(|place| url.strip_prefix(place.as_str()).is_some_and(|rest| rest.starts_with('/')));
        if is_ours { Reach::Anywhere } else { otherwise }
    }

    /// The same address at a commit instead of a branch or tag; nothing when it is not in that repository.
    pub(super) fn at_commit(
        &self,
        url: &str,
        repository: &str,
        reference: &str,
        commit: &str,
    ) -> Option<String> {
        let url = self.here(url);
        let rest = url.strip_prefix(&format!("{}/{repository}/", self.raw))?;
        let inside = rest.strip_prefix(reference).and_then(|rest| rest.strip_prefix('/')).or_else(|| {
            // Some catalogs name the commit already.
            rest.split_once('/')
                .filter(|(first, _)| is_commit(first) && *first == commit)
                .map(|(_, inside)| inside)
        })?;
        Some(self.raw_file(repository, commit, inside))
    }
}

#[cfg(test)]
mod tests {
    use super::Places;

    #[test]
    fn published_addresses_are_asked_where_this_host_has_them() {
        let places = Places::new(Some("http://127.0.0.1:9/raw/"), None).unwrap();
        assert_eq!(places.here("https://raw.githubusercontent.com/a/b"), "http://127.0.0.1:9/raw/a/b");
        assert_eq!(
            places.here("https://raw.githubusercontent.com.evil/a"),
            "https://raw.githubusercontent.com.evil/a"
        );
        assert_eq!(Places::default().here("https://x/a"), "https://x/a");
        for bad in ["http://example.org", "ftp://x", "https://a@b", "https://x?y=1", "raw"] {
            assert!(Places::new(Some(bad), None).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_address_is_moved_from_its_branch_to_the_commit() {
        let places = Places::default();
        let commit = "a".repeat(40);
        let at = |url: &str| places.at_commit(url, "ada/apps", "main", &commit);
        let raw = "https://raw.githubusercontent.com/ada/apps";
        assert_eq!(at(&format!("{raw}/main/tea/a.py")), Some(format!("{raw}/{commit}/tea/a.py")));
        assert_eq!(at(&format!("{raw}/{commit}/a.py")), Some(format!("{raw}/{commit}/a.py")));
        assert_eq!(at(&format!("{raw}/other/a.py")), None);
        assert_eq!(at("https://raw.githubusercontent.com/eve/apps/main/a.py"), None);
        assert_eq!(at("https://example.org/ada/apps/main/a.py"), None);
    }
}
