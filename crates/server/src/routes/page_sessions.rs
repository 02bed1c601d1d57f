//! Mounted pages: mounting with consent, what they ask for, what they hear, and ending them. For the owner only: the
//! host page speaks for the frames in it, and a page itself never gets here.

use crate::{
    app_origin::MOUNTED,
    error::ErrorAnswer,
    guard::Access,
    owner::Owner,
    request::{JsonBody, JsonOrNothing, PathOf},
    serve::Stopping,
};
use axum::{
    Extension, Json,
    extract::State,
    response::{
        Sse,
        sse::{Event as Sent, KeepAlive},
    },
};
use futures::{Stream, stream};
use roost_host::{
    Host, RightState,
    pages::{ConsentAnswer, EndOfPage, Mount, Mounting, PageEvent, PageMode, PageSession},
};
use roost_protocol::{Digest, Reason, Right};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{
    collections::{HashMap, VecDeque},
    convert::Infallible,
    sync::Arc,
    time::Duration,
};

/// Proxies close connections that are silent for half a minute.
const COMMENT_EVERY: Duration = Duration::from_secs(15);

/// How a page is to be mounted, and what a person answered to what it asks for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MountBody {
    mode: Option<WantedMode>,
    digest: Option<Digest>,
    #[serde(default)]
    answers: HashMap<String, ConsentAnswer>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum WantedMode {
    Origin,
    Opaque,
}

/// A call of a page.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallBody {
    method: String,
    #[serde(default)]
    args: Vec<Value>,
}

/// Which right is taken back; all of them when absent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RevokeBody {
    right: Option<Right>,
}

/// A mounted page, for whoever draws its frame.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Mounted {
    session: String,
    page: Value,
    mode: PageMode,
    /// `network-proof` where nothing but scripts named by their hash runs, else `standard`.
    tier: &'static str,
    frame: FrameAttributes,
    rights: Vec<RightState>,
    run: Option<String>,
}

/// What the frame's element must have.
#[derive(Debug, Serialize)]
pub(crate) struct FrameAttributes {
    url: String,
    /// What its messages come from: `null` for an opaque one.
    origin: String,
    sandbox: &'static str,
    allow: &'static str,
}

/// Mounts a page. Answers `{ask, digest}` when a person has to answer first, then again with `{digest, answers}`.
#[utoipa::path(post, path = "/v1/pages/{id}/mount", tag = "pages", params(("id" = String, Path)), request_body = Object, responses((status = 200, body = Object)))]
pub(crate) async fn mount(
    _: Owner,
    State(host): State<Host>,
    Extension(access): Extension<Arc<Access>>,
    PathOf(id): PathOf,
    JsonOrNothing(asked): JsonOrNothing<MountBody>,
) -> Result<Json<Value>, ErrorAnswer> {
    let mounting = host.pages().mount(&id, wanted(asked)?).await?;
    answered(&host, &access, mounting)
}

/// Mounts the page of an installed app, as `/v1/pages/{id}/mount` does with one of the workspace.
#[utoipa::path(post, path = "/v1/apps/{id}/mount", tag = "pages", params(("id" = String, Path)), request_body = Object, responses((status = 200, body = Object)))]
pub(crate) async fn mount_app(
    _: Owner,
    State(host): State<Host>,
    Extension(access): Extension<Arc<Access>>,
    PathOf(id): PathOf,
    JsonOrNothing(asked): JsonOrNothing<MountBody>,
) -> Result<Json<Value>, ErrorAnswer> {
    let bundle = host.library().page(&id).await?;
    let mounting = host.pages().mount_bundle(bundle, wanted(asked)?).await?;
    answered(&host, &access, mounting)
}

fn wanted(asked: MountBody) -> Result<Mount, ErrorAnswer> {
    let mut answers = HashMap::new();
    for (right, answer) in asked.answers {
        let right = right.parse::<Right>();
        answers.insert(
            right.map_err(|error| ErrorAnswer::new(Reason::InvalidRight, error.to_string()))?,
            answer,
        );
    }
    let mode = asked.mode.map(|mode| match mode {
        WantedMode::Origin => PageMode::Origin,
        WantedMode::Opaque => PageMode::Opaque,
    });
    Ok(Mount { mode, digest: asked.digest, answers })
}

fn answered(host: &Host, access: &Access, mounting: Mounting) -> Result<Json<Value>, ErrorAnswer> {
    Ok(Json(match mounting {
        Mounting::Ask { digest, ask } => json!({ "digest": digest, "ask": ask }),
        Mounting::Mounted(session) => json!(shown(host, access, &session)?),
    }))
}

/// Every mounted page.
#[utoipa::path(get, path = "/v1/pages/sessions", tag = "pages", responses((status = 200, body = Object)))]
pub(crate) async fn list(
    _: Owner,
    State(host): State<Host>,
    Extension(access): Extension<Arc<Access>>,
) -> Result<Json<Value>, ErrorAnswer> {
    let sessions = host.pages().sessions();
    let shown =
        sessions.iter().map(|session| shown(&host, &access, session)).collect::<Result<Vec<_>, _>>()?;
    Ok(Json(json!({ "sessions": shown })))
}

/// One mounted page, with the rights it has now.
#[utoipa::path(get, path = "/v1/pages/sessions/{id}", tag = "pages", params(("id" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn show(
    _: Owner,
    State(host): State<Host>,
    Extension(access): Extension<Arc<Access>>,
    PathOf(id): PathOf,
) -> Result<Json<Mounted>, ErrorAnswer> {
    let session = host.pages().session(&id)?;
    Ok(Json(shown(&host, &access, &session)?))
}

