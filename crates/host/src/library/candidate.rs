//! A version before it counts: what it asks for, what it is given, and whether it answers in its sandbox.

use super::{
    AppLibrary,
    installed::Arriving,
    plan::{AskedRight, Given},
};
use crate::{
    gate::{Decision, Giving, Source as GivenBy, Why},
    program::Source,
    shelves::Shelves,
    standing::Standing,
};
use roost_apps::{Description, library::PartRecord};
use roost_protocol::{AppId, Digest, Failure, FileKind, Language, Lasting, Reason, Right};

/// A version of an app, with the standing its files will have.
pub(super) struct Candidate {
    pub(super) id: String,
    pub(super) parts: Vec<CandidatePart>,
    /// For as long as it is a candidate its files count as the app's.
    _arriving: Vec<Arriving>,
}

pub(super) struct CandidatePart {
    pub(super) source: Source,
    pub(super) standing: Standing,
}

/// A part that answered.
pub(super) struct Answered {
    kind: FileKind,
    digest: Digest,
    description: Description,
}

impl Candidate {
    /// Every right that its files ask for, widest reach first.
    pub(super) fn rights(&self) -> Vec<Right> {
        let asks = self.parts.iter().flat_map(|part| &part.standing.asks.asks);
        let mut rights: Vec<Right> = asks.map(|ask| ask.right.clone()).collect();
        rights.sort();
        rights.dedup();
        rights
    }
}

