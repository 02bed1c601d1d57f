//! The test seam of the conformance suite: any operation for any owner. It goes past the isolation of tenants, so it is
//! there only where the settings say so, and looks like an unknown address everywhere else.

use super::{
    new_file::NewFile,
    operations::{Counted, Files, path_in},
    shapes::{Encoding, Names},
};
use crate::openwop::{Asker, Refusal, failure_at};
use axum::{
    body::Bytes,
    extract::{FromRequestParts as _, Request, State},
    response::Response,
};
use roost_host::{
    Host,
    workspace::{Condition, IfMatch, Owner, Prefix, WorkspaceName, Writer},
};
use roost_protocol::{Failure, Reason, Tenant};
use serde::Deserialize;

/// Largest body: a file as JSON.
const BODY_BYTES_MAX: usize = 16 << 20;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Operation {
    tenant: String,
    workspace: String,
    op: String,
    path: Option<String>,
    content: Option<String>,
    content_type: Option<String>,
    if_match: Option<String>,
    prefix: Option<String>,
    version: Option<i64>,
}

/// Does one operation for the owner that the body names; only where `[workspace] test_seam` says so.
#[utoipa::path(post, path = "/v1/host/sample/workspace/op", tag = "workspace", request_body = Object,
    responses((status = 200, description = "As the operation answers", body = Object)))]
pub(crate) async fn operate(State(host): State<Host>, request: Request) -> Result<Response, Refusal> {
    if !host.has_test_seam() {
        let unknown = Failure::plain(Reason::UnknownRoute);
        return Ok(failure_at(request.uri().path(), unknown));
    }
    let (mut parts, body) = request.into_parts();
    let asker = Asker::from_request_parts(&mut parts, &host).await?;
    let workspaces = host.workspaces().await?;
    let body = axum::body::to_bytes(body, BODY_BYTES_MAX).await;
    let asked = read(&body.map_err(|_| Refusal::invalid("body", "the body did not arrive"))?)?;
    let tenant =
        Tenant::parse(&asked.tenant).map_err(|error| Refusal::invalid("tenant", error.to_string()))?;
    let workspace = WorkspaceName::parse(&asked.workspace)
        .map_err(|error| Refusal::invalid("workspace", error.to_string()))?;
    let writer = Writer::person(&asker.credential.principal);
    let files = Files::of_anybody(workspaces, Owner { tenant, workspace }, writer);
    act(&files, asked).await
}

async fn act(files: &Files, asked: Operation) -> Result<Response, Refusal> {
    if asked.op == "list" {
        let prefix = Prefix::parse(asked.prefix.as_deref().unwrap_or_default());
        let prefix = prefix.map_err(|error| Refusal::invalid("prefix", error.to_string()))?;
        return files.list(&prefix, Names::Portable).await;
    }
    // The name stands in JSON, where a percent sign is nothing special.
    let raw = asked.path.unwrap_or_default().replace('%', "%25");
    let path = path_in(&raw, Names::Portable)?;
    let if_match = asked.if_match.as_deref().map(|tags| IfMatch::parse([tags])).transpose();
    let if_match = if_match.map_err(|error| Refusal::invalid("ifMatch", error.to_string()))?;
    let condition = Condition::of_headers(if_match, None);
    match asked.op.as_str() {
        "get" if asked.version.is_some_and(|version| version < 1) => {
            Err(Refusal::invalid("version", "this must be a whole number from 1 on"))
        }
        "get" => files.get(&path, asked.version, Encoding::Text, None).await,
        "put" => {
            let content = asked.content.ok_or_else(|| Refusal::invalid("content", "`content` is missing"))?;
            let content = NewFile::new(content, asked.content_type).into_content(Encoding::Text)?;
            files.put(path, condition, content, Encoding::Text, Counted::never()).await
        }
        "delete" => files.delete(path, condition, Counted::never()).await,
        _ => Err(Refusal::invalid("op", "`op` is list, get, put or delete")),
    }
}

fn read(body: &Bytes) -> Result<Operation, Refusal> {
    serde_json::from_slice(body).map_err(|_| Refusal::invalid("body", "the body is not an operation"))
}
