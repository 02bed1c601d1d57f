//! The roster: which agents there are, which of them can be called, and why the others cannot.
//!
//! Made anew whenever something changed, from what is known of the files; then only read.

use crate::settings::AgentSettings;
use roost_apps::{AgentsFolder, Described, Seen};
use roost_protocol::{
    AgentDescription, AgentListing, AgentName, AgentState, ClassFailure, Digest, Failure, Language, Reason,
    Serving,
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

/// What is known of one file of the folder.
#[derive(Debug, Clone)]
pub(crate) struct FileState {
    pub(crate) language: Language,
    /// The last reading, or why there was none.
    pub(crate) content: Result<Arc<LastReading>, Failure>,
    /// Digest of the content that was described last: while a new content is being looked at, this one stands.
    pub(crate) shown: Option<Digest>,
    /// Digest of the last content that gave agents.
    pub(crate) last_good: Option<Digest>,
}

/// The last reading of a file, shared with the agents that came from it.
#[derive(Debug)]
pub(crate) struct LastReading(Mutex<Seen>);

impl LastReading {
    pub(crate) fn new(seen: Seen) -> Self {
        Self(Mutex::new(seen))
    }

    pub(crate) fn get(&self) -> Seen {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set(&self, seen: Seen) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = seen;
    }
}

/// An agent that can be called.
#[derive(Debug, Clone)]
pub(crate) struct Callable {
    pub(crate) name: AgentName,
    pub(crate) file_name: String,
    /// The source the file came from; absent for the home's own.
    pub(crate) source: Option<String>,
    pub(crate) path: PathBuf,
    pub(crate) language: Language,
    /// Digest of the bytes that answer.
    pub(crate) digest: Digest,
    pub(crate) serving: Serving,
    /// Absent when the file cannot be read at the moment.
    pub(crate) reading: Option<Arc<LastReading>>,
    /// Position in the list.
    pub(crate) listing: usize,
    /// The agent as a model sees it, when its class says so itself.
    pub(crate) tool: Option<Value>,
    /// True when it has something to add to every system prompt.
    pub(crate) has_system_context: bool,
}

/// All agents at one moment.
#[derive(Debug, Default)]
pub(crate) struct Roster {
    pub(crate) listings: Vec<AgentListing>,
    callable: HashMap<String, Callable>,
}

impl Roster {
    pub(crate) fn find(&self, name: &str) -> Option<&Callable> {
        self.callable.get(name)
    }

    /// The agents that can be called, in the order of the list.
    pub(crate) fn callable(&self) -> Vec<&Callable> {
        let mut callable: Vec<&Callable> = self.callable.values().collect();
        callable.sort_unstable_by_key(|callable| callable.listing);
        callable
    }

    /// All rosters as one: a name that is held in an earlier one is shadowed in a later one.
    pub(crate) fn joined(rosters: &[Arc<Self>]) -> Self {
        let mut joined = Self::default();
        for roster in rosters {
            let offset = joined.listings.len();
            for (index, listing) in roster.listings.iter().enumerate() {
                let callable = roster.find(&listing.name).filter(|callable| callable.listing == index);
                let holder = joined.find(&listing.name).map(|holder| holder.file_name.clone());
                match (callable, holder) {
                    (Some(_), Some(holder)) => joined.listings.push(shadowed(listing.clone(), &holder)),
                    (callable, _) => {
                        joined.listings.push(listing.clone());
                        let moved = callable.map(|one| Callable { listing: offset + index, ..one.clone() });
                        joined.callable.extend(moved.map(|moved| (listing.name.clone(), moved)));
                    }
                }
            }
        }
        joined
    }

    /// True when some agent is answered by these bytes.
    pub(crate) fn uses(&self, path: &Path, digest: &Digest) -> bool {
        self.callable.values().any(|callable| callable.digest == *digest && callable.path == path)
    }

    /// Joins what is known of the files, in their order: the first holder of a name keeps it.
    pub(crate) fn assemble<'a>(
        folder: &AgentsFolder,
        files: &BTreeMap<String, FileState>,
        described: &dyn Fn(&Digest) -> Option<&'a Described>,
        settings: &BTreeMap<String, AgentSettings>,
    ) -> Self {
        let mut roster = Self::default();
        for (file_name, state) in files {
            let path = folder.path().join(file_name);
            let assembly = Assembly { file_name, path, source: folder.source(), state, settings };
            let shown = state.shown.and_then(|digest| Some((digest, described(&digest)?)));
            match (&state.content, shown) {
                (Ok(_), Some((digest, Described::Loaded(description)))) if !description.agents.is_empty() => {
                    assembly.add_agents(&mut roster, digest, Serving::Current, &description.agents, None);
                    assembly.add_class_failures(&mut roster, &description.failures);
                }
                (Ok(_), Some((_, Described::Loaded(description)))) => {
                    let first = description.failures.first().map(|class| class.failure.clone());
                    let reason = first.unwrap_or_else(|| Failure::plain(Reason::NoAgent));
                    if !assembly.add_last_good(&mut roster, described, &reason) {
                        assembly.add_class_failures(&mut roster, &description.failures);
                    }
                }
                (Ok(_), Some((_, Described::Failed(failure)))) | (Err(failure), _) => {
                    assembly.add_failed_file(&mut roster, described, failure);
                }
                // Not looked at yet: it appears with its first description.
                (Ok(_), None) => {}
            }
        }
        roster
    }
}

