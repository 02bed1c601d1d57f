//! What agents remembered for a user, read for the context of a call. The files are the agents' own; nothing is
//! written here.

use roost_protocol::UserGuid;
use serde_json::{Map, Value};
use std::{
    collections::HashMap,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

/// A memory file larger than this is left to the agents themselves.
const MEMORY_BYTES_MAX: u64 = 8 << 20;

/// Users whose memories are kept parsed; others are read again when they come back.
const USERS_KEPT_MAX: usize = 256;

/// One remembered thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) message: String,
    pub(crate) theme: String,
    /// Date and time as written, so that text order is time order.
    pub(crate) written: String,
    pub(crate) words: Vec<String>,
}

/// Reads memory files, each only when it changed.
#[derive(Debug)]
pub(crate) struct Memories {
    data: PathBuf,
    known: Mutex<HashMap<PathBuf, Known>>,
}

#[derive(Debug, Clone)]
struct Known {
    stamp: (u64, i64, i64, u64),
    memories: Arc<[Memory]>,
}

impl Memories {
    pub(crate) fn new(data: PathBuf) -> Self {
        Self { data, known: Mutex::default() }
    }

    /// The memories of one user, or the shared ones for nobody in particular; oldest first.
    pub(crate) fn of(&self, user: Option<&UserGuid>) -> Arc<[Memory]> {
        let path = match user.filter(|user| !user.is_default()) {
            Some(user) => self.data.join("memory").join(user.as_str()).join("user_memory.json"),
            None => self.data.join("shared_memories/memory.json"),
        };
        let Ok(metadata) = fs::metadata(&path) else { return Arc::default() };
        let changed = metadata.ctime().wrapping_mul(1_000_000_000).wrapping_add(metadata.ctime_nsec());
        let stamp = (metadata.ino(), changed, metadata.mtime_nsec(), metadata.len());
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(&path).filter(|known| known.stamp == stamp) {
            return Arc::clone(&known.memories);
        }
        if metadata.len() > MEMORY_BYTES_MAX || !metadata.is_file() {
            return Arc::default();
        }
        let memories: Arc<[Memory]> = read(&path).into();
        if known.len() >= USERS_KEPT_MAX {
            known.clear();
        }
        known.insert(path, Known { stamp, memories: Arc::clone(&memories) });
        memories
    }
}

/// A file that is missing or damaged holds no memories; the agents' own storage says so when they use it.
fn read(path: &Path) -> Vec<Memory> {
    let records: Map<String, Value> =
        fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    let mut memories: Vec<Memory> = records.values().filter_map(memory).collect();
    memories.sort_by(|left, right| left.written.cmp(&right.written));
    memories
}

fn memory(record: &Value) -> Option<Memory> {
    let text = |key: &str| record.get(key).and_then(Value::as_str).unwrap_or_default();
    let message = text("message");
    if message.is_empty() {
        return None;
    }
    Some(Memory {
        message: message.to_owned(),
        theme: text("theme").to_owned(),
        written: format!("{}T{}", text("date"), text("time")),
        words: words(message),
    })
}

/// Lower-case words of three letters and more, without those every sentence has.
pub(crate) fn words(text: &str) -> Vec<String> {
    const EMPTY: &[&str] = &[
        "the", "and", "for", "are", "was", "with", "that", "this", "you", "your", "what", "how", "can",
        "from", "have", "has", "not", "but", "all", "his", "her", "its", "our", "they", "them", "will",
        "would", "please",
    ];
    let mut words: Vec<String> = text
        .split(|character: char| !character.is_alphanumeric())
        .filter(|word| word.chars().nth(2).is_some())
        .map(str::to_lowercase)
        .filter(|word| !EMPTY.contains(&word.as_str()))
        .collect();
    words.sort_unstable();
    words.dedup();
    words
}

#[cfg(test)]
mod tests {
    use super::Memories;
    use roost_protocol::{DEFAULT_USER_GUID, UserGuid};
    use std::fs;

    #[test]
    fn each_user_has_memories_of_their_own_and_a_change_is_seen() {
        let data = tempfile::tempdir().unwrap();
        let write = |path: &str, message: &str| {
            let path = data.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let record =
                serde_json::json!({ "x": { "message": message, "date": "2026-01-01", "time": "10:00:00" } });
            fs::write(path, record.to_string()).unwrap();
        };
        write("shared_memories/memory.json", "everybody likes tea");
        write("memory/anna/user_memory.json", "Anna likes coffee");
        let memories = Memories::new(data.path().to_owned());
        let first = |user: Option<&str>| {
            let user = user.map(|user| UserGuid::parse(user).unwrap());
            memories.of(user.as_ref()).first().map(|memory| memory.message.clone())
        };
        assert_eq!(first(None).unwrap(), "everybody likes tea");
        assert_eq!(first(Some(DEFAULT_USER_GUID)).unwrap(), "everybody likes tea");
        assert_eq!(first(Some("anna")).unwrap(), "Anna likes coffee");
        assert_eq!(first(Some("bert")), None);
        write("memory/anna/user_memory.json", "Anna now likes water");
        assert_eq!(first(Some("anna")).unwrap(), "Anna now likes water");
        fs::write(data.path().join("memory/anna/user_memory.json"), "{ half").unwrap();
        assert_eq!(first(Some("anna")), None);
    }
}
