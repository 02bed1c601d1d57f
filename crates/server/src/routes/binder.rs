//! The package service as RAPP clients know it, on the library of installed apps.
//!
//! Anybody who may speak to the host may install and remove here, as on the hosts this service comes from; what is
//! installed this way gets only the rights that the policy gives. A person gives more with `roost rights`.

pub(crate) mod files; // what an app shares with people

use crate::{
    error::{ErrorAnswer, agent_failed},
    request::{JsonBody, JsonOrNothing, PathOf},
};
use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse as _, Response},
};
use base64::Engine as _;
use roost_host::{
    Host, Request,
    catalogs::{CATALOG_AGE_MAX, EntryKind, EntryName, Freshness, InstalledSense, JoinedCatalogs},
    library::{AppListing, Choice, InstallSource},
};
use roost_protocol::{Failure, Reason};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json, value::RawValue};
use std::time::Duration;
use utoipa::ToSchema;

/// Who is written down as the giver of rights; nobody is, because none are given here.
const NOBODY: &str = "nobody";

/// Clients show their page only after this answer.
const CATALOG_WITHIN: Duration = Duration::from_secs(10);

/// Installed apps, as RAPP clients read them.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct InstalledApps {
    installed: Vec<InstalledEntry>,
    /// Senses that are in the home, where there are any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    senses: Vec<InstalledEntry>,
}

/// One installed app.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct InstalledEntry {
    id: String,
    version: Option<String>,
    agent_filename: Option<String>,
    /// The same, for older clients.
    filename: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service_filename: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ui_filename: Option<String>,
}

impl From<&AppListing> for InstalledEntry {
    fn from(app: &AppListing) -> Self {
        Self {
            id: app.id.clone(),
            version: app.version.clone(),
            agent_filename: app.agent_file.clone(),
            filename: app.agent_file.clone().or_else(|| app.service_file.clone()),
            service_filename: app.service_file.clone(),
            ui_filename: app.page_file.clone(),
        }
    }
}

impl From<InstalledSense> for InstalledEntry {
    fn from(sense: InstalledSense) -> Self {
        Self {
            id: sense.id,
            version: None,
            agent_filename: None,
            filename: Some(sense.file_name),
            service_filename: None,
            ui_filename: None,
        }
    }
}

/// Which apps are installed.
#[utoipa::path(get, path = "/api/binder", tag = "binder", responses((status = 200, body = InstalledApps)))]
pub(crate) async fn installed(State(host): State<Host>) -> Result<Json<InstalledApps>, ErrorAnswer> {
    let apps = host.library().list().await?;
    let senses = host.senses()?.into_iter().map(InstalledEntry::from).collect();
    Ok(Json(InstalledApps { installed: apps.iter().map(InstalledEntry::from).collect(), senses }))
}

/// The same with a slash at the end.
#[utoipa::path(get, path = "/api/binder/", tag = "binder", responses((status = 200, body = InstalledApps)))]
pub(crate) async fn installed_at_root(host: State<Host>) -> Result<Json<InstalledApps>, ErrorAnswer> {
    installed(host).await
}

/// The same below its own name.
#[utoipa::path(get, path = "/api/binder/installed", tag = "binder", responses((status = 200, body = InstalledApps)))]
pub(crate) async fn installed_by_name(host: State<Host>) -> Result<Json<InstalledApps>, ErrorAnswer> {
    installed(host).await
}

/// Installed apps that have a page.
#[utoipa::path(get, path = "/rapplications", tag = "binder", responses((status = 200, body = Object)))]
pub(crate) async fn rapplications(State(host): State<Host>) -> Result<Json<Value>, ErrorAnswer> {
    let apps = host.library().list().await?;
    let shown = |app: &AppListing| {
        json!({
            "id": app.id, "name": app.name, "version": app.version, "publisher": app.publisher,
            "summary": app.summary, "state": app.state, "agents": app.agents,
            "agent_filename": app.agent_file, "service_filename": app.service_file,
            "ui_filename": app.page_file,
            "ui_url": app.page_file.as_ref().map(|file| format!("/api/binder/ui/{}/{file}", app.id)),
        })
    };
    Ok(Json(json!({ "rapplications": apps.iter().map(shown).collect::<Vec<_>>() })))
}

