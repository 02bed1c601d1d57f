//! What a refusal looks like: `{error, message, details?}` and nothing else. No message repeats what was sent.

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use roost_host::{
    TooOften,
    workspace::{Limit, WorkspaceError},
};
use roost_protocol::{Failure, Reason};
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

/// The codes of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    Unauthenticated,
    KeyExpired,
    KeyRevoked,
    Forbidden,
    ValidationError,
    NotFound,
    WorkspaceConflict,
    WorkspaceTooLarge,
    IdempotencyKeyMismatch,
    CapabilityNotProvided,
    RateLimited,
    UnsupportedStreamMode,
    Unprocessable,
    MethodNotAllowed,
    InternalError,
    Unavailable,
}

impl Code {
    fn as_str(self) -> &'static str {
        match self {
            Self::Unauthenticated => "unauthenticated",
            Self::KeyExpired => "key_expired",
            Self::KeyRevoked => "key_revoked",
            Self::Forbidden => "forbidden",
            Self::ValidationError => "validation_error",
            Self::NotFound => "not_found",
            Self::WorkspaceConflict => "workspace_conflict",
            Self::WorkspaceTooLarge => "workspace_too_large",
            Self::IdempotencyKeyMismatch => "idempotency_key_mismatch",
            Self::CapabilityNotProvided => "capability_not_provided",
            Self::RateLimited => "rate_limited",
            Self::UnsupportedStreamMode => "unsupported_stream_mode",
            Self::Unprocessable => "unprocessable",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::InternalError => "internal_error",
            Self::Unavailable => "unavailable",
        }
    }

    fn status(self) -> StatusCode {
        match self {
            Self::Unauthenticated | Self::KeyExpired | Self::KeyRevoked => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::ValidationError | Self::UnsupportedStreamMode => StatusCode::BAD_REQUEST,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::WorkspaceConflict | Self::IdempotencyKeyMismatch => StatusCode::CONFLICT,
            Self::WorkspaceTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::CapabilityNotProvided => StatusCode::NOT_IMPLEMENTED,
            Self::RateLimited => StatusCode::TOO_MANY_REQUESTS,
            Self::Unprocessable => StatusCode::UNPROCESSABLE_ENTITY,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::InternalError => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

/// The body of every refusal below `/v1/`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RefusalBody {
    /// A code of the contract.
    error: &'static str,
    /// What is wrong, in one sentence.
    message: String,
    /// What a program can act on.
    #[serde(skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    details: Map<String, Value>,
}

/// Why a request was refused.
#[derive(Debug)]
pub(crate) struct Refusal {
    code: Code,
    body: Box<RefusalBody>,
    retry_after_seconds: Option<u64>,
    status: StatusCode,
}

impl Refusal {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        let body = RefusalBody { error: code.as_str(), message: message.into(), details: Map::new() };
        Self { code, body: Box::new(body), retry_after_seconds: None, status: code.status() }
    }

    /// The same with one more detail.
    pub(crate) fn with(mut self, name: &str, value: Value) -> Self {
        self.body.details.insert(name.to_owned(), value);
        self
    }

    /// The same by the second version of the contract, which has another status for what is not provided.
    pub(crate) fn in_version_two(mut self) -> Self {
        if self.code == Code::CapabilityNotProvided {
            self.status = StatusCode::UNPROCESSABLE_ENTITY;
        }
        self
    }

    /// A part of the request that is not as it must be.
    pub(crate) fn invalid(field: &str, message: impl Into<String>) -> Self {
        Self::new(Code::ValidationError, message).with("field", json!(field))
    }

    /// What does not exist and what is somebody else's look the same.
    pub(crate) fn not_found() -> Self {
        Self::new(Code::NotFound, "there is nothing of this name")
    }

    pub(crate) fn too_often(too_often: &TooOften) -> Self {
        let millis = u64::try_from(too_often.after.as_millis()).unwrap_or(u64::MAX).max(1);
        let refusal = Self::new(Code::RateLimited, "too many requests; come back later");
        let mut refusal = refusal.with("retryAfterMs", json!(millis)).with("scope", json!("token"));
        refusal.retry_after_seconds = Some(millis.div_ceil(1000));
        refusal
    }
}

impl From<WorkspaceError> for Refusal {
    fn from(error: WorkspaceError) -> Self {
        let message = error.to_string();
        match error {
            WorkspaceError::NotFound => Self::not_found(),
            WorkspaceError::Conflict { current_version } => {
                Self::new(Code::WorkspaceConflict, message).with("currentVersion", json!(current_version))
            }
            WorkspaceError::TooLarge { limit, max, provided } => {
                let names = match limit {
                    Limit::Files => ("maxFiles", "providedFiles"),
                    Limit::TransferVersions => ("maxVersions", "providedVersions"),
                    Limit::FileBytes | Limit::WorkspaceBytes | Limit::TransferBytes => {
                        ("maxBytes", "providedBytes")
                    }
                };
                Self::new(Code::WorkspaceTooLarge, message)
                    .with("limit", json!(limit.name()))
                    .with(names.0, json!(max))
                    .with(names.1, json!(provided))
            }
            WorkspaceError::KeyMismatch => Self::new(Code::IdempotencyKeyMismatch, message),
            WorkspaceError::ReadOnlyForAgents => Self::new(Code::Forbidden, message),
            WorkspaceError::SecretInPath => Self::invalid("path", message),
            WorkspaceError::Edit(_) => Self::invalid("edits", message),
            WorkspaceError::Pattern(_) => Self::invalid("q", message),
            WorkspaceError::NotText => Self::invalid("encoding", message).with("expected", json!("base64")),
            WorkspaceError::NotAnExport(_) => Self::invalid("body", message),
            WorkspaceError::AlreadyThere { paths, current_version } => {
                Self::new(Code::WorkspaceConflict, message)
                    .with("currentVersion", json!(current_version))
                    .with("conflict", json!(paths))
            }
            WorkspaceError::Pinned => Self::new(Code::WorkspaceConflict, message)
                .with("currentVersion", json!(0))
                .with("pinned", json!(true)),
            WorkspaceError::Storage(error) => Failure::from(error).into(),
        }
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        let code = match failure.reason {
            Reason::WorkspacesOff => {
                return Self::new(Code::CapabilityNotProvided, failure.message)
                    .with("capability", json!("workspace"));
            }
            Reason::StorageUnavailable
            | Reason::StorageFull
            | Reason::StorageDamaged
            | Reason::StorageNewer => Code::Unavailable,
            _ => Code::InternalError,
        };
        tracing::error!(reason = failure.reason.code(), %failure, "a request failed");
        // What the engine said may name files and servers; the log has it.
        Self::new(code, failure.reason.sentence()).with("reason", json!(failure.reason))
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body)).into_response();
        if let Some(seconds) = self.retry_after_seconds {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
