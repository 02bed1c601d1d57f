//! Where apps are found: `[store]` in roost.toml, `RAPPSTORE_URL`, `RAR_URL`, `SENSESTORE_URL`, and where other programs keep tokens for GitHub.

use roost_host::catalogs::{CatalogSettings, Places};
use roost_protocol::Failure;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// `[store]`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Store {
    /// Where raw files of repositories are.
    raw: Option<String>,
    /// Where commits are looked up.
    commits: Option<String>,
    /// The registry of agents; empty for none.
    agents: Option<String>,
    /// The catalog of senses; empty for none.
    senses: Option<String>,
}

/// Joins the file and the variables. An address that cannot be used is refused; no token is read here.
pub(super) fn settings<'a>(
    written: Store,
    user_home: Option<&Path>,
    get: impl Fn(&str) -> Option<&'a String>,
) -> Result<CatalogSettings, Failure> {
    Places::new(written.raw.as_deref(), written.commits.as_deref())?;
    let path = |name: &str| get(name).map(PathBuf::from);
    let in_home = |below: &str| user_home.map(|home| home.join(below));
    let gh = path("GH_CONFIG_DIR")
        .or_else(|| path("XDG_CONFIG_HOME").map(|folder| folder.join("gh")))
        .or_else(|| in_home(".config/gh"));
    Ok(CatalogSettings {
        official: get("RAPPSTORE_URL").cloned(),
        agents: get("RAR_URL").cloned().or(written.agents),
        senses: get("SENSESTORE_URL").cloned().or(written.senses),
        raw: written.raw,
        commits: written.commits,
        gh_hosts: gh.map(|folder| folder.join("hosts.yml")),
        netrc: path("NETRC").or_else(|| in_home(".netrc")),
    })
}

#[cfg(test)]
mod tests {
    use super::{Store, settings};
    use std::{collections::BTreeMap, path::Path};

    #[test]
    fn tokens_are_looked_for_where_other_programs_keep_them() {
        let read = |variables: &[(&str, &str)]| {
            let variables: BTreeMap<&str, String> =
                variables.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
            settings(Store::default(), Some(Path::new("/home/me")), |name| variables.get(name)).unwrap()
        };
        let usual = read(&[]);
        assert_eq!(usual.gh_hosts.as_deref(), Some(Path::new("/home/me/.config/gh/hosts.yml")));
        assert_eq!(usual.netrc.as_deref(), Some(Path::new("/home/me/.netrc")));
        let moved =
            read(&[("XDG_CONFIG_HOME", "/x"), ("NETRC", "/n"), ("RAPPSTORE_URL", "https://h/i.json")]);
        assert_eq!(moved.gh_hosts.as_deref(), Some(Path::new("/x/gh/hosts.yml")));
        assert_eq!(
            (moved.netrc.as_deref(), moved.official.as_deref()),
            (Some(Path::new("/n")), Some("https://h/i.json"))
        );
        assert_eq!(read(&[("GH_CONFIG_DIR", "/g")]).gh_hosts.as_deref(), Some(Path::new("/g/hosts.yml")));
        assert!(toml::from_str::<Store>("raww = 1").is_err());
        let written: Store = toml::from_str("agents = ''\nsenses = 'https://h/s.json'").unwrap();
        let named = "https://h/r.json".to_owned();
        let read = settings(written, None, |name| (name == "RAR_URL").then_some(&named)).unwrap();
        assert_eq!(
            (read.agents.as_deref(), read.senses.as_deref()),
            (Some("https://h/r.json"), Some("https://h/s.json"))
        );
        let wrong: Store = toml::from_str("raw = 'http://mirror.example'").unwrap();
        assert!(settings(wrong, None, |_| None).is_err());
    }
}
