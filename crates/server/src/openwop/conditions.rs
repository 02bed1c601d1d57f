//! What headers ask for: conditions on the current version, and that a request counts once.

use super::refusal::Refusal;
use axum::http::{HeaderMap, HeaderName, header};
use roost_host::workspace::{Condition, IfMatch, IfNoneMatch, InvalidTagList};

/// The sender's name for a request that may be sent twice.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Longest key that the contract allows.
const KEY_CHARACTERS_MAX: usize = 255;

/// Reads the headers of one request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Headers<'a>(pub(crate) &'a HeaderMap);

impl<'a> Headers<'a> {
    /// What must hold for a write.
    pub(crate) fn condition(self) -> Result<Condition, Refusal> {
        let if_match = self.tags(&header::IF_MATCH, "If-Match", |values| IfMatch::parse(values))?;
        Ok(Condition::of_headers(if_match, self.if_none_match()?))
    }

    /// What a reader has already.
    pub(crate) fn if_none_match(self) -> Result<Option<IfNoneMatch>, Refusal> {
        self.tags(&header::IF_NONE_MATCH, "If-None-Match", |values| IfNoneMatch::parse(values))
    }

    /// The key of a request that counts once.
    pub(crate) fn idempotency_key(self) -> Result<Option<&'a str>, Refusal> {
        let refuse = |what: &str| Refusal::invalid("Idempotency-Key", what);
        let Some(key) = self.only(&IDEMPOTENCY_KEY).map_err(|_| refuse("the header stands there twice"))?
        else {
            return Ok(None);
        };
        let is_printable = key.iter().all(|byte| matches!(byte, b' '..=b'~'));
        if key.is_empty() || key.len() > KEY_CHARACTERS_MAX || !is_printable {
            return Err(refuse("a key has 1 to 255 printable ASCII characters"));
        }
        std::str::from_utf8(key).map(Some).map_err(|_| refuse("a key is ASCII"))
    }

    /// All lines of the headers that conditions come from, as they were sent.
    pub(crate) fn sent_conditions(self) -> Vec<&'a [u8]> {
        let lines = |name: &HeaderName, mark: &'static [u8]| {
            let values = self.0.get_all(name).iter().map(|value| value.as_bytes());
            std::iter::once(mark).chain(values).collect::<Vec<&[u8]>>()
        };
        [lines(&header::IF_MATCH, b"if-match"), lines(&header::IF_NONE_MATCH, b"if-none-match")].concat()
    }

    fn only(self, name: &HeaderName) -> Result<Option<&'a [u8]>, ()> {
        let mut values = self.0.get_all(name).iter();
        let value = values.next().map(|value| value.as_bytes());
        if values.next().is_some() { Err(()) } else { Ok(value) }
    }

    fn tags<T>(
        self,
        name: &HeaderName,
        shown: &str,
        parse: impl Fn(Vec<&str>) -> Result<T, InvalidTagList>,
    ) -> Result<Option<T>, Refusal> {
        let mut values = Vec::new();
        for value in self.0.get_all(name) {
            values.push(value.to_str().map_err(|_| Refusal::invalid(shown, "a tag is ASCII"))?);
        }
        if values.is_empty() {
            return Ok(None);
        }
        parse(values).map(Some).map_err(|error| Refusal::invalid(shown, error.to_string()))
    }
}
