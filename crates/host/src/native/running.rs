//! The native apps of a home that run, each kept by a task of its own.

use super::{
    accounts::SigningIn,
    folder::{NativeFolder, app_of},
    gateways::Gateways,
    hooks::{Filtered, Hooks, Point},
    keeper::Kept,
    launch::LiveApp,
    letters::{Line, Lines, OutgoingMessage},
    pace::NativePace,
    pages::Answering,
    schedulers::Schedulers,
    sealed::SealedApps,
    state::{LeftOut, NativePhase, NativeState},
    tools::NativeTools,
};
use crate::{
    book::Book, gate::Gate, host::Inner, program::Workshop, settings::HostSettings, standing::Standing,
};
use futures::future::join_all;
use roost_apps::LockFile;
use roost_protocol::{Failure, Reason};
use roost_runtime::{CommRequest, NativePart, Runtime};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};
use tokio::sync::OnceCell;

/// Apps that a host keeps; each is a process that never ends.
const APPS_MAX: usize = 200;

/// The native apps of a home. Dropping it ends all of them.
pub struct NativeApps {
    shared: Arc<Shared>,
    slots: Mutex<BTreeMap<String, Arc<Slot>>>,
    /// Set once what lies in the home was started.
    pub(super) started: OnceCell<()>,
}

/// What all apps have in common.
pub(crate) struct Shared {
    pub(super) runtime: Runtime,
    pub(super) settings: Arc<HostSettings>,
    pub(super) gate: Arc<Gate>,
    pub(super) pace: NativePace,
    book: Arc<Book>,
    tools: Mutex<Arc<NativeTools>>,
    hooks: Hooks,
    gateways: Gateways,
    pub(super) lines: Lines,
    answering: Answering,
    pub(super) workshop: Arc<Workshop>,
    pub(super) sealed: SealedApps,
    signing_in: SigningIn,
    live: Mutex<BTreeMap<String, Arc<LiveApp>>>,
    schedulers: Schedulers,
    /// Held while apps run: two hosts of one home would end each other's.
    alone: Mutex<Option<LockFile>>,
}

/// The place of one id. Whoever changes what is in it holds `changing`.
#[derive(Default)]
struct Slot {
    changing: tokio::sync::Mutex<()>,
    kept: Mutex<Option<Arc<Kept>>>,
}

impl NativeApps {
    pub(crate) fn new(workshop: &Arc<Workshop>, book: &Arc<Book>, gateways: Gateways) -> Self {
        let shared = Shared {
            runtime: workshop.runtime.clone(),
            pace: workshop.settings.native.clone(),
            settings: Arc::clone(&workshop.settings),
            gate: Arc::clone(&workshop.gate),
            book: Arc::clone(book),
            tools: Mutex::default(),
            hooks: Hooks::default(),
            gateways,
            lines: Lines::new(book),
            answering: Answering::default(),
            workshop: Arc::clone(workshop),
            sealed: SealedApps::open(&workshop.settings),
            signing_in: SigningIn::default(),
            live: Mutex::default(),
            schedulers: Schedulers::default(),
            alone: Mutex::default(),
        };
        Self { shared: Arc::new(shared), slots: Mutex::default(), started: OnceCell::new() }
    }

    /// Starts an app and returns when it answers; one of the same id is stopped first. One that does not come to answer
    /// is not tried again, and its state says why.
    pub async fn start(&self, folder: NativeFolder) -> Result<NativeState, Failure> {
        self.shared.be_alone()?;
        let slot = self.slot(folder.id())?;
        let _changing = slot.changing.lock().await;
        let earlier = lock(&slot.kept).take();
        if let Some(earlier) = earlier {
            earlier.stop().await;
        }
        let (kept, told) = Kept::begin(&self.shared, folder);
        let kept = Arc::new(kept);
        *lock(&slot.kept) = Some(Arc::clone(&kept));
        let gone = Failure::new(Reason::NativeNotRunning, "it was stopped while it started");
        told.await.unwrap_or(Err(gone))?;
        Ok(kept.state())
    }

    /// Ends an app and returns when it is gone. Its state stays known.
    pub async fn stop(&self, id: &str) -> Result<NativeState, Failure> {
        let slot = lock(&self.slots).get(id).cloned().ok_or_else(|| unknown(id))?;
        let _changing = slot.changing.lock().await;
        let kept = lock(&slot.kept).clone().ok_or_else(|| unknown(id))?;
        kept.stop().await;
        Ok(kept.state())
    }

