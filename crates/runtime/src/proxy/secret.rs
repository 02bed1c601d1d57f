//! Secrets that an agent uses without seeing them: it writes a placeholder, the proxy puts the value there.
//!
//! Only in one header, only towards one computer, and only inside TLS unless the right names plain text. Anywhere else the placeholder stays what it is: a text that is
//! worth nothing. A server that sends back the headers it got shows the value; no proxy can help that.

use super::target::Target;
use hyper::{
    HeaderMap,
    header::{Entry, HeaderName as WireName, HeaderValue},
};
use roost_protocol::{HeaderName, HostPort, Transport};
use serde::{Serialize, Serializer};
use std::fmt;

/// Shortest placeholder: shorter ones could stand in a header by chance.
const PLACEHOLDER_BYTES_MIN: usize = 16;

/// One value, where it may go, and what stands for it.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretUse {
    placeholder: String,
    value: String,
    transport: Transport,
    host: HostPort,
    header: WireName,
}

/// Why something cannot be used as a secret. Says nothing about the value itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSecret {
    /// The placeholder could stand in a header by chance.
    #[error("a placeholder has at least {PLACEHOLDER_BYTES_MIN} letters or digits")]
    Placeholder,
    /// The value has line ends or other characters that a header cannot carry.
    #[error("the value has characters that a header cannot carry")]
    Value,
    /// The header decides where a request goes or ends, or belongs to one connection.
    #[error("this header does not carry secrets")]
    Header,
}

/// Headers that are written by the proxy itself or are not passed on.
const HEADERS_WITHOUT_SECRETS: [&str; 7] =
    ["connection", "content-length", "host", "te", "trailer", "transfer-encoding", "upgrade"];

impl SecretUse {
    /// Checks that the value can be sent and the placeholder be told apart.
    pub fn new(
        placeholder: impl Into<String>,
        value: impl Into<String>,
        transport: Transport,
        host: HostPort,
        header: &HeaderName,
    ) -> Result<Self, InvalidSecret> {
        let (placeholder, value) = (placeholder.into(), value.into());
        let is_plain =
            placeholder.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
        if placeholder.len() < PLACEHOLDER_BYTES_MIN || !is_plain {
            return Err(InvalidSecret::Placeholder);
        }
        if HeaderValue::from_str(&value).is_err() {
            return Err(InvalidSecret::Value);
        }
        let name = header.as_str();
        if HEADERS_WITHOUT_SECRETS.contains(&name) || name.starts_with("proxy-") {
            return Err(InvalidSecret::Header);
        }
        let header = WireName::try_from(name).map_err(|_| InvalidSecret::Header)?;
        Ok(Self { placeholder, value, transport, host, header })
    }

    /// True when this secret may go to the target in this way.
    pub(super) fn is_for(&self, target: &Target, transport: Transport) -> bool {
        self.transport == transport && self.host.covers(&target.host_port())
    }

    /// True when its placeholder stands in its header.
    fn is_in(&self, headers: &HeaderMap) -> bool {
        let mut values = headers.get_all(&self.header).iter();
        values.any(|value| value.to_str().is_ok_and(|text| text.contains(&self.placeholder)))
    }

    /// Puts the value where the placeholder stands, in its own header.
    fn fill(&self, headers: &mut HeaderMap) {
        let Entry::Occupied(mut entry) = headers.entry(&self.header) else { return };
        for value in entry.iter_mut() {
            let Ok(text) = value.to_str() else { continue };
            if !text.contains(&self.placeholder) {
                continue;
            }
            if let Ok(mut filled) = HeaderValue::try_from(text.replace(&self.placeholder, &self.value)) {
                filled.set_sensitive(true);
                *value = filled;
            }
        }
    }
}

/// Puts all values that may go to this target in this way into the headers of a request to it.
pub(super) fn fill(secrets: &[SecretUse], target: &Target, transport: Transport, headers: &mut HeaderMap) {
    for secret in secrets.iter().filter(|secret| secret.is_for(target, transport)) {
        secret.fill(headers);
    }
}

/// True when a plain request has the placeholder of a secret that goes there inside TLS only.
pub(super) fn lacks_tls(secrets: &[SecretUse], target: &Target, headers: &HeaderMap) -> bool {
    let is_for = |transport| {
        let mut found = secrets.iter().filter(move |secret| secret.is_for(target, transport));
        found.any(|secret| secret.is_in(headers))
    };
    is_for(Transport::Tls) && !is_for(Transport::PlainText)
}

/// Never the value: what is told apart by this is told apart by the placeholder.
impl Serialize for SecretUse {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let transport = format!("{:?}", self.transport);
        (&self.placeholder, transport, self.host.to_string(), self.header.as_str()).serialize(serializer)
    }
}

/// Never the value.
impl fmt::Debug for SecretUse {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("SecretUse")
            .field("placeholder", &self.placeholder)
            .field("transport", &self.transport)
            .field("host", &self.host)
            .field("header", &self.header)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACEHOLDER: &str = "roost-secret-0123456789";

    fn secret(value: &str, header: &str) -> Result<SecretUse, InvalidSecret> {
        let host = HostPort::parse("api.example").unwrap();
        SecretUse::new(PLACEHOLDER, value, Transport::Tls, host, &HeaderName::parse(header).unwrap())
    }

    fn filled(uri: &str, transport: Transport, header: &'static str) -> String {
        let secrets = [secret("hunter2", "authorization").unwrap()];
        let mut headers = HeaderMap::new();
        headers.insert(header, HeaderValue::from_static("Bearer roost-secret-0123456789"));
        fill(&secrets, &Target::of_request(&uri.parse().unwrap()).unwrap(), transport, &mut headers);
        headers[header].to_str().unwrap().to_owned()
    }

    #[test]
    fn a_value_goes_into_its_header_towards_its_computer_only() {
        let (tls, left) = (Transport::Tls, format!("Bearer {PLACEHOLDER}"));
        assert_eq!(filled("http://api.example:443/", tls, "authorization"), "Bearer hunter2");
        assert_eq!(filled("http://api.example:443/", tls, "x-other"), left);
        assert_eq!(filled("http://evil.example:443/", tls, "authorization"), left);
        assert_eq!(filled("http://api.example:8080/", tls, "authorization"), left);
        assert_eq!(filled("http://api.example:443/", Transport::PlainText, "authorization"), left);
    }

    #[test]
    fn a_value_is_never_printed() {
        assert!(!format!("{:?}", secret("hunter2", "authorization").unwrap()).contains("hunter2"));
    }

    #[test]
    fn what_could_not_be_sent_is_no_secret() {
        assert_eq!(secret("a\r\nHost: evil", "authorization"), Err(InvalidSecret::Value));
        assert_eq!(secret("a", "Host"), Err(InvalidSecret::Header));
        assert_eq!(secret("a", "Proxy-Authorization"), Err(InvalidSecret::Header));
        let host = HostPort::parse("api.example").unwrap();
        let short =
            SecretUse::new("short", "a", Transport::Tls, host, &HeaderName::parse("authorization").unwrap());
        assert_eq!(short, Err(InvalidSecret::Placeholder));
    }
}