/// What can be installed, as its catalogs have it; only the lists that were asked for.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Catalogued {
    #[serde(skip_serializing_if = "Option::is_none")]
    rapplications: Option<Vec<Box<RawValue>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agents: Option<Vec<Box<RawValue>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    senses: Option<Vec<Box<RawValue>>>,
}

/// What can be installed: every entry of every catalog, as its catalog has it. Empty when none can be read in time.
#[utoipa::path(get, path = "/api/binder/catalog", tag = "binder", responses((status = 200, body = Object)))]
pub(crate) async fn catalog(State(host): State<Host>) -> Json<Catalogued> {
    let joined = joined(&host).await;
    Json(Catalogued {
        rapplications: Some(entries(joined.as_ref(), EntryKind::App)),
        ..Catalogued::default()
    })
}

/// One part of the catalog: `agents` of the registry, `senses`, or `all` with the apps. Empty as above.
#[utoipa::path(get, path = "/api/binder/catalog/{part}", tag = "binder", params(("part" = String, Path)),
    responses((status = 200, body = Object)))]
pub(crate) async fn catalog_part(
    State(host): State<Host>,
    PathOf(part): PathOf,
) -> Result<Json<Catalogued>, ErrorAnswer> {
    let is_known = matches!(part.as_str(), "agents" | "senses" | "all");
    if !is_known {
        return Err(ErrorAnswer::new(Reason::UnknownCatalog, format!("there is no catalog `{part}`")));
    }
    let joined = joined(&host).await;
    let joined = joined.as_ref();
    let is_wanted = |name: &str| part == name || part == "all";
    Ok(Json(Catalogued {
        rapplications: is_wanted("rapplications").then(|| entries(joined, EntryKind::App)),
        agents: is_wanted("agents").then(|| entries(joined, EntryKind::Agent)),
        senses: is_wanted("senses").then(|| senses(joined)),
    }))
}

/// All catalogs, as they were kept where they are not answered in time. Why one is not there is in `roost store list`.
async fn joined(host: &Host) -> Option<JoinedCatalogs> {
    let fresh = async { host.catalogs()?.joined(Freshness::AtMost(CATALOG_AGE_MAX)).await };
    let joined = match tokio::time::timeout(CATALOG_WITHIN, fresh).await {
        Ok(joined) => joined,
        Err(_) => {
            tracing::info!(seconds = CATALOG_WITHIN.as_secs(), "the catalogs were not fetched in time");
            async { host.catalogs()?.joined(Freshness::Kept).await }.await
        }
    };
    joined.inspect_err(|failure| tracing::info!(%failure, "the catalogs could not be read")).ok()
}

/// Entries word for word, without those whose id another catalog holds. Numbers stay as they were written: those of
/// registries are larger than 64 bits.
fn entries(joined: Option<&JoinedCatalogs>, kind: EntryKind) -> Vec<Box<RawValue>> {
    let offers = joined.into_iter().flat_map(|joined| &joined.offers);
    // An app that has the same id hides no agent: each is asked for by its kind.
    let is_held = |shadowed: bool| shadowed && kind == EntryKind::App;
    let shown = offers.filter(|offer| offer.entry.kind == kind && !is_held(offer.shadowed_by.is_some()));
    shown.map(|offer| offer.entry.document().to_owned()).collect()
}

fn senses(joined: Option<&JoinedCatalogs>) -> Vec<Box<RawValue>> {
    let offers = joined.into_iter().flat_map(|joined| &joined.senses);
    offers.map(|offer| offer.sense.document().to_owned()).collect()
}

/// Which app to install.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct InstallBody {
    id: Option<String>,
    version: Option<String>,
}

/// What a single-file install names.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct NameBody {
    name: Option<String>,
}

/// What was installed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct InstallAnswer {
    /// Always `ok`.
    status: &'static str,
    installed: InstalledEntry,
}

