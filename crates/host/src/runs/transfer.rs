//! Runs that travel: everything that happened, and the files as the run saw them, in one document.

use super::{
    Moment, Run, RunEvent, RunKind, RunStatus, SeenFile, in_words,
    recorder::{new_id, now},
    records::Begin,
};
use crate::host::Host;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use roost_protocol::{Failure, Reason};
use roost_workspace::{Condition, Content, FilePath, Owner, WorkspaceName, Write, Writer};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// What the document says it is.
const FORMAT: &str = "roost-run/1";

/// Files and events a document may have; a run of ours has fewer.
const FILES_MAX: usize = 10_000;
const EVENTS_MAX: usize = 100_000;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    format: String,
    run: Head,
    events: Vec<RunEvent>,
    files: Vec<CarriedFile>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    id: String,
    kind: RunKind,
    workflow: String,
    title: String,
    status: RunStatus,
    started_at: i64,
    ended_at: Option<i64>,
    inputs: Value,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CarriedFile {
    path: String,
    version: i64,
    content_type: String,
    sha256: String,
    /// Base64.
    content: String,
}

/// A run that came from elsewhere.
#[derive(Debug, Clone, Serialize)]
pub struct ImportedRun {
    /// Its name here.
    pub run: String,
    /// Its name there.
    pub from: String,
    /// Files that came with it.
    pub files: usize,
    /// Events that came with it.
    pub events: usize,
}

impl Host {
    /// Everything about a run that ended, as one document.
    pub async fn export_run(&self, run: &Run) -> Result<Value, Failure> {
        if !run.status.is_final() {
            return Err(Failure::new(Reason::BadRequest, "the run has not ended yet"));
        }
        let events = self.run_events(run, -1, i64::from(i32::MAX)).await?;
        let workspaces = self.workspaces().await?;
        let Moment { owner, sequence } = &run.moment;
        let versions = self.run_files(run).await?;
        let mut files = Vec::new();
        for SeenFile { path, version } in versions {
            let path = FilePath::of_folder(&path).map_err(|_| broken("a name is not one"))?;
            let file = workspaces.get_then(owner, *sequence, &path).await.map_err(in_words)?;
            files.push(CarriedFile {
                path: path.as_str().to_owned(),
                version,
                content_type: file.info.content_type,
                sha256: hex::encode(Sha256::digest(&file.content)),
                content: STANDARD.encode(&file.content),
            });
        }
        let head = Head {
            id: run.id.clone(),
            kind: run.kind,
            workflow: run.workflow.clone(),
            title: run.title.clone(),
            status: run.status,
            started_at: run.started_at,
            ended_at: run.ended_at,
            inputs: run.inputs.clone(),
        };
        let document = Document { format: FORMAT.to_owned(), run: head, events, files };
        serde_json::to_value(document).map_err(|error| Failure::new(Reason::Internal, error.to_string()))
    }

    /// Takes a run over. Its files get a workspace of their own, so that nothing here changes.
    pub async fn import_run(
        &self,
        owner: &Owner,
        principal: &str,
        document: Value,
    ) -> Result<ImportedRun, Failure> {
        let Document { format, run: head, events, files } =
            serde_json::from_value(document).map_err(|error| broken(&error.to_string()))?;
        if format != FORMAT {
            return Err(broken("it says that it is something else"));
        }
        if !head.status.is_final() || files.len() > FILES_MAX || events.len() > EVENTS_MAX {
            return Err(broken("it is too large, or of a run that goes on"));
        }
        if (0..).zip(&events).any(|(sequence, event)| event.sequence != sequence) {
            return Err(broken("its events are not in order"));
        }
        let writes: Vec<Write> = files.iter().map(write).collect::<Result<_, _>>()?;
        let id = new_id();
        let moment = self.bring_files(owner, &id, writes).await?;
        let seen = |file: &CarriedFile| SeenFile { path: file.path.clone(), version: file.version };
        let imported =
            ImportedRun { run: id.clone(), from: head.id, files: files.len(), events: events.len() };
        let run = Run {
            id,
            owner: owner.clone(),
            kind: head.kind,
            workflow: head.workflow,
            title: head.title,
            status: head.status,
            principal: principal.to_owned(),
            moment,
            files: Some(files.iter().map(seen).collect()),
            started_at: now(),
            ended_at: Some(now()),
            origin: None,
            inputs: json!({ "importedFrom": imported.from, "startedAt": head.started_at, "endedAt": head.ended_at }),
        };
        let database = self.inner.store.database().await?;
        database.write(&owner.tenant, Begin { run, events }).await?;
        Ok(imported)
    }

    async fn bring_files(&self, owner: &Owner, id: &str, writes: Vec<Write>) -> Result<Moment, Failure> {
        let name = id.replacen("run_", "run.", 1);
        let workspace = WorkspaceName::parse(&name).map_err(|_| broken("its name cannot be used"))?;
        let owner = Owner { tenant: owner.tenant.clone(), workspace };
        if writes.is_empty() {
            return Ok(Moment { owner, sequence: 0 });
        }
        let workspaces = self.workspaces().await?;
        let writer = Writer::person("owner").because("brought with a run");
        workspaces.write(&owner, &writer, writes, None).await.map_err(in_words)?;
        let sequence = workspaces.take_snapshot(&owner).await.map_err(in_words)?;
        Ok(Moment { owner, sequence })
    }
}

fn write(file: &CarriedFile) -> Result<Write, Failure> {
    let path = FilePath::of_folder(&file.path).map_err(|error| broken(&error.to_string()))?;
    let bytes = STANDARD.decode(&file.content).map_err(|_| broken("a content is not base64"))?;
    if hex::encode(Sha256::digest(&bytes)) != file.sha256 {
        return Err(Failure::new(Reason::DigestMismatch, "a file of the run is not the one it names"));
    }
    let content = Content { bytes, content_type: file.content_type.clone() };
    Ok(Write { path, condition: Condition::create_only(), content: Some(content) })
}

fn broken(what: &str) -> Failure {
    Failure::new(Reason::BadRequest, format!("this is not an exported run: {what}"))
}
