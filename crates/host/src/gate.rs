//! The decision: may this app do this now? One function, asked by host calls, the proxy and the sandbox alike.
//!
//! A right works only if the app asked for it and a policy or a person gave it, and never against a denial. Every
//! decision becomes a row of the audit log; while the log cannot be written, the answer is no.

mod shown_text; // text from outside, made safe to show
mod command_text; // the command that grants what was denied
mod disk; // the few writes made here, each a step that may fail
mod policy; // what the operator allows and denies beforehand
mod grants; // what a person gave
mod audit; // what was decided

pub use self::{
    audit::{
        Broken as AuditBroken, Filter as AuditFilter, Listing as AuditListing, Outcome as AuditOutcome,
        Row as AuditRow, Verified as AuditVerified, What as AuditWhat,
    },
    grants::{Grant, Revoked},
    policy::Policy,
};
pub(crate) use self::{
    audit::{rows as audit_rows, verify as verify_audit},
    command_text::revoke_command,
    disk::Disk,
    grants::Generation,
};

use self::{
    audit::{Audit, Outcome, Subject, What},
    command_text::grant_command,
    grants::Grants,
    policy::Closed,
};
use jiff::Timestamp;
use roost_protocol::{AppId, Asks, Digest, Failure, Lasting, Origin, Reason, Refusal, Right};
use std::{path::Path, sync::Arc};

/// Who asks. Made by the host from the connection, never from a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The app.
    pub app: AppId,
    /// Its content.
    pub digest: Digest,
    /// Where it came from.
    pub origin: Origin,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// It may.
    Allowed {
        /// What gave the right.
        by: Source,
    },
    /// It may not.
    Denied {
        /// What is missing or in the way.
        why: Why,
        /// The command that grants it, or what to do instead.
        next: String,
    },
}

/// What gave a right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The `allow` list of the origin, or of all.
    Policy,
    /// A person, for so long.
    Grant(Lasting),
}

/// Why a right was denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The app does not ask for it.
    NotAsked,
    /// Nobody gave it.
    NotGranted,
    /// A `deny` list forbids it.
    Policy,
    /// Nobody knows what was given.
    GrantsUnusable,
    /// The decision could not be recorded.
    AuditUnusable,
    /// Nobody knows who asks.
    UnknownCaller,
}

impl Why {
    /// The code from the closed list.
    #[must_use]
    pub fn reason(self) -> Reason {
        match self {
            Self::NotAsked => Reason::RightNotAsked,
            Self::NotGranted => Reason::RightMissing,
            Self::Policy => Reason::DeniedByPolicy,
            Self::GrantsUnusable => Reason::GrantsUnusable,
            Self::AuditUnusable => Reason::AuditUnusable,
            Self::UnknownCaller => Reason::RightMissing,
        }
    }
}

impl Decision {
    /// The answer to somebody the host did not start.
    pub(crate) fn unknown_caller() -> Self {
        Self::Denied { why: Why::UnknownCaller, next: "see `roost doctor`".to_owned() }
    }

    /// The failure of a call that needs the right; nothing when it was allowed.
    #[must_use]
    pub(crate) fn failure(&self, right: &Right) -> Option<Failure> {
        let Self::Denied { why, next } = self else { return None };
        Some(Failure::new(why.reason(), format!("not allowed: `{right}`")).with_next(next.clone()))
    }
}

/// One use of a right that is to be decided.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Use<'a> {
    pub(crate) right: &'a Right,
    /// What for, in a few words; never contents.
    pub(crate) detail: Option<&'a str>,
    pub(crate) reach: Reach,
}

/// Whether anybody could give a right for what is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// A person can.
    Grantable,
    /// Nobody can.
    Never,
}

/// Uses that are recorded without another decision.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Uses<'a> {
    pub(crate) right: Option<&'a Right>,
    pub(crate) detail: &'a str,
    pub(crate) allowed: bool,
    pub(crate) count: u64,
}

/// What a person gives.
#[derive(Debug, Clone)]
pub(crate) struct Giving {
    /// The right.
    pub right: Right,
    /// For how long.
    pub lasting: Lasting,
    /// Who gives it.
    pub granted_by: String,
}

