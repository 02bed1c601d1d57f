//! Installed apps: listing, planning, installing, updating and removing them. For the owner only.

use crate::{
    error::ErrorAnswer,
    owner::Owner,
    request::{JsonBody, JsonOrNothing, PathOf},
};
use axum::{Json, extract::State};
use roost_host::{
    Host,
    library::{
        AppFiles, AppListing, Choice, InstallPlan, InstallSource, Installed, LockedOutcome, Removed, Sweep,
        UpdateOutcome,
    },
};
use roost_protocol::Digest;
use serde::{Deserialize, Serialize};

/// Who gives rights when nobody says.
const SOMEBODY: &str = "the owner";

/// What to look at.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlanRequest {
    source: String,
}

/// What to install, and what to give to it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct InstallRequest {
    pub(crate) source: String,
    /// What the person saw; anything else is not installed.
    pub(crate) digest: Option<Digest>,
    #[serde(default)]
    pub(crate) rights: Choice,
    by: Option<String>,
}

impl InstallRequest {
    /// Who gives the rights.
    pub(crate) fn by(&self) -> String {
        named(self.by.clone())
    }
}

/// The text of a lock file, and what to give to its apps.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LockRequest {
    lock: String,
    #[serde(default)]
    rights: Choice,
    by: Option<String>,
}

/// Which app to bring up to date; all of them when none is named.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct UpdateRequest {
    id: Option<String>,
    now: bool,
    by: Option<String>,
}

/// Who says yes.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Approval {
    by: Option<String>,
}

/// The list of `roost apps --json`.
#[derive(Serialize)]
pub(crate) struct Apps {
    apps: Vec<AppListing>,
}

/// The list of `roost update --json`.
#[derive(Serialize)]
pub(crate) struct Updates {
    updates: Vec<UpdateOutcome>,
}

fn named(by: Option<String>) -> String {
    by.unwrap_or_else(|| SOMEBODY.to_owned())
}

/// Every installed app, with its state and the reason for it.
#[utoipa::path(get, path = "/v1/apps", tag = "apps", responses((status = 200, body = Object)))]
pub(crate) async fn list(_: Owner, State(host): State<Host>) -> Result<Json<Apps>, ErrorAnswer> {
    Ok(Json(Apps { apps: host.library().list().await? }))
}

/// One installed app.
#[utoipa::path(get, path = "/v1/apps/{id}", tag = "apps", params(("id" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn show(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
) -> Result<Json<AppListing>, ErrorAnswer> {
    Ok(Json(host.library().show(&id).await?))
}

/// Says what installing would mean: who it is, its digest, the rights it asks for. Nothing is written or run.
#[utoipa::path(post, path = "/v1/app-plans", tag = "apps", request_body = Object, responses((status = 200, body = Object)))]
pub(crate) async fn plan(
    _: Owner,
    State(host): State<Host>,
    JsonBody(asked): JsonBody<PlanRequest>,
) -> Result<Json<InstallPlan>, ErrorAnswer> {
    Ok(Json(host.library().plan(&InstallSource::parse(&asked.source)?).await?))
}

/// The files of an app, to be read before it is installed. Nothing is written or run.
#[utoipa::path(post, path = "/v1/app-plans/files", tag = "apps", request_body = Object, responses((status = 200, body = Object)))]
pub(crate) async fn plan_files(
    _: Owner,
    State(host): State<Host>,
    JsonBody(asked): JsonBody<PlanRequest>,
) -> Result<Json<AppFiles>, ErrorAnswer> {
    Ok(Json(host.library().read_files(&InstallSource::parse(&asked.source)?).await?))
}

/// Installs an app; answered only when it answers in its sandbox.
#[utoipa::path(post, path = "/v1/apps", tag = "apps", request_body = Object, responses((status = 200, body = Object)))]
pub(crate) async fn install(
    _: Owner,
    State(host): State<Host>,
    JsonBody(asked): JsonBody<InstallRequest>,
) -> Result<Json<Installed>, ErrorAnswer> {
    let source = InstallSource::parse(&asked.source)?;
    Ok(Json(host.library().install(&source, asked.digest, &asked.rights, &asked.by()).await?))
}

