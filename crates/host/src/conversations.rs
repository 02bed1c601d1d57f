//! Conversations that the host keeps: for peers that leave the transcript to it, and for the terminal.
//!
//! One file per conversation, one line per turn. A turn is appended in one write, so that a stop in the middle loses
//! that turn and nothing else.

use crate::{host::Host, store::local_owner};
use roost_protocol::{Failure, Reason};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

/// Longest transcript; a conversation beyond it has to begin anew.
const TRANSCRIPT_BYTES_MAX: u64 = 32 << 20;

/// Messages of one turn: what was said, and every call with its answer.
const TURN_MESSAGES_MAX: usize = 256;

/// Conversations that are listed; older ones are still there.
const LISTED_MAX: usize = 200;

/// Names one conversation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SessionId(String);

impl SessionId {
    /// A new one.
    #[must_use]
    pub fn new() -> Self {
        Self(uuid::Uuid::new_v4().to_string())
    }

    /// Only what was made here can name a file here.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let well_formed = uuid::Uuid::try_parse(text).is_ok_and(|uuid| uuid.to_string() == text);
        if well_formed { Ok(Self(text.to_owned())) } else { Err(Failure::plain(Reason::UnknownSession)) }
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for SessionId {
    fn default() -> Self {
        Self::new()
    }
}

/// One turn of a conversation, as it is kept.
#[derive(Debug, Serialize, Deserialize)]
struct KeptTurn {
    time: String,
    messages: Vec<Value>,
}

/// A conversation in the list.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ConversationListing {
    /// Its id.
    pub session_id: String,
    /// How it began.
    pub title: String,
    /// When it was last continued.
    pub time: String,
    /// How many turns it has.
    pub turns: usize,
}

/// The conversations of one home.
#[derive(Debug, Clone)]
pub struct Conversations {
    folder: PathBuf,
}

impl Conversations {
    /// The conversations in this folder; makes nothing yet.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The messages of a conversation, oldest first.
    pub fn messages(&self, session: &SessionId) -> Result<Vec<Value>, Failure> {
        let path = self.path(session);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(Failure::plain(Reason::UnknownSession));
            }
            Err(error) => return Err(unusable(&path, &error)),
        };
        Ok(turns(&bytes).into_iter().flat_map(|turn| turn.messages).collect())
    }

    /// Adds one turn and returns when it is on disk.
    pub fn append(&self, session: &SessionId, messages: &[Value]) -> Result<(), Failure> {
        let path = self.path(session);
        let turn = KeptTurn { time: jiff::Timestamp::now().to_string(), messages: messages.to_vec() };
        let mut line = serde_json::to_vec(&turn)
            .map_err(|error| Failure::new(Reason::Internal, format!("write a turn: {error}")))?;
        line.push(b'\n');
        let write = || -> io::Result<bool> {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
            let mut file = OpenOptions::new().append(true).create(true).read(true).mode(0o600).open(&path)?;
            let length = file.metadata()?.len();
            if length + line.len() as u64 > TRANSCRIPT_BYTES_MAX {
                return Ok(false);
            }
            // A turn that was cut off by a stop must not swallow this one.
            if !ends_with_line(&path, length)? {
                line.insert(0, b'\n');
            }
            file.write_all(&line)?;
            file.sync_data()?;
            Ok(true)
        };
        let mut write = write;
        match write() {
            Ok(true) => Ok(()),
            Ok(false) => {
                Err(Failure::new(Reason::BadRequest, "the conversation is too long; begin a new one"))
            }
            Err(error) => Err(unusable(&path, &error)),
        }
    }

    /// Forgets a conversation.
    pub fn remove(&self, session: &SessionId) -> Result<(), Failure> {
        let path = self.path(session);
        match fs::remove_file(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(Failure::plain(Reason::UnknownSession))
            }
            removed => removed.map_err(|error| unusable(&path, &error)),
        }
    }

    /// The newest conversations, newest first.
    #[must_use]
    pub fn list(&self) -> Vec<ConversationListing> {
        let Ok(entries) = fs::read_dir(&self.folder) else { return Vec::new() };
        let mut found: Vec<(std::time::SystemTime, SessionId)> = entries
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                let session = SessionId::parse(name.strip_suffix(".jsonl")?).ok()?;
                Some((entry.metadata().ok()?.modified().ok()?, session))
            })
            .collect();
        found.sort_by_key(|(modified, _)| std::cmp::Reverse(*modified));
        found.into_iter().take(LISTED_MAX).filter_map(|(_, session)| self.listing(&session)).collect()
    }

    fn listing(&self, session: &SessionId) -> Option<ConversationListing> {
        let turns = turns(&fs::read(self.path(session)).ok()?);
        let last = turns.last()?;
        let title = turns.first()?.messages.first()?["content"].as_str().unwrap_or_default();
        Some(ConversationListing {
            session_id: session.as_str().to_owned(),
            title: title.chars().take(80).collect(),
            time: last.time.clone(),
            turns: turns.len(),
        })
    }

    /// What was answered to a request with this key before.
    #[must_use]
    pub fn replay(&self, key: &str) -> Option<Vec<u8>> {
        fs::read(self.key_path(key)).ok()
    }

    /// Keeps an answer, so that the same request is not run twice.
    pub fn keep_answer(&self, key: &str, answer: &[u8]) -> Result<(), Failure> {
        let path = self.key_path(key);
        let folder = self.folder.join("answers");
        let write = || -> io::Result<()> {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
            let mut staged = tempfile::NamedTempFile::new_in(&folder)?;
            staged.write_all(answer)?;
            staged.as_file().sync_data()?;
            staged.persist(&path).map(drop).map_err(|error| error.error)
        };
        write().map_err(|error| unusable(&path, &error))
    }

    fn path(&self, session: &SessionId) -> PathBuf {
        self.folder.join(format!("{}.jsonl", session.as_str()))
    }

    /// A key is any text of a client; its digest is a file name.
    fn key_path(&self, key: &str) -> PathBuf {
        let name: String = Sha256::digest(key.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        self.folder.join("answers").join(name)
    }
}

