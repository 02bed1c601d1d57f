//! Signing in at GitHub with a code that a person types in a browser.
//!
//! Beginning a login changes nothing that works: token and session are replaced only when a login is completed.
//! One task asks GitHub whether the person is done; this handle owns it, and it ends with the last clone.

mod device; // what GitHub is asked and answers

use crate::model::{Account, AuthReport, CredentialSource, Exchanged, Wire};
use crate::models::GitHubSettings;
use crate::state_file::StateFile;
use device::{Pending, Poll};
use roost_protocol::{Failure, Reason};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tokio::sync::watch;
use tokio::task::JoinSet;

const PENDING_FILE: &str = ".copilot_pending";

/// What a person needs to sign in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceCode {
    /// The code to type.
    pub user_code: String,
    /// Where to type it.
    pub verification_uri: String,
    /// For how many more seconds it can be used.
    pub expires_in: u64,
}

/// How the login that was begun last is going.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginProgress {
    /// It is completed.
    Ok {
        /// One sentence for a person.
        message: String,
    },
    /// GitHub waits for the person.
    Pending,
    /// It cannot be completed.
    Error {
        /// Why.
        message: String,
    },
    /// The code was not used in time.
    Expired {
        /// What to do.
        message: String,
    },
}

/// How another try with the same token ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RetryOutcome {
    /// Copilot can be used.
    Ok,
    /// The account may not use Copilot.
    NoCopilotAccess {
        /// The account.
        user: String,
    },
    /// Nobody is signed in.
    Unauthenticated,
    /// Something else.
    Error {
        /// What.
        message: String,
    },
}

/// Signing in. A clonable handle; the task that waits for GitHub ends with the last clone.
#[derive(Debug, Clone)]
pub struct Login {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    wire: Wire,
    account: Account,
    file: StateFile,
    pending: Mutex<Option<Pending>>,
    progress: watch::Sender<Option<LoginProgress>>,
    /// Dropping it ends the task.
    poller: Mutex<JoinSet<()>>,
    /// Held while a code is fetched, so that two callers get the same.
    beginning: tokio::sync::Mutex<()>,
}

