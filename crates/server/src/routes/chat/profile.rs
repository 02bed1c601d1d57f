//! What peers of each lineage expect. The default is the superset that every client of the wire can read.

use super::bad_request;
use axum::http::HeaderMap;
use roost_host::chat::HistoryRule;
use roost_protocol::Failure;

/// The header that chooses a profile for one request.
const HEADER: &str = "x-roost-profile";

/// A way of answering.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Profile {
    /// The superset: both reply keys, identity, slots and logs.
    #[default]
    V1,
    /// The 0.6 kernels.
    Grail,
    /// openrappter's `rapp-chat/1.0`.
    Openrappter,
    /// The RAPP/1 facade: the server owns the transcript.
    Rev5,
    /// The Azure Functions adapter.
    Tier2,
}

impl Profile {
    /// Every profile.
    pub const ALL: [Self; 5] = [Self::V1, Self::Grail, Self::Openrappter, Self::Rev5, Self::Tier2];

    /// The name in headers and settings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::Grail => "grail",
            Self::Openrappter => "openrappter",
            Self::Rev5 => "rev5",
            Self::Tier2 => "tier2",
        }
    }

    /// The profile of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.name().eq_ignore_ascii_case(name.trim()))
    }

    /// The profile a request asks for, else the listener's.
    pub(super) fn asked(headers: &HeaderMap, of_listener: Self) -> Result<Self, Failure> {
        let Some(value) = headers.get(HEADER) else { return Ok(of_listener) };
        value.to_str().ok().and_then(Self::named).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|profile| profile.name()).collect();
            bad_request(format!("{HEADER} must be one of {}", names.join(", ")))
        })
    }

    /// How a history that a client sends is read.
    pub(super) fn history_rule(self) -> HistoryRule {
        match self {
            Self::V1 | Self::Grail | Self::Rev5 => HistoryRule::Filtered,
            Self::Openrappter => HistoryRule::Strict,
            Self::Tier2 => HistoryRule::Stringified,
        }
    }
}
