//! Rights as a person sees them: what an app asks for, what it has, giving and taking back.

use crate::{
    gate::{
        AuditFilter, AuditListing, AuditVerified, Decision, Giving, Grant, Revoked, Source, Why, audit_rows,
        revoke_command, verify_audit,
    },
    host::Host,
    standing::Standing,
};
use roost_protocol::{AppId, Ask, Digest, Evidence, Failure, Lasting, Origin, Reason, Right};
use serde::Serialize;
use std::collections::BTreeMap;

/// What one app asks for and has.
#[derive(Debug, Serialize)]
pub struct AppRights {
    /// The app.
    pub app: AppId,
    /// Its content.
    pub digest: Digest,
    /// Where it came from.
    pub origin: Origin,
    /// True when it declares its rights itself.
    pub declared: bool,
    /// Every right it asks for or was given, widest reach first.
    pub rights: Vec<RightState>,
}

/// One right of an app.
#[derive(Debug, Serialize)]
pub struct RightState {
    /// The right.
    pub right: Right,
    /// What it allows, in words.
    pub sentence: String,
    /// Whether it works.
    pub state: State,
    /// How it is known that the app wants it; absent when it was only granted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// Line of the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The permission as the app wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original: Option<String>,
    /// What to do to change the state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Whether a right works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// A person gave it for one call.
    GrantedOnce,
    /// A person gave it for this content.
    GrantedVersion,
    /// A person gave it for good.
    GrantedAlways,
    /// The policy gives it.
    Policy,
    /// Nobody gave it.
    NotGranted,
    /// The app does not ask for it, so that it does not work.
    NotAsked,
    /// The policy forbids it.
    Forbidden,
    /// Grants or audit log cannot be used.
    Unusable,
}

impl Host {
    /// What an app asks for and has. Nothing is run and nothing recorded.
    pub async fn rights(&self, app: &str) -> Result<AppRights, Failure> {
        self.rights_of(&self.inner.standing(app).await?)
    }

    /// The same for one whose standing is known.
    pub(crate) fn rights_of(&self, standing: &Standing) -> Result<AppRights, Failure> {
        let Standing { caller, asks } = standing;
        let grants = self.inner.gate.grants();
        let tried = grants.tried(&caller.app, &caller.digest)?;
        let tried = tried.into_iter().map(|right| Ask {
            right,
            evidence: Evidence::Tried,
            line: None,
            original: None,
        });
        let mut wanted: Vec<Ask> = asks.asks.clone();
        wanted.extend(tried.filter(|ask| !asks.cover(&ask.right)));
        let mut rights: Vec<RightState> =
            wanted.iter().map(|ask| self.state(standing, &ask.right, Some(ask))).collect();
        for grant in grants.list(Some(&caller.app))? {
            if !rights.iter().any(|known| known.right == grant.right) {
                rights.push(self.state(standing, &grant.right, None));
            }
        }
        // The order of the list of rights is that of their reach.
        rights.sort_by(|one, other| one.right.cmp(&other.right));
        rights.dedup_by(|one, other| one.right == other.right);
        let declared = asks.declared;
        Ok(AppRights {
            app: caller.app.clone(),
            digest: caller.digest,
            origin: caller.origin,
            declared,
            rights,
        })
    }

    fn state(&self, standing: &Standing, right: &Right, ask: Option<&Ask>) -> RightState {
        let decision = self.inner.gate.consider(&standing.caller, &standing.asks, right);
        let (state, next) = match decision {
            Decision::Allowed { by: Source::Policy } => (State::Policy, None),
            Decision::Allowed { by: Source::Grant(Lasting::Once) } => (State::GrantedOnce, None),
            Decision::Allowed { by: Source::Grant(Lasting::Version) } => (State::GrantedVersion, None),
            Decision::Allowed { by: Source::Grant(Lasting::Always) } => (State::GrantedAlways, None),
            Decision::Denied { why, next } => {
                let state = match why {
                    Why::NotGranted => State::NotGranted,
                    Why::NotAsked => State::NotAsked,
                    Why::Policy => State::Forbidden,
                    Why::GrantsUnusable | Why::AuditUnusable | Why::UnknownCaller => State::Unusable,
                };
                (state, Some(next))
            }
        };
        RightState {
            right: right.clone(),
            sentence: right.sentence(),
            state,
            evidence: ask.map(|ask| ask.evidence),
            line: ask.and_then(|ask| ask.line),
            original: ask.and_then(|ask| ask.original.clone()),
            next,
        }
    }

