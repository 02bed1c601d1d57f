//! Addresses that may be asked: https, or http on this machine; nothing hidden in them, and nothing that climbs.

use reqwest::Url;
use roost_protocol::{Failure, Reason};
use std::net::{Ipv4Addr, Ipv6Addr};

/// Longest address; the longest that servers take.
const BYTES_MAX: usize = 2048;

/// Whether an address of this machine may be meant. A catalog from elsewhere must not point into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Other computers only.
    Elsewhere,
    /// This machine too.
    Anywhere,
}

/// Reads an address that may be asked.
pub(super) fn parse(text: &str, reach: Reach) -> Result<Url, Failure> {
    let refused = |why: &str| Failure::new(Reason::AddressRefused, format!("{why}: {}", shown_text(text)));
    if text.is_empty() || text.len() > BYTES_MAX || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(refused("an address is 1 to 2048 visible ASCII characters"));
    }
    // On the text: the parser takes such segments away, and with them the prefix they were to escape from.
    if climbs(text) {
        return Err(refused("an address does not climb"));
    }
    let url = Url::parse(text).map_err(|error| refused(&format!("not an address ({error})")))?;
    check(&url, reach).map_err(refused)?;
    Ok(url)
}

/// The same rules for where an answer sends the request to.
pub(super) fn check(url: &Url, reach: Reach) -> Result<(), &'static str> {
    if !url.username().is_empty() || url.password().is_some() {
        return Err("an address holds no name and no password");
    }
    match (url.scheme(), is_loopback(url), reach) {
        ("https" | "http", true, Reach::Elsewhere) => {
            Err("an address from elsewhere does not name this machine")
        }
        ("https", _, _) | ("http", true, Reach::Anywhere) => Ok(()),
        ("http", false, _) => Err("http is used on this machine only"),
        _ => Err("only https addresses are used"),
    }
}

/// True for an address of this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host_str() {
        None => false,
        Some(host) => {
            let host = host.trim_end_matches('.').to_ascii_lowercase();
            let bare = host.trim_start_matches('[').trim_end_matches(']');
            host == "localhost"
                || host.ends_with(".localhost")
                || bare
                    .parse::<Ipv4Addr>()
                    .is_ok_and(|address| address.is_loopback() || address.is_unspecified())
                || bare.parse::<Ipv6Addr>().is_ok_and(|address| {
                    let inner = address.to_ipv4_mapped().is_some_and(|address| address.is_loopback());
                    address.is_loopback() || address.is_unspecified() || inner
                })
        }
    }
}

/// An address for a message: without query and fragment, which may hold a key.
pub(super) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    url.set_password(None).ok();
    url.set_username("").ok();
    url.to_string()
}

/// The text of an address for a message; nothing before an `@` and after a `?` is shown.
pub(super) fn shown_text(text: &str) -> String {
    let text = text.split(['?', '#']).next().unwrap_or_default();
    let shown: String = text.chars().take(200).collect();
    let shown = super::entry::shown(&shown);
    match shown.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) =
                rest.split_once('/').map_or((rest, ""), |(authority, path)| (authority, path));
            let host = authority.rsplit('@').next().unwrap_or_default();
            format!("{scheme}://{host}/{path}")
        }
        None => shown,
    }
}

/// True when a segment means "above", as it stands or once decoded; a backslash is a slash to some.
fn climbs(text: &str) -> bool {
    let path = text.split(['?', '#']).next().unwrap_or_default();
    let decoded = path
        .to_ascii_lowercase()
        .replace("%2e", ".")
        .replace("%2f", "/")
        .replace("%5c", "/")
        .replace('\\', "/");
    decoded.split('/').any(|segment| segment == ".." || segment == ".")
        || path.contains('\\')
        || path.to_ascii_lowercase().contains("%2f")
        || path.to_ascii_lowercase().contains("%5c")
        || path.to_ascii_lowercase().contains("%00")
        || path.to_ascii_lowercase().contains("%25")
}

#[cfg(test)]
mod tests {
    use super::{Reach, parse};
    use roost_protocol::Reason;

    #[test]
    fn only_https_and_this_machine_are_asked() {
        for (text, elsewhere, anywhere) in [
            ("https://example.org/a", true, true),
            ("https://example.org/@ada/tea.py?x=1", true, true),
            ("http://127.0.0.1:7/a", false, true),
            ("http://localhost/a", false, true),
            ("http://[::1]/a", false, true),
            ("https://127.0.0.1/a", false, true),
            ("https://app.localhost/a", false, true),
            ("http://[::ffff:127.0.0.1]/a", false, true),
            ("http://0x7f.1/a", false, true),
            ("http://example.org/a", false, false),
            ("http://127.0.0.1.example.org/a", false, false),
            ("ftp://example.org/a", false, false),
            ("file:///etc/passwd", false, false),
            ("https://me:word@example.org/a", false, false),
            ("https://token@example.org/a", false, false),
            ("https://example.org/a/../b", false, false),
            ("https://example.org/a/%2e%2E/b", false, false),
            ("https://example.org/a/..%2fb", false, false),
            ("https://example.org/a\\..\\b", false, false),
            ("https://example.org/%252e%252e/b", false, false),
            ("https://exam ple.org/", false, false),
            ("https://", false, false),
            ("apps/tea.py", false, false),
            ("", false, false),
        ] {
            assert_eq!(parse(text, Reach::Elsewhere).is_ok(), elsewhere, "{text}");
            assert_eq!(parse(text, Reach::Anywhere).is_ok(), anywhere, "{text}");
        }
    }

    #[test]
    fn a_refusal_shows_no_password() {
        let failure = parse("https://me:hidden-word@h/a?key=hidden-word", Reach::Anywhere).unwrap_err();
        assert_eq!(failure.reason, Reason::AddressRefused);
        assert!(!failure.message.contains("hidden-word"), "{}", failure.message);
    }
}
