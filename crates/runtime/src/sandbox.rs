//! What the kernel enforces on a worker. The only module that may use `unsafe`.
//!
//! Today: every worker dies with its host and keeps its own orphans below it. The kernel sandbox of exec'ed
//! workers belongs in `before_exec`; that of forked Python workers in `enter_sandbox` of runners/python/worker.py.

mod exec;
mod kernel;

pub(crate) use self::exec::before_exec;
pub use self::kernel::landlock_abi;

/// How far agents stand behind the host in the queue for a processor.
pub(crate) const AGENT_NICENESS: i32 = 5;

/// How far those stand back that compute for long.
pub(crate) const LONG_COMPUTING_NICENESS: i32 = 15;

/// The name of what is enforced today, as receipts state it.
pub(crate) const LEVEL: &str = "process-only";
