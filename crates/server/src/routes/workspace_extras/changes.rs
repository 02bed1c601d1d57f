//! Changes of several files at once, of a name, and of single lines.

use super::{BODY_BYTES_MAX, Call, existing_path, new_path, shapes};
use crate::openwop::{Asker, Object, Refusal, RefusalBody};
use axum::{
    Json,
    extract::{Request, State},
    http::{HeaderName, HeaderValue, header},
    response::{IntoResponse as _, Response},
};
use roost_host::{
    Host,
    workspace::{Answered, BatchError, CONTENT_TYPE, Condition, Content, Done, Edit, IfMatch, Once, Write},
};
use serde::Deserialize;
use serde_json::{Value, json};

/// Most operations of a batch: as many as a workspace usually has files.
const OPERATIONS_MAX: usize = 256;

/// Largest body of a batch: many files at once, with room for escapes.
const BATCH_BYTES_MAX: usize = 64 << 20;

/// Says that an answer is one from before.
const REPLAYED: HeaderName = HeaderName::from_static("openwop-idempotent-replay");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Batch {
    operations: Vec<Object<Operation>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Operation {
    op: Op,
    path: String,
    content: Option<String>,
    content_type: Option<String>,
    encoding: Option<String>,
    if_match: Option<String>,
    #[serde(default)]
    create_only: bool,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Op {
    Put,
    Delete,
}

impl Operation {
    fn write(self) -> Result<Write, Refusal> {
        let if_match = self.if_match.as_deref().map(|tags| IfMatch::parse([tags])).transpose();
        let if_match = if_match.map_err(|error| Refusal::invalid("ifMatch", error.to_string()))?;
        let condition = match (if_match, self.create_only) {
            (None, true) => Condition::create_only(),
            (Some(_), true) => {
                return Err(Refusal::invalid("createOnly", "a new file has no tag to match"));
            }
            (if_match, false) => Condition::of_headers(if_match, None),
        };
        if self.op == Op::Delete {
            let has_content =
                self.content.is_some() || self.content_type.is_some() || self.encoding.is_some();
            if has_content || self.create_only {
                return Err(Refusal::invalid("op", "a removal has a path and perhaps ifMatch, nothing else"));
            }
            return Ok(Write { path: existing_path("path", &self.path)?, condition, content: None });
        }
        let content = self.content.ok_or_else(|| Refusal::invalid("content", "a put needs a content"))?;
        let content = Content {
            bytes: shapes::decoded(content, self.encoding.as_deref())?,
            content_type: shapes::content_type(self.content_type.unwrap_or_else(|| CONTENT_TYPE.to_owned()))?,
        };
        Ok(Write { path: new_path("path", &self.path)?, condition, content: Some(content) })
    }
}

/// Writes and removes several files, all or nothing and in order. Honours Idempotency-Key.
#[utoipa::path(
    post, path = "/v1/host/workspace/batch", tag = "workspace", request_body = Object,
    responses((status = 200, body = Object), (status = 409, description = "details.index says which", body = RefusalBody))
)]
pub(crate) async fn batch(
    asker: Asker,
    State(host): State<Host>,
    request: Request,
) -> Result<Response, Refusal> {
    let call = Call::writing(&asker, &host, request, BATCH_BYTES_MAX).await?;
    let once = call.headers().idempotency_key()?;
    let once = once.map(|key| ("workspace.batch".to_owned(), Once::new(key, &[&call.body])));
    let Batch { operations } = call.object()?;
    if operations.is_empty() || operations.len() > OPERATIONS_MAX {
        let message = format!("a batch has 1 to {OPERATIONS_MAX} operations");
        return Err(Refusal::invalid("operations", message));
    }
    let mut writes = Vec::with_capacity(operations.len());
    for (index, Object(operation)) in operations.into_iter().enumerate() {
        writes.push(operation.write().map_err(|refusal| refusal.with("index", json!(index)))?);
    }
    let removes: Vec<bool> = writes.iter().map(|write| write.content.is_none()).collect();
    let made = call.workspaces.write_batch(&call.owner, &call.writer, writes, once).await;
    let Answered { value, replayed } = made.map_err(|BatchError { index, error }| {
        let refusal = Refusal::from(error);
        match index {
            Some(index) => refusal.with("index", json!(index)),
            None => refusal,
        }
    })?;
    let results: Vec<Value> =
        value.iter().zip(removes).map(|(done, removes)| result(done, removes)).collect();
    let mut response = Json(json!({ "results": results })).into_response();
    if replayed {
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    Ok(response)
}

fn result(done: &Done, removes: bool) -> Value {
    match done {
        Done::Made(info) if removes => shapes::removal(info),
        done => shapes::written(done),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Move {
    from: String,
    to: String,
}

/// Gives a file another name that is free, in one step. Honours If-Match, which is about the old name.
#[utoipa::path(
    post, path = "/v1/host/workspace/move", tag = "workspace", request_body = Object,
    responses((status = 200, body = Object), (status = 409, body = RefusalBody))
)]
pub(crate) async fn rename(
    asker: Asker,
    State(host): State<Host>,
    request: Request,
) -> Result<Response, Refusal> {
    let call = Call::writing(&asker, &host, request, BODY_BYTES_MAX).await?;
    let Move { from, to } = call.object()?;
    let (from, to) = (existing_path("from", &from)?, new_path("to", &to)?);
    if from == to {
        return Err(Refusal::invalid("to", "this is the name that it has"));
    }
    let condition = call.headers().condition()?;
    Ok(shapes::answer(&call.workspaces.rename(&call.owner, &call.writer, &from, &to, &condition).await?))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Edits {
    path: String,
    edits: Vec<Object<Edit>>,
}

/// Changes some lines of a file. Needs If-Match: lines are those of a version, and `*` means whichever there is.
#[utoipa::path(
    post, path = "/v1/host/workspace/edit", tag = "workspace", request_body = Object,
    responses((status = 200, body = Object), (status = 409, body = RefusalBody))
)]
pub(crate) async fn edit(
    asker: Asker,
    State(host): State<Host>,
    request: Request,
) -> Result<Response, Refusal> {
    let call = Call::writing(&asker, &host, request, BODY_BYTES_MAX).await?;
    let Edits { path, edits } = call.object()?;
    let path = existing_path("path", &path)?;
    if edits.is_empty() {
        return Err(Refusal::invalid("edits", "there is nothing to change"));
    }
    let condition = call.headers().condition()?;
    if !call.headers.contains_key(header::IF_MATCH) {
        let message = "an edit says which version it is for: send its etag, or `*` for whichever there is";
        return Err(Refusal::invalid("If-Match", message));
    }
    let edits: Vec<Edit> = edits.into_iter().map(|Object(edit)| edit).collect();
    Ok(shapes::answer(&call.workspaces.edit(&call.owner, &call.writer, &path, &edits, &condition).await?))
}