    /// Gives rights to an app; all of them or, when one is refused, none.
    pub async fn grant(
        &self,
        app: &str,
        rights: &[Right],
        lasting: Lasting,
        by: &str,
    ) -> Result<AppId, Failure> {
        let Standing { caller, asks } = self.inner.standing(app).await?;
        let gate = &self.inner.gate;
        rights.iter().try_for_each(|right| gate.may_be_granted(&caller, &asks, right))?;
        for right in rights {
            let giving = Giving { right: right.clone(), lasting, granted_by: by.to_owned() };
            gate.grant(&caller, &asks, giving)?;
        }
        Ok(caller.app)
    }

    /// Records that a person said no.
    pub async fn say_no(&self, app: &str, right: &Right) -> Result<(), Failure> {
        let standing = self.inner.standing(app).await?;
        self.inner.gate.refuse(&standing.caller, right)
    }

    /// What an app asks for, does not have, and no person said no to: what an interactive surface may ask about.
    pub async fn open_questions(&self, app: &str) -> Result<Vec<RightState>, Failure> {
        self.open_questions_of(&self.inner.standing(app).await?)
    }

    /// The same for one whose standing is known.
    pub(crate) fn open_questions_of(&self, standing: &Standing) -> Result<Vec<RightState>, Failure> {
        let gate = &self.inner.gate;
        if !gate.policy().ask(standing.caller.origin) {
            return Ok(Vec::new());
        }
        let rights = self.rights_of(standing)?.rights;
        let mut open = Vec::new();
        for right in rights.into_iter().filter(|right| right.state == State::NotGranted) {
            if !gate.grants().was_refused(&standing.caller.app, &standing.caller.digest, &right.right)? {
                open.push(right);
            }
        }
        Ok(open)
    }

    /// Takes back a right with every narrower one, or everything. The app need not exist any more.
    pub async fn revoke(&self, app: &str, right: Option<&Right>) -> Result<(AppId, Revoked), Failure> {
        let id = match self.inner.standing(app).await {
            Ok(standing) => standing.caller.app,
            Err(failure) => {
                let known = self.inner.gate.grants().list(None)?;
                let gone = known.into_iter().map(|grant| grant.app).find(|known| known.as_str() == app);
                gone.ok_or(failure)?
            }
        };
        let revoked = self.inner.gate.revoke(&id, right)?;
        Ok((id, revoked))
    }

    /// Grants that the last `runs` runs of their app did not use.
    pub fn unused_grants(&self, runs: u64) -> Result<Vec<Grant>, Failure> {
        self.inner.gate.grants().unused(None, runs.max(1))
    }

    /// One command for each app that takes these grants back.
    #[must_use]
    pub fn revoke_commands(&self, grants: &[Grant]) -> Vec<String> {
        let mut by_app: BTreeMap<&AppId, Vec<&Right>> = BTreeMap::new();
        grants.iter().for_each(|grant| by_app.entry(&grant.app).or_default().push(&grant.right));
        by_app.into_iter().map(|(app, rights)| revoke_command(app, &rights)).collect()
    }

    /// Rows of the audit log.
    pub fn audit(&self, filter: &AuditFilter) -> Result<AuditListing, Failure> {
        self.inner.gate.audit().flush()?;
        Ok(audit_rows(self.audit_folder(), filter))
    }

    /// Checks that the audit log is whole.
    pub fn verify_audit(&self) -> Result<AuditVerified, Failure> {
        self.inner.gate.audit().flush()?;
        verify_audit(self.audit_folder())
            .map_err(|broken| Failure::new(Reason::AuditBroken, broken.to_string()))
    }

    fn audit_folder(&self) -> &std::path::Path {
        self.inner.gate.audit().folder()
    }
}