/// Installs exactly what a lock file names.
#[utoipa::path(post, path = "/v1/app-locks", tag = "apps", request_body = Object, responses((status = 200, body = Object)))]
pub(crate) async fn install_locked(
    _: Owner,
    State(host): State<Host>,
    JsonBody(asked): JsonBody<LockRequest>,
) -> Result<Json<LockedOutcome>, ErrorAnswer> {
    let LockRequest { lock, rights, by } = asked;
    Ok(Json(host.library().install_locked(&lock, &rights, &named(by)).await?))
}

/// Brings one app, or all, up to date. One that asks for more rights waits.
#[utoipa::path(post, path = "/v1/app-updates", tag = "apps", request_body = Object, responses((status = 200, body = Object)))]
pub(crate) async fn update(
    _: Owner,
    State(host): State<Host>,
    JsonOrNothing(asked): JsonOrNothing<UpdateRequest>,
) -> Result<Json<Updates>, ErrorAnswer> {
    let (library, by) = (host.library(), named(asked.by));
    let updates = match asked.id {
        Some(id) => vec![library.update(&id, asked.now, &by).await?],
        None => library.update_all(&by).await?,
    };
    Ok(Json(Updates { updates }))
}

/// Lets the version serve that waits, with the rights it asks for.
#[utoipa::path(post, path = "/v1/apps/{id}/approve", tag = "apps", params(("id" = String, Path)), request_body = Object, responses((status = 200, body = Object)))]
pub(crate) async fn approve(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
    JsonOrNothing(asked): JsonOrNothing<Approval>,
) -> Result<Json<UpdateOutcome>, ErrorAnswer> {
    Ok(Json(host.library().approve(&id, &named(asked.by)).await?))
}

/// What the version that waits asks for besides what the one before did.
#[utoipa::path(get, path = "/v1/apps/{id}/waiting", tag = "apps", params(("id" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn waiting(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
) -> Result<Json<UpdateOutcome>, ErrorAnswer> {
    Ok(Json(host.library().waiting(&id).await?))
}

/// Does not take the version that waits.
#[utoipa::path(delete, path = "/v1/apps/{id}/waiting", tag = "apps", params(("id" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn reject(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
) -> Result<Json<AppListing>, ErrorAnswer> {
    Ok(Json(host.library().reject(&id).await?))
}

/// A folder to run an app from, and what to give to it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SideloadRequest {
    path: String,
    #[serde(default)]
    rights: Choice,
    by: Option<String>,
}

/// Builds and runs the native app of a folder, which nobody signed.
#[utoipa::path(post, path = "/v1/sideloads", tag = "apps", request_body = Object, responses((status = 200, body = Object)))]
pub(crate) async fn sideload(
    _: Owner,
    State(host): State<Host>,
    JsonBody(asked): JsonBody<SideloadRequest>,
) -> Result<Json<Installed>, ErrorAnswer> {
    let SideloadRequest { path, rights, by } = asked;
    Ok(Json(host.library().sideload(path.as_ref(), &rights, &named(by)).await?))
}

/// Removes an app that was sideloaded; its folder is as it was.
#[utoipa::path(delete, path = "/v1/sideloads/{id}", tag = "apps", params(("id" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn unsideload(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
) -> Result<Json<Removed>, ErrorAnswer> {
    Ok(Json(host.library().unsideload(&id).await?))
}

/// Asks the stores and looks at every native app: which of them nobody vouches for any more.
#[utoipa::path(post, path = "/v1/app-sweeps", tag = "apps", responses((status = 200, body = Object)))]
pub(crate) async fn sweep(_: Owner, State(host): State<Host>) -> Result<Json<Sweep>, ErrorAnswer> {
    Ok(Json(host.library().sweep().await?))
}

/// Lets the version before serve again.
#[utoipa::path(post, path = "/v1/apps/{id}/rollback", tag = "apps", params(("id" = String, Path)), request_body = Object, responses((status = 200, body = Object)))]
pub(crate) async fn roll_back(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
    JsonOrNothing(asked): JsonOrNothing<Approval>,
) -> Result<Json<UpdateOutcome>, ErrorAnswer> {
    Ok(Json(host.library().roll_back(&id, &named(asked.by)).await?))
}

/// Removes an app; its workspace stays.
#[utoipa::path(delete, path = "/v1/apps/{id}", tag = "apps", params(("id" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn remove(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
) -> Result<Json<Removed>, ErrorAnswer> {
    Ok(Json(host.library().remove(&id).await?))
}
