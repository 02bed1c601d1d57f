//! What apps ask for and have, giving and taking back. For the owner only.

use crate::{
    error::ErrorAnswer,
    owner::Owner,
    request::{JsonBody, QueryOf},
};
use axum::{Json, extract::State};
use roost_host::{AppRights, Grant, Host, NoProgress};
use roost_protocol::{AppId, Failure, Lasting, Reason, Right};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use utoipa::{IntoParams, ToSchema};

/// Who gave a right, as the record says it.
const GIVEN_BY: &str = "the page";

/// Most rights in one request: more than any app asks for.
const RIGHTS_MAX: usize = 256;

/// Runs after which a grant that was not used is pointed out, unless asked otherwise.
const RUNS_USUAL: u64 = 20;

/// Which app.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct OfApp {
    /// A file of an agent or service, or the name of one.
    app: String,
}

/// What an app asks for and has, the same as `roost rights APP --json`.
#[utoipa::path(get, path = "/rights", tag = "rights", params(OfApp), responses((status = 200, body = Object)))]
pub(crate) async fn show(
    _: Owner,
    State(host): State<Host>,
    QueryOf(asked): QueryOf<OfApp>,
) -> Result<Json<AppRights>, ErrorAnswer> {
    Ok(Json(host.rights(&asked.app).await?))
}

/// An app that waits for a person's word.
#[derive(Debug, Serialize)]
struct WaitingApp {
    app: String,
    rights: Vec<roost_host::RightState>,
}

/// What agents ask for, do not have, and nobody has refused: `{waiting: [{app, rights}]}`.
#[utoipa::path(get, path = "/rights/waiting", tag = "rights", responses((status = 200, body = Object)))]
pub(crate) async fn waiting(_: Owner, State(host): State<Host>) -> Result<Json<Value>, ErrorAnswer> {
    let agents = host.agents(&NoProgress).await?;
    let apps: BTreeSet<String> = agents
        .into_iter()
        .map(|agent| match agent.source {
            Some(source) => format!("{source}/{}", agent.file),
            None => agent.file,
        })
        .collect();
    let mut waiting = Vec::new();
    for app in apps {
        // A file that went or cannot be read asks for nothing; the list of agents says why.
        let rights = host.open_questions(&app).await.unwrap_or_default();
        if !rights.is_empty() {
            waiting.push(WaitingApp { app, rights });
        }
    }
    Ok(Json(json!({ "waiting": waiting })))
}

/// Rights to give.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Giving {
    app: String,
    rights: Vec<String>,
    /// `once`, `version` or `always`.
    #[schema(value_type = String)]
    lasting: Lasting,
}

/// Gives rights to an app; all of them or none: `{app, granted, lasting}`.
#[utoipa::path(post, path = "/rights/grant", tag = "rights", request_body = Giving, responses((status = 200, body = Object)))]
pub(crate) async fn grant(
    _: Owner,
    State(host): State<Host>,
    JsonBody(giving): JsonBody<Giving>,
) -> Result<Json<Value>, ErrorAnswer> {
    let rights = parsed(&giving.rights)?;
    let app: AppId = host.grant(&giving.app, &rights, giving.lasting, GIVEN_BY).await?;
    Ok(Json(json!({ "app": app, "granted": rights, "lasting": giving.lasting })))
}

/// Rights to take back.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TakingBack {
    app: String,
    /// Everything where this is absent.
    rights: Option<Vec<String>>,
}

/// Takes rights back with every narrower one: `{app, revoked, still_given_by}`.
#[utoipa::path(post, path = "/rights/revoke", tag = "rights", request_body = TakingBack, responses((status = 200, body = Object)))]
pub(crate) async fn revoke(
    _: Owner,
    State(host): State<Host>,
    JsonBody(taking): JsonBody<TakingBack>,
) -> Result<Json<Value>, ErrorAnswer> {
    let rights: Vec<Option<Right>> = match &taking.rights {
        None => vec![None],
        Some(rights) => parsed(rights)?.into_iter().map(Some).collect(),
    };
    let (mut revoked, mut wider): (Vec<Grant>, Vec<Grant>) = (Vec::new(), Vec::new());
    for right in &rights {
        let (_, taken) = host.revoke(&taking.app, right.as_ref()).await?;
        revoked.extend(taken.removed);
        wider.extend(taken.wider);
    }
    Ok(Json(json!({ "app": taking.app, "revoked": revoked, "still_given_by": wider })))
}

/// A right that a person says no to.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Refusing {
    app: String,
    right: String,
}

/// Remembers a no, so that this content of the app does not ask again: `{app, refused}`.
#[utoipa::path(post, path = "/rights/refuse", tag = "rights", request_body = Refusing, responses((status = 200, body = Object)))]
pub(crate) async fn refuse(
    _: Owner,
    State(host): State<Host>,
    JsonBody(refusing): JsonBody<Refusing>,
) -> Result<Json<Value>, ErrorAnswer> {
    let right = one(&refusing.right)?;
    host.say_no(&refusing.app, &right).await?;
    Ok(Json(json!({ "app": refusing.app, "refused": right })))
}

/// How many runs.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct LastRuns {
    /// Runs of the app without a use of the grant.
    runs: Option<u64>,
}

/// Grants that were not used lately: `{runs, unused}`.
#[utoipa::path(get, path = "/rights/unused", tag = "rights", params(LastRuns), responses((status = 200, body = Object)))]
pub(crate) async fn unused(
    _: Owner,
    State(host): State<Host>,
    QueryOf(asked): QueryOf<LastRuns>,
) -> Result<Json<Value>, ErrorAnswer> {
    let runs = asked.runs.unwrap_or(RUNS_USUAL);
    Ok(Json(json!({ "runs": runs, "unused": host.unused_grants(runs)? })))
}

fn parsed(texts: &[String]) -> Result<Vec<Right>, Failure> {
    if texts.is_empty() || texts.len() > RIGHTS_MAX {
        return Err(Failure::new(Reason::BadRequest, format!("rights: name 1 to {RIGHTS_MAX} of them")));
    }
    texts.iter().map(|text| one(text)).collect()
}

fn one(text: &str) -> Result<Right, Failure> {
    text.parse::<Right>().map_err(|error| Failure::new(Reason::InvalidRight, error.to_string()))
}
