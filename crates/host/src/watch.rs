//! Keeps a running host's knowledge of its folder current without being asked.

use crate::{host::Host, library::watch_sideloaded};
use notify::{RecursiveMode, Watcher as _};
use roost_protocol::{Failure, Reason};
use std::{sync::Arc, time::Duration};
use tokio::{sync::Notify, task::JoinHandle};

/// Editors write a file in several steps; looking once after the last of them saves looking at each.
const SETTLE: Duration = Duration::from_millis(10);

/// File systems that do not report changes are still looked at this often.
const LOOK_ANYWAY: Duration = Duration::from_secs(30);

/// A watch that lasts as long as this value.
pub struct Watch {
    _watcher: notify::RecommendedWatcher,
    task: JoinHandle<()>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Starts watching the agents folder of a host; the first look begins at once.
pub fn watch(host: &Host) -> Result<Watch, Failure> {
    let folder = host.home().agents().to_owned();
    let refuse = |error: &dyn std::fmt::Display| {
        Failure::new(Reason::HomeUnusable, format!("watch {}: {error}", folder.display()))
    };
    std::fs::create_dir_all(&folder).map_err(|error| refuse(&error))?;
    let changed = Arc::new(Notify::new());
    let notify_changed = Arc::clone(&changed);
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Reading is what the host itself does.
        if !matches!(event, Ok(notify::Event { kind: notify::EventKind::Access(_), .. })) {
            notify_changed.notify_one();
        }
    })
    .map_err(|error| refuse(&error))?;
    watcher.watch(&folder, RecursiveMode::NonRecursive).map_err(|error| refuse(&error))?;
    let host = host.clone();
    let task = tokio::spawn(async move {
        // What changed in agents' folders while no host was there has waited long enough.
        tokio::join!(
            look_whenever(host.clone(), changed),
            host.meet_folders(),
            watch_sideloaded(host.clone())
        );
    });
    Ok(Watch { _watcher: watcher, task })
}

async fn look_whenever(host: Host, changed: Arc<Notify>) {
    loop {
        if let Err(failure) = host.look() {
            tracing::error!(reason = failure.reason.code(), %failure, "look at the agents folder");
        }
        // Either way the next look follows; a quiet folder costs one listing.
        drop(tokio::time::timeout(LOOK_ANYWAY, changed.notified()).await);
        tokio::time::sleep(SETTLE).await;
    }
}
