//! What persons gave: the store `grants.json` of a home, shared by every process that uses the home.
//!
//! Keeps and finds grants; whether one may be made, or is enough, is decided by the gate. A store that cannot be
//! understood is never taken for an empty one: nothing is read from it and nothing is written over it.

mod store; // the file
mod usage; // runs since a grant was last used

pub use self::store::Grant;

use self::{
    store::{Answer, Contents, Store, Tried},
    usage::Usage,
};
use super::{Caller, disk::Disk, policy::Policy, shown_text::shown};
use jiff::Timestamp;
use roost_protocol::{AppId, Asks, Digest, Failure, Lasting, Reason, Right};
use std::{
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// How often counters go to disk at most: they are hints, and a crash may cost some of them.
const COUNTERS_FLUSH_INTERVAL: Duration = Duration::from_secs(5);

/// Rights remembered as tried for one content of an app: a program that tries everything must not fill the store.
const TRIED_PER_APP_MAX: usize = 256;

/// Grants in one store; more than a person can oversee, and still read in a moment.
const GRANTS_MAX: usize = 10_000;

/// Answers "no", and rights tried, in one store, which are looked through one by one. The oldest give way: all that
/// costs is one more question.
const REMEMBERED_MAX: usize = 2_000;

/// Longest name of who granted something.
const GRANTED_BY_CHARACTERS_MAX: usize = 200;

/// The grants of one home.
#[derive(Debug)]
pub(crate) struct Grants {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    store: Store,
    usage: Usage,
    /// Tried since the last write.
    tried: Vec<Tried>,
    flushed: Instant,
}

/// What a revocation did.
#[derive(Debug, PartialEq, Eq)]
pub struct Revoked {
    /// These hold no longer.
    pub removed: Vec<Grant>,
    /// These still give the right, because they are wider than it.
    pub wider: Vec<Grant>,
}

/// Tells one state of an app's grants from another; counting their use does not change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Generation(u64);

impl Grants {
    /// The state of one app's grants, or of all.
    #[must_use]
    pub(crate) fn generation(&self, app: Option<&AppId>) -> Generation {
        use std::hash::{DefaultHasher, Hash as _, Hasher as _};
        let mut state = self.state();
        let mut hasher = DefaultHasher::new();
        match state.store.contents() {
            Ok(contents) => {
                for grant in contents.grants.iter().filter(|grant| app.is_none_or(|app| grant.app == *app)) {
                    (&grant.app, &grant.right, grant.digest, grant.asks, grant.lasting).hash(&mut hasher);
                }
            }
            // A store that cannot be used is a state of its own.
            Err(failure) => failure.message.hash(&mut hasher),
        }
        Generation(hasher.finish())
    }

    /// The grants of this home. Nothing is read yet: a store that cannot be used is told at each use.
    #[must_use]
    pub(crate) fn open(home: &Path) -> Self {
        Self::on(home, Disk::default())
    }

    pub(crate) fn on(home: &Path, disk: Disk) -> Self {
        let store = Store::new(home, disk);
        let state = State { store, usage: Usage::default(), tried: Vec::new(), flushed: Instant::now() };
        Self { state: Mutex::new(state) }
    }

    /// The grant that gives the right to this caller, by how long it lasts.
    pub(crate) fn holding(
        &self,
        caller: &Caller,
        asks: &Asks,
        policy: &Policy,
        right: &Right,
    ) -> Result<Option<Lasting>, Failure> {
        let mut state = self.state();
        let contents = state.store.contents()?;
        let survives_a_change = |grant: &Grant| {
            grant.lasting == Lasting::Always
                && policy.keep_always_grants(caller.origin)
                && grant.asks == asks.digest()
        };
        let holds = |grant: &&Grant| {
            grant.right.covers(right) && (grant.digest == caller.digest || survives_a_change(grant))
        };
        Ok(contents.of(&caller.app).find(holds).map(|grant| grant.lasting))
    }

    /// Records a grant the gate has checked. One for the same right and content is replaced.
    pub(crate) fn add(&self, grant: Grant) -> Result<(), Failure> {
        let mut state = self.state();
        let grant = Grant { granted_by: shown(&grant.granted_by, GRANTED_BY_CHARACTERS_MAX), ..grant };
        state.change(|contents| {
            let is_same = |other: &Grant| {
                other.app == grant.app && other.right == grant.right && other.digest == grant.digest
            };
            contents.grants.retain(|other| !is_same(other));
            if contents.grants.len() >= GRANTS_MAX {
                let message = format!("there are {GRANTS_MAX} grants already");
                return Err(Failure::new(Reason::GrantsUnusable, message)
                    .with_next("revoke what is not used; `roost rights --unused` lists it"));
            }
            contents.refused.retain(|answer| !(answer.app == grant.app && grant.right.covers(&answer.right)));
            contents.grants.push(grant.clone());
            Ok(())
        })
    }

    /// Takes back the right, with every narrower one, or everything the app was given.
    pub(crate) fn revoke(&self, app: &AppId, right: Option<&Right>) -> Result<Revoked, Failure> {
        self.state().change(|contents| {
            let is_meant =
                |grant: &Grant| grant.app == *app && right.is_none_or(|right| right.covers(&grant.right));
            let (removed, kept): (Vec<_>, Vec<_>) =
                std::mem::take(&mut contents.grants).into_iter().partition(is_meant);
            contents.grants = kept;
            let gives_it = |grant: &&Grant| right.is_some_and(|right| grant.right.covers(right));
            let of_app = contents.grants.iter().filter(|grant| grant.app == *app);
            let wider = of_app.filter(gives_it).cloned().collect();
            Ok(Revoked { removed, wider })
        })
    }

    /// Ends what was given for one call. Called when the call has ended.
    pub(crate) fn consume_once(&self, app: &AppId, digest: &Digest) -> Result<(), Failure> {
        let mut state = self.state();
        let is_used_up =
            |grant: &Grant| grant.lasting == Lasting::Once && grant.app == *app && grant.digest == *digest;
        if !state.store.contents()?.of(app).any(is_used_up) {
            return Ok(());
        }
        state.change(|contents| {
            contents.grants.retain(|grant| !is_used_up(grant));
            Ok(())
        })
    }

    /// Records that a person said no, so that nobody asks again for this content.
    pub(crate) fn refuse(&self, app: &AppId, digest: Digest, right: &Right) -> Result<(), Failure> {
        let answer = Answer { app: app.clone(), digest, right: right.clone(), refused_at: Timestamp::now() };
        self.state().change(|contents| {
            contents.refused.retain(|old| (&old.app, old.digest, &old.right) != (app, digest, right));
            contents.refused.push(answer);
            drop_oldest(&mut contents.refused);
            Ok(())
        })
    }

    /// True when a person was asked for this, or for more, and said no.
    pub(crate) fn was_refused(&self, app: &AppId, digest: &Digest, right: &Right) -> Result<bool, Failure> {
        let mut state = self.state();
        let answers = &state.store.contents()?.refused;
        Ok(answers.iter().any(|no| no.app == *app && no.digest == *digest && no.right.covers(right)))
    }

    /// Remembers, until the next write, that an app tried this and was refused.
    pub(crate) fn note_tried(&self, app: &AppId, digest: Digest, right: &Right) {
        let mut state = self.state();
        let is_same = |old: &&Tried| old.app == *app && old.digest == digest;
        let known = state.store.known().tried.iter().chain(&state.tried).filter(is_same);
        let (mut count, mut is_known) = (0, false);
        for old in known {
            count += 1;
            is_known |= old.right == *right;
        }
        if !is_known && count < TRIED_PER_APP_MAX {
            state.tried.push(Tried { app: app.clone(), digest, right: right.clone() });
        }
    }

    /// What this content of the app tried and was refused.
    pub(crate) fn tried(&self, app: &AppId, digest: &Digest) -> Result<Vec<Right>, Failure> {
        let mut state = self.state();
        state.store.contents()?;
        let all = state.store.known().tried.iter().chain(&state.tried);
        Ok(all.filter(|old| old.app == *app && old.digest == *digest).map(|old| old.right.clone()).collect())
    }

    /// True when this content of the app tried the right, or more, and was refused.
    pub(crate) fn has_tried(&self, app: &AppId, digest: &Digest, right: &Right) -> Result<bool, Failure> {
        let mut state = self.state();
        state.store.contents()?;
        let mut all = state.store.known().tried.iter().chain(&state.tried);
        Ok(all.any(|old| old.app == *app && old.digest == *digest && old.right.covers(right)))
    }

    /// Every grant, or those of one app.
    pub(crate) fn list(&self, app: Option<&AppId>) -> Result<Vec<Grant>, Failure> {
        self.unused(app, 0)
    }

    /// Grants that the last `runs` runs of their app did not use.
    pub(crate) fn unused(&self, app: Option<&AppId>, runs: u64) -> Result<Vec<Grant>, Failure> {
        let mut state = self.state();
        state.store.contents()?;
        let State { store, usage, .. } = &*state;
        let wanted = store.known().grants.iter().filter(|grant| app.is_none_or(|app| grant.app == *app));
        let counted = wanted.map(|grant| {
            let mut grant = grant.clone();
            usage.apply(&mut grant);
            grant
        });
        Ok(counted.filter(|grant| grant.runs_unused >= runs).collect())
    }

    /// Counts one run of an app that used these rights. Goes to disk now and then; at once where the run tried what
    /// nobody knew of, because the person who reads of it may grant it from another process.
    pub(crate) fn note_run(&self, app: &AppId, used: &[Right]) -> Result<(), Failure> {
        let mut state = self.state();
        state.store.contents()?;
        let State { store, usage, .. } = &mut *state;
        for grant in store.known().of(app) {
            usage.count(grant, used);
        }
        if state.tried.is_empty() && state.flushed.elapsed() < COUNTERS_FLUSH_INTERVAL {
            return Ok(());
        }
        state.flush()
    }

    /// Writes what is only in memory.
    pub(crate) fn flush(&self) -> Result<(), Failure> {
        self.state().flush()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is made on a copy and put in place whole, so that a panic elsewhere leaves nothing half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn flush(&mut self) -> Result<(), Failure> {
        self.flushed = Instant::now();
        if self.tried.is_empty() && self.usage.is_empty() {
            return Ok(());
        }
        self.change(|_| Ok(()))
    }

    /// Changes the store, with what was only in memory.
    fn change<T>(&mut self, change: impl FnOnce(&mut Contents) -> Result<T, Failure>) -> Result<T, Failure> {
        let Self { store, usage, tried, .. } = self;
        let result = store.change(|contents| {
            for grant in &mut contents.grants {
                usage.apply(grant);
            }
            for one in tried.iter() {
                // Another process may have seen the same.
                contents.tried.retain(|old| old != one);
                contents.tried.push(one.clone());
            }
            drop_oldest(&mut contents.tried);
            change(contents)
        })?;
        self.usage = Usage::default();
        self.tried.clear();
        Ok(result)
    }
}

impl Drop for Grants {
    fn drop(&mut self) {
        if let Err(failure) = self.flush() {
            tracing::warn!(%failure, "counters of grants are lost");
        }
    }
}

fn drop_oldest<T>(remembered: &mut Vec<T>) {
    let surplus = remembered.len().saturating_sub(REMEMBERED_MAX);
    remembered.drain(..surplus);
}

#[cfg(test)]
mod tests;
