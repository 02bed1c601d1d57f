//! Signing in at GitHub by a code that a person types there.
//!
//! Anybody on this machine may sign in while nobody is; who is signed in can only be replaced by the owner.

use crate::{error::ErrorAnswer, owner::Owner};
use axum::{Json, extract::State};
use roost_host::{
    Host,
    chat::{DeviceCode, LoginProgress, RetryOutcome},
};
use roost_protocol::{Failure, Reason};
use serde_json::{Value, json};

/// Begins a login, or repeats the code of the one that waits.
#[utoipa::path(post, path = "/login", tag = "models", responses((status = 200, body = Object)))]
pub(crate) async fn begin(
    State(host): State<Host>,
    owner: Option<Owner>,
) -> Result<Json<Value>, ErrorAnswer> {
    may_sign_in(&host, owner)?;
    let DeviceCode { user_code, verification_uri, .. } = host.models().login().begin().await?;
    Ok(Json(json!({ "user_code": user_code, "verification_uri": verification_uri })))
}

/// How the login that was begun last is going.
#[utoipa::path(post, path = "/login/poll", tag = "models", responses((status = 200, body = Object)))]
pub(crate) async fn poll(State(host): State<Host>) -> Json<Value> {
    Json(match host.models().login().poll().await {
        LoginProgress::Pending => json!({ "status": "pending" }),
        LoginProgress::Ok { message } => json!({ "status": "ok", "message": message }),
        LoginProgress::Error { message } => json!({ "status": "error", "error": message }),
        LoginProgress::Expired { message } => json!({ "status": "expired", "error": message }),
    })
}

/// Whether a login waits for a person.
#[utoipa::path(get, path = "/login/status", tag = "models", responses((status = 200, body = Object)))]
pub(crate) async fn status(State(host): State<Host>) -> Json<Value> {
    Json(match host.models().login().status() {
        None => json!({ "pending": false }),
        Some(DeviceCode { user_code, verification_uri, expires_in }) => json!({
            "pending": true,
            "user_code": user_code,
            "verification_uri": verification_uri,
            "expires_in": expires_in,
        }),
    })
}

/// Begins a login with another account; the one that is signed in stays until it is completed.
#[utoipa::path(post, path = "/login/switch", tag = "models", responses((status = 200, body = Object)))]
pub(crate) async fn switch(
    State(host): State<Host>,
    owner: Option<Owner>,
) -> Result<Json<Value>, ErrorAnswer> {
    may_sign_in(&host, owner)?;
    let DeviceCode { user_code, verification_uri, .. } = host.models().login().switch().await?;
    Ok(Json(json!({ "status": "ok", "user_code": user_code, "verification_uri": verification_uri })))
}

/// Tries the token that is there again, for example after Copilot was granted to the account.
#[utoipa::path(post, path = "/login/retry", tag = "models", responses((status = 200, body = Object)))]
pub(crate) async fn retry(State(host): State<Host>) -> Json<Value> {
    Json(match host.models().login().retry().await {
        RetryOutcome::Ok => json!({ "status": "ok" }),
        RetryOutcome::NoCopilotAccess { user } => {
            json!({ "status": "no_copilot_access", "copilot_username": user })
        }
        RetryOutcome::Unauthenticated => json!({ "status": "unauthenticated" }),
        RetryOutcome::Error { message } => json!({ "status": "error", "error": message }),
    })
}

/// What is known of the credential. Only the owner sees its first characters.
#[utoipa::path(get, path = "/debug/auth", tag = "models", responses((status = 200, body = Object)))]
pub(crate) async fn report(State(host): State<Host>, owner: Option<Owner>) -> Json<Value> {
    let report = host.models().login().auth_report(owner.is_some());
    let session = report.session.map(|session| {
        json!({ "length": session.length, "endpoint": session.endpoint, "expires_at": session.expires_at })
    });
    Json(json!({
        "state": report.state,
        "source": report.source.map(roost_host::chat::CredentialSource::as_str),
        "token_length": report.token_length,
        "token_prefix": report.token_prefix,
        "session": session,
        "user": report.user,
    }))
}

fn may_sign_in(host: &Host, owner: Option<Owner>) -> Result<(), Failure> {
    let known = host.models().login().auth_report(false);
    let is_signed_in = known.source.is_some() || known.session.is_some();
    if is_signed_in && owner.is_none() {
        return Err(Failure::new(
            Reason::OwnerOnly,
            "somebody is signed in; only the owner of this host may change that",
        ));
    }
    Ok(())
}
