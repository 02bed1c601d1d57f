//! Computers named by addresses in text: `https://api.example.com/v1` and its like.
//!
//! The text may be a template. In it `{` and `%` stand for what is filled in later: a host that is filled in, or goes
//! on in what is filled in, is not known.

use roost_protocol::{HostPort, Right};

/// Schemes whose addresses an agent reaches over the network.
const SCHEMES: [&str; 4] = ["https", "http", "wss", "ws"];

/// Ports that a right without a port stands for.
const WEB_PORTS: [u16; 2] = [80, 443];

/// Hosts whose addresses are names of XML namespaces and schemas: nobody fetches them.
const NAMESPACE_HOSTS: &[&str] = &[
    "www.w3.org",
    "json-schema.org",
    "schemas.xmlsoap.org",
    "schemas.openxmlformats.org",
    "schemas.microsoft.com",
    "xmlns.com",
    "purl.org",
    "ns.adobe.com",
];

/// Keys whose text is a name or is meant for a reader, never an address to reach.
const READ_ONLY_KEYS: &[&str] = &["$schema", "$id", "xmlns", "@context", "description"];

/// Markup that leads a reader, or a reader's browser, somewhere.
const MARKUP: &[&str] = &["href=", "src=", "xmlns="];

/// How much text around an address is looked at: above the length of any host, and so little that a text full of
/// almost-addresses takes no longer than others.
const AROUND_BYTES_MAX: usize = 300;

/// Calls `found` with the right to reach each computer that the text names.
pub(super) fn networks(text: &str, mut found: impl FnMut(Right)) {
    let mut rest = text;
    let mut before = 0;
    while let Some(at) = rest.find("://") {
        let start = before + at;
        let after = &rest[at + 3..];
        let before_it = &text[text.floor_char_boundary(start.saturating_sub(AROUND_BYTES_MAX))..start];
        if has_scheme(before_it)
            && let Some(right) = authority(after).and_then(network)
        {
            found(right);
        }
        before = start + 3;
        rest = after;
    }
}

/// The right to reach `HOST` or `HOST:PORT`. The two ports of the web come with the name alone.
pub(super) fn network(target: &str) -> Option<Right> {
    let mut target = HostPort::parse(target).ok()?;
    target.port = target.port.filter(|port| !WEB_PORTS.contains(port));
    let is_namespace = NAMESPACE_HOSTS.contains(&target.host.to_string().as_str());
    // Once more through the reader of rights: what it would not take back is no right.
    if is_namespace { None } else { Right::Network(target).to_string().parse().ok() }
}

/// True when the text under this key of an object says nothing about what the agent reaches.
pub(super) fn is_read_only_key(key: &str) -> bool {
    READ_ONLY_KEYS.contains(&key) || key.starts_with("xmlns:")
}

/// True when the text before `://` ends in a scheme that is not the end of a longer word, outside of markup.
fn has_scheme(before: &str) -> bool {
    let word = before.bytes().rev().take_while(u8::is_ascii_alphabetic).count();
    let (before, scheme) = before.split_at(before.len() - word);
    if !SCHEMES.iter().any(|known| known.eq_ignore_ascii_case(scheme)) {
        return false;
    }
    let attribute = before.trim_end_matches(['"', '\'', '\\']);
    let is_namespace = attribute.ends_with('=')
        && attribute.rsplit([' ', '<', '\n']).next().is_some_and(|word| word.starts_with("xmlns:"));
    let is_quoted = attribute.len() < before.len();
    let is_markup = is_quoted && MARKUP.iter().any(|markup| attribute.ends_with(markup));
    !(is_namespace || is_markup)
}

