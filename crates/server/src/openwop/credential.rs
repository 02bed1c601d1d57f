//! Who asks: the token of a request, counted and looked up before anything else of it is read.

use super::refusal::{Code, Refusal};
use axum::{
    extract::{FromRef, FromRequestParts},
    http::{HeaderMap, header, request::Parts},
};
use roost_host::{Credential, Host, NoCredential, Scope, workspace::Workspaces};
use serde_json::json;

/// Whoever sent a request, with what its token allows.
#[derive(Debug, Clone)]
pub(crate) struct Asker {
    pub(crate) credential: Credential,
}

impl Asker {
    /// Whether the token is for this. No scope implies another.
    pub(crate) fn may(&self, scope: Scope) -> Result<(), Refusal> {
        if self.credential.scopes.contains(&scope) {
            return Ok(());
        }
        let refusal = Refusal::new(Code::Forbidden, "the token does not allow this");
        Err(refusal.with("scopeRequired", json!(scope)))
    }

    /// The files, for a token that is for this.
    pub(crate) async fn workspaces(&self, host: &Host, scope: Scope) -> Result<Workspaces, Refusal> {
        self.may(scope)?;
        Ok(host.workspaces().await?)
    }
}

/// The token that a request shows.
pub(crate) fn shown_token(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

impl<S: Send + Sync> FromRequestParts<S> for Asker
where
    Host: FromRef<S>,
{
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let shown = shown_token(&parts.headers);
        let refused = match Host::from_ref(state).credential(shown).await {
            Ok(credential) => return Ok(Self { credential }),
            Err(refused) => refused,
        };
        Err(match refused {
            NoCredential::Unknown => {
                Refusal::new(Code::Unauthenticated, "this needs a token; `roost keys token create` makes one")
            }
            NoCredential::Expired => Refusal::new(Code::KeyExpired, "the token's time is over"),
            NoCredential::Revoked => Refusal::new(Code::KeyRevoked, "the token was taken back"),
            NoCredential::TooOften(too_often) => Refusal::too_often(&too_often),
            NoCredential::Unavailable(failure) => failure.into(),
        })
    }
}
