//! `vfs.*`: files of the local workspace, versioned, written in the name of the page, and never more than was granted.

use super::{Answer, BridgeError, text};
use crate::{
    gate::{Decision, Reach, Use},
    host::Inner,
    pages::{
        session::PageSession,
        vfs_path::{self, InvalidPath, VfsPath},
    },
    standing::Standing,
    store::local_owner,
};
use roost_protocol::media_type;
use roost_protocol::{Access, Failure, Pattern, Right};
use roost_workspace::{
    Author, Condition, Content, Done, Prefix, Role, WorkspaceError, Workspaces, Write, Writer,
};
use serde_json::{Value, json};

impl From<InvalidPath> for BridgeError {
    fn from(error: InvalidPath) -> Self {
        Self::invalid(error.to_string())
    }
}

impl From<Failure> for BridgeError {
    fn from(failure: Failure) -> Self {
        Self::failed(failure.message)
    }
}

impl Inner {
    pub(super) async fn vfs_read(&self, session: &PageSession, arguments: &[Value]) -> Answer {
        let path = self.path_of(session, arguments, "vfs.read")?;
        self.may(session, Access::Read, &path, "vfs.read")?;
        let missing = || BridgeError::new("not_found", format!("File not found: {}", path.as_str()));
        let content = match self.files().await?.get(&local_owner(), &path.file()?, None).await {
            Ok(file) => file.content,
            Err(WorkspaceError::NotFound) => return Err(missing()),
            Err(error) => return Err(BridgeError::failed(error.to_string())),
        };
        let text = String::from_utf8(content);
        text.map(Value::String)
            .map_err(|_| BridgeError::failed(format!("File is not text: {}", path.as_str())))
    }

    pub(super) async fn vfs_write(&self, session: &PageSession, arguments: &[Value]) -> Answer {
        let path = self.path_of(session, arguments, "vfs.write")?;
        let content = text(arguments, 1, "The content")?;
        self.may(session, Access::Write, &path, "vfs.write")?;
        let bytes = content.as_bytes().to_vec();
        let content = Content { bytes, content_type: media_type(path.as_str()).to_owned() };
        self.write_file(session, &path, Some(content)).await
    }

    pub(super) async fn vfs_delete(&self, session: &PageSession, arguments: &[Value]) -> Answer {
        let path = self.path_of(session, arguments, "vfs.delete")?;
        self.may(session, Access::Write, &path, "vfs.delete")?;
        self.write_file(session, &path, None).await
    }

    /// Whether there is something is told to those only who may read it.
    pub(super) async fn vfs_exists(&self, session: &PageSession, arguments: &[Value]) -> Answer {
        let path = self.path_of(session, arguments, "vfs.exists")?;
        self.may(session, Access::Read, &path, "vfs.exists")?;
        let file = path.file()?;
        let prefix = Prefix::parse(file.as_str()).map_err(|_| InvalidPath)?;
        let listed = self.files().await?.list(&local_owner(), &prefix).await;
        let listed = listed.map_err(|error| BridgeError::failed(error.to_string()))?;
        Ok(json!(listed.files.iter().any(|info| info.path == file)))
    }

    pub(super) async fn vfs_list(&self, session: &PageSession, arguments: &[Value]) -> Answer {
        let folder = match arguments.first() {
            None | Some(Value::Null) => VfsPath::folder("/"),
            Some(_) => VfsPath::folder(text(arguments, 0, "The path")?),
        };
        let folder = folder.inspect_err(|_| {
            session.note(&self.gate, "vfs.list of no path", false);
        })?;
        let readable = self.readable(session);
        let detail = format!("vfs.list {}", folder.as_str());
        let into = |right: &&Right| matches!(right, Right::Workspace { pattern, .. } if vfs_path::reaches_into(pattern, &folder));
        // What is recorded is the right that opens something there, or the one that would be needed.
        let whole = Pattern::parse(&format!("{}*", folder.as_str())).map_err(|_| InvalidPath)?;
        let whole = Right::Workspace { access: Access::Read, pattern: whole };
        let right = readable.iter().find(into).unwrap_or(&whole);
        let using = Use { right, detail: Some(&detail), reach: Reach::Grantable };
        if !session.decide(&self.gate, using, true) {
            return Err(BridgeError::denied());
        }
        let prefix = Prefix::parse(&folder.as_str()[1..]).map_err(|_| InvalidPath)?;
        let listed = self.files().await?.list(&local_owner(), &prefix).await;
        let listed = listed.map_err(|error| BridgeError::failed(error.to_string()))?;
        let paths = listed.files.iter().filter_map(|info| VfsPath::parse(info.path.as_str()).ok());
        let shown = paths.filter(|path| readable.iter().any(|right| vfs_path::names(right, path)));
        Ok(shown.map(|path| json!(path.as_str())).collect())
    }

