//! Where agents come from, as a person writes it. Only what is understood here is ever given to `git`.

use roost_protocol::{Digest, Failure, Reason};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Longest address; the longest that servers take.
const ADDRESS_BYTES_MAX: usize = 2048;

/// Longest reference and folder.
const NAME_BYTES_MAX: usize = 255;

/// How much of a name is in an id.
const SLUG_CHARACTERS_MAX: usize = 32;

/// What kind of place a source is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceKind {
    /// A git repository.
    Git,
    /// A folder of this machine.
    Folder,
}

/// What a person asks to be connected.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewSource {
    /// `https`, `ssh` or `file` address of a git repository, or the absolute path of a folder.
    pub url: String,
    /// Branch, tag or commit; the repository's own choice when absent.
    #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Folder in it; its top when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
}

/// An address that was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) id: String,
    pub(crate) kind: SourceKind,
    pub(crate) asked: NewSource,
}

impl Address {
    pub(crate) fn parse(asked: &NewSource, home: &Path) -> Result<Self, Failure> {
        let wrong = |message: String| Failure::new(Reason::BadRequest, message);
        let url = asked.url.trim();
        if url.is_empty() || url.len() > ADDRESS_BYTES_MAX || !url.bytes().all(|byte| byte.is_ascii_graphic())
        {
            return Err(wrong("an address is 1 to 2048 visible ASCII characters".to_owned()));
        }
        let kind = if url.starts_with('/') { SourceKind::Folder } else { SourceKind::Git };
        match kind {
            SourceKind::Git => check_git(url).map_err(|what| wrong(format!("{what}: {url}")))?,
            SourceKind::Folder => check_folder(Path::new(url), home).map_err(wrong)?,
        }
        if let Some(reference) = asked.reference.as_deref() {
            if kind == SourceKind::Folder {
                return Err(wrong("a folder has no `ref`".to_owned()));
            }
            if !is_reference(reference) {
                return Err(wrong(format!("`{reference}` is not a branch, tag or commit")));
            }
        }
        if let Some(folder) = asked.folder.as_deref().filter(|folder| !is_inner_path(folder)) {
            return Err(wrong(format!("`{folder}` is not a folder in a source")));
        }
        let asked = NewSource { url: url.to_owned(), ..asked.clone() };
        Ok(Self { id: id_of(&asked), kind, asked })
    }

    /// The folder to read, for a folder of this machine.
    pub(crate) fn local_folder(&self) -> PathBuf {
        let top = PathBuf::from(&self.asked.url);
        self.asked.folder.iter().fold(top, |path, folder| path.join(folder))
    }
}

/// The same place has the same id, however often it is added.
fn id_of(asked: &NewSource) -> String {
    let last = asked.url.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let last = last.strip_suffix(".git").unwrap_or(last);
    let slug: String = last
        .chars()
        .map(|character| if character.is_ascii_alphanumeric() { character.to_ascii_lowercase() } else { '-' })
        .take(SLUG_CHARACTERS_MAX)
        .collect();
    let slug = slug.trim_matches('-');
    let (reference, folder) = (asked.reference.as_deref(), asked.folder.as_deref());
    let whole = [asked.url.as_str(), reference.unwrap_or_default(), folder.unwrap_or_default()].join("\n");
    let digest = Digest::of(whole.as_bytes());
    let slug = if slug.is_empty() { "source" } else { slug };
    format!("{slug}-{}", &digest.short()[..8])
}

/// True for what can be an id: one safe name of a folder.
pub(crate) fn is_id(text: &str) -> bool {
    let is_fine = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.len() <= 64 && text.bytes().all(is_fine) && !text.starts_with('-')
}

fn check_git(url: &str) -> Result<(), &'static str> {
    let (scheme, rest) = url.split_once("://").ok_or("neither an https, ssh or file address nor a path")?;
    let (authority, path) = rest.split_once('/').ok_or("an address without a path")?;
    let (user, host) =
        authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
    // Whatever begins with a dash would be an option to some program on the way.
    if [Some(host), user, Some(path)].into_iter().flatten().any(|part| part.starts_with('-')) {
        return Err("no part of an address begins with a dash");
    }
    match (scheme, user, host.is_empty()) {
        ("https", None, false) | ("ssh", None, false) | ("file", None, true) => Ok(()),
        ("ssh", Some(user), false) if !user.contains(':') => Ok(()),
        ("https", Some(_), _) => Err("an address does not hold a name or password: it is shown in lists"),
        ("https" | "ssh", _, true) => Err("an address without a computer"),
        ("file", _, _) => Err("a file address names no computer"),
        _ => Err("only https, ssh and file addresses are used"),
    }
}

