//! What every request leaves behind: a line in the book when it was refused or failed, and always an answer.

use crate::openwop::{failure_at, is_contract};
use axum::{
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use futures::FutureExt as _;
use roost_host::Host;
use roost_protocol::{Failure, Reason};
use serde_json::json;
use std::panic::AssertUnwindSafe;

/// Notes what did not go well. A mistake of ours in one request ends that request, with an answer.
pub(crate) async fn record(State(host): State<Host>, request: Request, next: Next) -> Response {
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let answered = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    let response = answered.unwrap_or_else(|_| failure_at(uri.path(), Failure::plain(Reason::Internal)));
    let status = response.status();
    // Anybody on this machine may read the book, so what owners of workspaces ask for does not stand there.
    let (path, is_noted) = match is_contract(uri.path()) {
        true => ("/v1/…", status.is_server_error()),
        false => (uri.path(), status.is_client_error() || status.is_server_error()),
    };
    if is_noted {
        // Without the query, which may hold a password.
        host.book().note(
            "http_error",
            json!({
                "method": method.as_str(),
                "path": path,
                "status": status.as_u16(),
                "reason": response.extensions().get::<Reason>(),
            }),
        );
    }
    response
}