    /// Starts an app again that is known, from its folder as it was.
    pub async fn restart(&self, id: &str) -> Result<NativeState, Failure> {
        let folder = self.known(id).ok_or_else(|| unknown(id))?;
        self.start(folder).await
    }

    /// Ends an app and forgets it.
    pub async fn forget(&self, id: &str) -> Result<(), Failure> {
        self.stop(id).await?;
        lock(&self.slots).remove(id);
        Ok(())
    }

    /// Ends all of them.
    pub async fn stop_all(&self) {
        let ids: Vec<String> = lock(&self.slots).keys().cloned().collect();
        join_all(ids.iter().map(|id| self.stop(id))).await;
    }

    /// All apps that were started, by id.
    #[must_use]
    pub fn states(&self) -> Vec<NativeState> {
        self.all_kept().iter().map(|kept| kept.state()).collect()
    }

    /// One of them.
    pub fn state(&self, id: &str) -> Result<NativeState, Failure> {
        let found = self.states().into_iter().find(|state| state.id == id);
        found.ok_or_else(|| unknown(id))
    }

    /// What runs as tools now.
    pub(crate) fn tools(&self) -> Arc<NativeTools> {
        Arc::clone(&lock(&self.shared.tools))
    }

    /// Where apps take part now.
    pub(crate) fn hooks(&self) -> &Hooks {
        &self.shared.hooks
    }

    /// Says who answers messages that apps bring.
    pub(crate) fn answered_by(&self, host: Weak<Inner>) {
        self.shared.lines.answered_by(host);
    }

    /// Says something to people elsewhere, through an app's channel; the answer is the message's name there.
    pub async fn say(&self, id: &str, message: OutgoingMessage) -> Result<String, Failure> {
        self.shared.lines.say(id, message).await
    }

    /// The app whose channel is called so: the app itself, or what its channel calls itself.
    pub(crate) fn channel_called(&self, called: &str) -> Result<String, Failure> {
        self.shared.lines.channel_called(called)
    }

    /// Asks something of what an app carries between agents.
    pub async fn carry(&self, id: &str, request: CommRequest) -> Result<(), Failure> {
        self.shared.lines.carry(id, request).await
    }

    /// What the apps that take part at a hook make of a payload, as where the host asks them; nothing when nobody does.
    pub async fn at_hook(&self, hook: &str, payload: impl FnOnce() -> Value) -> Option<Value> {
        let point = Point::named(hook).filter(|point| self.shared.hooks.has(*point))?;
        match self.shared.hooks.filter(point, payload()).await {
            Filtered::Payload(made) | Filtered::Handled(made) => Some(made),
        }
    }

    /// Who answers pages now.
    pub(super) fn answering(&self) -> &Answering {
        &self.shared.answering
    }

    /// What is kept of apps and nobody else may read.
    pub(super) fn sealed(&self) -> &SealedApps {
        &self.shared.sealed
    }

    /// Who is at a provider now.
    pub(super) fn signing_in(&self) -> &SigningIn {
        &self.shared.signing_in
    }

    /// What all apps have in common.
    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// An app that runs now.
    pub(super) fn live(&self, id: &str) -> Option<Arc<LiveApp>> {
        lock(&self.shared.live).get(id).cloned()
    }

    /// Forgets what was set of an app that is removed, and its accounts.
    pub(crate) async fn forget_sealed(&self, id: &str) -> Result<(), Failure> {
        self.signing_in().forget(id, None);
        self.sealed().forget(id).await
    }

    /// Who keeps schedules now.
    pub(crate) fn schedulers(&self) -> &Schedulers {
        &self.shared.schedulers
    }

    /// The folders of the apps in a phase.
    pub(super) fn folders_in(&self, phase: NativePhase) -> Vec<NativeFolder> {
        let kept = self.all_kept().into_iter().filter(|kept| kept.state().phase == phase);
        kept.map(|kept| kept.folder().clone()).collect()
    }

    /// What a known app is to the gate.
    pub(crate) fn standing(&self, id: &str) -> Result<Standing, Failure> {
        self.known(id).map(|folder| folder.standing()).ok_or_else(|| unknown(id))
    }

    /// The folder of a known app.
    pub(crate) fn known(&self, id: &str) -> Option<NativeFolder> {
        let kept = self.all_kept().into_iter().find(|kept| kept.folder().id() == id)?;
        Some(kept.folder().clone())
    }