/// Installs an app of a catalog; answered only when it answers in its sandbox.
#[utoipa::path(post, path = "/api/binder/install", tag = "binder", request_body = InstallBody, responses((status = 200, body = InstallAnswer)))]
pub(crate) async fn install(
    State(host): State<Host>,
    JsonOrNothing(asked): JsonOrNothing<InstallBody>,
) -> Result<Json<InstallAnswer>, ErrorAnswer> {
    let id = asked.id.filter(|id| !id.trim().is_empty());
    let id = id.ok_or_else(|| ErrorAnswer::new(Reason::BadRequest, "id required"))?;
    let named = match asked.version {
        Some(version) => format!("{}@{version}", id.trim()),
        None => id,
    };
    // Only what a catalog offers: a path or an address is not an id.
    let source = match InstallSource::parse(&named)? {
        source @ InstallSource::Entry(_) => source,
        _ => return Err(ErrorAnswer::new(Reason::BadRequest, "the id is not that of an app in a catalog")),
    };
    let installed = host.library().install(&source, None, &Choice::Policy, NOBODY).await?;
    Ok(Json(InstallAnswer { status: "ok", installed: InstalledEntry::from(&installed.app) }))
}

/// Installs a single file by name: `agent` of the registry, answered only when it answers in its sandbox, or `sense`.
#[utoipa::path(post, path = "/api/binder/install/{kind}", tag = "binder", params(("kind" = String, Path)),
    request_body = NameBody, responses((status = 200, body = InstallAnswer)))]
pub(crate) async fn install_file(
    State(host): State<Host>,
    PathOf(kind): PathOf,
    JsonOrNothing(asked): JsonOrNothing<NameBody>,
) -> Result<Json<InstallAnswer>, ErrorAnswer> {
    if !matches!(kind.as_str(), "agent" | "sense") {
        return Err(ErrorAnswer::new(Reason::BadRequest, format!("nothing is installed as `{kind}`")));
    }
    let name = asked.name.filter(|name| !name.trim().is_empty());
    let name = name.ok_or_else(|| ErrorAnswer::new(Reason::BadRequest, "name required"))?;
    let name = EntryName::parse(name.trim())?;
    let installed = if kind == "sense" {
        InstalledEntry::from(host.install_sense(&name).await?)
    } else {
        let source = InstallSource::Agent(name);
        let installed = host.library().install(&source, None, &Choice::Policy, NOBODY).await?;
        InstalledEntry::from(&installed.app)
    };
    Ok(Json(InstallAnswer { status: "ok", installed }))
}

/// What was removed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Uninstalled {
    /// Always `ok`.
    status: &'static str,
    uninstalled: String,
    /// Where its files stay.
    workspace: String,
}

/// Removes an app; its workspace stays.
#[utoipa::path(delete, path = "/api/binder/installed/{id}", tag = "binder", params(("id" = String, Path)), responses((status = 200, body = Uninstalled)))]
pub(crate) async fn uninstall(
    State(host): State<Host>,
    PathOf(id): PathOf,
) -> Result<Json<Uninstalled>, ErrorAnswer> {
    let removed = host.library().remove(&id).await?;
    let workspace = removed.workspace.display().to_string();
    Ok(Json(Uninstalled { status: "ok", uninstalled: removed.removed, workspace }))
}

/// An app as one file, with what it keeps for itself.
#[utoipa::path(get, path = "/api/binder/export/{id}", tag = "binder", params(("id" = String, Path)),
    responses((status = 200, description = "The egg", content_type = "application/zip")))]
pub(crate) async fn export(State(host): State<Host>, PathOf(id): PathOf) -> Result<Response, ErrorAnswer> {
    let (name, bytes) = host.library().export(&id)?;
    // The name is made of a checked id.
    let disposition = format!("attachment; filename=\"{name}\"");
    let headers = [
        (header::CONTENT_TYPE, "application/zip".to_owned()),
        (header::CONTENT_DISPOSITION, disposition),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
    ];
    Ok((headers, bytes).into_response())
}