impl AppLibrary {
    /// Looks at the files of a version as those of an app. Nothing is run.
    pub(super) async fn candidate<'a>(
        &self,
        id: &str,
        code: impl Iterator<Item = (FileKind, &'a PartRecord, &'a [u8])>,
    ) -> Result<Candidate, Failure> {
        let places = self.disk().places();
        let (mut parts, mut arriving) = (Vec::new(), Vec::new());
        for (kind, part, bytes) in code {
            arriving.push(self.home().installed().arriving(kind, &part.file_name, id));
            let source = Source {
                path: places.code(kind, &part.file_name),
                file_name: part.file_name.clone(),
                kind,
                language: kind.language_of(&part.file_name).unwrap_or(Language::Python),
                digest: Digest::of(bytes),
                bytes: bytes.into(),
            };
            let standing = self.inner().workshop().standing(&source).await.map_err(|failure| {
                let message = format!("{id}: {}: {}", part.file_name, failure.message);
                Failure { message, ..failure }
            })?;
            parts.push(CandidatePart { source, standing });
        }
        Ok(Candidate { id: id.to_owned(), parts, _arriving: arriving })
    }

    /// What a candidate asks for, and what it would have of that. `known` are rights of the version before.
    pub(super) fn asked(&self, candidate: &Candidate, known: &[Right]) -> Vec<AskedRight> {
        let state = |right: &Right| {
            let asking = candidate.parts.iter().filter(|part| part.standing.asks.cover(right));
            let states = asking.map(|part| self.given(&part.standing, right));
            // What one of its files does not have, the app does not have.
            states.max().unwrap_or(Given::Open)
        };
        let rights = candidate.rights().into_iter();
        rights
            .map(|right| AskedRight {
                sentence: right.sentence(),
                given: state(&right),
                is_new: !known.iter().any(|known| known.covers(&right)),
                right,
            })
            .collect()
    }

    fn given(&self, standing: &Standing, right: &Right) -> Given {
        match self.inner().gate.consider(&standing.caller, &standing.asks, right) {
            Decision::Allowed { by: GivenBy::Policy } => Given::Policy,
            Decision::Allowed { by: GivenBy::Grant(_) } => Given::Granted,
            Decision::Denied { why: Why::Policy, .. } => Given::Forbidden,
            Decision::Denied { .. } => Given::Open,
        }
    }

    /// Gives rights to this content of the candidate's files, to each what it asks for of them.
    pub(super) fn give(&self, candidate: &Candidate, rights: &[Right], by: &str) -> Result<(), Failure> {
        let gate = &self.inner().gate;
        for CandidatePart { standing, .. } in &candidate.parts {
            for right in
                rights.iter().filter(|right| standing.asks.asks.iter().any(|ask| ask.right == **right))
            {
                if self.given(standing, right) != Given::Open {
                    continue;
                }
                let giving =
                    Giving { right: right.clone(), lasting: Lasting::Version, granted_by: by.to_owned() };
                gate.grant(&standing.caller, &standing.asks, giving)?;
            }
        }
        Ok(())
    }

    /// What persons gave to these contents of the files of an app.
    pub(super) fn granted<'a>(
        &self,
        code: impl Iterator<Item = (FileKind, &'a PartRecord)>,
    ) -> Result<Vec<Right>, Failure> {
        let mut rights = Vec::new();
        for (_, part) in code {
            let grants = self.inner().gate.grants().list(Some(&AppId::new(&part.file_name)))?;
            let of_content = grants.into_iter().filter(|grant| grant.digest == part.digest);
            rights.extend(of_content.map(|grant| grant.right));
        }
        Ok(rights)
    }

    /// Takes back everything that was given to these files.
    pub(super) fn take_back<'a>(&self, files: impl Iterator<Item = &'a str>) {
        for file in files {
            if let Err(failure) = self.inner().gate.revoke(&AppId::new(file), None) {
                tracing::warn!(%failure, file, "take back what was granted to an app that is not there");
            }
        }
    }

    /// Loads every file of the candidate in its sandbox. Whoever does not answer, or answers to a name that is taken,
    /// is not installed.
    pub(super) async fn answers(&self, candidate: &Candidate) -> Result<Vec<Answered>, Failure> {
        let own: Vec<&str> = candidate.parts.iter().map(|part| part.source.file_name.as_str()).collect();
        let before = self.contents()?.app(&candidate.id).cloned();
        let replaced =
            before.iter().flat_map(|app| app.current.code()).map(|(_, part)| part.file_name.as_str());
        let own: Vec<&str> = own.into_iter().chain(replaced).collect();
        let mut answered = Vec::new();
        for CandidatePart { source, .. } in &candidate.parts {
            let shelves = self.shelves(source.kind);
            // Which names are taken is known only when every file is.
            shelves.refresh(&crate::knowledge::NoProgress).await?;
            let description = shelves.own().try_out(source).await.map_err(|failure| {
                let message = format!("{} does not answer: {}", source.file_name, failure.message);
                let next = failure.next_step().to_owned();
                Failure { message, next: Some(next), ..failure }
            })?;
            let roster = shelves.roster();
            for agent in &description.agents {
                let holder = roster.find(&agent.name);
                let holder =
                    holder.filter(|one| one.source.is_some() || !own.contains(&one.file_name.as_str()));
                if let Some(holder) = holder {
                    let message = format!("{} already answers to the name {}", holder.file_name, agent.name);
                    return Err(Failure::new(Reason::Shadowed, message));
                }
            }
            answered.push(Answered { kind: source.kind, digest: source.digest, description });
        }
        Ok(answered)
    }

    /// Before the files are there: whoever sees them first need not load them again.
    pub(super) fn expect(&self, answered: &[Answered]) {
        for one in answered {
            self.shelves(one.kind).own().expect(one.digest, one.description.clone());
        }
    }

    /// Looks at files that came, changed or went, and says which agents and services answer from them now.
    pub(super) async fn look_at<'a>(
        &self,
        files: impl Iterator<Item = (FileKind, &'a str)>,
    ) -> Result<(), Failure> {
        for (kind, file_name) in files {
            self.shelves(kind).own().look_at(file_name).await;
        }
        Ok(())
    }

    /// True when exactly these contents answer now.
    pub(super) fn is_serving(&self, answered: &[Answered]) -> bool {
        answered.iter().all(|one| {
            let roster = self.shelves(one.kind).roster();
            let serves = |name: &str| roster.find(name).is_some_and(|callable| callable.digest == one.digest);
            let is_off = |name: &str| {
                let of_name = roster.listings.iter().filter(|listing| listing.name == name);
                of_name.into_iter().any(|listing| listing.state == roost_protocol::AgentState::Disabled)
            };
            one.description.agents.iter().all(|agent| serves(&agent.name) || is_off(&agent.name))
        })
    }

    pub(super) fn shelves(&self, kind: FileKind) -> &Shelves {
        match kind {
            FileKind::Agent => &self.inner().agents,
            FileKind::Service => &self.inner().services,
        }
    }
}
