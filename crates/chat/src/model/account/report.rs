//! What may be told about credentials: where they come from, how long they are, until when they hold.

use super::{AccountStanding, CredentialSource, Session};
use crate::model::Secret;

/// Enough to tell tokens apart, too little to use one.
const PREFIX_CHARS: usize = 10;

/// The credentials at GitHub, described.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthReport {
    /// Where the token came from; none without one.
    pub source: Option<CredentialSource>,
    /// How many characters the token has.
    pub token_length: usize,
    /// Its first characters, if the caller may see them.
    pub token_prefix: Option<String>,
    /// The session, if there is one.
    pub session: Option<SessionReport>,
    /// `ready`, `pending`, `none`, `rejected` or `no_access`.
    pub state: &'static str,
    /// The account, when it is known to have no access.
    pub user: Option<String>,
}

/// A session of Copilot, described.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionReport {
    /// How many characters its token has.
    pub length: usize,
    /// Where it is used.
    pub endpoint: String,
    /// When it ends, in seconds since 1970.
    pub expires_at: u64,
}

pub(super) fn report(
    token: Option<&(Secret, CredentialSource)>,
    session: Option<&Session>,
    standing: AccountStanding,
    reveal_prefix: bool,
) -> AuthReport {
    let text = token.map_or("", |(token, _)| token.reveal());
    let prefix = || text.chars().take(PREFIX_CHARS).collect();
    let (state, user) = match standing {
        AccountStanding::Ready => ("ready", None),
        AccountStanding::Pending => ("pending", None),
        AccountStanding::NoCredential => ("none", None),
        AccountStanding::Rejected => ("rejected", None),
        AccountStanding::NoAccess { user } => ("no_access", Some(user)),
    };
    AuthReport {
        source: token.map(|(_, source)| *source),
        token_length: text.chars().count(),
        token_prefix: (reveal_prefix && token.is_some()).then(prefix),
        session: session.map(|session| SessionReport {
            length: session.token.reveal().chars().count(),
            endpoint: session.endpoint.clone(),
            expires_at: session.expires_at,
        }),
        state,
        user,
    }
}
