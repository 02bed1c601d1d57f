//! Whether a request comes from the owner of the host: it shows the token of the home, or a
//! session of the owner's browser, as `Authorization: Bearer`.
//!
//! A route takes `Owner` when nobody else may use it, and `Option<Owner>` when it does more for the owner.

use crate::error::ErrorAnswer;
use axum::{
    extract::{FromRef, FromRequestParts, OptionalFromRequestParts},
    http::{header, request::Parts},
};
use roost_host::Host;
use roost_protocol::{Failure, Reason};
use std::convert::Infallible;

/// Proof that a request shows the owner's token.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owner {
    _seen: (),
}

impl Owner {
    fn in_request(parts: &Parts, host: &Host) -> Option<Self> {
        let shown = parts.headers.get(header::AUTHORIZATION)?.to_str().ok()?;
        let (scheme, token) = shown.split_once(' ')?;
        let is_owner = scheme.eq_ignore_ascii_case("bearer") && host.is_owner(token.trim());
        is_owner.then_some(Self { _seen: () })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Owner
where
    Host: FromRef<S>,
{
    type Rejection = ErrorAnswer;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ErrorAnswer> {
        let owner = Self::in_request(parts, &Host::from_ref(state));
        owner.ok_or_else(|| Failure::plain(Reason::OwnerOnly).into())
    }
}

impl<S: Send + Sync> OptionalFromRequestParts<S> for Owner
where
    Host: FromRef<S>,
{
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Option<Self>, Infallible> {
        Ok(Self::in_request(parts, &Host::from_ref(state)))
    }
}