impl Host {
    /// Adds a turn that a client had, as it may be kept: values of the vault are taken out.
    pub fn keep_turn(&self, session: &SessionId, mut messages: Vec<Value>) -> Result<(), Failure> {
        let is_message = |message: &Value| {
            matches!(message["role"].as_str(), Some("user" | "assistant" | "tool"))
                && message["content"].is_string()
        };
        if messages.is_empty() || messages.len() > TURN_MESSAGES_MAX || !messages.iter().all(is_message) {
            let what =
                format!("a turn has 1 to {TURN_MESSAGES_MAX} messages, each with `role` and `content`");
            return Err(Failure::new(Reason::BadRequest, what));
        }
        let redactions = self.redactions(&local_owner().tenant);
        messages.iter_mut().for_each(|message| redactions.redact_json(message));
        self.append_to_conversation(session, &messages)
    }
}

/// Lines that cannot be read were cut off by a stop; the turns around them stay.
fn turns(bytes: &[u8]) -> Vec<KeptTurn> {
    bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

fn ends_with_line(path: &Path, length: u64) -> io::Result<bool> {
    use std::os::unix::fs::FileExt as _;
    if length == 0 {
        return Ok(true);
    }
    let mut last = [0];
    fs::File::open(path)?.read_exact_at(&mut last, length - 1)?;
    Ok(last == *b"\n")
}

fn unusable(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Reason::HomeUnusable, format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::{Conversations, SessionId};
    use roost_protocol::Reason;
    use serde_json::json;
    use std::{fs, io::Write as _};

    #[test]
    fn turns_are_kept_in_order_and_a_torn_one_costs_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let conversations = Conversations::new(folder.path().join("conversations"));
        let session = SessionId::new();
        assert_eq!(conversations.messages(&session).unwrap_err().reason, Reason::UnknownSession);
        conversations.append(&session, &[json!({ "role": "user", "content": "one" })]).unwrap();
        let path = folder.path().join(format!("conversations/{}.jsonl", session.as_str()));
        fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"time\":\"cut").unwrap();
        conversations.append(&session, &[json!({ "role": "user", "content": "two" })]).unwrap();
        let said: Vec<String> = conversations
            .messages(&session)
            .unwrap()
            .iter()
            .map(|message| message["content"].to_string())
            .collect();
        assert_eq!(said, ["\"one\"", "\"two\""]);
        let listed = conversations.list();
        assert_eq!((listed.len(), listed[0].turns, listed[0].title.as_str()), (1, 2, "one"));
        conversations.remove(&session).unwrap();
        assert_eq!(conversations.remove(&session).unwrap_err().reason, Reason::UnknownSession);
        assert!(conversations.list().is_empty());
    }

    #[test]
    fn only_ids_that_were_made_here_name_a_file() {
        for bad in [
            "..",
            "../x",
            "",
            "x",
            "{00000000-0000-4000-8000-000000000000}",
            "A0000000-0000-4000-8000-000000000000",
        ] {
            assert_eq!(SessionId::parse(bad).unwrap_err().reason, Reason::UnknownSession, "{bad}");
        }
        let made = SessionId::new();
        assert_eq!(SessionId::parse(made.as_str()).unwrap(), made);
    }

    #[test]
    fn an_answer_is_kept_under_any_key() {
        let folder = tempfile::tempdir().unwrap();
        let conversations = Conversations::new(folder.path().to_owned());
        assert_eq!(conversations.replay("../../x"), None);
        conversations.keep_answer("../../x", b"answer").unwrap();
        assert_eq!(conversations.replay("../../x").unwrap(), b"answer");
        assert_eq!(conversations.replay("other"), None);
    }
}
