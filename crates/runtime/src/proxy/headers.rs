//! What is passed on of a head: not what is meant for this proxy or for one connection only.

use super::answer::Stopped;
use hyper::{
    HeaderMap,
    header::{CONNECTION, HeaderName, TE, TRAILER, TRANSFER_ENCODING, UPGRADE},
};

/// Belongs to one connection, whether `Connection` names it or not.
const OF_ONE_CONNECTION: [HeaderName; 6] =
    [CONNECTION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, HeaderName::from_static("keep-alive")];

/// Headers for proxies, also those that only some servers know.
const FOR_PROXIES: &str = "proxy-";

/// Refuses requests that want to leave HTTP/1: what follows could not be checked.
pub(super) fn refuse_upgrade(headers: &HeaderMap) -> Result<(), Stopped> {
    if headers.contains_key(UPGRADE) {
        return Err(Stopped::Malformed("a change to another protocol does not pass here"));
    }
    Ok(())
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
    use hyper::header::HeaderValue;

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
