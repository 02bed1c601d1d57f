//! Where something stands, and how full a workspace is.

use super::{Call, required};
use crate::openwop::{Asker, Refusal, RefusalBody};
use axum::{Json, extract::State, http::Uri};
use roost_host::{
    Host,
    workspace::{Case, Found, Pattern, Prefix, WorkspaceError},
};
use serde_json::{Value, json};

/// Lines that a search answers with unless told otherwise, and at most.
const LINES: i64 = 100;
const LINES_MAX: i64 = 1000;

/// Lines of text files that hold what is looked for.
#[utoipa::path(
    get, path = "/v1/host/workspace/search", tag = "workspace",
    params(
        ("q" = String, Query, description = "What to look for"),
        ("prefix" = Option<String>, Query, description = "Only in files whose name begins so"),
        ("regex" = Option<bool>, Query, description = "True for a regular expression"),
        ("ignoreCase" = Option<bool>, Query, description = "True to find `A` for `a`"),
        ("limit" = Option<i64>, Query, description = "Most lines, 1 to 1000; usually 100"),
    ),
    responses((status = 200, body = Object), (status = 400, body = RefusalBody))
)]
pub(crate) async fn search(asker: Asker, State(host): State<Host>, uri: Uri) -> Result<Json<Value>, Refusal> {
    let call = Call::reading(&asker, &host, uri).await?;
    let query = call.query(&["q", "prefix", "regex", "ignoreCase", "limit"])?;
    let text = required(&query, "q")?;
    let prefix = Prefix::parse(query.one("prefix")?.unwrap_or_default())
        .map_err(|error| Refusal::invalid("prefix", error.to_string()))?;
    let case = if query.flag("ignoreCase")?.unwrap_or(false) { Case::Ignored } else { Case::Exact };
    let pattern = match (query.flag("regex")?.unwrap_or(false), case) {
        (false, case) => Pattern::literal(text, case),
        (true, Case::Exact) => Pattern::regex(text),
        (true, Case::Ignored) => Pattern::regex(&format!("(?i){text}")),
    };
    let pattern = pattern.map_err(WorkspaceError::from)?;
    let limit = query.number("limit", 1)?.unwrap_or(LINES);
    if limit > LINES_MAX {
        return Err(Refusal::invalid("limit", format!("a search answers with at most {LINES_MAX} lines")));
    }
    let limit = usize::try_from(limit).unwrap_or_default();
    let findings = call.workspaces.search(&call.owner, &prefix, &pattern, limit).await?;
    let files: Vec<Value> = findings.files.iter().map(found).collect();
    Ok(Json(json!({ "files": files, "truncated": findings.is_cut })))
}

fn found(found: &Found) -> Value {
    let matches = found.matches.iter();
    let matches: Vec<Value> = matches
        .map(|place| json!({ "line": place.line, "column": place.column, "text": place.text }))
        .collect();
    json!({ "path": found.path, "version": found.version, "matches": matches })
}

/// How full the workspace is, and what its limits are.
#[utoipa::path(
    get, path = "/v1/host/workspace/usage", tag = "workspace",
    params(("perFile" = Option<bool>, Query, description = "True to say the size of each file too")),
    responses((status = 200, body = Object), (status = 401, body = RefusalBody))
)]
pub(crate) async fn usage(asker: Asker, State(host): State<Host>, uri: Uri) -> Result<Json<Value>, Refusal> {
    let call = Call::reading(&asker, &host, uri).await?;
    let per_file = call.query(&["perFile"])?.flag("perFile")?.unwrap_or(false);
    let usage = call.workspaces.usage(&call.owner).await?;
    let limits = call.workspaces.limits();
    let mut shown = json!({
        "files": usage.files, "bytes": usage.bytes, "historyBytes": usage.history_bytes,
        "versions": usage.versions, "revision": usage.sequence,
        "limits": {
            "maxFiles": limits.files_max, "maxFileBytes": limits.file_bytes_max,
            "maxVersions": limits.versions_max, "maxWorkspaceBytes": limits.workspace_bytes_max,
        },
    });
    if per_file {
        let files = call.workspaces.list(&call.owner, &Prefix::default()).await?.files;
        let files = files.iter().map(|file| json!({ "path": file.path, "bytes": file.bytes }));
        shown["perFile"] = files.collect();
    }
    Ok(Json(shown))
}