fn check_folder(path: &Path, home: &Path) -> Result<(), String> {
    let is_plain = path
        .components()
        .all(|part| matches!(part, std::path::Component::RootDir | std::path::Component::Normal(_)));
    if !is_plain {
        return Err(format!("{} is not a plain absolute path", path.display()));
    }
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if real(path).starts_with(real(home)) {
        return Err(format!("{} lies in the home folder of this host", path.display()));
    }
    Ok(())
}

/// A narrow reading of what git takes: nothing that begins like an option or means a range.
fn is_reference(text: &str) -> bool {
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'/' | b'-');
    !text.is_empty()
        && text.len() <= NAME_BYTES_MAX
        && text.bytes().all(is_fine)
        && !text.starts_with(['-', '/', '.'])
        && !text.ends_with(['/', '.'])
        && !text.ends_with(".lock")
        && ["..", "//", "/.", "/-"].iter().all(|bad| !text.contains(bad))
}

fn is_inner_path(text: &str) -> bool {
    let is_fine = |part: &str| {
        !part.is_empty()
            && part != "."
            && part != ".."
            && !part.starts_with(['-', ':'])
            && !part.eq_ignore_ascii_case(".git")
            && part.chars().all(|character| !character.is_control() && character != '\\')
    };
    !text.is_empty() && text.len() <= NAME_BYTES_MAX && text.split('/').all(is_fine)
}

#[cfg(test)]
mod tests {
    use super::{Address, NewSource, SourceKind, is_id};
    use roost_protocol::Reason;
    use std::path::Path;

    fn parse(url: &str, reference: Option<&str>, folder: Option<&str>) -> Result<Address, Reason> {
        let asked = NewSource {
            url: url.to_owned(),
            reference: reference.map(str::to_owned),
            folder: folder.map(str::to_owned),
        };
        Address::parse(&asked, Path::new("/home/me/.roost")).map_err(|failure| failure.reason)
    }

    #[test]
    fn ordinary_addresses_are_understood() {
        for (url, kind) in [
            ("https://github.com/ada/agents.git", SourceKind::Git),
            ("https://git.example:8443/x", SourceKind::Git),
            ("ssh://git@github.com/ada/agents", SourceKind::Git),
            ("file:///srv/git/agents.git", SourceKind::Git),
            ("/srv/agents", SourceKind::Folder),
        ] {
            let address = parse(url, None, None).unwrap();
            assert_eq!(address.kind, kind, "{url}");
            assert!(is_id(&address.id), "{}", address.id);
        }
        assert!(parse("https://github.com/ada/agents", Some("release/1.2"), Some("python/agents")).is_ok());
    }

    #[test]
    fn what_could_run_something_or_mean_something_else_is_refused() {
        for url in [
            "",
            "ext::sh -c touch% /tmp/x",
            "ext::sh",
            "--upload-pack=touch /tmp/x",
            "-oProxyCommand=x",
            "ssh://-oProxyCommand=x/y",
            "ssh://-l@host/x",
            "ssh://user:word@host/x",
            "https://-x/y",
            "https://user:word@host/x",
            "https://token@host/x",
            "http://host/x",
            "git://host/x",
            "ftp://host/x",
            "fd::7",
            "file://host/x",
            "https:///x",
            "https://host",
            "git@github.com:ada/agents",
            "relative/folder",
            "https://host/x\n--upload-pack=y",
            "/srv/../etc",
            "/home/me/.roost/agents",
        ] {
            assert_eq!(parse(url, None, None).unwrap_err(), Reason::BadRequest, "{url}");
        }
    }

    #[test]
    fn references_and_folders_cannot_be_options_or_lead_out() {
        let url = "https://host/x";
        for reference in
            ["", "-x", "--upload-pack=x", "a..b", "a b", "a:b", "+a", "a^{}", "a@{1}", "/a", "a.lock", "a/-b"]
        {
            assert!(parse(url, Some(reference), None).is_err(), "{reference}");
        }
        for folder in ["", "..", "a/../b", "/a", "a//b", "-x", ":x", "a\\b", ".git", "a/.", "a\0"] {
            assert!(parse(url, None, Some(folder)).is_err(), "{folder:?}");
        }
        assert!(parse("/srv/agents", Some("main"), None).is_err());
    }

    #[test]
    fn an_id_follows_from_the_whole_address() {
        let id = |url, reference, folder| parse(url, reference, folder).unwrap().id;
        let plain = id("https://host/Some_Agents.git", None, None);
        assert!(plain.starts_with("some-agents-"), "{plain}");
        assert_eq!(plain, id("https://host/Some_Agents.git", None, None));
        for other in [
            id("https://other/Some_Agents.git", None, None),
            id("https://host/Some_Agents.git", Some("v1"), None),
            id("https://host/Some_Agents.git", None, Some("v1")),
        ] {
            assert_ne!(plain, other);
        }
        assert!(!is_id("../x") && !is_id("") && !is_id(".staging-1") && !is_id("A"));
    }
}