/// By whom, or about whom, an event is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum About<'a> {
    /// The app itself.
    Caller(&'a Caller),
    /// The operator, about this app.
    Operator(&'a AppId),
}

/// Something besides decisions that the log keeps.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    /// A person gave a right.
    Granted(Giving),
    /// It was to be given and could not be kept.
    NotGranted(Giving),
    /// A person said no.
    SaidNo(Right),
    /// A right, or all, was taken back.
    Revoked(Option<Right>),
}

/// The one place that decides.
#[derive(Debug)]
pub struct Gate {
    policy: Arc<Policy>,
    grants: Grants,
    audit: Audit,
    /// The host's own files, which decide over everything else.
    closed: Closed,
}

/// What lies in the home folder and is nobody's but the host's.
const OWN_FILES: [&str; 24] = [
    "grants.json",
    "grants.lock",
    "audit",
    "roost.toml",
    ".env",
    "keys",
    "run",
    "logs",
    "cache",
    "roost.db",
    "services",
    "sources",
    "trash",
    "voice.zip",
    ".brainstem_book.json",
    ".brainstem_model",
    ".brainstem_secret",
    ".copilot_pending",
    ".copilot_session",
    ".copilot_token",
    "conversations",
    "apps",
    "roost.lock",
    "native",
];

/// Where the host keeps what no grant opens.
pub(crate) fn own_files(home: &Path) -> Vec<std::path::PathBuf> {
    OWN_FILES.iter().map(|name| home.join(name)).collect()
}

impl Gate {
    /// The gate of this home, with its grants in `grants.json` and its log in `audit/`.
    pub fn open(home: &Path, policy: impl Into<Arc<Policy>>) -> Result<Self, Failure> {
        let policy = policy.into();
        let closed = policy.closed(&own_files(home));
        Ok(Self { policy, grants: Grants::open(home), audit: Audit::open(&home.join("audit"))?, closed })
    }

    /// The policy.
    #[must_use]
    pub(crate) fn policy(&self) -> &Policy {
        &self.policy
    }

    /// What persons gave.
    #[must_use]
    pub(crate) fn grants(&self) -> &Grants {
        &self.grants
    }

    /// The log.
    #[must_use]
    pub(crate) fn audit(&self) -> &Audit {
        &self.audit
    }

    /// Decides whether the caller may use the right now, and records it.
    #[must_use]
    pub fn decide(&self, caller: &Caller, asks: &Asks, right: &Right) -> Decision {
        self.decide_use(caller, asks, Use { right, detail: None, reach: Reach::Grantable })
    }

    /// The same, with what the right is used for. What is out of reach is denied whatever was granted.
    #[must_use]
    pub(crate) fn decide_use(&self, caller: &Caller, asks: &Asks, using: Use<'_>) -> Decision {
        let Use { right, detail, reach } = using;
        let decision = match reach {
            Reach::Grantable => self.judge(caller, asks, right).unwrap_or_else(unusable),
            Reach::Never => Decision::Denied { why: Why::Policy, next: "no grant allows this".to_owned() },
        };
        if matches!(decision, Decision::Denied { why: Why::NotAsked, .. }) && !asks.declared {
            // Having tried counts as asking a person. It does not count for the policy: otherwise a second try would
            // get what the first did not.
            self.grants.note_tried(&caller.app, caller.digest, right);
        }
        let (outcome, why) = match &decision {
            Decision::Allowed { .. } => (Outcome::Allowed, None),
            Decision::Denied { why, .. } => (Outcome::Denied, Some(why.reason())),
        };
        let detail = detail.map(str::to_owned);
        let subject =
            Subject { why, detail, ..subject(About::Caller(caller), What::Decide, Some(right), outcome) };
        match self.audit.push(subject, 1) {
            Ok(()) => decision,
            Err(failure) => {
                let next = format!("{failure}: {}", failure.next_step());
                Decision::Denied { why: Why::AuditUnusable, next }
            }
        }
    }

