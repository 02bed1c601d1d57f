//! What this host offers of the OpenWOP contract, for programs that look before they ask.

use crate::openwop::RefusalBody;
use axum::{
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use roost_host::{Host, workspace::Limits};
use roost_protocol::Digest;
use serde_json::{Value, json};

/// The version of the contract.
const PROTOCOL_VERSION: &str = "1.0";

/// Workflows that tests start.
const FIXTURES: [&str; 1] = ["conformance-noop"];

/// How runs can be forked.
const FORK_MODES: [&str; 2] = ["replay", "branch"];

/// Nobody needs to ask more often than every five minutes.
const CACHED: HeaderValue = HeaderValue::from_static("public, max-age=300");

/// What this host offers; for everybody.
#[utoipa::path(get, path = "/.well-known/openwop", tag = "workspace",
    params(("If-None-Match" = Option<String>, Header)),
    responses(
        (status = 200, body = Object, headers(("ETag" = String), ("Cache-Control" = String))),
        (status = 304, description = "The reader has it"),
        (status = 403, description = "A page from elsewhere asks", body = RefusalBody),
    ))]
pub(crate) async fn show(State(host): State<Host>, headers: HeaderMap) -> Response {
    let body = document(host.workspace_limits()).to_string();
    let tag = format!("\"{}\"", Digest::of(body.as_bytes()));
    let is_known = headers.get_all(header::IF_NONE_MATCH).iter().any(|value| {
        let tags = value.to_str().unwrap_or_default();
        tags.split(',').map(|one| one.trim().trim_start_matches("W/")).any(|one| one == tag || one == "*")
    });
    let mut response = if is_known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        ([(header::CONTENT_TYPE, "application/json")], body).into_response()
    };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, CACHED);
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    response
}

fn document(limits: Option<&Limits>) -> Value {
    let mut document = json!({
        "protocolVersion": PROTOCOL_VERSION,
        "supportedEnvelopes": [],
        "schemaVersions": {},
        "limits": { "clarificationRounds": 0, "schemaRounds": 0, "envelopesPerTurn": 0 },
        "capabilities": {},
        "fixtures": FIXTURES,
        "replay": { "supported": true, "modes": FORK_MODES },
    });
    if let Some(limits) = limits {
        let workspace = json!({
            "supported": true,
            "versioned": true,
            "maxFileBytes": limits.file_bytes_max,
            "maxFiles": limits.files_max,
            "maxVersions": limits.versions_max,
        });
        // Newer clients look at the root, older ones below `capabilities`.
        document["capabilities"]["workspace"] = workspace.clone();
        document["workspace"] = workspace;
    }
    document
}

#[cfg(test)]
mod tests {
    use super::document;
    use roost_host::workspace::Limits;
    use serde_json::json;

    #[test]
    fn only_what_there_is_is_said() {
        let nothing = document(None);
        assert!(nothing.get("workspace").is_none(), "{nothing}");
        assert_eq!(nothing["capabilities"], json!({}));
        let all = document(Some(&Limits::default()));
        assert_eq!(all["fixtures"], json!(["conformance-noop"]));
        assert_eq!(all["replay"], json!({ "supported": true, "modes": ["replay", "branch"] }));
        assert_eq!(all["capabilities"]["workspace"], all["workspace"]);
        assert_eq!(all["workspace"]["maxFiles"], 256);
    }
}
