//! What one call may use: time, CPU of everything it started, and disk. Looked at from outside while it runs.

use crate::{
    disk::Disk,
    process::{self, CpuClock},
};
use roost_protocol::{Failure, Reason};
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// CPU time after which a call counts as computing for long.
const LONG_COMPUTING: Duration = Duration::from_millis(200);

/// The time of one call.
#[derive(Debug)]
pub(crate) struct Budget {
    pub(crate) within: Duration,
    pub(crate) cpu: Duration,
}

/// Resolves when the call took too long, or used too much of the processor or the disk. One timer serves all. Meanwhile an agent
/// that computes for long steps back behind those that answer quickly.
pub(crate) async fn used_up(
    pid: u32,
    deadline: Instant,
    cpu: Option<CpuClock>,
    cpu_end: Duration,
    disk: &mut Disk,
) -> Reason {
    let cpu_start = cpu.and_then(CpuClock::now).unwrap_or_default();
    let mut has_stepped_back = false;
    let mut children_before = None;
    let mut now = Instant::now();
    loop {
        sleep_until(deadline.min(now + disk.pause())).await;
        now = Instant::now();
        if now >= deadline {
            return Reason::TimeLimit;
        }
        // What it started counts as well, also what is over by now.
        let children = process::cpu_of_descendants(pid);
        let children = children.saturating_sub(*children_before.get_or_insert(children));
        let used = cpu.and_then(CpuClock::now).unwrap_or_default() + children;
        if used > cpu_end {
            return Reason::CpuLimit;
        }
        if disk.is_over(pid) {
            return Reason::DiskLimit;
        }
        if !has_stepped_back && used > cpu_start + LONG_COMPUTING {
            has_stepped_back = true;
            process::step_back(pid);
        }
    }
}

/// The failure of a call that used up something.
pub(crate) fn over(reason: Reason, limit: Duration) -> Failure {
    Failure::new(reason, format!("{} The limit is {} s.", reason.sentence(), limit.as_secs()))
}
