//! One cause, the evidence, and the next step, for anything that does not work.

use crate::{
    call_log::{CallRecord, is_call_id},
    host::Host,
    knowledge::NoProgress,
    library::{AppListing, AppState},
};
use roost_protocol::{AgentListing, AgentState, Failure, Reason, Serving};
use serde::Serialize;

/// Lines of a log that are evidence enough.
const EVIDENCE_LINES: usize = 12;

/// Only the end of a log is read.
const EVIDENCE_BYTES: u64 = 16 << 10;

/// The answer to "why?".
#[derive(Debug, Serialize)]
pub struct Explanation {
    /// What was asked about.
    pub subject: String,
    /// True when there is nothing wrong with it.
    pub works: bool,
    /// The code, when there is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// The cause in one sentence.
    pub cause: String,
    /// Where to look.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The last lines the agent printed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    /// What to do.
    pub next: String,
}

/// Explains an installed app by its id, an agent or a service by name or file, a call by its id, or a reason code.
pub async fn explain(host: &Host, subject: &str) -> Result<Explanation, Failure> {
    if let Some(reason) = Reason::ALL.iter().find(|reason| reason.code() == subject) {
        return Ok(Explanation {
            subject: subject.to_owned(),
            works: false,
            reason: Some(*reason),
            cause: reason.sentence().to_owned(),
            place: None,
            evidence: Vec::new(),
            next: reason.next().to_owned(),
        });
    }
    if is_call_id(subject) {
        return host.inner.call_log.find(subject).map(|record| explain_call(&record));
    }
    match host.library().show(subject).await {
        Ok(app) => return Ok(explain_app(&app)),
        Err(failure) if failure.reason == Reason::UnknownApp => {}
        Err(failure) => return Err(failure),
    }
    let agents = host.agents(&NoProgress).await?;
    let fits = |agent: &&AgentListing| agent.name == subject || agent.file == subject;
    // The one that does not work is the one the question is about.
    let worst = agents.iter().filter(fits).max_by_key(|agent| agent.state != AgentState::Ready);
    if let Some(agent) = worst {
        let next = format!("roost call {}", agent.name);
        return Ok(explain_listed(host, agent, &host.path_of(agent), next));
    }
    host.services().await?;
    let services = host.inner.services.listings();
    let worst = services.iter().filter(fits).max_by_key(|one| one.state != AgentState::Ready);
    let unknown =
        || Failure::new(Reason::UnknownAgent, format!("no agent, file or reason is called `{subject}`"));
    let service = worst.ok_or_else(unknown)?;
    let path = host.home().services().join(&service.file);
    Ok(explain_listed(
        host,
        service,
        &path,
        format!("see http://127.0.0.1/api/{} of a running host", service.name),
    ))
}

/// How an installed app stands.
fn explain_app(app: &AppListing) -> Explanation {
    let works = matches!(app.state, AppState::Enabled | AppState::PendingUpdate);
    let version = app.version.as_deref().unwrap_or("without a version");
    let cause = match &app.reason {
        Some(failure) => failure.message.clone(),
        None => format!("{version}, from {}, is installed and answers.", app.origin.sentence()),
    };
    let next = app.reason.as_ref().map(|failure| failure.next_step().to_owned());
    let first = app.agents.first().map(|name| format!("roost call {name}"));
    Explanation {
        subject: app.id.clone(),
        works,
        reason: app.reason.as_ref().map(|failure| failure.reason),
        cause,
        place: app.agent_file.clone().or_else(|| app.service_file.clone()),
        evidence: Vec::new(),
        next: next.or(first).unwrap_or_else(|| "roost apps".to_owned()),
    }
}

/// What went wrong in one call, and the grant that would have let it go on.
fn explain_call(record: &CallRecord) -> Explanation {
    let receipt = &record.receipt;
    let evidence = receipt
        .refused
        .iter()
        .map(|refusal| format!("refused {} times: {}; {}", refusal.count, refusal.what, refusal.next));
    let named = receipt.refused.iter().find(|refusal| refusal.right.is_some());
    let (reason, cause, next) = match (&record.error, named) {
        (Some(failure), _) => (Some(failure.reason), failure.message.clone(), failure.next_step().to_owned()),
        (None, Some(refusal)) => (
            Some(Reason::RightMissing),
            format!("It answered, but not allowed: {}", refusal.what),
            refusal.next.clone(),
        ),
        (None, None) => {
            (None, "It answered; what was refused to it needs no grant.".to_owned(), String::new())
        }
    };
    Explanation {
        subject: format!("{} of {} at {}", receipt.call, record.agent, record.time),
        works: record.error.is_none() && named.is_none(),
        reason,
        cause,
        place: Some(record.app.to_string()),
        evidence: evidence.collect(),
        next: if next.is_empty() { format!("roost rights {}", record.app) } else { next },
    }
}

fn explain_listed(
    host: &Host,
    agent: &AgentListing,
    path: &std::path::Path,
    next_when_it_works: String,
) -> Explanation {
    let subject = agent.name.clone();
    let Some(failure) = &agent.reason else {
        return Explanation {
            subject,
            works: true,
            reason: None,
            cause: "It is loaded and can be called.".to_owned(),
            place: Some(path.display().to_string()),
            evidence: Vec::new(),
            next: next_when_it_works,
        };
    };
    let line = failure.line.map(|line| format!(":{line}")).unwrap_or_default();
    let mut cause = failure.message.clone();
    if agent.serving == Some(Serving::LastGood) {
        cause.push_str(" (its last good version keeps answering)");
    }
    Explanation {
        subject,
        works: false,
        reason: Some(failure.reason),
        cause,
        place: Some(format!("{}{line}", path.display())),
        evidence: last_lines(&host.runtime().log_path(path)),
        next: failure.next_step().to_owned(),
    }
}

fn last_lines(log: &std::path::Path) -> Vec<String> {
    use std::io::{Read as _, Seek as _, SeekFrom};
    let Ok(mut file) = std::fs::File::open(log) else { return Vec::new() };
    let length = file.metadata().map(|metadata| metadata.len()).unwrap_or_default();
    let mut bytes = Vec::new();
    let read = file
        .seek(SeekFrom::Start(length.saturating_sub(EVIDENCE_BYTES)))
        .and_then(|_| file.read_to_end(&mut bytes));
    if read.is_err() {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    lines.iter().skip(lines.len().saturating_sub(EVIDENCE_LINES)).map(|line| (*line).to_owned()).collect()
}
