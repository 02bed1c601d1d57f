//! Programs that are taken away, and the look that finds them: a store that takes an app back, a key that no longer
//! counts, a list that is too old to be believed.

use super::{AppLibrary, AppListing, now};
use crate::host::Host;
use roost_apps::library::{AppKind, AppRecord, Change, Quarantine};
use roost_protocol::{Failure, Reason};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::time::Duration;
use tokio::task::JoinHandle;

/// How often stores are asked: an app that was taken back runs on for so long at most while they answer.
const SWEEP_EVERY: Duration = Duration::from_secs(60 * 60);

/// What people are told of an app that was taken away.
const CONCERN: &str = "Removed due to a security concern";

/// What a look at every program found.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Sweep {
    /// Programs that somebody vouches for.
    pub believed: Vec<String>,
    /// Apps whose program was taken away now.
    pub quarantined: Vec<Refused>,
    /// Apps that do not run as long as the reason lasts.
    pub stopped: Vec<Refused>,
    /// Stores that did not answer as they should.
    pub stores: Vec<Failure>,
}

/// An app that may not run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Refused {
    /// Its id.
    pub app: String,
    /// Why.
    pub reason: Failure,
}

/// Looks again and again for as long as this value lives.
#[must_use]
pub struct Sweeping(JoinHandle<()>);

impl Drop for Sweeping {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Asks the stores every hour and ends what nobody vouches for any more. For the one host of a home that stays.
pub fn keep_believed(host: &Host) -> Sweeping {
    let host = host.clone();
    Sweeping(tokio::spawn(async move {
        loop {
            tokio::time::sleep(SWEEP_EVERY).await;
            match host.library().sweep().await {
                Ok(sweep) if sweep.quarantined.is_empty() && sweep.stopped.is_empty() => {}
                Ok(sweep) => tracing::warn!(?sweep, "native apps that nobody vouches for"),
                Err(failure) => tracing::error!(%failure, "look at native apps"),
            }
        }
    }))
}

impl AppLibrary {
    /// Asks every store, then looks at every installed program. One that a store took back loses its program; one that
    /// nobody vouches for now is stopped until somebody does.
    pub async fn sweep(&self) -> Result<Sweep, Failure> {
        let mut sweep = Sweep::default();
        let trust = &self.inner().library.trust;
        // A store that fails keeps what it said, as long as that is believed at all.
        sweep.stores = trust.refresh(None).await?.into_iter().filter_map(|store| store.reason).collect();
        let programs = self.contents()?.apps.into_iter().filter(|app| app.kind == AppKind::Native);
        for app in programs.filter(|app| app.quarantine.is_none()).collect::<Vec<_>>() {
            let refused = |reason: Failure| Refused { app: app.id.clone(), reason };
            match self.serve_believed(&app).await {
                Ok(()) => sweep.believed.push(app.id.clone()),
                Err(failure) if failure.reason == Reason::AppRevoked => {
                    self.quarantine(&app.id, failure.clone()).await?;
                    sweep.quarantined.push(refused(failure));
                }
                Err(failure) => {
                    self.stop_program(&app).await;
                    self.note_reason(&app, &failure).await?;
                    sweep.stopped.push(refused(failure));
                }
            }
        }
        Ok(sweep)
    }

    /// Takes the program of an app away. What it kept and printed stays, and its id stays taken.
    pub async fn quarantine(&self, id: &str, reason: Failure) -> Result<AppListing, Failure> {
        let _turn = self.turn().await;
        let app = self.record(id)?;
        if app.kind != AppKind::Native {
            let message = format!("{id} is not a native app");
            return Err(Failure::new(Reason::WrongUse, message).with_next(format!("roost remove {id}")));
        }
        self.stop_program(&app).await;
        let quarantine = Some(Quarantine { at: now(), reason: reason.clone() });
        let after =
            AppRecord { quarantine, waiting: None, previous: None, reason: Some(reason), ..app.clone() };
        self.change(move |_| Ok(Change::Put { app: Box::new(after), bring: Vec::new() })).await?;
        self.take_back(app.versions().flat_map(|version| version.principals(id)).map(|(name, _)| name));
        let note = json!({ "app": id, "app_id": id, "app_name": app.name, "reason": CONCERN });
        self.host.book().note("app_quarantined", note);
        self.listing(id)
    }

    /// True when somebody vouches for the program; one that was stopped for want of that serves again.
    async fn serve_believed(&self, app: &AppRecord) -> Result<(), Failure> {
        self.current_program(app).await?;
        let was_stopped = app.reason.as_ref().is_some_and(|failure| is_about_trust(failure.reason));
        if was_stopped {
            self.serve_program(app).await?;
            self.note(app, None).await?;
        }
        Ok(())
    }

    async fn note_reason(&self, app: &AppRecord, failure: &Failure) -> Result<(), Failure> {
        let message = format!("{} does not run: {}", app.id, failure.message);
        let next = failure.next_step().to_owned();
        self.note(app, Some(Failure::new(failure.reason, message).with_next(next))).await
    }

    async fn note(&self, app: &AppRecord, reason: Option<Failure>) -> Result<(), Failure> {
        if app.reason == reason {
            return Ok(());
        }
        let _turn = self.turn().await;
        let (noted, expected) = (AppRecord { reason, ..app.clone() }, app.clone());
        self.change(move |contents| match contents.app(&expected.id) == Some(&expected) {
            true => Ok(Change::Put { app: Box::new(noted), bring: Vec::new() }),
            false => Err(Failure::plain(Reason::LibraryBusy)),
        })
        .await
        .map(drop)
    }
}

/// True for reasons that a later look may find gone.
fn is_about_trust(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::TrustStale
            | Reason::TrustUnusable
            | Reason::ClockWentBack
            | Reason::UnknownKey
            | Reason::KeyNotValid
            | Reason::KeyRevoked
    )
}
