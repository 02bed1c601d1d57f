//! Calls that did not go as wished, kept so that they can be explained later: what happened and the receipt, never
//! what went in or came out.

use roost_protocol::{AgentName, AppId, CallId, Failure, Reason, Receipt};
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File, OpenOptions},
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
};

/// A log of this size is put aside, and the one that was put aside before it goes.
const LOG_BYTES_MAX: u64 = 4 << 20;

/// Longest line that is read back: a receipt with everything in it is far below.
const LINE_BYTES_MAX: usize = 1 << 20;

/// One kept call.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CallRecord {
    /// When it ended, UTC.
    pub time: String,
    /// The agent.
    pub agent: AgentName,
    /// Its file.
    pub app: AppId,
    /// Why there was no output, if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// What was enforced, used and refused.
    pub receipt: Receipt,
}

/// The log of one home.
#[derive(Debug)]
pub(crate) struct CallLog {
    path: PathBuf,
    set_aside: PathBuf,
}

impl CallLog {
    pub(crate) fn new(logs: &Path) -> Self {
        Self { path: logs.join("calls.jsonl"), set_aside: logs.join("calls.1.jsonl") }
    }

    /// Keeps a call. A disk that is full must not turn an answer into a failure.
    pub(crate) fn keep(&self, record: &CallRecord) {
        if let Err(error) = self.append(record) {
            tracing::warn!(%error, "keep the record of a call");
        }
    }

    fn append(&self, record: &CallRecord) -> std::io::Result<()> {
        use std::os::unix::fs::OpenOptionsExt as _;
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        if fs::metadata(&self.path).is_ok_and(|metadata| metadata.len() > LOG_BYTES_MAX) {
            fs::rename(&self.path, &self.set_aside)?;
        }
        let mut line = serde_json::to_vec(record)?;
        line.push(b'\n');
        // One write, so that lines of several processes do not mix.
        OpenOptions::new().create(true).append(true).mode(0o600).open(&self.path)?.write_all(&line)
    }

    /// The call with this id.
    pub(crate) fn find(&self, call: &str) -> Result<CallRecord, Failure> {
        let in_file = |path: &PathBuf| {
            let file = File::open(path).ok()?;
            let lines = BufReader::new(file).split(b'\n').map_while(Result::ok);
            let mut fitting = lines.filter(|line| line.len() < LINE_BYTES_MAX).filter_map(|line| {
                let record: CallRecord = serde_json::from_slice(&line).ok()?;
                (record.receipt.call.as_str() == call).then_some(record)
            });
            fitting.next()
        };
        [&self.path, &self.set_aside]
            .into_iter()
            .find_map(in_file)
            .ok_or_else(|| Failure::new(Reason::UnknownCall, format!("no call `{call}` is remembered")))
    }
}

/// True for text that has the form of a call's id.
pub(crate) fn is_call_id(text: &str) -> bool {
    let parts: Vec<&str> = text.strip_prefix('c').map(|rest| rest.split('-').collect()).unwrap_or_default();
    parts.len() == 3
        && parts[0].len() == 11
        && text[1..].bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// Makes ids of calls: by time, process and number, so that no two calls of a home have the same.
#[derive(Debug, Default)]
pub(crate) struct CallIds(std::sync::atomic::AtomicU64);

impl CallIds {
    pub(crate) fn next(&self) -> CallId {
        let now = u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or_default();
        CallId::new(now, std::process::id(), self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::{CallIds, is_call_id};

    #[test]
    fn ids_are_told_from_names() {
        let ids = CallIds::default();
        let (first, second) = (ids.next(), ids.next());
        assert!(is_call_id(first.as_str()), "{first}");
        assert!(first < second);
        for name in ["calculator", "c", "c-1-2", "", "cafe-babe-1", "call_agent.py"] {
            assert!(!is_call_id(name), "{name}");
        }
    }
}