/// `HOST` or `HOST:PORT` at the start of the text, without the user before `@`.
fn authority(text: &str) -> Option<&str> {
    let text = &text[..text.floor_char_boundary(AROUND_BYTES_MAX)];
    let in_brackets = text.starts_with('[').then(|| text.find(']')).flatten().unwrap_or(0);
    let is_end = |character: char| {
        character.is_whitespace() || character.is_control() || "/?#\"'`<>()[],;|\\{}%".contains(character)
    };
    let end = text[in_brackets..]
        .char_indices()
        .skip(usize::from(in_brackets > 0))
        .find(|(_, character)| is_end(*character));
    let (whole, next) = match end {
        Some((at, next)) => (&text[..in_brackets + at], Some(next)),
        None => (text, None),
    };
    let target = whole.rsplit_once('@').map_or(whole, |(_, target)| target);
    let is_cut = matches!(next, Some('{' | '%'));
    if target.ends_with(':') {
        // The port is filled in: the right for this host alone would not allow it.
        return if is_cut { None } else { target.strip_suffix(':') };
    }
    // A sentence may end after an address; a host that was cut at a dot goes on.
    let target = if next.is_some() && !is_cut { target.trim_end_matches('.') } else { target };
    let may_go_on =
        target.ends_with(['.', '-']) || (is_cut && !target.contains(['.', ':']) && target != "localhost");
    (!may_go_on).then_some(target)
}

#[cfg(test)]
mod tests {
    use super::networks;
    use proptest::prelude::*;

    fn check(text: &str, expected: &[&str]) {
        let mut found = Vec::new();
        networks(text, |right| found.push(right.to_string()));
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn hosts_and_ports_are_read_from_addresses() {
        check("https://api.example.com/v1?q=1", &["network:api.example.com"]);
        check("HTTPS://API.Example.com", &["network:api.example.com"]);
        check("http://localhost:11434/api", &["network:localhost:11434"]);
        check("https://a.example:443/ http://b.example:80", &["network:a.example", "network:b.example"]);
        check("wss://stream.example.com:9443/ws", &["network:stream.example.com:9443"]);
        check("http://127.0.0.1:8080", &["network:127.0.0.1:8080"]);
        check("http://[::1]:8080/x", &["network:[::1]:8080"]);
        check("https://[::1]/x", &["network:::1"]);
        check("https://user:secret@host.example/x", &["network:host.example"]);
        check("curl -s https://a.example | sh", &["network:a.example"]);
        check("see https://a.example. Or not", &["network:a.example"]);
        check("(https://a.example), 'https://b.example'", &["network:a.example", "network:b.example"]);
    }

    #[test]
    fn a_host_that_is_filled_in_is_not_known() {
        check("https://{host}/x", &[]);
        check("https://api.{region}.example.com/", &[]);
        check("https://prod-{n}.example.com/", &[]);
        check("https://prod{n}.example.com/", &[]);
        check("http://localhost:{port}/", &[]);
        check("https://%s/x", &[]);
        check("https://api.example.com{path}", &["network:api.example.com"]);
        check("https://api.example.com/{path}", &["network:api.example.com"]);
        check("http://localhost{path}", &["network:localhost"]);
        check("https://api.", &[]);
    }

    #[test]
    fn what_is_no_address_is_no_right() {
        for text in [
            "https://",
            "http://",
            "https?://[^/]+",
            "https://(\\w+)",
            "ftp://a.example",
            "myhttps://a.example",
            "://a.example",
            "http://127.1/",
            "http://ex\u{e4}mple.com",
            "http://exa\u{202e}mple.com",
            "http://host:99999/",
            "http://-a-/",
            "https://...",
        ] {
            check(text, &[]);
        }
    }

    #[test]
    fn names_of_namespaces_and_markup_are_not_reached() {
        check("http://www.w3.org/2000/svg", &[]);
        check("http://json-schema.org/draft-07/schema#", &[]);
        check("<a href=\"https://a.example\">", &[]);
        check("<script src='https://cdn.example/x.js'>", &[]);
        check("<x xmlns:foo=\"http://foo.example/ns\">", &[]);
        check("callback=https://a.example", &["network:a.example"]);
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_search(text in ".{0,60}", pieces in proptest::collection::vec(
            prop::sample::select(&["http", "s", "://", "[", "]", ":", "@", ".", "é", "{", "%", "80", "a.b", "\u{202e}", "=\"", "href"][..]), 0..20,
        )) {
            networks(&text, |_| {});
            networks(&pieces.concat(), |_| {});
        }
    }
}
