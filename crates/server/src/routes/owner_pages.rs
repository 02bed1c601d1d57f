//! How the owner's browser comes in: `roost open` makes a ticket, the page turns it into a session.
//!
//! A ticket travels in the fragment of an address, which browsers send to nobody, and works once; the token of the home
//! never leaves the home.

use crate::{error::ErrorAnswer, openwop::shown_token, owner::Owner, request::JsonOrNothing};
use axum::{
    Json,
    extract::State,
    http::{HeaderMap, HeaderName, HeaderValue, header},
};
use roost_host::Host;
use roost_protocol::{Failure, Reason};
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

/// A secret is for whoever asked, and for no cache.
type Unstored = ([(HeaderName, HeaderValue); 1], Json<Value>);

/// Whether whoever asks is the owner: `{owner}`.
#[utoipa::path(get, path = "/owner", tag = "host", responses((status = 200, body = Object)))]
pub(crate) async fn show(owner: Option<Owner>) -> Json<Value> {
    Json(json!({ "owner": owner.is_some() }))
}

/// A ticket that lets one browser in: `{ticket, expires_in}`. For the owner only.
#[utoipa::path(post, path = "/owner/tickets", tag = "host", responses((status = 200, body = Object)))]
pub(crate) async fn invite(_: Owner, State(host): State<Host>) -> Result<Unstored, ErrorAnswer> {
    let invitation = host.invite_browser()?;
    Ok(unstored(json!({ "ticket": invitation.ticket, "expires_in": invitation.expires_in.as_secs() })))
}

/// What lets a browser in.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entrance {
    /// Of `/owner/tickets`; the owner needs none.
    ticket: Option<String>,
}

/// A session for a ticket, or for the owner: `{session, expires}`. It counts as the owner's token does.
#[utoipa::path(post, path = "/owner/sessions", tag = "host", request_body = Entrance, responses((status = 200, body = Object)))]
pub(crate) async fn admit(
    owner: Option<Owner>,
    State(host): State<Host>,
    JsonOrNothing(entrance): JsonOrNothing<Entrance>,
) -> Result<Unstored, ErrorAnswer> {
    let opened = match (entrance.ticket, owner) {
        (Some(ticket), _) => host.admit_browser(&ticket)?,
        (None, Some(_)) => host.open_browser_session()?,
        (None, None) => return Err(Failure::plain(Reason::OwnerOnly).into()),
    };
    Ok(unstored(json!({ "session": opened.session, "expires": opened.expires })))
}

/// Ends the session that is shown; the owner's token itself stays.
#[utoipa::path(delete, path = "/owner/sessions", tag = "host", responses((status = 200, body = Object)))]
pub(crate) async fn leave(
    _: Owner,
    State(host): State<Host>,
    headers: HeaderMap,
) -> Result<Json<Value>, ErrorAnswer> {
    host.close_browser_session(shown_token(&headers).unwrap_or_default())?;
    Ok(Json(json!({ "owner": false })))
}

fn unstored(document: Value) -> Unstored {
    ([(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))], Json(document))
}
