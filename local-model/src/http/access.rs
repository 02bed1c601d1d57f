//! Lets in who bears the key. Loopback is open to every program of the computer, and to web pages in its browsers.

use super::Door;
use super::refusal::Refusal;
use axum::extract::{Request, State};
use axum::http::header::AUTHORIZATION;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

pub(crate) async fn require_key(State(door): State<Arc<Door>>, request: Request, next: Next) -> Response {
    let given =
        request.headers().get(AUTHORIZATION).and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
    match given {
        Some(given) if same(given, door.key.as_bytes()) => next.run(request).await,
        _ => Refusal::unauthorized().into_response(),
    }
}

/// Compares every byte, so that the time taken says nothing about where keys differ.
fn same(given: &[u8], key: &[u8]) -> bool {
    given.len() == key.len()
        && given.iter().zip(key).fold(0, |differences, (a, b)| differences | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::same;

    #[test]
    fn only_the_whole_key_is_the_key() {
        assert!(same(b"abc", b"abc"));
        assert!(
            !same(b"abd", b"abc") && !same(b"ab", b"abc") && !same(b"abcd", b"abc") && !same(b"", b"abc")
        );
    }
}
