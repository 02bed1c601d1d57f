//! A store over HTTP: what everybody may read, and one place for submissions. A door of its own, beside the host's.
//!
//! Reading needs nothing. Submitting needs a token, and everything about it is decided by the store.

mod files; // the catalog, the apps and the static API
mod native; // native apps, keys and what was taken back
mod submit; // the place for submissions

use crate::{
    guard::{Access, Neighbours, OtherAccounts, guard},
    openwop::failure_at,
    serve::{Listening, serve_until},
};
use axum::{
    Router,
    http::{Method, StatusCode, Uri},
    middleware,
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use roost_host::storefront::HostStorefront;
use roost_protocol::{Failure, Reason};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Submissions that are read and judged at once: each may hold some megabytes.
const SUBMISSIONS_AT_ONCE: usize = 4;

/// What the routes of a store share.
#[derive(Clone)]
pub(crate) struct StoreDoor {
    store: HostStorefront,
    submissions: Arc<Semaphore>,
}

/// The routes of a store.
pub fn store_router(store: HostStorefront, port: u16, neighbours: Neighbours) -> Router {
    // A store is there for others; it gives what is published and takes what is offered.
    let neighbours = Neighbours { other_accounts: OtherAccounts::Served, ..neighbours };
    let door = StoreDoor { store, submissions: Arc::new(Semaphore::new(SUBMISSIONS_AT_ONCE)) };
    Router::new()
        .route("/index.json", get(files::show))
        .route("/apps/{*path}", get(files::show))
        .route("/api/v1/apps", get(native::list))
        .route("/api/v1/apps/signing-key", get(native::signing_key))
        .route("/api/v1/apps/revocations", get(native::revocations))
        .route("/api/v1/apps/{id}", get(native::show))
        .route("/api/v1/apps/{id}/reviews", get(native::reviews))
        .route("/api/v1/apps/{id}/download", get(native::download))
        .route("/api/v1/{*path}", get(files::show))
        .route("/submit", post(submit::submit))
        .fallback(unknown)
        .method_not_allowed_fallback(other_method)
        .layer(middleware::from_fn_with_state(Arc::new(Access { port, neighbours }), guard))
        .with_state(door)
}

impl Listening {
    /// Serves a store until `stop` resolves, then lets running requests finish.
    pub async fn serve_store(
        self,
        store: HostStorefront,
        neighbours: Neighbours,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), Failure> {
        let port = self.port();
        serve_until(self, store_router(store, port, neighbours), stop).await
    }
}

async fn unknown(uri: Uri) -> Response {
    let path = uri.path();
    failure_at(path, Failure::new(Reason::UnknownRoute, format!("there is nothing at {path}")))
}

async fn other_method(method: Method, uri: Uri) -> Response {
    match method {
        Method::OPTIONS => StatusCode::NO_CONTENT.into_response(),
        _ => failure_at(uri.path(), Failure::plain(Reason::MethodNotAllowed)),
    }
}
