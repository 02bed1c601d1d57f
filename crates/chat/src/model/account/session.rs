//! What a token is exchanged for: a session of Copilot with its own address and end.

use crate::model::Secret;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// Used when the exchange names no address.
const ADDRESS: &str = "https://api.githubcopilot.com";

/// A session that ends sooner could end on its way.
const MARGIN_SECONDS: u64 = 60;

/// A session of Copilot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Session {
    pub(crate) token: Secret,
    /// Where models are asked.
    pub(crate) endpoint: String,
    /// Seconds since 1970.
    pub(crate) expires_at: u64,
    /// Which token it was made from; unknown in files of old.
    pub(crate) fingerprint: Option<String>,
}

impl Session {
    /// The session in the answer of an exchange.
    pub(super) fn exchanged(body: &Value, token: &Secret) -> Option<Self> {
        Some(Self {
            token: Secret::parse(body["token"].as_str()?)?,
            endpoint: body["endpoints"]["api"]
                .as_str()
                .and_then(safe_address)
                .unwrap_or_else(|| ADDRESS.into()),
            expires_at: seconds(&body["expires_at"])?,
            fingerprint: Some(fingerprint(token)),
        })
    }

    /// The session in a file.
    pub(super) fn read(file: &Value) -> Option<Self> {
        Some(Self {
            token: Secret::parse(file["token"].as_str()?)?,
            endpoint: safe_address(file["endpoint"].as_str()?)?,
            expires_at: seconds(&file["expires_at"])?,
            fingerprint: file["github_token_fingerprint"].as_str().map(str::to_owned),
        })
    }

    pub(super) fn written(&self) -> Value {
        json!({
            "token": self.token.reveal(),
            "endpoint": self.endpoint,
            "expires_at": self.expires_at,
            "github_token_fingerprint": self.fingerprint,
        })
    }

    /// Whether it can be used now, and belongs to this token. Without a token a session is enough by itself.
    pub(super) fn holds(&self, now: u64, token: Option<&Secret>) -> bool {
        let belongs = match (&self.fingerprint, token) {
            (Some(own), Some(token)) => *own == fingerprint(token),
            _ => true,
        };
        belongs && self.expires_at > now.saturating_add(MARGIN_SECONDS)
    }
}

fn fingerprint(token: &Secret) -> String {
    hex::encode(Sha256::digest(token.reveal()))
}

/// The time, which Python writes with a fraction.
fn seconds(value: &Value) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "negative times and NaN become zero"
    )]
    value.as_u64().or_else(|| value.as_f64().map(|seconds| seconds as u64))
}

/// An address a session may be sent to: encrypted, or on this machine.
fn safe_address(address: &str) -> Option<String> {
    let address = address.trim().trim_end_matches('/');
    let here = ["http://127.0.0.1", "http://localhost", "http://[::1]"];
    let is_here = here.iter().any(|start| {
        address.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/']))
    });
    (address.starts_with("https://") || is_here).then(|| address.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Session, safe_address};
    use crate::model::Secret;
    use serde_json::json;

    #[test]
    fn a_session_holds_until_shortly_before_its_end_and_for_its_own_token() {
        let (mine, other) = (Secret::parse("mine").unwrap(), Secret::parse("other").unwrap());
        let body = json!({"token": "t", "expires_at": 1000, "endpoints": {"api": "https://a.example/"}});
        let session = Session::exchanged(&body, &mine).unwrap();
        assert_eq!(session.endpoint, "https://a.example");
        assert!(session.holds(900, Some(&mine)) && session.holds(900, None));
        assert!(!session.holds(940, Some(&mine)) && !session.holds(900, Some(&other)));
        assert_eq!(Session::read(&session.written()), Some(session.clone()));
        let old =
            Session::read(&json!({"token": "t", "endpoint": "https://a", "expires_at": 1000.5})).unwrap();
        assert!(old.holds(900, Some(&other)));
    }

    #[test]
    fn sessions_are_sent_encrypted_or_within_this_machine() {
        for address in ["https://x", "http://127.0.0.1:1", "http://localhost/x", "http://[::1]:1"] {
            assert!(safe_address(address).is_some(), "{address}");
        }
        for address in ["http://x", "http://127.0.0.1.example", "http://localhost@x", "file:///x", ""] {
            assert!(safe_address(address).is_none(), "{address}");
        }
    }

    #[test]
    fn damaged_sessions_are_none() {
        for file in [
            json!({}),
            json!([]),
            json!({"token": "", "endpoint": "https://a", "expires_at": 1}),
            json!({"token": "t"}),
        ] {
            assert_eq!(Session::read(&file), None, "{file}");
        }
    }
}