/// Unmounts a page.
#[utoipa::path(delete, path = "/v1/pages/sessions/{id}", tag = "pages", params(("id" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn unmount(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
) -> Result<Json<Value>, ErrorAnswer> {
    host.pages().unmount(&id).await?;
    Ok(Json(json!({ "unmounted": id })))
}

/// Does what a mounted page asks for: `{method, args}` gives `{result}`, or `{error, code}` in the words pages expect.
#[utoipa::path(post, path = "/v1/pages/sessions/{id}/call", tag = "pages", params(("id" = String, Path)), request_body = Object, responses((status = 200, body = Object)))]
pub(crate) async fn call(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
    JsonBody(CallBody { method, args }): JsonBody<CallBody>,
) -> Result<Json<Value>, ErrorAnswer> {
    let session = host.pages().session(&id)?;
    Ok(Json(match host.pages().call(&session, &method, &args).await {
        Ok(result) => json!({ "result": result }),
        Err(error) => json!({ "error": error.message, "code": error.code }),
    }))
}

/// Takes back rights of a page. Open pages feel it at once.
#[utoipa::path(post, path = "/v1/pages/{id}/revoke", tag = "pages", params(("id" = String, Path)), request_body = Object, responses((status = 200, body = Object)))]
pub(crate) async fn revoke(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
    JsonOrNothing(RevokeBody { right }): JsonOrNothing<RevokeBody>,
) -> Result<Json<Value>, ErrorAnswer> {
    let (_, revoked) = host.revoke(&format!("page:{id}"), right.as_ref()).await?;
    let rights: Vec<&Right> = revoked.removed.iter().map(|grant| &grant.right).collect();
    Ok(Json(json!({ "revoked": rights })))
}

/// What a mounted page is to hear, as server-sent events: `event`, and `closed` at the end.
#[utoipa::path(get, path = "/v1/pages/sessions/{id}/events", tag = "pages", params(("id" = String, Path)), responses((status = 200, content_type = "text/event-stream", body = String)))]
pub(crate) async fn follow(
    _: Owner,
    State(host): State<Host>,
    stopping: Option<Extension<Stopping>>,
    PathOf(id): PathOf,
) -> Result<Sse<impl Stream<Item = Result<Sent, Infallible>>>, ErrorAnswer> {
    let session = host.pages().session(&id)?;
    let stopping = stopping.map(|Extension(stopping)| stopping);
    let following = Following { host, session, stopping, held: VecDeque::new(), is_over: false };
    let events = stream::unfold(following, |mut following| async move {
        let event = following.next().await?;
        Some((Ok(event), following))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(COMMENT_EVERY)))
}

/// One open stream.
struct Following {
    host: Host,
    session: Arc<PageSession>,
    stopping: Option<Stopping>,
    held: VecDeque<PageEvent>,
    is_over: bool,
}

impl Following {
    async fn next(&mut self) -> Option<Sent> {
        loop {
            if let Some(event) = self.held.pop_front() {
                return Some(Sent::default().event("event").data(json!(event).to_string()));
            }
            if let Some(why) = self.session.ended() {
                return self.closed(why);
            }
            let events = tokio::select! {
                events = self.host.pages().next_events(&self.session) => events.ok()?,
                () = Stopping::wait(self.stopping.as_ref()) => return None,
            };
            self.held.extend(events);
        }
    }

    /// The last that is said, once.
    fn closed(&mut self, why: EndOfPage) -> Option<Sent> {
        if std::mem::replace(&mut self.is_over, true) {
            return None;
        }
        Some(Sent::default().event("closed").data(json!({ "why": why }).to_string()))
    }
}

fn shown(host: &Host, access: &Access, session: &PageSession) -> Result<Mounted, ErrorAnswer> {
    let manifest = session.page().manifest();
    let (id, entry) = (&manifest.id, manifest.entry.replace(' ', "%20"));
    let port = access.port;
    let (origin, base, sandbox) = match session.mode() {
        PageMode::Origin => {
            let origin = format!("http://{}.localhost:{port}", session.place());
            match session.strict() {
                None => (origin.clone(), origin, "allow-scripts allow-forms allow-same-origin"),
                // With an origin an empty frame inside would have what was taken away from the page.
                Some(_) => ("null".to_owned(), origin, "allow-scripts allow-forms"),
            }
        }
        // Relative to the host page's own address, whatever name that has.
        PageMode::Opaque => {
            ("null".to_owned(), format!("{MOUNTED}{}", session.place()), "allow-scripts allow-forms")
        }
    };
    let has_clipboard = session.header_rights().contains(&Right::Clipboard);
    let frame = FrameAttributes {
        url: match manifest.native {
            true => format!("{base}/apps/{id}/ui/"),
            false => format!("{base}/apps/{id}/{entry}"),
        },
        origin,
        sandbox,
        allow: if has_clipboard { "clipboard-read; clipboard-write" } else { "" },
    };
    Ok(Mounted {
        session: session.id().to_owned(),
        page: json!(manifest),
        mode: session.mode(),
        tier: if session.strict().is_some() { "network-proof" } else { "standard" },
        frame,
        rights: host.pages().rights_of_session(session)?,
        run: session.run_id().map(str::to_owned),
    })
}
