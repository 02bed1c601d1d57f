//! What the vault calls a token for a private repository: `rapp-store/OWNER/REPOSITORY` for people, a variable's name
//! in the vault, which knows no others. Each of the two says exactly one of the other.

use roost_apps::catalog::GATED_SECRET_PREFIX;
use roost_protocol::VariableName;
use std::fmt::Write as _;

/// How such names begin in the vault.
const PREFIX: &str = "RAPP_STORE_";

/// The name in the vault for `OWNER/REPOSITORY`; nothing for one that is too long.
#[must_use]
pub fn gated_secret(repository: &str) -> Option<VariableName> {
    let repository = repository.strip_prefix(GATED_SECRET_PREFIX).unwrap_or(repository);
    let (owner, name) = repository.split_once('/')?;
    if owner.is_empty() || name.is_empty() || name.contains('/') {
        return None;
    }
    let mut text = PREFIX.to_owned();
    for byte in repository.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => text.push(char::from(byte)),
            other => write!(text, "_{other:02X}").ok()?,
        }
    }
    VariableName::parse(&text).ok()
}

/// The name as a person knows it, of a name in the vault that is one of these.
#[must_use]
pub fn gated_secret_label(name: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = name.strip_prefix(PREFIX)?.as_bytes();
    while let [first, after @ ..] = rest {
        if *first == b'_' {
            let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok())?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    let repository = String::from_utf8(bytes).ok()?;
    let is_one = gated_secret(&repository).is_some_and(|back| back.as_str() == name);
    is_one.then(|| format!("{GATED_SECRET_PREFIX}{repository}"))
}

#[cfg(test)]
mod tests {
    use super::{gated_secret, gated_secret_label};

    #[test]
    fn a_repository_and_its_secret_say_each_other() {
        for repository in ["kody-w/RAPP_Store_Private", "a/b", "A.b_c-d/e--f", "x/RAPP_STORE_2F"] {
            let name = gated_secret(repository).unwrap();
            let label = format!("rapp-store/{repository}");
            assert_eq!(gated_secret_label(name.as_str()), Some(label.clone()));
            assert_eq!(gated_secret(&label), Some(name));
        }
        assert_ne!(gated_secret("a/b_c"), gated_secret("a/b-c"));
        for bad in ["", "a", "a/", "/b", "a/b/c", &format!("a/{}", "-".repeat(60))] {
            assert_eq!(gated_secret(bad), None, "{bad}");
        }
        for other in [
            "RAPP_STORE_",
            "RAPP_STORE_a",
            "RAPP_STORE_a_2",
            "RAPP_STORE_a_2Fb_ZZ",
            "OTHER",
            "RAPP_STORE_a_2fb",
        ] {
            assert_eq!(gated_secret_label(other), None, "{other}");
        }
    }
}
