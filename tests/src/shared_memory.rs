//! A segment of System V shared memory that everybody may use, as bait for an agent.

use crate::program::find_on_path;
use std::{
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
};

/// It goes with this value.
#[derive(Debug)]
pub struct SharedMemory {
    key: u32,
    id: String,
}

impl SharedMemory {
    /// A new segment; `None`, and said so, without the Perl that makes it.
    #[must_use]
    pub fn new() -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(1);
        let key = (std::process::id() << 8) | (NUMBER.fetch_add(1, Ordering::Relaxed) & 0xff);
        let id =
            perl("print shmget($ARGV[0], 64, 01666) // ''", &key.to_string()).filter(|id| !id.is_empty());
        if id.is_none() {
            eprintln!("skipped: no Perl that makes shared memory");
        }
        Some(Self { key, id: id? })
    }

    /// What others find it by.
    #[must_use]
    pub fn key(&self) -> u32 {
        self.key
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        perl("shmctl($ARGV[0], 0, 0)", &self.id);
    }
}

#[expect(clippy::disallowed_methods, reason = "no library here makes shared memory")]
fn perl(script: &str, argument: &str) -> Option<String> {
    let output = Command::new(find_on_path("perl")?).args(["-e", script, argument]).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
