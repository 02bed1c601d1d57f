//! Mounting and unmounting: consent first, then a session with a place of its own, until it ends.

use super::{
    PageContent, PageId, Pages, StrictPage,
    listing::sort_by_reach,
    outbox::PageEvent,
    page_named, place, sdk,
    session::{EndOfPage, NewSession, PageMode, PageSession, lock},
    standing_of,
};
use crate::{
    gate::{Decision, Giving},
    host::Inner,
    rights::RightState,
    runs::{Beginning, RunKind, RunStatus},
    standing::Standing,
    store::local_owner,
};
use roost_protocol::{AppId, Digest, Failure, Lasting, Reason, Right};
use roost_workspace::{Condition, Content, FilePath, WorkspaceError, Write, Writer};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

/// Pages that are mounted at once; a person looks at a few.
const SESSIONS_MAX: usize = 64;

/// How long a session stays when nobody listens and nobody calls: the host page was closed without a word.
const IDLE_MAX: Duration = Duration::from_secs(120);

/// The same for the page of a native app, which may stand alone in a tab that nobody looks at for a day.
const NATIVE_IDLE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Who answers questions about rights.
const PERSON: &str = "owner";

/// Pages that are mounted.
#[derive(Default)]
pub(super) struct Sessions(Mutex<HashMap<String, Arc<PageSession>>>);

/// How a person wants a page to be mounted.
#[derive(Debug, Clone, Default)]
pub struct Mount {
    /// How its frame is kept apart; by a host name when absent.
    pub mode: Option<PageMode>,
    /// The content that the answers are about.
    pub digest: Option<Digest>,
    /// What a person answered.
    pub answers: HashMap<Right, ConsentAnswer>,
}

/// What a person says to one right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConsentAnswer {
    /// No, and not again for this content.
    Deny,
    /// Until it is unmounted.
    Once,
    /// As long as its content stays the same.
    Always,
}

/// What came of mounting.
pub enum Mounting {
    /// A person has to answer first.
    Ask {
        /// What the answers are about.
        digest: Digest,
        /// Rights in question, widest reach first.
        ask: Vec<RightState>,
    },
    /// It is mounted.
    Mounted(Arc<PageSession>),
}