/// An egg, or where one is.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ImportBody {
    egg_b64: Option<String>,
    egg_url: Option<String>,
}

/// What an egg brought.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Imported {
    /// Always `ok`.
    status: &'static str,
    id: String,
    files_restored: usize,
    installed: InstalledEntry,
}

/// Installs what another host exported.
#[utoipa::path(post, path = "/api/binder/import", tag = "binder", request_body = ImportBody, responses((status = 200, body = Imported)))]
pub(crate) async fn import(
    State(host): State<Host>,
    JsonBody(asked): JsonBody<ImportBody>,
) -> Result<Json<Imported>, ErrorAnswer> {
    let bytes = match (asked.egg_b64, asked.egg_url) {
        (Some(text), _) => {
            let packed: String = text.split_ascii_whitespace().collect();
            base64::engine::general_purpose::STANDARD.decode(packed).map_err(|error| {
                ErrorAnswer::new(Reason::BadRequest, format!("egg_b64 is not base64: {error}"))
            })?
        }
        (None, Some(url)) => host.catalogs()?.fetcher().await?.fetch_archive(&url).await?,
        (None, None) => return Err(ErrorAnswer::new(Reason::BadRequest, "egg_b64 or egg_url required")),
    };
    let installed = host.library().import(&bytes, &Choice::Policy, NOBODY).await?;
    let (id, files_restored) = (installed.app.id.clone(), installed.restored);
    Ok(Json(Imported { status: "ok", id, files_restored, installed: InstalledEntry::from(&installed.app) }))
}

/// Calls the agent of an installed app: the one that `id` names, else the only one there is. Arguments are `args`,
/// `kwargs` or the rest of the object.
#[utoipa::path(post, path = "/api/binder/agent", tag = "binder", request_body = Object, responses((status = 200, body = Object)))]
pub(crate) async fn invoke(
    State(host): State<Host>,
    JsonOrNothing(mut asked): JsonOrNothing<Map<String, Value>>,
) -> Result<Response, ErrorAnswer> {
    let named = ["id", "rapp_id", "agent"].iter().find_map(|key| match asked.get(*key) {
        Some(Value::String(_)) => asked.remove(*key),
        _ => None,
    });
    let named = named.as_ref().and_then(Value::as_str);
    let arguments = match (asked.remove("args"), asked.remove("kwargs")) {
        (Some(Value::Object(arguments)), _) | (None, Some(Value::Object(arguments))) => arguments,
        (None, None) => asked,
        _ => return Err(ErrorAnswer::new(Reason::BadRequest, "args is not an object")),
    };
    let Some(name) = agent_behind(&host, named).await? else {
        let body = json!({ "error": "no agent is installed", "reason": Reason::UnknownAgent });
        return Ok((StatusCode::SERVICE_UNAVAILABLE, Json(body)).into_response());
    };
    let outcome = host.call(&name, &Request { arguments, ..Request::default() }).await?;
    if let Some(failure) = outcome.error {
        return Ok(agent_failed(failure, &outcome.receipt));
    }
    let body = json!({
        "result": outcome.output, "output": outcome.output, "name": outcome.agent, "receipt": outcome.receipt,
    });
    Ok(Json(body).into_response())
}

/// The agent that is meant: of the app of this id, else the agent of this name, else of the only app that has one.
async fn agent_behind(host: &Host, named: Option<&str>) -> Result<Option<String>, Failure> {
    let apps = host.library().list().await?;
    let Some(named) = named else {
        let mut with_agents = apps.iter().filter_map(|app| app.agents.first());
        return match (with_agents.next(), with_agents.next()) {
            (only, None) => Ok(only.cloned()),
            (_, Some(_)) => {
                Err(Failure::new(Reason::BadRequest, "several apps have agents: name one with `id`"))
            }
        };
    };
    let of_app = apps.iter().find(|app| app.id == named).and_then(|app| app.agents.first());
    Ok(Some(of_app.cloned().unwrap_or_else(|| named.to_owned())))
}