    fn all_kept(&self) -> Vec<Arc<Kept>> {
        lock(&self.slots).values().filter_map(|slot| lock(&slot.kept).clone()).collect()
    }

    fn slot(&self, id: &str) -> Result<Arc<Slot>, Failure> {
        let mut slots = lock(&self.slots);
        if slots.len() >= APPS_MAX && !slots.contains_key(id) {
            let message = format!("more than {APPS_MAX} native apps are not run");
            return Err(Failure::new(Reason::Busy, message).with_next("remove apps that are not needed"));
        }
        Ok(Arc::clone(slots.entry(id.to_owned()).or_default()))
    }
}

impl Shared {
    /// Lets an app that answers take part. What it cannot give is told.
    pub(super) async fn take_in(&self, live: &Arc<LiveApp>) -> Vec<LeftOut> {
        // First: what it gives may depend on what was set.
        let mut left_out: Vec<LeftOut> = self.configure(live).await.into_iter().collect();
        if live.folder.parts().contains(&NativePart::Tool) {
            match NativeTools::described(live).await {
                Ok(tool) => {
                    let mut tools = lock(&self.tools);
                    match tools.with(tool) {
                        Ok(more) => *tools = Arc::new(more),
                        Err(failure) => left_out.push(LeftOut::new("tool", &failure)),
                    }
                }
                Err(failure) => left_out.push(LeftOut::new("tool", &failure)),
            }
        }
        if live.folder.parts().contains(&NativePart::Hooks) {
            match live.app.list_hooks().await {
                Ok(wanted) => left_out.extend(self.hooks.take_in(live, wanted)),
                Err(failure) => left_out.push(LeftOut::new("hooks", &failure)),
            }
        }
        if live.folder.parts().contains(&NativePart::Gateway) {
            left_out.extend(self.gateways.take_in(live, &self.workshop));
        }
        for (part, line) in [(NativePart::Channel, Line::Channel), (NativePart::Comm, Line::Comm)] {
            if live.folder.parts().contains(&part) {
                left_out.extend(match self.settings_of(live).await {
                    Ok(settings) => self.lines.take_in(live, line, settings).await,
                    Err(failure) => Some(LeftOut::new(line.name(), &failure)),
                });
            }
        }
        self.answering.take_in(live);
        if live.folder.parts().contains(&NativePart::Schedule) {
            let taken = self.schedulers.take_in(live);
            left_out.extend(taken.err().map(|failure| LeftOut::new("schedule", &failure)));
        }
        left_out
    }

    /// Nothing of the app is offered any more when this returns.
    pub(super) fn take_out(&self, live: &Arc<LiveApp>) {
        self.hooks.take_out(live);
        self.gateways.take_out(live);
        self.answering.take_out(live);
        lock(&self.live).retain(|_, known| !Arc::ptr_eq(known, live));
        self.schedulers.take_out(live);
        let mut tools = lock(&self.tools);
        if let Some(fewer) = tools.without(live) {
            *tools = Arc::new(fewer);
        }
    }

    /// Lets an app be found by its id.
    pub(super) fn set_live(&self, live: &Arc<LiveApp>) {
        lock(&self.live).insert(live.folder.id().to_owned(), Arc::clone(live));
    }

    /// Writes down what became of an app.
    pub(super) fn note(&self, folder: &NativeFolder, phase: NativePhase, reason: Option<&Failure>) {
        let app = app_of(folder.id());
        let mut detail = json!({ "app": app, "phase": phase });
        if let Some(failure) = reason {
            tracing::warn!(%app, ?phase, %failure, "a native app");
            detail["reason"] = json!(failure.reason);
            detail["message"] = json!(failure.message);
        }
        self.book.note("native", detail);
    }

    fn be_alone(&self) -> Result<(), Failure> {
        let mut alone = lock(&self.alone);
        if alone.is_none() {
            let folder = self.settings.home.run();
            let taken = fs::create_dir_all(&folder)
                .and_then(|()| LockFile::take(&folder.join("native.lock"), Duration::ZERO));
            *alone = Some(taken.map_err(|error| {
                Failure::new(Reason::NativeStartFailed, format!("the native apps of this home: {error}"))
                    .with_next("ask the host that runs already, or stop it")
            })?);
        }
        Ok(())
    }
}

fn unknown(id: &str) -> Failure {
    Failure::new(Reason::UnknownNativeApp, format!("there is no native app `{id}`"))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