impl Pages<'_> {
    /// Mounts a page, once every right it asks for was answered.
    pub async fn mount(self, id: &str, mount: Mount) -> Result<Mounting, Failure> {
        let page = self.host.inner.page(id).await?;
        let standing = standing_of(&page);
        self.mount_content(page, standing, mount).await
    }

    pub(super) async fn mount_content(
        self,
        page: Arc<PageContent>,
        standing: Standing,
        mount: Mount,
    ) -> Result<Mounting, Failure> {
        let inner = &self.host.inner;
        self.sweep().await;
        if inner.pages.sessions.of_app(&standing.caller.app).is_empty() {
            // A host that was killed could not end what was given for one mounting.
            inner.gate.grants().consume_once(&standing.caller.app, &standing.caller.digest)?;
        }
        let mut ask = self.host.open_questions_of(&standing)?;
        let are_about_this = mount.digest.is_none_or(|digest| digest == page.digest());
        if !are_about_this || ask.iter().any(|open| !mount.answers.contains_key(&open.right)) {
            sort_by_reach(&mut ask);
            return Ok(Mounting::Ask { digest: page.digest(), ask });
        }
        for open in ask {
            self.answer(&standing, &open.right, mount.answers[&open.right])?;
        }
        let mode = mount.mode.unwrap_or(PageMode::Origin);
        Ok(Mounting::Mounted(self.open(page, standing, mode).await?))
    }

    fn answer(self, standing: &Standing, right: &Right, answer: ConsentAnswer) -> Result<(), Failure> {
        let Standing { caller, asks } = standing;
        let lasting = match answer {
            ConsentAnswer::Deny => return self.host.inner.gate.refuse(caller, right),
            ConsentAnswer::Once => Lasting::Once,
            ConsentAnswer::Always => Lasting::Always,
        };
        let giving = Giving { right: right.clone(), lasting, granted_by: PERSON.to_owned() };
        self.host.inner.gate.grant(caller, asks, giving)
    }

    async fn open(
        self,
        page: Arc<PageContent>,
        standing: Standing,
        mode: PageMode,
    ) -> Result<Arc<PageSession>, Failure> {
        let inner = &self.host.inner;
        let place = match mode {
            PageMode::Origin => inner.label(&name_of(&standing), &page.manifest().id).await?,
            PageMode::Opaque => random_hex()?,
        };
        let workspaces = inner.store.workspaces().await?;
        let seen = workspaces.sequence(&local_owner()).await.map_err(place::failure)?;
        let app = standing.caller.app.to_string();
        let beginning = Beginning {
            owner: &local_owner(),
            kind: RunKind::Call,
            workflow: &app,
            title: &page.manifest().name,
            principal: PERSON,
            moment: None,
        };
        let run = inner.begin_run(beginning, json!({ "page": app, "digest": page.digest() })).await;
        let in_headers = inner.header_rights(&standing);
        // A page that may reach nobody can be held to it, where its scripts allow that.
        let manifest = page.manifest();
        let is_quiet = in_headers.is_empty() && manifest.agent.is_none() && !manifest.native;
        let strict = is_quiet.then(|| StrictPage::of(&page, sdk::script)).flatten();
        let id = random_hex()?;
        let new = NewSession { id, place, mode, page, standing, in_headers, strict, run, seen };
        let session = Arc::new(PageSession::new(new));
        let mut open = lock(&inner.pages.sessions.0);
        if open.len() >= SESSIONS_MAX {
            return Err(Failure::plain(Reason::PagesLimited));
        }
        open.insert(session.id.clone(), Arc::clone(&session));
        drop(open);
        inner.tell_pages("app:mounted", &json!({ "id": session.own_id() }));
        Ok(session)
    }

    /// Ends a session. One that ended already is nothing to be told of.
    pub async fn unmount(self, session: &str) -> Result<(), Failure> {
        let session = self.session(session)?;
        self.host.inner.end_session(&session, EndOfPage::Unmounted).await;
        Ok(())
    }

    /// A mounted page by its session.
    pub fn session(self, session: &str) -> Result<Arc<PageSession>, Failure> {
        let found = lock(&self.host.inner.pages.sessions.0).get(session).cloned();
        found.ok_or_else(|| Failure::plain(Reason::UnknownPageSession))
    }

    /// The mounted page that has this host name or path.
    #[must_use]
    pub fn at(self, place: &str, mode: PageMode) -> Option<Arc<PageSession>> {
        let open = lock(&self.host.inner.pages.sessions.0);
        let mut there: Vec<_> =
            open.values().filter(|session| session.mode == mode && session.place == place).collect();
        // One that was mounted after its files changed serves the newer ones.
        there.sort_by_key(|session| session.idle_for());
        there.first().map(|session| Arc::clone(session))
    }

    /// Every mounted page.
    #[must_use]
    pub fn sessions(self) -> Vec<Arc<PageSession>> {
        lock(&self.host.inner.pages.sessions.0).values().cloned().collect()
    }

    /// Ends what nobody uses any more.
    async fn sweep(self) {
        for session in self.sessions() {
            let idle_max = if session.page.manifest().native { NATIVE_IDLE_MAX } else { IDLE_MAX };
            if session.idle_for() > idle_max {
                self.host.inner.end_session(&session, EndOfPage::Left).await;
            }
        }
    }

    /// What is new for a page, as soon as there is something; nothing at times, so that whoever waits can look around.
    /// An end is the last that is told.
    pub async fn next_events(self, session: &PageSession) -> Result<Vec<PageEvent>, Failure> {
        self.host.inner.next_events(session).await
    }

    /// What holds for an open page now.
    pub fn rights_of_session(self, session: &PageSession) -> Result<Vec<RightState>, Failure> {
        let mut rights = self.host.rights_of(&session.standing)?.rights;
        sort_by_reach(&mut rights);
        Ok(rights)
    }
}

impl Sessions {
    pub(super) fn of_app(&self, app: &AppId) -> Vec<Arc<PageSession>> {
        let open = lock(&self.0);
        open.values().filter(|session| session.standing.caller.app == *app).cloned().collect()
    }

    pub(super) fn all(&self) -> Vec<Arc<PageSession>> {
        lock(&self.0).values().cloned().collect()
    }
}

