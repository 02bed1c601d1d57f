//! A version before it counts: what it asks for, what it is given, and whether it answers in its sandbox.

use super::{
    AppLibrary,
    installed::Arriving,
    plan::{AskedRight, Given},
};
use crate::{
    gate::{Caller, Decision, Giving, Source as GivenBy, Why},
    program::Source,
    shelves::Shelves,
    standing::Standing,
};
use roost_apps::{Description, Files, library::VersionRecord, native::NativePackage};
use roost_protocol::{AppId, Asks, Digest, Failure, FileKind, Language, Lasting, Origin, Reason, Right};

/// A version of an app, with the standing its files will have.
pub(super) struct Candidate {
    pub(super) id: String,
    pub(super) parts: Vec<CandidatePart>,
    /// The program, where the app is one.
    pub(super) program: Option<CandidateProgram>,
    /// For as long as it is a candidate its files count as the app's.
    _arriving: Vec<Arriving>,
}

pub(super) struct CandidatePart {
    pub(super) source: Source,
    pub(super) standing: Standing,
}

/// A program that somebody vouches for at this moment, or that its author runs.
pub(super) struct CandidateProgram {
    pub(super) package: NativePackage,
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
        let asks = self.standings().flat_map(|standing| &standing.asks.asks);
        let mut rights: Vec<Right> = asks.map(|ask| ask.right.clone()).collect();
        rights.sort();
        rights.dedup();
        rights
    }

    /// Whom rights are given to.
    fn standings(&self) -> impl Iterator<Item = &Standing> {
        self.parts.iter().map(|part| &part.standing).chain(self.program.iter().map(|one| &one.standing))
    }

    /// The names by which the gate knows them.
    pub(super) fn principals(&self) -> impl Iterator<Item = String> {
        self.standings().map(|standing| standing.caller.app.as_str().to_owned())
    }
}

impl AppLibrary {
    /// Looks at the files of a version as those of an app. Nothing is run; a program that nobody vouches for now is refused.
    pub(super) async fn candidate(
        &self,
        id: &str,
        version: &VersionRecord,
        files: &Files,
    ) -> Result<Candidate, Failure> {
        let program = match &version.native {
            Some(_) => Some(self.candidate_program(version, files).await?),
            None => None,
        };
        let code = version.code().filter_map(|(kind, part)| Some((kind, part, files.get(&part.path)?)));
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
        Ok(Candidate { id: id.to_owned(), parts, program, _arriving: arriving })
    }

    async fn candidate_program(
        &self,
        version: &VersionRecord,
        files: &Files,
    ) -> Result<CandidateProgram, Failure> {
        let package = self.believed(version, files.clone()).await?;
        let asks = Asks { declared: true, asks: package.manifest().permissions.clone() };
        let app = crate::native::app_of(package.manifest().id.as_str());
        let origin = if version.origin.is_sideload() { Origin::Local } else { Origin::Catalog };
        let caller = Caller { app, digest: package.digest(), origin };
        Ok(CandidateProgram { package, standing: Standing { caller, asks } })
    }

    /// What a candidate asks for, and what it would have of that. `known` are rights of the version before.
    pub(super) fn asked(&self, candidate: &Candidate, known: &[Right]) -> Vec<AskedRight> {
        let state = |right: &Right| {
            let asking = candidate.standings().filter(|standing| standing.asks.cover(right));
            let states = asking.map(|standing| self.given(standing, right));
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
        for standing in candidate.standings() {
            // What was given before may be wider than what is asked for now.
            let asked = standing.asks.asks.iter().map(|ask| &ask.right);
            for right in asked.filter(|asked| rights.iter().any(|given| given.covers(asked))) {
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
    pub(super) fn granted(
        &self,
        principals: impl Iterator<Item = (String, Digest)>,
    ) -> Result<Vec<Right>, Failure> {
        let mut rights = Vec::new();
        for (name, digest) in principals {
            let grants = self.inner().gate.grants().list(Some(&AppId::new(name)))?;
            let of_content = grants.into_iter().filter(|grant| grant.digest == digest);
            rights.extend(of_content.map(|grant| grant.right));
        }
        Ok(rights)
    }

    /// Takes back everything that was given to these files.
    pub(super) fn take_back(&self, principals: impl Iterator<Item = String>) {
        for file in principals {
            if let Err(failure) = self.inner().gate.revoke(&AppId::new(&file), None) {
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
        if let Some(program) = &candidate.program {
            self.try_program(program).await?;
        }
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