    /// Records uses that were decided as one before them was, or that need no right at all.
    pub(crate) fn note_uses(&self, caller: &Caller, uses: Uses<'_>) -> Result<(), Failure> {
        let outcome = if uses.allowed { Outcome::Allowed } else { Outcome::Denied };
        let why = (!uses.allowed).then_some(Reason::RightMissing);
        let detail = Some(uses.detail.to_owned());
        let subject = subject(About::Caller(caller), What::Decide, uses.right, outcome);
        self.audit.push(Subject { why, detail, ..subject }, uses.count)
    }

    /// Returns when everything decided so far, and what apps tried, is on disk.
    pub fn flush(&self) -> Result<(), Failure> {
        self.grants.flush()?;
        self.audit.flush()
    }

    /// What the decision would be, for a person who looks: nothing is recorded, and nothing counts as tried.
    pub(crate) fn consider(&self, caller: &Caller, asks: &Asks, right: &Right) -> Decision {
        self.judge(caller, asks, right).unwrap_or_else(unusable)
    }

    /// The command that would allow the right, or why none would.
    pub(crate) fn would_allow(&self, caller: &Caller, asks: &Asks, right: &Right) -> String {
        match self.consider(caller, asks, right) {
            Decision::Denied { next, .. } => next,
            Decision::Allowed { .. } => {
                "it is granted; this file's own permissions do not allow it".to_owned()
            }
        }
    }

    /// The decision itself: denial, ask, policy, grant, in this order. An error is a store that cannot be used.
    fn judge(&self, caller: &Caller, asks: &Asks, right: &Right) -> Result<Decision, Failure> {
        let denied = |why, next| Ok(Decision::Denied { why, next });
        if self.is_closed(right) {
            return denied(Why::Policy, HOLDS_OWN_FILES.to_owned());
        }
        if let Some(entry) = self.policy.denies(caller.origin, right) {
            return denied(Why::Policy, format!("{entry}; no grant changes that"));
        }
        let is_asked = asks.cover(right);
        if !is_asked && asks.declared {
            return denied(Why::NotAsked, format!("declare `{right}` in its [tool.roost] table"));
        }
        if is_asked && self.policy.allows(caller.origin, right) {
            return Ok(Decision::Allowed { by: Source::Policy });
        }
        if !is_asked && !self.grants.has_tried(&caller.app, &caller.digest, right)? {
            return denied(Why::NotAsked, grant_command(&caller.app, right));
        }
        match self.grants.holding(caller, asks, &self.policy, right)? {
            Some(lasting) => Ok(Decision::Allowed { by: Source::Grant(lasting) }),
            None => denied(Why::NotGranted, grant_command(&caller.app, right)),
        }
    }

    /// True for a right that would open the host's own files.
    pub(crate) fn is_closed(&self, right: &Right) -> bool {
        self.closed.overlaps(right)
    }

    /// Whether a person may give this right to the app at all.
    pub(crate) fn may_be_granted(&self, caller: &Caller, asks: &Asks, right: &Right) -> Result<(), Failure> {
        if self.is_closed(right) {
            let message = format!("`{right}` cannot be granted: {HOLDS_OWN_FILES}");
            return Err(Failure::new(Reason::DeniedByPolicy, message)
                .with_next("grant the folder that is meant, not one that holds the home of the host"));
        }
        if let Some(entry) = self.policy.denies_granting(caller.origin, right) {
            let message = format!("`{right}` cannot be granted: {entry}");
            return Err(Failure::new(Reason::DeniedByPolicy, message));
        }
        if !asks.cover(right)
            && (asks.declared || !self.grants.has_tried(&caller.app, &caller.digest, right)?)
        {
            let message = format!("{} does not ask for `{right}`", caller.app);
            return Err(Failure::new(Reason::RightNotAsked, message));
        }
        Ok(())
    }

