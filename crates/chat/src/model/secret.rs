//! Keys and tokens: held so that they cannot be printed, and removed from whatever a provider says.
//!
//! A provider may repeat a credential in an error. Texts for people therefore pass through `Secrets::removed_from`.

use std::fmt;

/// What stands where a credential stood.
const REMOVED: &str = "[removed]";

/// Shorter texts are placeholders such as `none`: removing them would only tear holes into sentences.
const SECRET_CHARS_MIN: usize = 6;

/// How credentials of the providers begin; a provider may show one that is not ours, such as a renewed one.
const BEGINNINGS: &[&str] =
    &["sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "tid=", "eyJ0", "eyJh"];

/// Credentials are longer than any word that happens to begin like one.
const CREDENTIAL_CHARS_MIN: usize = 16;

/// A credential. It can be sent, compared and measured; it is never shown.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Secret(String);

impl Secret {
    /// A credential without the white space around it; none when nothing is left.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// The credential itself, to be sent to whom it belongs.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("***")
    }
}

/// The credentials that went into one request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Secrets(Vec<Secret>);

impl Secrets {
    pub(crate) fn add(&mut self, secret: &Secret) {
        self.0.push(secret.clone());
    }

    /// The text without any credential.
    pub(crate) fn removed_from(&self, text: &str) -> String {
        let mut clean = text.to_owned();
        for Secret(secret) in &self.0 {
            if secret.chars().count() >= SECRET_CHARS_MIN {
                clean = clean.replace(secret.as_str(), REMOVED);
            }
        }
        without_foreign(&clean)
    }
}

/// The text without words that look like credentials.
fn without_foreign(text: &str) -> String {
    let ends_word = |character: char| character.is_whitespace() || "\"'`<>(),{}[]\\".contains(character);
    let mut clean = String::with_capacity(text.len());
    for piece in text.split_inclusive(ends_word) {
        let word = piece.trim_end_matches(ends_word);
        let is_credential = word.chars().count() >= CREDENTIAL_CHARS_MIN
            && BEGINNINGS.iter().any(|beginning| word.starts_with(beginning));
        if is_credential {
            clean.push_str(REMOVED);
            clean.push_str(&piece[word.len()..]);
        } else {
            clean.push_str(piece);
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::{Secret, Secrets};

    #[test]
    fn a_secret_is_never_printed() {
        let secret = Secret::parse(" sk-live-0123456789 ").unwrap();
        assert_eq!(format!("{secret:?} {:#?}", Some(&secret)), "*** Some(\n    ***,\n)");
        assert_eq!(secret.reveal(), "sk-live-0123456789");
        assert_eq!(Secret::parse("  \n"), None);
    }

    #[test]
    fn credentials_are_removed_from_what_a_provider_says() {
        let mut secrets = Secrets::default();
        secrets.add(&Secret::parse("my-own-key").unwrap());
        secrets.add(&Secret::parse("none").unwrap());
        for (said, expect) in [
            ("wrong key my-own-key, sorry", "wrong key [removed], sorry"),
            ("{\"key\":\"my-own-key\"}", "{\"key\":\"[removed]\"}"),
            ("Incorrect API key: sk-proj-AAAABBBBCCCCDDDD.", "Incorrect API key: [removed]"),
            ("Bearer ghu_0123456789abcdefABCDEF is bad", "Bearer [removed] is bad"),
            ("none of this is a key, sk-ip it", "none of this is a key, sk-ip it"),
            ("", ""),
        ] {
            assert_eq!(secrets.removed_from(said), expect);
        }
    }
}
