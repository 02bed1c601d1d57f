//! What an address says: whether it belongs to the contract, the rest of its path and its query.
//!
//! Nothing is normalised. Escapes are undone once, by whoever knows what the text is for.

use super::refusal::{Code, Refusal};
use crate::{
    coded::{coded_failure, is_coded},
    error::ErrorAnswer,
};
use axum::{
    http::Uri,
    response::{IntoResponse as _, Response},
};
use roost_host::workspace::decode_once;
use roost_protocol::{Failure, Reason};
use serde_json::json;

/// Addresses below `/v1/` that are no part of the contract and answer as the rest of the host does.
const OWN: [&str; 5] = ["/v1/agents", "/v1/services", "/v1/pages", "/v1/approvals", "/v1/native-apps"];

/// Whether failures at this address are answered in the form of the contract.
pub(crate) fn is_contract(path: &str) -> bool {
    let is_below =
        |top: &str| path.strip_prefix(top).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    path == "/.well-known/openwop"
        || is_below("/conformance")
        || (is_below("/v1") && !OWN.into_iter().any(is_below))
}

/// A failure of the host, in the form of whoever asks at this address.
pub(crate) fn failure_at(path: &str, failure: Failure) -> Response {
    if is_coded(path) {
        return coded_failure(&failure);
    }
    if !is_contract(path) {
        return ErrorAnswer(failure).into_response();
    }
    let code = match failure.reason {
        Reason::UnknownRoute => Code::NotFound,
        Reason::MethodNotAllowed => Code::MethodNotAllowed,
        Reason::ForeignHost | Reason::ForeignAccount | Reason::ForeignOrigin => Code::Forbidden,
        _ => return Refusal::from(failure).into_response(),
    };
    // Not the failure's own message, which may repeat the address.
    let refusal = Refusal::new(code, failure.reason.sentence());
    refusal.with("reason", json!(failure.reason)).into_response()
}

/// What stands in the path of an address after this, as it was sent.
pub(crate) fn rest_below<'a>(uri: &'a Uri, top: &str) -> &'a str {
    uri.path().strip_prefix(top).unwrap_or_default()
}

/// Names and values after the question mark. Names that nobody asks for have no meaning.
#[derive(Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads all of them, so that a mistake in one is not overlooked.
    pub(crate) fn of(uri: &Uri) -> Result<Self, Refusal> {
        let Some(text) = uri.query() else { return Ok(Self::default()) };
        let decoded = |part: &str| {
            decode_once(&part.replace('+', " "))
                .map_err(|_| Refusal::invalid("query", "the query has a malformed percent escape"))
        };
        let mut pairs = Vec::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            pairs.push((decoded(name)?, decoded(value)?));
        }
        Ok(Self(pairs))
    }

    /// All names, as often as they are given.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Whether this name is given as `true` or as `false`; nothing else is taken.
    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>, Refusal> {
        match self.one(name)? {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(_) => Err(Refusal::invalid(name, "this must be true or false")),
        }
    }

    /// The value of this name. One that is given twice could mean either.
    pub(crate) fn one(&self, name: &str) -> Result<Option<&str>, Refusal> {
        let mut values = self.0.iter().filter(|(found, _)| found == name);
        let value = values.next().map(|(_, value)| value.as_str());
        match values.next() {
            Some(_) => Err(Refusal::invalid(name, "the query has this name more than once")),
            None => Ok(value),
        }
    }

    /// A whole number of this name, from `least` on: digits, after a minus if need be, and nothing else.
    pub(crate) fn number(&self, name: &str, least: i64) -> Result<Option<i64>, Refusal> {
        let Some(text) = self.one(name)? else { return Ok(None) };
        let digits = text.strip_prefix('-').unwrap_or(text);
        let number = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        match number.filter(|number| *number >= least) {
            Some(number) => Ok(Some(number)),
            None => Err(Refusal::invalid(name, format!("this must be a whole number from {least} on"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Query, is_contract, rest_below};
    use axum::http::Uri;

    fn query(text: &str) -> Query {
        Query::of(&format!("/x?{text}").parse::<Uri>().unwrap()).unwrap()
    }

    #[test]
    fn the_older_routes_below_v1_answer_as_they_always_did() {
        for yes in ["/v1", "/v1/", "/v1/host/workspace/files", "/v1/agentsx", "/conformance/x", "/v1/runs"] {
            assert!(is_contract(yes), "{yes}");
        }
        for no in ["/", "/v1/agents", "/v1/agents/A/call", "/v1/services", "/v10/x", "/conformancex", "/chat"]
        {
            assert!(!is_contract(no), "{no}");
        }
    }

    #[test]
    fn the_rest_of_a_path_stays_as_it_was_sent() {
        for rest in ["a%2Fb", "a//b", "%252e", "a/../b", "%zz", "/a", "a/", "%C3%28"] {
            let uri: Uri = format!("/files/{rest}?x=y").parse().unwrap();
            assert_eq!(rest_below(&uri, "/files/"), rest);
        }
    }

    #[test]
    fn a_query_is_read_strictly() {
        let read = query("prefix=a%2Fb+c&&version=7&other=1&other=2&empty");
        assert_eq!(read.one("prefix").unwrap(), Some("a/b c"));
        assert_eq!(read.number("version", 1).unwrap(), Some(7));
        assert_eq!(read.one("empty").unwrap(), Some(""));
        assert_eq!(read.one("absent").unwrap(), None);
        assert!(read.one("other").is_err());
        for bad in ["a=%", "a=%zz", "%2=a", "a=%ff"] {
            assert!(Query::of(&format!("/x?{bad}").parse::<Uri>().unwrap()).is_err(), "{bad}");
        }
        for bad in ["0", "-1", "", "1.0", "9223372036854775808", "+1", "0x1", "1 ", "١"] {
            let encoded: String = bad.bytes().map(|byte| format!("%{byte:02x}")).collect();
            assert!(query(&format!("version={encoded}")).number("version", 1).is_err(), "{bad}");
        }
        assert_eq!(query("v=9223372036854775807").number("v", 1).unwrap(), Some(i64::MAX));
        assert_eq!(query("v=-1").number("v", -1).unwrap(), Some(-1));
    }
}
