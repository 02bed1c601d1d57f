//! Tokens that let programs use one workspace. For the owner only; a token itself is answered once, when it is made.

use crate::{
    error::ErrorAnswer,
    owner::Owner,
    request::{JsonBody, PathOf},
};
use axum::{
    Json,
    extract::State,
    http::{HeaderName, HeaderValue, header},
};
use jiff::Timestamp;
use roost_host::{
    Host, MadeToken, NewToken, Scope, TokenListing, local_owner,
    workspace::{Owner as FilesOwner, WorkspaceName},
};
use roost_protocol::{Reason, Tenant};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Longest note.
const NOTE_CHARACTERS_MAX: usize = 200;

/// What a token is for unless somebody says otherwise.
const SCOPES: [Scope; 2] = [Scope::WorkspaceRead, Scope::WorkspaceWrite];

/// What a token is to be.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Wanted {
    tenant: Option<String>,
    workspace: Option<String>,
    scopes: Option<Vec<String>>,
    expires: Option<Timestamp>,
    #[serde(default)]
    note: String,
    requests_per_second: Option<i64>,
}

/// The list of `roost keys token list --json`.
#[derive(Debug, Serialize)]
pub(crate) struct Listed {
    tokens: Vec<TokenListing>,
}

/// Every token with what it may do, also those that were taken back; never a token itself.
#[utoipa::path(get, path = "/tokens", tag = "tokens", responses((status = 200, body = Object)))]
pub(crate) async fn list(_: Owner, State(host): State<Host>) -> Result<Json<Listed>, ErrorAnswer> {
    Ok(Json(Listed { tokens: host.tokens().await? }))
}

/// Makes a token for one workspace. This is the only answer that ever has it.
#[utoipa::path(post, path = "/tokens", tag = "tokens", request_body = Object, responses((status = 200, body = Object)))]
pub(crate) async fn create(
    _: Owner,
    State(host): State<Host>,
    JsonBody(wanted): JsonBody<Wanted>,
) -> Result<([(HeaderName, HeaderValue); 1], Json<MadeToken>), ErrorAnswer> {
    let made = host.create_token(wanted.checked()?).await?;
    Ok(([(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))], Json(made)))
}

/// Takes a token back. Requests that show it are refused from then on; on other nodes after a second.
#[utoipa::path(delete, path = "/tokens/{id}", tag = "tokens", params(("id" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn revoke(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
) -> Result<Json<Value>, ErrorAnswer> {
    host.revoke_token(&id).await?;
    Ok(Json(json!({ "revoked": id })))
}

impl Wanted {
    fn checked(self) -> Result<NewToken, ErrorAnswer> {
        let refuse = |what: String| ErrorAnswer::new(Reason::BadRequest, what);
        let usual = local_owner();
        let tenant = match self.tenant {
            Some(text) => Tenant::parse(&text).map_err(|error| refuse(format!("tenant: {error}")))?,
            None => usual.tenant,
        };
        let workspace = match self.workspace {
            Some(text) => {
                WorkspaceName::parse(&text).map_err(|error| refuse(format!("workspace: {error}")))?
            }
            None => usual.workspace,
        };
        let mut scopes = match self.scopes {
            None => SCOPES.to_vec(),
            Some(texts) => {
                texts.iter().map(|text| Scope::parse(text)).collect::<Option<_>>().ok_or_else(|| {
                    refuse(format!("scopes are {}", Scope::ALL.map(Scope::as_str).join(", ")))
                })?
            }
        };
        scopes.sort();
        scopes.dedup();
        if self.expires.is_some_and(|end| end <= Timestamp::now()) {
            return Err(refuse("expires: this time is over already".to_owned()));
        }
        let note = self.note;
        if note.chars().count() > NOTE_CHARACTERS_MAX || note.chars().any(char::is_control) {
            return Err(refuse(format!("a note is one line of at most {NOTE_CHARACTERS_MAX} characters")));
        }
        if self.requests_per_second.is_some_and(|rate| rate < 0) {
            return Err(refuse("requestsPerSecond: 0 is no limit, and less is nothing".to_owned()));
        }
        Ok(NewToken {
            owner: FilesOwner { tenant, workspace },
            scopes,
            expires: self.expires,
            note,
            requests_per_second: self.requests_per_second,
        })
    }
}
