//! What one worker may use. Every number has a default that suits ordinary agents and can be set per agent.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Limits of one agent's worker. Units are in the names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Wall time of one call: long enough for a slow web service, short enough that a person still waits.
    pub wall_seconds: u64,
    /// Time to load the file: imports of large libraries take seconds, a hang takes forever.
    pub load_seconds: u64,
    /// CPU time of one call in the worker's own process, all threads together.
    pub cpu_seconds: u64,
    /// Memory of the worker (and of all its processes together where the kernel can count them).
    pub memory_mb: u64,
    /// Processes and threads: enough for a shell pipeline or a thread pool, too few for a bomb.
    pub processes: u64,
    /// Open files of one process.
    pub open_files: u64,
    /// What the agent may print during one call.
    pub output_mb: u64,
    /// What one call may return.
    pub result_mb: u64,
    /// What the agent's own folders may hold together, and the largest file it may write anywhere.
    pub disk_mb: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wall_seconds: 120,
            load_seconds: 20,
            cpu_seconds: 60,
            memory_mb: 1024,
            processes: 128,
            open_files: 256,
            output_mb: 8,
            result_mb: 16,
            disk_mb: 512,
        }
    }
}

impl Limits {
    /// Wall time of one call.
    #[must_use]
    pub fn wall(&self) -> Duration {
        Duration::from_secs(self.wall_seconds)
    }

    /// Time to load the file.
    #[must_use]
    pub fn load(&self) -> Duration {
        Duration::from_secs(self.load_seconds)
    }

    /// Memory in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.memory_mb.saturating_mul(1 << 20)
    }

    /// Printed bytes of one call.
    #[must_use]
    pub fn output_bytes(&self) -> u64 {
        self.output_mb.saturating_mul(1 << 20)
    }

    /// Returned bytes of one call.
    #[must_use]
    pub fn result_bytes(&self) -> u64 {
        self.result_mb.saturating_mul(1 << 20)
    }

    /// Bytes on disk.
    #[must_use]
    pub fn disk_bytes(&self) -> u64 {
        self.disk_mb.saturating_mul(1 << 20)
    }
}
