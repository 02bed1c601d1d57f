//! An answer that no memory should hold: one message of a gibibyte, made while it is sent.

use axum::{
    body::{Body, Bytes},
    http::{Response, header},
    routing::post,
};
use futures::{StreamExt as _, stream};
use std::convert::Infallible;
use tonic::service::Routes;

const MESSAGE_BYTES: u32 = 1 << 30;
const PIECE_BYTES: usize = 64 << 10;

/// The same app, whose tool answers so.
pub(crate) fn in_place_of_the_tool(routes: Routes) -> Routes {
    let router = routes.into_axum_router();
    Routes::from(router.route("/apps.v0.ToolService/Execute", post(gibibyte)))
}

async fn gibibyte() -> Response<Body> {
    // Not compressed, and so long: what stands before every message of gRPC.
    let [a, b, c, d] = MESSAGE_BYTES.to_be_bytes();
    let head = stream::iter([Bytes::copy_from_slice(&[0, a, b, c, d])]);
    let pieces = MESSAGE_BYTES as usize / PIECE_BYTES;
    let piece = Bytes::from(vec![b'x'; PIECE_BYTES]);
    let body = stream::iter(std::iter::repeat_n(piece, pieces));
    let body = Body::from_stream(head.chain(body).map(Ok::<Bytes, Infallible>));
    let mut response = Response::new(body);
    let kind = header::HeaderValue::from_static("application/grpc");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
