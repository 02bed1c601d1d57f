//! Tokens for private repositories: where they are looked for, and how they are held so that they cannot be printed.
//!
//! A token lives for one fetch. Its memory is cleared when it is dropped, also the copy that stands in a request.

mod gh_hosts; // what the GitHub CLI stored
mod netrc; // what other programs stored

use bytes::Bytes;
use reqwest::header::HeaderValue;
use roost_protocol::Failure;
use std::{
    fmt,
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};
use zeroize::Zeroizing;

/// Tokens of GitHub have at most 255 characters; other hosts' may be longer.
const TOKEN_BYTES_MAX: usize = 4096;

/// A file of credentials above this is not one.
const FILE_BYTES_MAX: u64 = 256 << 10;

/// A credential. It can be sent; it is never shown, compared or written.
pub struct Token(Zeroizing<String>);

impl Token {
    /// A token without the white space around it; none for what cannot stand in a header.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let fits =
            (1..=TOKEN_BYTES_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        fits.then(|| Self(Zeroizing::new(text.to_owned())))
    }

    /// The value of the header `Authorization`.
    pub(super) fn bearer(&self) -> Option<HeaderValue> {
        let value = Zeroizing::new([b"Bearer ", self.0.as_bytes()].concat());
        let mut value = HeaderValue::from_maybe_shared(Bytes::from_owner(value)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("Token(…)")
    }
}

/// Where a token for a private repository may be, in the order it is looked for.
#[derive(Debug)]
pub struct TokenSources {
    /// `hosts.yml` of the GitHub CLI.
    pub gh_hosts: Option<PathBuf>,
    /// The variable `GITHUB_TOKEN`.
    pub github_token: Option<Token>,
    /// A netrc file.
    pub netrc: Option<PathBuf>,
    /// What the vault has for this repository; an error only counts when nothing was found before.
    pub vault: Result<Option<Token>, Failure>,
}

impl Default for TokenSources {
    fn default() -> Self {
        Self { gh_hosts: None, github_token: None, netrc: None, vault: Ok(None) }
    }
}

/// A token and where it was found.
#[derive(Debug)]
pub(super) struct FoundToken {
    pub(super) token: Token,
    pub(super) place: &'static str,
}

impl TokenSources {
    /// The first token there is. `machine` is the computer it will be sent to.
    pub(super) fn find(self, machine: &str) -> Result<Option<FoundToken>, Failure> {
        let found = |token: Option<Token>, place| token.map(|token| FoundToken { token, place });
        let stored = self.gh_hosts.as_deref().and_then(read).and_then(|text| gh_hosts::token(&text));
        if let Some(found) = found(stored, "the GitHub CLI") {
            return Ok(Some(found));
        }
        if let Some(found) = found(self.github_token, "GITHUB_TOKEN") {
            return Ok(Some(found));
        }
        let listed = self.netrc.as_deref().and_then(read).and_then(|text| netrc::token(&text, machine));
        if let Some(found) = found(listed, "the netrc file") {
            return Ok(Some(found));
        }
        Ok(found(self.vault?, "the vault"))
    }
}

/// A small text file; one that cannot be read holds no token.
fn read(path: &Path) -> Option<Zeroizing<String>> {
    let file = File::open(path).ok().filter(|file| file.metadata().is_ok_and(|found| found.is_file()))?;
    let mut text = Zeroizing::new(String::new());
    file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text).ok()?;
    (text.len() as u64 <= FILE_BYTES_MAX).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::{Token, TokenSources};
    use std::fs;

    #[test]
    fn a_token_is_never_printed() {
        let token = Token::parse(" ghp_hiddenWord0123 \n").unwrap();
        let header = token.bearer().unwrap();
        assert_eq!(header, "Bearer ghp_hiddenWord0123");
        let sources = TokenSources { github_token: Some(token), ..TokenSources::default() };
        for shown in [format!("{sources:?}"), format!("{header:?}")] {
            assert!(!shown.contains("hiddenWord"), "{shown}");
        }
        for bad in ["", "  ", "two words", "line\nbreak", "nül"] {
            assert!(Token::parse(bad).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn tokens_are_looked_for_in_the_order_of_the_contract() {
        let folder = tempfile::tempdir().unwrap();
        let (gh, netrc) = (folder.path().join("hosts.yml"), folder.path().join(".netrc"));
        fs::write(&gh, "github.com:\n    oauth_token: gho_a\n").unwrap();
        fs::write(&netrc, "machine raw.githubusercontent.com login x password b\n").unwrap();
        let all = || TokenSources {
            gh_hosts: Some(gh.clone()),
            github_token: Token::parse("c"),
            netrc: Some(netrc.clone()),
            vault: Ok(Token::parse("d")),
        };
        let place = |sources: TokenSources| {
            sources.find("raw.githubusercontent.com").unwrap().map(|found| found.place)
        };
        assert_eq!(place(all()), Some("the GitHub CLI"));
        assert_eq!(place(TokenSources { gh_hosts: None, ..all() }), Some("GITHUB_TOKEN"));
        assert_eq!(
            place(TokenSources { gh_hosts: None, github_token: None, ..all() }),
            Some("the netrc file")
        );
        let last = TokenSources { gh_hosts: None, github_token: None, netrc: None, ..all() };
        assert_eq!(place(last), Some("the vault"));
        let missing = TokenSources { gh_hosts: Some(folder.path().join("none")), ..TokenSources::default() };
        assert_eq!(place(missing), None);
    }
}
