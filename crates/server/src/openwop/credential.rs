//! Who asks: the token of a request, counted and looked up before anything else of it is read.

use super::refusal::{Code, Refusal};
use axum::{
    extract::{FromRef, FromRequestParts},
    http::{HeaderMap, HeaderName, header, request::Parts},
};
use roost_host::{
    Credential, Host, NoCredential, Scope,
    workspace::{InvalidWorkspaceName, WorkspaceName, Workspaces, Writer},
};
use serde_json::json;

/// Which workspace the owner of the host means.
const WORKSPACE: HeaderName = HeaderName::from_static("roost-workspace");

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

    /// Whoever asks, as somebody who writes: values of the vault are taken out of what is written.
    pub(crate) fn writer(&self, host: &Host) -> Writer {
        let redactions = host.redactions(&self.credential.owner.tenant);
        Writer { redactions, ..Writer::person(&self.credential.principal) }
    }

    /// The files, for a token that is for this.
    pub(crate) async fn workspaces(&self, host: &Host, scope: Scope) -> Result<Workspaces, Refusal> {
        self.may(scope)?;
        Ok(host.workspaces().await?)
    }
}

impl Asker {
    /// The owner of the host has many workspaces and says which one is meant. From others the header means nothing:
    /// whose files they use is fixed by their token.
    fn at_named_workspace(mut self, headers: &HeaderMap) -> Result<Self, Refusal> {
        let mut named = headers.get_all(WORKSPACE).iter();
        let (Some(name), true) = (named.next(), self.credential.is_host_owner()) else { return Ok(self) };
        let name = name.to_str().ok().filter(|_| named.next().is_none());
        match name.map(WorkspaceName::parse) {
            Some(Ok(name)) => self.credential.owner.workspace = name,
            _ => return Err(Refusal::invalid("Roost-Workspace", InvalidWorkspaceName.to_string())),
        }
        Ok(self)
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
            Ok(credential) => return Self { credential }.at_named_workspace(&parts.headers),
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

#[cfg(test)]
mod tests {
    use super::Asker;
    use axum::http::HeaderMap;
    use roost_host::{Credential, Scope, local_owner};

    /// The workspace that this principal reaches with these headers.
    fn reached(principal: &str, names: &[&str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for name in names {
            headers.append(super::WORKSPACE, name.parse().unwrap());
        }
        let principal = principal.to_owned();
        let credential = Credential { owner: local_owner(), principal, scopes: Scope::ALL.to_vec() };
        let asker = Asker { credential }.at_named_workspace(&headers).ok()?;
        assert_eq!(asker.credential.owner.tenant, local_owner().tenant);
        Some(asker.credential.owner.workspace.to_string())
    }

    #[test]
    fn only_the_owner_of_the_host_is_heard() {
        assert_eq!(reached("owner", &[]).as_deref(), Some("default"));
        assert_eq!(reached("owner", &["app.demo"]).as_deref(), Some("app.demo"));
        assert_eq!(reached("owner", &["a/b"]), None);
        assert_eq!(reached("owner", &["a", "b"]), None);
        for names in [&["app.demo"][..], &["a/b"], &["a", "b"]] {
            assert_eq!(reached("tok_0011223344556677", names).as_deref(), Some("default"));
        }
    }
}
