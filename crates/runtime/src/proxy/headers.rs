//! What is passed on of a head: not what is meant for this proxy or for one connection only.

use super::{answer::Stopped, target::Target};
use hyper::{
    HeaderMap,
    header::{CONNECTION, HeaderName, HeaderValue, TE, TRAILER, TRANSFER_ENCODING, UPGRADE},
};
use roost_protocol::Host;

/// Belongs to one connection, whether `Connection` names it or not.
const OF_ONE_CONNECTION: [HeaderName; 6] =
    [CONNECTION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, HeaderName::from_static("keep-alive")];

/// How many chats of the host stand above a request.
const DEPTH: HeaderName = HeaderName::from_static("x-roost-depth");

/// Headers for proxies, also those that only some servers know.
const FOR_PROXIES: &str = "proxy-";

/// Refuses requests that want to leave HTTP/1: what follows could not be checked.
pub(super) fn refuse_upgrade(headers: &HeaderMap) -> Result<(), Stopped> {
    if headers.contains_key(UPGRADE) {
        return Err(Stopped::Malformed("a change to another protocol does not pass here"));
    }
    Ok(())
}

/// Says how deep a request to this computer stands, so that chats cannot call each other without end. What the agent
/// says of it itself does not count, and other computers are told nothing.
pub(super) fn tell_depth(headers: &mut HeaderMap, target: &Target, depth: u32) {
    headers.remove(DEPTH);
    let is_here = match target.host() {
        Host::Name(name) => name == "localhost",
        Host::Address(address) => address.is_loopback(),
        Host::Below(_) => false,
    };
    if is_here {
        headers.insert(DEPTH, HeaderValue::from(depth.saturating_add(1)));
    }
}

/// Takes out what is not passed on.
pub(super) fn clean(headers: &mut HeaderMap) {
    let mut unwanted: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    unwanted.extend(headers.keys().filter(|name| name.as_str().starts_with(FOR_PROXIES)).cloned());
    for name in OF_ONE_CONNECTION.iter().chain(&unwanted) {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_one_connection_and_for_proxies_are_taken_out() {
        let mut headers = HeaderMap::new();
        let before = [
            ("connection", "close, X-Mine"),
            ("connection", "x-other"),
            ("x-mine", "1"),
            ("x-other", "1"),
            ("keep-alive", "1"),
            ("proxy-connection", "keep-alive"),
            ("proxy-authorization", "Basic x"),
            ("proxy-anything", "1"),
            ("te", "trailers"),
            ("accept", "text/plain"),
        ];
        for (name, value) in before {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        clean(&mut headers);
        assert_eq!(headers.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["accept"]);
    }
}
