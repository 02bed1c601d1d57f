//! The place for submissions: a zip, or JSON that names a repository, with a token for an account.

use super::StoreDoor;
use crate::error::ErrorAnswer;
use axum::{
    Json,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use roost_host::{
    catalogs::RepositoryAddress,
    storefront::{Payload, Received, StoreError, Submitter},
};
use roost_protocol::{Failure, Reason};
use serde::Deserialize;
use serde_json::json;
use std::time::Duration;

/// Largest body: the gate refuses a zip of 5 MiB itself, and says so with its code.
const BODY_BYTES_MAX: usize = 6 << 20;

/// How long a body may take to arrive.
const BODY_WITHIN: Duration = Duration::from_secs(30);

/// A submission that names a repository.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    /// `https://github.com/OWNER/REPOSITORY[/tree/REF[/FOLDER]]`.
    repository: String,
}

/// Takes a submission in. Whose it is says the token alone.
pub(super) async fn submit(State(door): State<StoreDoor>, headers: HeaderMap, body: Body) -> Response {
    match take(&door, &headers, body).await {
        Ok(received) => (StatusCode::ACCEPTED, Json(received)).into_response(),
        Err(StoreError::Refused(errors)) => {
            (StatusCode::UNPROCESSABLE_ENTITY, Json(json!({ "ok": false, "errors": errors }))).into_response()
        }
        Err(StoreError::Failed(failure)) => ErrorAnswer(failure).into_response(),
    }
}

async fn take(door: &StoreDoor, headers: &HeaderMap, body: Body) -> Result<Received, StoreError> {
    // Before anything of the body is read: nobody without a token takes up room.
    let submitter = submitter(door, headers).await?;
    let Ok(_place) = door.submissions.try_acquire() else {
        return Err(Failure::new(Reason::StoreBusy, "too many submissions at once").into());
    };
    let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if length.is_some_and(|length: u64| length > BODY_BYTES_MAX as u64) {
        return Err(too_large().into());
    }
    let bytes = read(body, BODY_WITHIN).await?;
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    match kind.split(';').next().unwrap_or_default().trim() {
        "application/zip" | "application/octet-stream" => {
            door.store.submit_zip(bytes.into(), submitter, Payload::default()).await
        }
        "application/json" => {
            let named: Named = serde_json::from_slice(&bytes)
                .map_err(|error| Failure::new(Reason::BadRequest, error.to_string()))?;
            let address = RepositoryAddress::parse(&named.repository)?;
            door.store.submit_repository(address, submitter, Payload::default()).await
        }
        _ => {
            let message = "send a zip as application/zip, or {\"repository\": …} as application/json";
            Err(Failure::new(Reason::BadRequest, message).into())
        }
    }
}

async fn submitter(door: &StoreDoor, headers: &HeaderMap) -> Result<Submitter, StoreError> {
    let shown = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = shown.and_then(|shown| shown.strip_prefix("Bearer ")).map(str::trim);
    match token {
        Some(token) => door.store.submitter_of(token.to_owned()).await,
        None => Err(Failure::new(Reason::TokenRefused, "no token was shown").into()),
    }
}

async fn read(body: Body, within: Duration) -> Result<Bytes, Failure> {
    match tokio::time::timeout(within, axum::body::to_bytes(body, BODY_BYTES_MAX)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(_)) => Err(too_large()),
        Err(_) => {
            let message = format!("the submission did not arrive within {} s", within.as_secs());
            Err(Failure::new(Reason::BadRequest, message))
        }
    }
}

fn too_large() -> Failure {
    Failure::new(Reason::BodyTooLarge, format!("a submission has at most {BODY_BYTES_MAX} bytes"))
}

#[cfg(test)]
mod tests {
    use super::{BODY_BYTES_MAX, Body, Bytes, Reason, read};
    use std::{convert::Infallible, time::Duration};

    #[tokio::test]
    async fn a_body_that_never_ends_is_given_up_in_time_and_in_size() {
        let silent = futures::stream::pending::<Result<Bytes, Infallible>>();
        let slow = read(Body::from_stream(silent), Duration::from_millis(5)).await;
        assert_eq!(slow.unwrap_err().reason, Reason::BadRequest);
        let piece = Bytes::from(vec![0; 1 << 20]);
        let endless = futures::stream::repeat_with(move || Ok::<_, Infallible>(piece.clone()));
        let large = read(Body::from_stream(endless), Duration::from_secs(60)).await;
        assert_eq!(large.unwrap_err().reason, Reason::BodyTooLarge);
        let fits = read(Body::from(vec![0; BODY_BYTES_MAX]), Duration::from_secs(60)).await;
        assert_eq!(fits.unwrap().len(), BODY_BYTES_MAX);
    }
}
