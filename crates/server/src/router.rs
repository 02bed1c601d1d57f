//! All routes of the host.

use crate::{error::ErrorAnswer, guard::guard, routes};
use axum::{
    Router,
    extract::DefaultBodyLimit,
    http::Uri,
    middleware,
    routing::{get, post},
};
use roost_host::Host;
use roost_protocol::{Failure, Reason};

/// Largest request body: arguments of one call.
const BODY_BYTES_MAX: usize = 16 << 20;

/// The whole HTTP surface for a host that listens on `port`.
pub fn router(host: Host, port: u16) -> Router {
    Router::new()
        .route("/", get(routes::page::show))
        .route("/health", get(routes::health::health))
        .route("/version", get(routes::health::version))
        .route("/agents", get(routes::agents::files))
        .route("/v1/agents", get(routes::agents::list))
        .route("/v1/agents/{name}/call", post(routes::agents::call))
        .fallback(unknown_route)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(middleware::from_fn_with_state(port, guard))
        .with_state(host)
}

async fn unknown_route(uri: Uri) -> ErrorAnswer {
    ErrorAnswer(Failure::new(Reason::UnknownRoute, format!("there is nothing at {}", uri.path())))
}

async fn method_not_allowed() -> ErrorAnswer {
    ErrorAnswer(Failure::plain(Reason::MethodNotAllowed))
}
