//! Runs and events as clients see them.

use crate::openwop::moment;
use roost_host::runs::{Run, RunEvent, SeenFile};
use serde_json::{Value, json};

/// What is answered to whoever started a run.
pub(super) fn started(run: &Run) -> Value {
    json!({
        "runId": run.id,
        "status": run.status,
        "eventsUrl": format!("/v1/runs/{}/events", run.id),
        "statusUrl": format!("/v1/runs/{}", run.id),
    })
}

/// A run in a list.
pub(super) fn run_row(run: &Run) -> Value {
    let mut row = json!({
        "runId": run.id,
        "workflowId": run.workflow,
        "kind": run.kind,
        "title": run.title,
        "status": run.status,
        "startedAt": moment(run.started_at),
        "owner": {
            "tenant": run.owner.tenant.as_str(),
            "workspace": run.owner.workspace.as_str(),
            "principal": run.principal,
        },
    });
    if let Some(ended) = run.ended_at {
        row["endedAt"] = json!(moment(ended));
    }
    if let Some(origin) = &run.origin {
        row["sourceRunId"] = json!(origin.run);
        row["fromSeq"] = json!(origin.from_sequence);
        row["mode"] = json!(origin.mode.as_str());
    }
    row
}

/// A run with everything.
pub(super) fn run_document(run: &Run, files: &[SeenFile]) -> Value {
    let mut document = run_row(run);
    document["workspace"] = json!(files);
    document["inputs"] = run.inputs.clone();
    document
}

/// One event.
pub(super) fn event_document(run: &str, event: &RunEvent) -> Value {
    let mut document = json!({
        "eventId": event.id,
        "runId": run,
        "type": event.kind,
        "payload": event.payload,
        "timestamp": moment(event.at),
        "sequence": event.sequence,
    });
    if let Some(node) = &event.node {
        document["nodeId"] = json!(node);
    }
    if let Some(causation) = &event.causation {
        document["causationId"] = json!(causation);
    }
    document
}