struct Assembly<'a> {
    file_name: &'a str,
    path: PathBuf,
    source: Option<&'a str>,
    state: &'a FileState,
    settings: &'a BTreeMap<String, AgentSettings>,
}

impl Assembly<'_> {
    fn add_failed_file<'a>(
        &self,
        roster: &mut Roster,
        described: &dyn Fn(&Digest) -> Option<&'a Described>,
        failure: &Failure,
    ) {
        if !self.add_last_good(roster, described, failure) {
            let stem = self.file_name.rsplit_once('.').map_or(self.file_name, |(stem, _)| stem);
            roster.listings.push(self.listing(stem, AgentState::Failed, Some(failure.clone())));
        }
    }

    /// Lets the last content that gave agents answer for the current one.
    fn add_last_good<'a>(
        &self,
        roster: &mut Roster,
        described: &dyn Fn(&Digest) -> Option<&'a Described>,
        failure: &Failure,
    ) -> bool {
        let Some(digest) = self.state.last_good else { return false };
        let Some(Described::Loaded(description)) = described(&digest) else { return false };
        self.add_agents(roster, digest, Serving::LastGood, &description.agents, Some(failure));
        true
    }

    fn add_agents(
        &self,
        roster: &mut Roster,
        digest: Digest,
        serving: Serving,
        agents: &[AgentDescription],
        failure: Option<&Failure>,
    ) {
        for agent in agents {
            let Ok(name) = AgentName::parse(&agent.name) else { continue };
            let mut listing = self.listing(name.as_str(), AgentState::Ready, None);
            listing.description.clone_from(&agent.description);
            listing.parameters.clone_from(&agent.parameters);
            let holder = roster.find(name.as_str()).map(|holder| holder.file_name.clone());
            if self.is_disabled(name.as_str()) {
                listing.state = AgentState::Disabled;
                listing.reason = Some(Failure::plain(Reason::Disabled));
            } else if let Some(holder) = holder {
                listing.state = AgentState::Shadowed;
                listing.reason =
                    Some(Failure::new(Reason::Shadowed, format!("{holder} already has an agent {name}")));
            } else {
                listing.serving = Some(serving);
                if let Some(failure) = failure {
                    listing.state = AgentState::Failed;
                    listing.reason = Some(failure.clone());
                }
                let callable = Callable {
                    name: name.clone(),
                    file_name: self.file_name.to_owned(),
                    source: self.source.map(str::to_owned),
                    path: self.path.clone(),
                    language: self.state.language,
                    digest,
                    serving,
                    reading: self.state.content.as_ref().ok().map(Arc::clone),
                    listing: roster.listings.len(),
                    tool: agent.tool.clone(),
                    has_system_context: agent.has_system_context,
                };
                roster.callable.insert(name.into(), callable);
            }
            roster.listings.push(listing);
        }
    }

    fn add_class_failures(&self, roster: &mut Roster, failures: &[ClassFailure]) {
        for failed in failures {
            let name = failed.name.as_deref().unwrap_or(&failed.class);
            roster.listings.push(self.listing(name, AgentState::Failed, Some(failed.failure.clone())));
        }
    }

    fn is_disabled(&self, name: &str) -> bool {
        let of_source = self.source.map(|source| format!("{source}/{}", self.file_name));
        let file = of_source.as_deref().unwrap_or(self.file_name);
        [name, file].iter().any(|key| self.settings.get(*key).is_some_and(|settings| !settings.enabled))
    }

    fn listing(&self, name: &str, state: AgentState, reason: Option<Failure>) -> AgentListing {
        AgentListing {
            name: name.to_owned(),
            file: self.file_name.to_owned(),
            source: self.source.map(str::to_owned),
            language: self.state.language.into(),
            state,
            reason,
            description: String::new(),
            parameters: empty_parameters(),
            serving: None,
            digest: self.state.content.as_ref().ok().map(|reading| reading.get().digest),
        }
    }
}

fn shadowed(listing: AgentListing, holder: &str) -> AgentListing {
    let message = format!("{holder} already has an agent {}", listing.name);
    AgentListing {
        state: AgentState::Shadowed,
        reason: Some(Failure::new(Reason::Shadowed, message)),
        serving: None,
        ..listing
    }
}

fn empty_parameters() -> Value {
    json!({ "type": "object", "properties": {} })
}
