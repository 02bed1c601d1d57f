//! What happens, as pages hear it: every change of a file, whoever made it, and what else the host tells.
//!
//! Changes come from the numbered events of the workspace, so that none is missed between two looks. Rights are looked
//! at again before anything is handed over: what was taken back is no longer heard.

use super::{
    outbox::PageEvent,
    place::{self, APPS},
    session::{EndOfPage, PageSession},
    vfs_path::VfsPath,
};
use crate::{gate::Decision, host::Inner, standing::Standing, store::local_owner};
use roost_apps::MANIFEST_FILE;
use roost_protocol::{Access, Direction, Failure, Pattern, Right};
use roost_workspace::{Event, FilePath, Workspaces};
use serde_json::{Value, json};
use std::{sync::atomic::Ordering, time::Duration};
use tokio::{sync::broadcast::error::RecvError, time::Instant};

/// How long a missed notice, or a right that was taken back by another program, can go unseen.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Changes that are read at once.
const CHANGES_AT_ONCE: i64 = 200;

/// What pages call a change.
const FILE_CHANGED: [&str; 2] = ["vfs:file_changed", "vfs:file-changed"];

impl Inner {
    pub(super) async fn next_events(&self, session: &PageSession) -> Result<Vec<PageEvent>, Failure> {
        session.touch();
        let workspaces = self.store.workspaces().await?;
        // Listens before it looks, so that nothing happens in between.
        let mut notices = workspaces.listen();
        self.look_around(session, &workspaces).await?;
        let events = self.still_allowed(session, session.take_events());
        if !events.is_empty() || session.ended().is_some() {
            return Ok(events);
        }
        let deadline = Instant::now() + LOOK_EVERY;
        let (owner, topic) = (local_owner(), local_owner().topic());
        loop {
            tokio::select! {
                () = tokio::time::sleep_until(deadline) => break,
                () = session.wake.notified() => break,
                notice = notices.recv() => match notice {
                    Ok(notice) if notice.tenant != owner.tenant || *notice.topic != *topic => {}
                    Ok(_) | Err(RecvError::Lagged(_)) => break,
                    Err(RecvError::Closed) => tokio::time::sleep_until(deadline).await,
                }
            }
        }
        self.look_around(session, &workspaces).await?;
        Ok(self.still_allowed(session, session.take_events()))
    }

    /// Looks at what changed in the files, and whether the session may go on.
    async fn look_around(&self, session: &PageSession, workspaces: &Workspaces) -> Result<(), Failure> {
        if session.ended().is_some() {
            return Ok(());
        }
        session.settle_old(&self.gate);
        if self.header_rights(&session.standing) != session.in_headers {
            self.end_session(session, EndOfPage::RightsChanged).await;
            return Ok(());
        }
        let own_manifest = format!("{APPS}{}/{MANIFEST_FILE}", session.own_id());
        loop {
            let after = session.seen.load(Ordering::Acquire);
            let page = workspaces.events(&local_owner(), after, CHANGES_AT_ONCE).await;
            let page = page.map_err(place::failure)?;
            let Some(last) = page.events.last() else {
                session.seen.fetch_max(page.newest, Ordering::AcqRel);
                return Ok(());
            };
            let last = last.sequence;
            for event in &page.events {
                if event.path == own_manifest {
                    self.end_session(session, EndOfPage::Changed).await;
                    return Ok(());
                }
                self.tell_change(session, workspaces, event).await?;
            }
            session.seen.fetch_max(last, Ordering::AcqRel);
        }
    }

    async fn tell_change(
        &self,
        session: &PageSession,
        workspaces: &Workspaces,
        event: &Event,
    ) -> Result<(), Failure> {
        let about_files =
            |pattern: &Pattern| ["artifact:", "vfs:"].iter().any(|family| may_fit(pattern, family));
        if !session.subscribed().iter().any(about_files) {
            return Ok(());
        }
        let (Ok(path), Ok(file)) =
            (VfsPath::parse(&format!("/{}", event.path)), FilePath::of_folder(&event.path))
        else {
            return Ok(());
        };
        if path.is_hidden() && !self.is_named(session, Access::Read, &path) {
            return Ok(());
        }
        // A version that fell out of the history is told without its size.
        let history = workspaces.history(&local_owner(), &file).await.unwrap_or_default();
        let at = history.iter().position(|revision| revision.version == event.version);
        let (this, before) = at.map_or((None, None), |at| (history.get(at), history.get(at + 1)));
        let is_removed = this.is_some_and(|revision| revision.removed);
        let is_new = event.version == 1 || before.is_some_and(|revision| revision.removed);
        let (artifact, operation) = match (is_removed, is_new) {
            (true, _) => ("artifact:deleted", "delete"),
            (false, true) => ("artifact:created", "write"),
            (false, false) => ("artifact:updated", "update"),
        };
        let size = this.map(|revision| revision.bytes);
        let mut data = json!({
            "path": path.as_str(), "operation": operation, "version": event.version, "timestamp": event.at,
            "size": size, "afterSize": size,
        });
        if let Some(before) = before.filter(|before| !before.removed) {
            data["beforeSize"] = json!(before.bytes);
        }
        session.deliver(artifact, &data);
        FILE_CHANGED.iter().for_each(|name| session.deliver(name, &data));
        Ok(())
    }

    /// Events whose subscription is still allowed.
    fn still_allowed(&self, session: &PageSession, events: Vec<PageEvent>) -> Vec<PageEvent> {
        let Standing { caller, asks } = &session.standing;
        let mut known: Vec<(String, bool)> = Vec::new();
        let mut is_allowed = |name: &str| match known.iter().find(|(known, _)| known == name) {
            Some((_, is_allowed)) => *is_allowed,
            None => {
                let right = watching(name);
                let is_allowed = right.is_some_and(|right| {
                    matches!(self.gate.consider(caller, asks, &right), Decision::Allowed { .. })
                });
                known.push((name.to_owned(), is_allowed));
                is_allowed
            }
        };
        events.into_iter().filter(|event| is_allowed(&event.event_name)).collect()
    }
}

/// The right to hear what fits this.
pub(super) fn watching(pattern: &str) -> Option<Right> {
    let pattern = Pattern::parse(pattern).ok()?;
    Some(Right::Events { direction: Direction::Watch, pattern })
}

/// True when some name of the family may fit the pattern.
fn may_fit(pattern: &Pattern, family: &str) -> bool {
    let literal = pattern.as_str().split('*').next().unwrap_or_default();
    literal.starts_with(family) || (pattern.as_str().contains('*') && family.starts_with(literal))
}

/// What an event carries, without anything that is not plain data.
pub(super) fn plain(data: Option<&Value>) -> Value {
    data.cloned().unwrap_or(Value::Null)
}
