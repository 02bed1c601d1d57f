//! Apps that are installed: from where they are found to an agent that answers, and back.
//!
//! "Installed" is said only of what answered in its sandbox. What is on disk is changed by `roost_apps::library`, whole
//! or not at all; here it is decided what may come in, with which rights, and which version serves.

mod installed; // whose file it is
mod source; // where an app is installed from
mod grade; // how much it could do
mod candidate; // a version that is tried before it counts
mod plan; // what installing would mean
mod reading; // its files, for whoever reads before installing
mod install; // plans that are carried out
mod progress; // and how far that has come
mod update; // newer versions, older ones, and those that wait
mod remove; // apps that go
mod lock; // the same apps on another home
mod listing; // installed apps as every surface shows them
mod exchange; // an app as one file
mod files; // what an app shares with people
mod program; // apps that are programs
mod quarantine; // programs that are taken away, and looking for them
mod store_apps; // programs from stores
mod store_list; // what stores offer
mod events; // what stores tell
mod sideload; // programs from their authors' folders
mod rebuilt; // and what becomes of them there

pub use self::{
    events::{EventOutcome, InstallEvent},
    files::WorkspaceFile,
    grade::Grade,
    install::{Choice, Installed},
    listing::{AppListing, AppState},
    lock::LockedOutcome,
    plan::{AskedRight, Given, InstallPlan},
    progress::{Step, Steps},
    quarantine::{Sweep, Sweeping, keep_believed},
    reading::{AppFiles, ReadableFile},
    remove::Removed,
    source::InstallSource,
    store_list::{StoreAppDetail, StoreAuthor, StoreChange, StoreItem, StoreQuery},
    update::{UpdateOutcome, UpdateState},
};
pub(crate) use self::{
    installed::{InstalledFiles, Owner},
    rebuilt::watch_sideloaded,
};
pub use crate::settings::AppSettings;
pub use roost_apps::library::{AppKind, AppOrigin, NativeChange, NativeRecord};

use crate::{
    host::{Host, Inner},
    settings::{Home, HostSettings},
    trust::HostTrust,
};
use plan::Prepared;
use progress::Listener;
use roost_apps::library::{AppRecord, Change, Changed, Contents, Library};
use roost_protocol::{Failure, Reason};
use std::sync::{Arc, Mutex, PoisonError, atomic::AtomicUsize};

/// Plans that are kept so that what was shown is what is installed, without fetching it twice.
const PLANS_KEPT_MAX: usize = 4;

/// What a host knows of its library.
pub(crate) struct LibraryState {
    library: Library,
    /// Held from the first look to the end of a change: what was decided must still hold when it is done.
    changing: Arc<tokio::sync::Mutex<()>>,
    plans: Mutex<Vec<Prepared>>,
    /// Who may vouch for programs.
    trust: HostTrust,
    /// Builds that go on; what they write is taken when they are done.
    building: AtomicUsize,
}

impl LibraryState {
    /// Finishes what was cut off. A library that cannot be used is told to whoever asks for it.
    pub(crate) fn open(settings: &HostSettings) -> Self {
        let library = Library::new(settings.home.library());
        if let Err(failure) = library.recover(&moment()) {
            tracing::error!(reason = failure.reason.code(), %failure, "the library of installed apps");
        }
        let trust = HostTrust::open(settings);
        Self {
            library,
            changing: Arc::default(),
            plans: Mutex::default(),
            trust,
            building: AtomicUsize::new(0),
        }
    }

    fn keep_plan(&self, plan: Prepared) {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        plans.retain(|kept| kept.source != plan.source);
        plans.push(plan);
        let surplus = plans.len().saturating_sub(PLANS_KEPT_MAX);
        plans.drain(..surplus);
    }

    fn take_plan(&self, source: &InstallSource) -> Option<Prepared> {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        let place = plans.iter().position(|kept| kept.source == *source)?;
        Some(plans.remove(place))
    }
}

impl Inner {
    /// What stands for an installed app where rights are given: its agent, else its service; a program itself.
    pub(crate) fn file_of_app(&self, id: &str) -> Option<String> {
        let contents = self.library.library.read().ok()?;
        let (name, _) = contents.app(id)?.current.principals(id).next()?;
        Some(name)
    }
}

/// The installed apps of a host. Clones are the same.
#[derive(Clone)]
pub struct AppLibrary {
    host: Host,
    listener: Listener,
}

impl Host {
    /// The apps that are installed in this home.
    #[must_use]
    pub fn library(&self) -> AppLibrary {
        AppLibrary { host: self.clone(), listener: Listener::default() }
    }
}

impl AppLibrary {
    fn inner(&self) -> &Arc<Inner> {
        &self.host.inner
    }

    fn disk(&self) -> &Library {
        &self.host.inner.library.library
    }

    fn home(&self) -> &Home {
        self.host.home()
    }

    /// Everything that is installed.
    fn contents(&self) -> Result<Contents, Failure> {
        self.disk().read()
    }

    /// One app.
    fn record(&self, id: &str) -> Result<AppRecord, Failure> {
        self.contents()?.app(id).cloned().ok_or_else(|| unknown(id))
    }

    /// One change at a time in this process; the lock file keeps others apart.
    async fn turn(&self) -> tokio::sync::OwnedMutexGuard<()> {
        Arc::clone(&self.inner().library.changing).lock_owned().await
    }

    /// Changes what is installed. Comes to its end whether or not anybody waits for it.
    async fn change(
        &self,
        decide: impl FnOnce(&Contents) -> Result<Change, Failure> + Send + 'static,
    ) -> Result<Changed, Failure> {
        let library = self.disk().clone();
        let changed = tokio::task::spawn_blocking(move || library.change(&moment(), decide)).await;
        let changed = changed.map_err(|error| Failure::new(Reason::Internal, error.to_string()))?;
        self.inner().end_replaced_pages().await;
        changed
    }
}

/// Now, as files in the trash are named by it.
fn moment() -> String {
    jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S.%3fZ").to_string()
}

/// Now, as records have it.
fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn unknown(id: &str) -> Failure {
    let shown: String = id.escape_debug().take(100).collect();
    Failure::new(Reason::UnknownApp, format!("no app `{shown}` is installed"))
}
