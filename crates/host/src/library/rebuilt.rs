//! Apps whose author built them again: seen in their folders, copied, tried and let serve in place of what served.
//!
//! A folder that is being written to is left alone until it is quiet. What the host itself does there or with its own
//! copy is no change: only another content counts. A content that does not answer changes nothing.

use super::{
    AppLibrary, Choice,
    source::{Brought, program_refused},
};
use crate::host::Host;
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use roost_apps::{
    Stamp,
    library::{AppOrigin, Package},
    native::{NativePackage, find_binary},
};
use roost_protocol::{Failure, Reason};
use serde_json::json;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};
use tokio::sync::Notify;

/// A build writes its files one after the other, and each in several steps.
const QUIET_FOR: Duration = Duration::from_millis(500);

/// A folder that is never quiet is looked at all the same.
const QUIET_WITHIN: Duration = Duration::from_secs(10);

/// File systems that do not report changes are still looked at this often.
const LOOK_ANYWAY: Duration = Duration::from_secs(30);

/// What a program was made of when it was last looked at.
type Seen = BTreeMap<PathBuf, Vec<Option<Stamp>>>;

/// Watches the folders of sideloaded apps for as long as this is waited for.
pub(crate) async fn watch_sideloaded(host: Host) {
    let changed = Arc::new(Notify::new());
    let notify_changed = Arc::clone(&changed);
    let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Reading is what the host itself does.
        if !matches!(event, Ok(notify::Event { kind: notify::EventKind::Access(_), .. })) {
            notify_changed.notify_one();
        }
    });
    let mut watcher = watcher.inspect_err(|error| tracing::warn!(%error, "watch sideloaded apps")).ok();
    let mut watched = BTreeSet::new();
    let mut seen = Seen::new();
    loop {
        let folders = host.library().sideloaded_folders();
        let mut places = vec![host.home().library().apps];
        places.extend(folders.iter().map(|(_, folder)| folder.clone()));
        watch_these(watcher.as_mut(), &mut watched, places);
        for (id, folder) in folders {
            let stamps = stamps(&folder);
            let is_building = host.inner.library.building.load(Ordering::Relaxed) > 0;
            if is_building || seen.get(&folder) == Some(&stamps) {
                continue;
            }
            seen.insert(folder, stamps);
            match host.library().take_rebuilt(&id).await {
                Ok(true) => host.book().note("app_rebuilt", json!({ "app": id })),
                Ok(false) => {}
                Err(failure) => {
                    tracing::warn!(app = id, %failure, "a sideloaded app was built again and does not serve");
                    host.book().note("app_refused", json!({ "app": id, "reason": failure.reason }));
                }
            }
        }
        // Either way the next look follows; folders without a change cost a few looks at files.
        drop(tokio::time::timeout(LOOK_ANYWAY, changed.notified()).await);
        let quiet = async { while tokio::time::timeout(QUIET_FOR, changed.notified()).await.is_ok() {} };
        drop(tokio::time::timeout(QUIET_WITHIN, quiet).await);
    }
}

/// Watches exactly these folders. One that cannot be watched is looked at now and then.
fn watch_these(
    watcher: Option<&mut RecommendedWatcher>,
    watched: &mut BTreeSet<PathBuf>,
    places: Vec<PathBuf>,
) {
    let Some(watcher) = watcher else { return };
    let places: BTreeSet<PathBuf> = places.into_iter().filter(|place| place.is_dir()).collect();
    for gone in watched.difference(&places) {
        // One that was removed is not watched any more anyway.
        watcher.unwatch(gone).ok();
    }
    for new in places.difference(watched) {
        if let Err(error) = watcher.watch(new, RecursiveMode::NonRecursive) {
            tracing::warn!(folder = %new.display(), %error, "watch the folder of a sideloaded app");
        }
    }
    *watched = places;
}

fn stamps(folder: &Path) -> Vec<Option<Stamp>> {
    let binary = find_binary(folder).unwrap_or_default();
    let files = [folder.join("manifest.json"), folder.join("SKILL.md"), binary];
    files.iter().map(|file| Stamp::of(file).ok()).collect()
}

impl AppLibrary {
    /// Every sideloaded app, with the folder it came from.
    fn sideloaded_folders(&self) -> Vec<(String, PathBuf)> {
        let apps = self.contents().map(|contents| contents.apps).unwrap_or_default();
        let of = |app: roost_apps::library::AppRecord| match app.current.origin {
            AppOrigin::Sideload { path } => Some((app.id, PathBuf::from(path))),
            _ => None,
        };
        apps.into_iter().filter_map(of).collect()
    }

    /// Lets what is in a sideloaded app's folder now serve, where that is something else. Nothing is built.
    async fn take_rebuilt(&self, id: &str) -> Result<bool, Failure> {
        let folder = self.sideloaded_from(id)?;
        let place = folder.clone();
        let read = tokio::task::spawn_blocking(move || NativePackage::from_project(&place)).await;
        let read = read.map_err(|error| Failure::new(Reason::Internal, error.to_string()))?;
        let package = read.map_err(|errors| program_refused(&folder.display().to_string(), &errors))?;
        if package.manifest().id.as_str() != id {
            let message = format!("{} holds {} now", folder.display(), package.manifest().id);
            return Err(Failure::new(Reason::PackageInvalid, message));
        }
        let package = Package::from_sideload(&package, &folder)?;
        if self.record(id)?.current.digest == package.digest() {
            return Ok(false);
        }
        self.install_brought(Brought::from(package), None, &Choice::Policy, "its author").await?;
        Ok(true)
    }
}