    /// Gives a right to an app. On disk, and in the log, when this returns.
    pub(crate) fn grant(&self, caller: &Caller, asks: &Asks, giving: Giving) -> Result<(), Failure> {
        let right = &giving.right;
        self.may_be_granted(caller, asks, right)?;
        // Recorded first: a grant that nobody can account for must not exist.
        self.note(About::Caller(caller), &Event::Granted(giving.clone()))?;
        self.audit.flush()?;
        let grant = Grant {
            app: caller.app.clone(),
            right: right.clone(),
            digest: caller.digest,
            asks: asks.digest(),
            lasting: giving.lasting,
            granted_by: giving.granted_by.clone(),
            granted_at: Timestamp::now(),
            last_used_at: None,
            runs_unused: 0,
        };
        self.grants.add(grant).inspect_err(|_| {
            if let Err(failure) = self.note(About::Caller(caller), &Event::NotGranted(giving)) {
                tracing::error!(%failure, "a grant that failed stands in the audit log as made");
            }
        })
    }

    /// Takes a right back, with every narrower one, or everything. Done even when it cannot be recorded, which is
    /// then the error.
    pub(crate) fn revoke(&self, app: &AppId, right: Option<&Right>) -> Result<Revoked, Failure> {
        let revoked = self.grants.revoke(app, right)?;
        self.note(About::Operator(app), &Event::Revoked(right.cloned()))
            .and_then(|()| self.audit.flush())
            .map_err(|failure| Failure { message: format!("revoked, not recorded: {failure}"), ..failure })?;
        Ok(revoked)
    }

    /// Records that a person said no, so that nobody asks again for this content.
    pub(crate) fn refuse(&self, caller: &Caller, right: &Right) -> Result<(), Failure> {
        self.grants.refuse(&caller.app, caller.digest, right)?;
        self.note(About::Caller(caller), &Event::SaidNo(right.clone()))
    }

    /// Records what the kernel or the proxy refused. The app has tried it, so that a person may grant it.
    pub(crate) fn note_refusal(&self, caller: &Caller, refusal: &Refusal) -> Result<(), Failure> {
        let right = refusal.right.as_ref();
        if let Some(right) = right {
            self.grants.note_tried(&caller.app, caller.digest, right);
        }
        let detail = Some(refusal.what.clone());
        let subject = subject(About::Caller(caller), What::Refused, right, Outcome::Refused);
        self.audit.push(Subject { detail, ..subject }, refusal.count)
    }

    /// Records something besides decisions.
    pub(crate) fn note(&self, about: About<'_>, event: &Event) -> Result<(), Failure> {
        let given = |giving: &Giving| {
            let lasting = match giving.lasting {
                Lasting::Once => "once",
                Lasting::Version => "for this version",
                Lasting::Always => "always",
            };
            Some(format!("{lasting}, by {}", giving.granted_by))
        };
        let (what, right, detail, outcome) = match event {
            Event::Granted(giving) => (What::Grant, Some(&giving.right), given(giving), Outcome::Done),
            Event::NotGranted(giving) => (What::Grant, Some(&giving.right), given(giving), Outcome::Failed),
            Event::SaidNo(right) => (What::Grant, Some(right), None, Outcome::Denied),
            Event::Revoked(right) => (What::Revoke, right.as_ref(), None, Outcome::Done),
        };
        self.audit.push(Subject { detail, ..subject(about, what, right, outcome) }, 1)
    }
}

/// Why a place cannot be opened to any app.
const HOLDS_OWN_FILES: &str =
    "the host keeps its grants, its log and its settings there; no grant changes that";

/// A store that cannot be read gives nothing.
fn unusable(failure: Failure) -> Decision {
    Decision::Denied { why: Why::GrantsUnusable, next: format!("{failure}: {}", failure.next_step()) }
}

fn subject(about: About<'_>, what: What, right: Option<&Right>, decision: Outcome) -> Subject {
    let (app, digest, origin) = match about {
        About::Caller(caller) => (&caller.app, Some(caller.digest), Some(caller.origin)),
        About::Operator(app) => (app, None, None),
    };
    let app = Some(app.clone());
    Subject { app, digest, origin, what, right: right.cloned(), detail: None, decision, why: None }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod model_tests;
