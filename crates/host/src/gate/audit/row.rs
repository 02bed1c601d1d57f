//! One line of the log: what is in it, and how it is chained to the line before.

use super::super::shown_text::shown;
use super::pending::Waiting;
use jiff::Timestamp;
use roost_protocol::{AppId, Digest, Origin, Reason, Right};
use serde::{Deserialize, Serialize};

/// Longest detail. Enough for a path; too little to carry off contents.
const DETAIL_CHARACTERS_MAX: usize = 300;

/// Longest id of an app and longest right: what the host accepts for both.
const TEXT_CHARACTERS_MAX: usize = 4096;

/// What the hash of a row follows in its line.
const HASH_FIELD: &str = ",\"hash\":\"";

/// One recorded event, or several equal ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Counts from 1, without gaps.
    pub sequence: u64,
    /// When the first of the counted events happened.
    pub time: Timestamp,
    /// Whom it is about; empty for the log itself.
    pub app: String,
    /// The beginning of the app's content digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Where the app came from; absent when the operator did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// What kind of event.
    pub what: What,
    /// The right it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub right: Option<String>,
    /// A few words more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// How it ended.
    pub decision: Outcome,
    /// Why, where it was not allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Reason>,
    /// How often.
    pub count: u64,
    /// The hash of the row before.
    pub previous: Digest,
    /// The hash of the row before and of this row without this field.
    pub hash: Digest,
}

/// What kind of event a row records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
    /// The gate was asked.
    Decide,
    /// The kernel or the proxy refused something.
    Refused,
    /// A person answered about a right: gave it or said no.
    Grant,
    /// A right was taken back.
    Revoke,
    /// The log went on after something was wrong with it.
    Repaired,
}

/// How an event ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The right may be used.
    Allowed,
    /// It may not.
    Denied,
    /// The sandbox did not let it happen.
    Refused,
    /// It was done.
    Done,
    /// It was begun and could not be done.
    Failed,
}

/// Everything of a row that makes it equal to another.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Subject {
    pub(crate) app: Option<AppId>,
    pub(crate) digest: Option<Digest>,
    pub(crate) origin: Option<Origin>,
    pub(crate) what: What,
    pub(crate) right: Option<Right>,
    pub(crate) detail: Option<String>,
    pub(crate) decision: Outcome,
    pub(crate) why: Option<Reason>,
}

impl Subject {
    /// The log itself was repaired.
    pub(super) fn repaired(detail: String) -> Self {
        Self {
            app: None,
            digest: None,
            origin: None,
            what: What::Repaired,
            right: None,
            detail: Some(detail),
            decision: Outcome::Done,
            why: None,
        }
    }

    /// What was denied, unrecorded, because the log could not be written; counted.
    pub(super) fn unrecorded() -> Self {
        let detail = "not recorded one by one: the log could not be written".to_owned();
        Self { decision: Outcome::Denied, why: Some(Reason::AuditUnusable), ..Self::repaired(detail) }
    }
}

/// What the first row follows.
pub(super) fn beginning() -> Digest {
    Digest::of(b"roost audit log, form 1")
}

/// Writes the line of a row, and gives its hash.
pub(super) fn write_line(
    line: &mut Vec<u8>,
    waiting: &Waiting,
    sequence: u64,
    previous: Digest,
) -> Result<Digest, serde_json::Error> {
    let subject = &waiting.subject;
    let row = Row {
        sequence,
        time: waiting.time,
        app: subject.app.as_ref().map_or_else(String::new, shown_app),
        digest: subject.digest.map(|digest| digest.short()),
        origin: subject.origin,
        what: subject.what,
        right: subject.right.as_ref().map(|right| shown(&right.to_string(), TEXT_CHARACTERS_MAX)),
        detail: subject.detail.as_ref().map(|detail| shown(detail, DETAIL_CHARACTERS_MAX)),
        decision: subject.decision,
        why: subject.why,
        count: waiting.count,
        previous,
        // Stands in for the real one, which has the same length.
        hash: previous,
    };
    let start = line.len();
    serde_json::to_writer(&mut *line, &row)?;
    let body_end = line.len() - HASH_TEXT_BYTES;
    let hash = hash(&previous, &line[start..body_end]);
    line.truncate(body_end);
    line.extend_from_slice(HASH_FIELD.as_bytes());
    line.extend_from_slice(hash.to_string().as_bytes());
    line.extend_from_slice(b"\"}\n");
    Ok(hash)
}

/// `,"hash":"`, 64 digits, `"}`.
const HASH_TEXT_BYTES: usize = HASH_FIELD.len() + 64 + 2;

/// How an app's id stands in rows.
pub(super) fn shown_app(app: &AppId) -> String {
    shown(app.as_str(), TEXT_CHARACTERS_MAX)
}

/// The place in the chain up to which rows were seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) sequence: u64,
    pub(super) hash: Digest,
}

impl Link {
    /// Before the first row.
    pub(super) fn first() -> Self {
        Self { sequence: 0, hash: beginning() }
    }

    /// Reads the line that must follow, without its end, and moves on to it.
    pub(super) fn follow(&mut self, line: &[u8]) -> Result<Row, String> {
        let row: Row = serde_json::from_slice(line).map_err(|error| format!("is not a row: {error}"))?;
        if row.previous != self.hash {
            return Err("does not follow the row before it".to_owned());
        }
        if row.sequence != self.sequence + 1 {
            return Err(format!("has number {} where {} belongs", row.sequence, self.sequence + 1));
        }
        // The bytes count, not their meaning: a row that reads the same and is written otherwise was changed.
        let body_end = line.len().saturating_sub(HASH_TEXT_BYTES);
        let expected_end = format!("{HASH_FIELD}{}\"}}", row.hash);
        if &line[body_end..] != expected_end.as_bytes() || hash(&self.hash, &line[..body_end]) != row.hash {
            return Err("was changed: its hash does not fit".to_owned());
        }
        *self = Self { sequence: row.sequence, hash: row.hash };
        Ok(row)
    }
}

/// Over the hash before, and the row's text without its hash, closed by a brace.
fn hash(previous: &Digest, body: &[u8]) -> Digest {
    let mut text = previous.to_string().into_bytes();
    text.extend_from_slice(body);
    text.push(b'}');
    Digest::of(&text)
}
