//! Agent files that come and go while the host runs: importing, removing, reading.
//!
//! A file is tried before it is let in, so that one which does not load changes nothing. What it replaces, and what is
//! removed, can be taken back from the trash.

use crate::{
    host::Host,
    knowledge::{Admission, NoProgress},
    program::Source,
};
use roost_apps::{AGENT_FILE_BYTES_MAX, AgentFile, Trash, arrival_name};
use roost_protocol::{AgentName, Digest, Failure, FileKind, Language, Reason};
use serde_json::json;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// A file on its way into the agents folder.
#[derive(Debug, Clone)]
pub struct ArrivingFile {
    /// Its name as its sender has it; it may get another here.
    pub sent_name: String,
    /// Its content.
    pub bytes: Vec<u8>,
    /// The digest its sender expects, in hexadecimal digits.
    pub sha256: Option<String>,
    /// Where its sender has it from, for the record.
    pub source_revision: Option<String>,
    /// Whether the owner of the host sends it: then it inherits what was granted to the file before.
    pub by_owner: bool,
}

/// A file that was let in.
#[derive(Debug, Clone)]
pub struct ArrivedFile {
    /// Its name in the agents folder.
    pub file_name: String,
    /// Digest of its content.
    pub digest: Digest,
    /// The agents in it.
    pub agents: Vec<String>,
    /// Where the file is kept that had the name before, as seen from the home.
    pub replaced: Option<PathBuf>,
}

/// A file of the agents folder as it is listed.
#[derive(Debug, Clone)]
pub struct ListedFile {
    /// Its name.
    pub file_name: String,
    /// Its agents that can be called.
    pub agents: Vec<String>,
}

impl Host {
    /// Every file of the agents folder that is known, with its callable agents.
    #[must_use]
    pub fn agent_files(&self) -> Vec<ListedFile> {
        let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for agent in self.known_agents() {
            let file = agent.source.map_or(agent.file.clone(), |source| format!("{source}/{}", agent.file));
            let names = files.entry(file).or_default();
            if agent.serving.is_some() {
                names.push(agent.name);
            }
        }
        files.into_iter().map(|(file_name, agents)| ListedFile { file_name, agents }).collect()
    }

    /// A file of the agents folder as it is on disk.
    pub fn agent_source(&self, file_name: &str) -> Result<AgentFile, Failure> {
        self.inner.knowledge().folder.read(file_name).map_err(|failure| match failure.reason {
            Reason::InvalidFileName | Reason::Unreadable => not_found(file_name),
            _ => failure,
        })
    }

    /// Lets a file in: it must load, and none of its agents may have the name of another file's.
    pub async fn import_agent(&self, arriving: ArrivingFile) -> Result<ArrivedFile, Failure> {
        let imported = self.try_and_admit(&arriving).await;
        let revision = &arriving.source_revision;
        match &imported {
            Ok(arrived) => self.book().note(
                "agent_imported",
                json!({ "file": arrived.file_name, "digest": arrived.digest, "revision": revision }),
            ),
            Err(failure) => self.book().note(
                "agent_refused",
                json!({ "file": arriving.sent_name, "reason": failure.reason, "error": failure.message, "revision": revision }),
            ),
        }
        imported
    }

    async fn try_and_admit(&self, arriving: &ArrivingFile) -> Result<ArrivedFile, Failure> {
        let source = self.checked_source(arriving)?;
        let (file_name, digest) = (source.file_name.clone(), source.digest);
        let knowledge = self.inner.knowledge();
        // Which names are taken is known only when every file is.
        knowledge.refresh(&NoProgress).await?;
        let description =
            knowledge.try_out(&source).await.map_err(|failure| did_not_load(&file_name, failure))?;
        let agents = description.agents.iter().map(|agent| agent.name.clone()).collect();
        if !arriving.by_owner {
            self.void_grants(&source).await?;
        }
        let trash = self.trash();
        let admission = Admission { source: &source, description, trash: &trash, time: &moment() };
        let replaced = knowledge.admit(admission)?.map(|path| self.seen_from_home(&path));
        Ok(ArrivedFile { file_name, digest, agents, replaced })
    }