    /// Decides about one file, and records it.
    fn may(
        &self,
        session: &PageSession,
        access: Access,
        path: &VfsPath,
        method: &str,
    ) -> Result<(), BridgeError> {
        let right = Right::Workspace { access, pattern: path.pattern()? };
        let is_out_of_reach = access == Access::Write && path.is_out_of_reach(session.own_id());
        let is_hidden = path.is_hidden() && !self.is_named(session, access, path);
        let reach = if is_out_of_reach || is_hidden { Reach::Never } else { Reach::Grantable };
        let using = Use { right: &right, detail: Some(method), reach };
        let repeatable = access == Access::Read && reach == Reach::Grantable;
        if session.decide(&self.gate, using, repeatable) { Ok(()) } else { Err(BridgeError::denied()) }
    }

    /// True when a hidden path was asked for and granted by a name of its own.
    pub(in crate::pages) fn is_named(&self, session: &PageSession, access: Access, path: &VfsPath) -> bool {
        let fits = |right: &Right| {
            matches!(right, Right::Workspace { access: has, .. } if *has >= access)
                && vfs_path::names(right, path)
        };
        let Standing { caller, asks } = &session.standing;
        let granted = self.gate.grants().list(Some(&caller.app)).unwrap_or_default();
        asks.asks.iter().any(|ask| fits(&ask.right))
            && granted.iter().any(|grant| grant.digest == caller.digest && fits(&grant.right))
    }

    /// Rights in force to read files.
    fn readable(&self, session: &PageSession) -> Vec<Right> {
        let Standing { caller, asks } = &session.standing;
        let granted = self.gate.grants().list(Some(&caller.app)).unwrap_or_default();
        let asked = asks.asks.iter().map(|ask| ask.right.clone());
        let mut rights: Vec<Right> = asked
            .chain(granted.into_iter().map(|grant| grant.right))
            .filter(|right| matches!(right, Right::Workspace { .. }))
            .filter(|right| matches!(self.gate.consider(caller, asks, right), Decision::Allowed { .. }))
            .collect();
        rights.sort();
        rights.dedup();
        rights
    }

    fn path_of(
        &self,
        session: &PageSession,
        arguments: &[Value],
        method: &str,
    ) -> Result<VfsPath, BridgeError> {
        let path = text(arguments, 0, "The path")?;
        VfsPath::parse(path).map_err(|error| {
            session.note(&self.gate, &format!("{method} of no path"), false);
            error.into()
        })
    }

    async fn write_file(&self, session: &PageSession, path: &VfsPath, content: Option<Content>) -> Answer {
        let write = Write { path: path.file()?, condition: Condition::none(), content };
        let is_removal = write.content.is_none();
        let writer = self.page_writer(session);
        match self.files().await?.write_one(&local_owner(), &writer, write, None).await {
            Ok(answered) => match answered.value {
                Done::Made(_) => Ok(Value::Bool(true)),
                Done::Proposed(_) => Err(BridgeError::new("proposed", "Waiting for approval")),
            },
            Err(WorkspaceError::NotFound) if is_removal => Ok(Value::Bool(true)),
            Err(error) => Err(BridgeError::failed(error.to_string())),
        }
    }

    /// The page, as histories show it.
    pub(in crate::pages) fn page_writer(&self, session: &PageSession) -> Writer {
        let author = Author {
            principal: session.standing.caller.app.to_string(),
            run: session.run.as_ref().map(|run| run.id.clone()),
            node: Some(session.own_id().to_owned()),
            reason: None,
        };
        Writer { author, role: Role::Agent, redactions: self.resolved.redactions() }
    }

    async fn files(&self) -> Result<Workspaces, BridgeError> {
        Ok(self.store.workspaces().await?)
    }
}
