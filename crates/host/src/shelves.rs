//! The folders that agents come from: the home's own first, then those of its sources. Who comes first keeps a name.
//!
//! The services of a home are on shelves of their own, with nothing beside them.

use crate::{
    knowledge::{Knowledge, NoProgress, Progress},
    roster::{Callable, Roster},
};
use roost_apps::{AgentFile, Stamp};
use roost_protocol::{AgentListing, Failure, FileKind, Reason};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// Everything that has a name and can be called.
pub(crate) struct Shelves {
    own: Arc<Knowledge>,
    sources: RwLock<Vec<Arc<Knowledge>>>,
    /// The rosters of all of them as one, kept until one of them changes.
    joined: Mutex<Option<Joined>>,
}

struct Joined {
    of: Vec<Arc<Roster>>,
    roster: Arc<Roster>,
}

impl Shelves {
    pub(crate) fn new(own: Arc<Knowledge>) -> Self {
        Self { own, sources: RwLock::default(), joined: Mutex::default() }
    }

    /// The home's own folder.
    pub(crate) fn own(&self) -> &Arc<Knowledge> {
        &self.own
    }

    /// Puts what sources brought beside the home's own, in this order, in place of what was there.
    pub(crate) fn set_sources(&self, sources: Vec<Arc<Knowledge>>) {
        *self.sources.write().unwrap_or_else(PoisonError::into_inner) = sources;
    }

    /// What is known of one source.
    pub(crate) fn source(&self, id: &str) -> Option<Arc<Knowledge>> {
        self.all().into_iter().find(|knowledge| knowledge.folder.source() == Some(id))
    }

    pub(crate) fn all(&self) -> Vec<Arc<Knowledge>> {
        let sources = self.sources.read().unwrap_or_else(PoisonError::into_inner);
        [&self.own].into_iter().chain(sources.iter()).map(Arc::clone).collect()
    }

    /// Everything as it is known now.
    pub(crate) fn listings(&self) -> Vec<AgentListing> {
        self.roster().listings.clone()
    }

    /// All shelves as one roster: the same one for as long as nothing changed.
    pub(crate) fn roster(&self) -> Arc<Roster> {
        let of: Vec<Arc<Roster>> = self.all().iter().map(|knowledge| knowledge.roster()).collect();
        if let [only] = &of[..] {
            return Arc::clone(only);
        }
        let mut joined = self.joined.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |kept: &Joined| {
            kept.of.len() == of.len() && kept.of.iter().zip(&of).all(|(one, other)| Arc::ptr_eq(one, other))
        };
        match &*joined {
            Some(kept) if is_same(kept) => Arc::clone(&kept.roster),
            _ => {
                let roster = Arc::new(Roster::joined(&of));
                *joined = Some(Joined { of, roster: Arc::clone(&roster) });
                roster
            }
        }
    }

    /// What is known of the folder that an agent is from.
    pub(crate) fn knowledge_of(&self, callable: &Callable) -> Result<Arc<Knowledge>, Failure> {
        match &callable.source {
            None => Ok(Arc::clone(&self.own)),
            Some(id) => self.source(id).ok_or_else(|| {
                Failure::new(Reason::UnknownSource, format!("the source `{id}` is not connected any more"))
            }),
        }
    }

    /// Looks at every folder and waits until every file is known.
    pub(crate) async fn refresh(&self, progress: &dyn Progress) -> Result<(), Failure> {
        for knowledge in self.all() {
            knowledge.refresh(progress).await?;
        }
        Ok(())
    }

    /// Starts to look at what changed, without waiting for it.
    pub(crate) fn start_looking(&self) -> Result<(), Failure> {
        self.all().iter().try_for_each(|knowledge| knowledge.start_looking().map(drop))
    }

    /// Forgets what files said, so that the next look asks all of them again.
    pub(crate) fn forget(&self) {
        self.all().iter().for_each(|knowledge| knowledge.forget());
    }

    /// Who holds this name, after its file was looked at: what changed a moment ago counts.
    pub(crate) async fn current(&self, name: &str) -> Result<(Arc<Roster>, Callable), Failure> {
        if let Some((roster, callable)) = self.held(name) {
            if callable.is_current() {
                return Ok((roster, callable));
            }
            self.knowledge_of(&callable)?.look_at(&callable.file_name).await;
        }
        if let Some(held) = self.held(name) {
            return Ok(held);
        }
        // The file may be new, or the agent may have moved to another one.
        self.refresh(&NoProgress).await?;
        self.held(name).ok_or_else(|| self.unknown(name))
    }

    /// The file that holds this name, whether it can be called or not.
    pub(crate) async fn file_of(&self, name: &str) -> Result<AgentFile, Failure> {
        self.refresh(&NoProgress).await?;
        for knowledge in self.all() {
            let roster = knowledge.roster();
            if let Some(listing) = roster.listings.iter().find(|listing| listing.name == name) {
                return knowledge.folder.read(&listing.file);
            }
        }
        Err(self.unknown(name))
    }

    fn held(&self, name: &str) -> Option<(Arc<Roster>, Callable)> {
        let roster = self.roster();
        let callable = roster.find(name)?.clone();
        Some((roster, callable))
    }

    fn unknown(&self, name: &str) -> Failure {
        let listings = self.listings();
        if let Some(listing) = listings.iter().find(|listing| listing.name == name) {
            return listing.reason.clone().unwrap_or_else(|| Failure::plain(Reason::UnknownAgent));
        }
        if self.own.folder.kind() == FileKind::Service {
            return Failure::new(Reason::UnknownService, format!("service '{name}' not found"));
        }
        let lower = name.to_lowercase();
        let near = listings.iter().find(|listing| {
            let other = listing.name.to_lowercase();
            other.contains(&lower) || lower.contains(&other)
        });
        let message = format!("no agent is called `{name}`");
        match near {
            Some(near) => {
                Failure::new(Reason::UnknownAgent, format!("{message}; did you mean `{}`?", near.name))
            }
            None => Failure::new(Reason::UnknownAgent, message),
        }
    }
}

impl Callable {
    fn is_current(&self) -> bool {
        let Some(reading) = &self.reading else { return false };
        Stamp::of(&self.path).is_ok_and(|stamp| reading.get().is_current(&stamp))
    }
}