impl Login {
    /// Reads a login that was begun before; asks nobody.
    pub(crate) fn open(wire: Wire, account: Account, folder: &Path) -> Self {
        let file = StateFile::new(folder, PENDING_FILE);
        let pending =
            file.json().as_ref().and_then(Pending::read).filter(|pending| pending.seconds_left() > 0);
        let shared = Shared {
            wire,
            account,
            file,
            progress: watch::Sender::new(pending.as_ref().map(|_| LoginProgress::Pending)),
            pending: Mutex::new(pending),
            poller: Mutex::default(),
            beginning: tokio::sync::Mutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// A code to sign in with: the one that is pending, or a new one.
    ///
    /// # Errors
    /// When GitHub gives none; nothing has changed then.
    pub async fn begin(&self) -> Result<DeviceCode, Failure> {
        let _one_at_a_time = self.shared.beginning.lock().await;
        if let Some(pending) = self.current() {
            self.watch_over(&pending);
            return Ok(pending.shown());
        }
        self.begin_anew().await
    }

    /// A new code, to sign in as somebody else. The present account stays until that login is completed.
    ///
    /// # Errors
    /// When GitHub gives none, or when the settings hold a token, which would still count.
    pub async fn switch(&self) -> Result<DeviceCode, Failure> {
        let _one_at_a_time = self.shared.beginning.lock().await;
        if let Some((_, CredentialSource::Settings)) = self.shared.account.token() {
            let message = "GITHUB_TOKEN is set and counts before any login";
            return Err(
                Failure::new(Reason::LoginFailed, message).with_next("remove GITHUB_TOKEN and start again")
            );
        }
        self.begin_anew().await
    }

    /// How the login is going. Also makes sure that somebody waits for GitHub, as after a restart.
    pub async fn poll(&self) -> LoginProgress {
        self.resume();
        let progress = self.shared.progress.borrow().clone();
        progress.unwrap_or_else(|| LoginProgress::Error { message: "No login was begun.".into() })
    }

    /// The pending code, if there is one. Asks nobody.
    #[must_use]
    pub fn status(&self) -> Option<DeviceCode> {
        self.current().map(|pending| pending.shown())
    }

    /// Waits for a login that was begun before this host started. Needs a runtime.
    pub fn resume(&self) {
        if let Some(pending) = self.current() {
            self.watch_over(&pending);
        }
    }

    /// Waits until the login that is pending has ended.
    pub async fn finished(&self) -> LoginProgress {
        let mut progress = self.shared.progress.subscribe();
        let ended = progress.wait_for(|now| *now != Some(LoginProgress::Pending)).await;
        let ended = ended.ok().and_then(|progress| progress.clone());
        ended.unwrap_or_else(|| LoginProgress::Error { message: "No login was begun.".into() })
    }

    /// Tries Copilot again with the token that is there.
    pub async fn retry(&self) -> RetryOutcome {
        self.shared.account.clear_refusals();
        match self.shared.account.exchange().await {
            Exchanged::Session(_) => RetryOutcome::Ok,
            Exchanged::NoAccess { user } => RetryOutcome::NoCopilotAccess { user },
            Exchanged::Unauthenticated => RetryOutcome::Unauthenticated,
            Exchanged::Failed(failure) => RetryOutcome::Error { message: failure.message },
        }
    }

    /// What may be told about the credentials; `reveal_prefix` shows the owner how the token begins.
    #[must_use]
    pub fn auth_report(&self, reveal_prefix: bool) -> AuthReport {
        self.shared.account.report(reveal_prefix)
    }

    fn settings(&self) -> &GitHubSettings {
        self.shared.account.settings()
    }

    async fn begin_anew(&self) -> Result<DeviceCode, Failure> {
        let asked = device::ask_for_code(&self.shared.wire, self.settings()).await;
        let pending = asked.map_err(|why| Failure::new(Reason::LoginFailed, why))?;
        if let Err(error) = self.shared.file.write(&pending.written()) {
            tracing::warn!(%error, "the pending login cannot be kept; it ends with the host");
        }
        *self.shared.pending() = Some(pending.clone());
        self.shared.progress.send_replace(Some(LoginProgress::Pending));
        // The task for an older code ends here: only one code can be completed.
        *self.poller() = JoinSet::new();
        self.watch_over(&pending);
        Ok(pending.shown())
    }

    /// The pending login, if its code can still be used.
    fn current(&self) -> Option<Pending> {
        self.shared.pending().clone().filter(|pending| pending.seconds_left() > 0)
    }

    /// Starts the task that waits for GitHub, unless there is one.
    fn watch_over(&self, pending: &Pending) {
        let mut poller = self.poller();
        while poller.try_join_next().is_some() {}
        if poller.is_empty() {
            poller.spawn(wait_for_person(Arc::downgrade(&self.shared), pending.clone()));
        }
    }

    fn poller(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.shared.poller.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    fn pending(&self) -> MutexGuard<'_, Option<Pending>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The login has ended: its code is forgotten, and everybody who waits is told. One that was begun since stays.
    fn end(&self, ended: &Pending, progress: LoginProgress) {
        let mut pending = self.pending();
        if pending.as_ref() != Some(ended) {
            return;
        }
        *pending = None;
        if let Err(error) = self.file.remove() {
            tracing::warn!(%error, "the file of the pending login cannot be removed");
        }
        self.progress.send_replace(Some(progress));
    }

    /// Exchanges the new token at once, so that the person learns whether it helps.
    async fn complete(&self, pending: &Pending, granted: device::Granted) {
        self.account.sign_in(granted.token, granted.refresh_token.as_ref());
        let message = match self.account.exchange().await {
            Exchanged::NoAccess { user } => format!("Signed in as '{user}', who has no access to Copilot."),
            Exchanged::Session(_) => "Signed in.".to_owned(),
            Exchanged::Unauthenticated | Exchanged::Failed(_) => {
                "Signed in; Copilot could not be tried yet.".to_owned()
            }
        };
        self.end(pending, LoginProgress::Ok { message });
    }
}

/// Asks GitHub at its pace until the login has ended. Holds no handle, so that the last one can end it.
async fn wait_for_person(shared: Weak<Shared>, pending: Pending) {
    let mut interval = pending.interval;
    loop {
        let Some(second) = shared.upgrade().map(|shared| shared.account.settings().second) else { return };
        tokio::time::sleep(second.saturating_mul(interval)).await;
        let Some(shared) = shared.upgrade() else { return };
        if pending.seconds_left() == 0 {
            return shared.end(&pending, expired());
        }
        match device::poll(&shared.wire, shared.account.settings(), &pending).await {
            Poll::Waiting => {}
            Poll::SlowDown { interval: asked } => interval = device::slower(interval, asked),
            Poll::Granted(granted) => return shared.complete(&pending, granted).await,
            Poll::Expired => return shared.end(&pending, expired()),
            Poll::Refused { why } => return shared.end(&pending, LoginProgress::Error { message: why }),
            // GitHub cannot be reached now; the code stays good until it expires.
            Poll::Unclear { why } => tracing::debug!(why, "GitHub did not say whether the login is done"),
        }
    }
}

fn expired() -> LoginProgress {
    LoginProgress::Expired { message: "The code was not used in time; begin again.".into() }
}

#[cfg(test)]
mod tests {
    use super::{Login, PENDING_FILE, Pending, expired};
    use crate::model::{Account, Wire};
    use crate::models::GitHubSettings;
    use serde_json::{Value, json};
    use std::{path::Path, sync::Arc, time::Duration};

    fn code(user_code: &str) -> Value {
        json!({
            "device_code": "d", "user_code": user_code, "verification_uri": "v", "interval": 900,
            "expires_at": 4_102_444_800_u64,
        })
    }

    /// A login that was begun before, with a code that lives long and is not asked about for a while.
    fn pending(folder: &Path) -> Login {
        std::fs::write(folder.join(PENDING_FILE), code("mine").to_string()).unwrap();
        let wire = Wire::new(Duration::ZERO, Duration::ZERO, None).unwrap();
        let account = Account::open(wire.clone(), GitHubSettings::default(), folder);
        Login::open(wire, account, folder)
    }

    #[test]
    fn the_end_of_an_older_login_leaves_the_new_one_alone() {
        let folder = tempfile::tempdir().unwrap();
        let login = pending(folder.path());
        login.shared.end(&Pending::read(&code("other")).unwrap(), expired());
        assert_eq!(login.status().unwrap().user_code, "mine");
        assert!(folder.path().join(PENDING_FILE).exists());
        login.shared.end(&Pending::read(&code("mine")).unwrap(), expired());
        assert_eq!(login.status(), None);
        assert!(!folder.path().join(PENDING_FILE).exists());
    }

    #[tokio::test]
    async fn the_task_that_waits_for_github_ends_with_the_last_handle() {
        let folder = tempfile::tempdir().unwrap();
        let login = pending(folder.path());
        login.resume();
        login.resume();
        assert_eq!(login.poller().len(), 1);
        // The task has begun to wait.
        tokio::task::yield_now().await;
        let clone = login.clone();
        let shared = Arc::downgrade(&login.shared);
        drop(login);
        assert!(shared.upgrade().is_some());
        drop(clone);
        assert!(shared.upgrade().is_none(), "the task keeps its owner alive");
        while tokio::runtime::Handle::current().metrics().num_alive_tasks() > 0 {
            tokio::task::yield_now().await;
        }
    }
}