impl Inner {
    /// Tells something to every page that subscribed to it.
    pub(crate) fn tell_pages(&self, name: &str, data: &Value) {
        for session in self.pages.sessions.all() {
            session.deliver(name, data);
        }
    }

    /// Ends a session: what was given for this mounting is over, and its run is.
    pub(super) async fn end_session(&self, session: &PageSession, why: EndOfPage) {
        if !session.end(why) {
            return;
        }
        lock(&self.pages.sessions.0).remove(&session.id);
        session.settle(&self.gate);
        let caller = &session.standing.caller;
        if let Err(failure) = self.gate.grants().consume_once(&caller.app, &caller.digest) {
            tracing::error!(%failure, "end what was granted for one mounting");
        }
        if let Some(run) = &session.run {
            run.end(RunStatus::Completed, json!({ "why": why })).await;
        }
        self.tell_pages("app:unmounted", &json!({ "id": session.own_id(), "why": why }));
    }

    /// Rights in force that become headers: a browser holds them, so that a page ends when they do.
    pub(super) fn header_rights(&self, standing: &Standing) -> Vec<Right> {
        let Standing { caller, asks } = standing;
        let is_header =
            |right: &&Right| matches!(right, Right::AnyNetwork | Right::Network(_) | Right::Clipboard);
        let holds =
            |right: &&Right| matches!(self.gate.consider(caller, asks, right), Decision::Allowed { .. });
        asks.asks.iter().map(|ask| &ask.right).filter(is_header).filter(holds).cloned().collect()
    }

    /// The first part of a page's host name: its id, and something that nobody guesses, the same as long as the page
    /// is there, so that what it keeps in the browser stays its own.
    async fn label(&self, name: &str, id: &PageId) -> Result<String, Failure> {
        let workspaces = self.store.workspaces().await?;
        let path = FilePath::parse(&format!("origins/{name}"))
            .map_err(|error| Failure::new(Reason::Internal, error.to_string()))?;
        let (owner, writer) = (place::notes(), Writer::person("host"));
        let mark = match workspaces.get(&owner, &path, None).await {
            Ok(file) => String::from_utf8_lossy(&file.content).into_owned(),
            Err(WorkspaceError::NotFound) => {
                let mark = random_hex()?[..MARK_CHARACTERS].to_owned();
                let content =
                    Some(Content { bytes: mark.clone().into_bytes(), content_type: "text/plain".to_owned() });
                let write = Write { path: path.clone(), condition: Condition::create_only(), content };
                match workspaces.write_one(&owner, &writer, write, None).await {
                    Ok(_) => mark,
                    // Another mounting was faster.
                    Err(WorkspaceError::Conflict { .. }) => {
                        let file = workspaces.get(&owner, &path, None).await.map_err(place::failure)?;
                        String::from_utf8_lossy(&file.content).into_owned()
                    }
                    Err(error) => return Err(place::failure(error)),
                }
            }
            Err(error) => return Err(place::failure(error)),
        };
        let room = LABEL_CHARACTERS_MAX - MARK_CHARACTERS - 1;
        let readable = id.as_str().get(..room).unwrap_or(id.as_str()).to_ascii_lowercase();
        let readable = readable.replace(['_', '.'], "-");
        Ok(format!("{}-{mark}", readable.trim_matches('-')))
    }

    /// Forgets a page's host name: the next page of its name has another.
    pub(super) async fn forget_label(&self, name: &str) -> Result<(), Failure> {
        let workspaces = self.store.workspaces().await?;
        let Ok(path) = FilePath::parse(&format!("origins/{name}")) else { return Ok(()) };
        let removal = Write { path, condition: Condition::none(), content: None };
        match workspaces.write_one(&place::notes(), &Writer::person("host"), removal, None).await {
            Ok(_) | Err(WorkspaceError::NotFound) => Ok(()),
            Err(error) => Err(place::failure(error)),
        }
    }
}

/// Longest part of a host name, and what of it nobody guesses.
const LABEL_CHARACTERS_MAX: usize = 63;
const MARK_CHARACTERS: usize = 12;

fn name_of(standing: &Standing) -> String {
    page_named(standing.caller.app.as_str()).unwrap_or_default().to_owned()
}

fn random_hex() -> Result<String, Failure> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| Failure::new(Reason::Internal, error.to_string()))?;
    Ok(hex::encode(bytes))
}