    /// What a person gave to a file was not given to what a stranger puts in its place.
    async fn void_grants(&self, source: &Source) -> Result<(), Failure> {
        let knowledge = self.inner.knowledge();
        let is_same = knowledge.folder.read(&source.file_name).is_ok_and(|file| file.digest == source.digest);
        if !is_same {
            let standing = self.inner.workshop().standing(source).await?;
            self.inner.gate.revoke(&standing.caller.app, None)?;
        }
        Ok(())
    }

    fn checked_source(&self, arriving: &ArrivingFile) -> Result<Source, Failure> {
        let file_name = arrival_name(&arriving.sent_name)?;
        let digest = Digest::of(&arriving.bytes);
        if let Some(expected) = &arriving.sha256
            && Digest::parse(expected.trim()) != Ok(digest)
        {
            let message =
                format!("the file has the digest {digest}, not `{}`", expected.trim().escape_debug());
            return Err(Failure::new(Reason::DigestMismatch, message));
        }
        if arriving.bytes.len() as u64 > AGENT_FILE_BYTES_MAX {
            return Err(Failure::plain(Reason::FileTooLarge));
        }
        let language = Language::of_file_name(&file_name).unwrap_or(Language::Python);
        let path = self.inner.knowledge().folder.path().join(&file_name);
        let kind = FileKind::Agent;
        Ok(Source { path, file_name, kind, language, bytes: arriving.bytes.as_slice().into(), digest })
    }

    /// Takes a file out of the agents folder and says where it is kept, as seen from the home.
    pub async fn remove_agent(&self, file_name: &str) -> Result<PathBuf, Failure> {
        let knowledge = self.inner.knowledge();
        let kept = knowledge.folder.take_out(file_name, &self.trash(), &moment())?;
        knowledge.look_at(file_name).await;
        let kept = self.seen_from_home(&kept);
        self.book().note("agent_removed", json!({ "file": file_name, "kept": kept }));
        Ok(kept)
    }

    /// The first callable agent of a file, after a look at what changed.
    pub async fn first_agent_of(&self, file_name: &str) -> Result<AgentName, Failure> {
        let knowledge = self.inner.knowledge();
        let in_file = || {
            let roster = knowledge.roster();
            let listings: Vec<_> =
                roster.listings.iter().filter(|listing| listing.file == file_name).cloned().collect();
            listings
        };
        let mut listings = in_file();
        if !listings.iter().any(|listing| listing.serving.is_some()) {
            knowledge.refresh(&NoProgress).await?;
            listings = in_file();
        }
        let callable = listings.iter().find(|listing| listing.serving.is_some());
        if let Some(name) = callable.and_then(|listing| AgentName::parse(&listing.name).ok()) {
            return Ok(name);
        }
        Err(listings.into_iter().find_map(|listing| listing.reason).unwrap_or_else(|| not_found(file_name)))
    }

    fn trash(&self) -> Trash {
        Trash::new(self.home().trash().join("agents"))
    }

    fn seen_from_home(&self, path: &Path) -> PathBuf {
        path.strip_prefix(self.home().root()).unwrap_or(path).to_owned()
    }
}

/// Now, as files in the trash are named by it.
fn moment() -> String {
    jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S.%3fZ").to_string()
}

fn not_found(file_name: &str) -> Failure {
    let shown: String = file_name.escape_debug().take(200).collect();
    Failure::new(Reason::UnknownAgent, format!("Agent not found: there is no agent file `{shown}`"))
}

/// The failure of a file that was not let in. What a grant would mend needs the file to be there.
fn did_not_load(file_name: &str, failure: Failure) -> Failure {
    let next = match failure.reason {
        Reason::RightMissing | Reason::DependencyUnavailable => {
            format!("put {file_name} into the agents folder yourself; then: {}", failure.next_step())
        }
        _ => failure.next_step().to_owned(),
    };
    let message = format!("{file_name} did not load as an agent and was not kept: {}", failure.message);
    Failure { message, next: Some(next), ..failure }
}
