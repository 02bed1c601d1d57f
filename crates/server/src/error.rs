//! Failures as answers: the only place that maps reasons to status codes.

use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use roost_protocol::{Failure, Reason, Receipt};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

/// What every failure looks like, on every route.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ErrorBody {
    /// What is wrong, in one sentence.
    error: String,
    /// A code of docs/reasons.md.
    #[schema(value_type = String)]
    reason: Reason,
    /// The line of an agent file it is about.
    line: Option<u32>,
    /// What to do about it.
    next: String,
}

impl From<Failure> for ErrorBody {
    fn from(failure: Failure) -> Self {
        let next = failure.next_step().to_owned();
        Self { error: failure.message, reason: failure.reason, line: failure.line, next }
    }
}

/// A failure on its way to a client.
#[derive(Debug)]
pub(crate) struct ErrorAnswer(pub(crate) Failure);

impl ErrorAnswer {
    /// The status it is answered with.
    pub(crate) fn status(&self) -> StatusCode {
        status_of(self.0.reason)
    }

    pub(crate) fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self(Failure::new(reason, message))
    }
}

impl From<Failure> for ErrorAnswer {
    fn from(failure: Failure) -> Self {
        Self(failure)
    }
}

impl IntoResponse for ErrorAnswer {
    fn into_response(self) -> Response {
        let Self(failure) = self;
        let status = status_of(failure.reason);
        // A service that fails has said so in its own log.
        if status == StatusCode::INTERNAL_SERVER_ERROR && failure.reason != Reason::ServiceFailed {
            tracing::error!(reason = failure.reason.code(), %failure, "a request failed");
        }
        let (reason, whole) = (failure.reason, failure.clone());
        let mut response = with_reason((status, Json(ErrorBody::from(failure))).into_response(), reason);
        // For clients that expect failures in another form.
        response.extensions_mut().insert(whole);
        response
    }
}

/// An agent that ran and failed, on a route whose clients look at the status instead of the outcome.
pub(crate) fn agent_failed(failure: Failure, receipt: &Receipt) -> Response {
    let status = match failure.reason {
        Reason::BadArguments => StatusCode::BAD_REQUEST,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    let reason = failure.reason;
    let next = failure.next_step().to_owned();
    let body = json!({
        "error": failure.message, "reason": reason, "line": failure.line, "next": next, "receipt": receipt,
    });
    with_reason((status, Json(body)).into_response(), reason)
}

/// Leaves the reason where the book finds it.
fn with_reason(mut response: Response, reason: Reason) -> Response {
    response.extensions_mut().insert(reason);
    response
}

fn status_of(reason: Reason) -> StatusCode {
    match reason {
        Reason::UnknownAgent
        | Reason::UnknownRoute
        | Reason::UnknownSession
        | Reason::UnknownService
        | Reason::UnknownSecret
        | Reason::UnknownSource
        | Reason::UnknownFile
        | Reason::UnknownToken
        | Reason::UnknownRun
        | Reason::UnknownFileRequest
        | Reason::UnknownCatalog
        | Reason::UnknownEntry
        | Reason::UnknownApp
        | Reason::UnknownPage
        | Reason::UnknownPageSession
        | Reason::UnknownNativeApp
        | Reason::UnknownApproval
        | Reason::UnknownSchedule
        | Reason::UnknownVersion => StatusCode::NOT_FOUND,
        Reason::TokenRefused => StatusCode::UNAUTHORIZED,
        Reason::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        Reason::BadRequest
        | Reason::BadArguments
        | Reason::InvalidFileName
        | Reason::DigestMismatch
        | Reason::BundleInvalid
        | Reason::LockInvalid
        | Reason::WrongUse
        | Reason::AddressRefused
        | Reason::SettingRefused
        | Reason::OauthRefused
        | Reason::UnknownModel => StatusCode::BAD_REQUEST,
        Reason::TooDeep => StatusCode::LOOP_DETECTED,
        Reason::OauthFailed
        | Reason::ModelLimited
        | Reason::ModelRefused
        | Reason::ModelUnreachable
        | Reason::ModelSilent
        | Reason::LocalModelMissing
        | Reason::LocalModelFailed => StatusCode::BAD_GATEWAY,
        reason if is_of_a_catalog(reason) => StatusCode::BAD_GATEWAY,
        Reason::BodyTooLarge | Reason::WorkspaceFull => StatusCode::PAYLOAD_TOO_LARGE,
        Reason::ForeignOrigin
        | Reason::ForeignHost
        | Reason::ForeignAccount
        | Reason::RightMissing
        | Reason::RightNotAsked
        | Reason::DeniedByPolicy
        | Reason::OwnerOnly
        | Reason::GatedNoToken
        | Reason::GatedNoAccess
        | Reason::TicketInvalid
        | Reason::WrongPassword => StatusCode::FORBIDDEN,
        Reason::PagesLimited => StatusCode::TOO_MANY_REQUESTS,
        reason if is_unusable_now(reason) => StatusCode::SERVICE_UNAVAILABLE,
        Reason::StorageFull => StatusCode::INSUFFICIENT_STORAGE,
        Reason::WorkspacesOff => StatusCode::NOT_IMPLEMENTED,
        reason if is_in_the_way(reason) => StatusCode::CONFLICT,
        // What clients of the kernels expect when there is nobody to ask.
        Reason::ModelUnavailable
        | Reason::NotSignedIn
        | Reason::NoCopilotAccess
        | Reason::ModelGarbled
        | Reason::LoginFailed
        | Reason::ServiceFailed
        | Reason::Internal
        | Reason::HomeUnusable => StatusCode::INTERNAL_SERVER_ERROR,
        // The rest says that an agent or what it needs does not work: the request was right, its target is not.
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    }
}

/// True where what the host needs cannot be used now, and may be again.
fn is_unusable_now(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::Busy
            | Reason::StoreBusy
            | Reason::SandboxUnavailable
            | Reason::GrantsUnusable
            | Reason::AuditUnusable
            | Reason::StorageUnavailable
            | Reason::StorageDamaged
            | Reason::StorageNewer
            | Reason::LibraryBusy
            | Reason::LibraryUnusable
            | Reason::VaultUnusable
    )
}

/// True where something that is there already does not let it be done.
fn is_in_the_way(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::Shadowed
            | Reason::Disabled
            | Reason::AlreadyExists
            | Reason::AmbiguousEntry
            | Reason::IdTaken
            | Reason::FileTaken
            | Reason::NoPreviousVersion
            | Reason::FileChanged
            | Reason::RunCancelled
    )
}

/// True for what another computer did wrong while a catalog or an app was fetched from it.
fn is_of_a_catalog(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::CatalogUnavailable
            | Reason::CatalogInvalid
            | Reason::FetchUnreachable
            | Reason::FetchSlow
            | Reason::FetchMissing
            | Reason::FetchDenied
            | Reason::FetchRefused
            | Reason::FetchRedirected
            | Reason::FetchTooLarge
            | Reason::FetchCutOff
            | Reason::FetchGarbled
            | Reason::CommitUnknown
    )
}
