//! `storage.*`: texts that a page keeps through the host, where its browser keeps nothing for it.

use super::{Answer, BridgeError, text};
use crate::{
    gate::{Decision, Reach, Use},
    host::Inner,
    pages::{place, session::PageSession},
    standing::Standing,
};
use roost_protocol::Right;
use roost_workspace::{Condition, Content, FilePath, WorkspaceError, Write};
use serde_json::{Map, Value, json};

/// Tries when two frames of one page write at once.
const TRIES: usize = 8;

/// Longest key.
const KEY_BYTES_MAX: usize = 1024;

impl Inner {
    pub(super) async fn stored(&self, session: &PageSession) -> Answer {
        self.may_keep(session, "storage.all")?;
        Ok(Value::Object(self.read_items(session).await?.0))
    }

    pub(super) async fn store_item(&self, session: &PageSession, arguments: &[Value]) -> Answer {
        let (key, value) = (text(arguments, 0, "The key")?, text(arguments, 1, "The value")?);
        if key.len() > KEY_BYTES_MAX {
            return Err(BridgeError::invalid("The key is too long"));
        }
        let quota = self.may_keep(session, "storage.set")?;
        self.change_items(session, quota, |items| drop(items.insert(key.to_owned(), json!(value)))).await
    }

    pub(super) async fn remove_item(&self, session: &PageSession, arguments: &[Value]) -> Answer {
        let key = text(arguments, 0, "The key")?;
        let quota = self.may_keep(session, "storage.remove")?;
        self.change_items(session, quota, |items| drop(items.remove(key))).await
    }

    pub(super) async fn clear_items(&self, session: &PageSession) -> Answer {
        let quota = self.may_keep(session, "storage.clear")?;
        self.change_items(session, quota, Map::clear).await
    }

    /// How many bytes the page may keep.
    fn may_keep(&self, session: &PageSession, method: &str) -> Result<u64, BridgeError> {
        let Standing { caller, asks } = &session.standing;
        let quotas = asks.asks.iter().filter_map(|ask| match ask.right {
            Right::Storage(bytes) => Some(bytes),
            _ => None,
        });
        let holds = |bytes: &u64| {
            matches!(self.gate.consider(caller, asks, &Right::Storage(*bytes)), Decision::Allowed { .. })
        };
        let quota = quotas.filter(holds).max().unwrap_or(1);
        let right = Right::Storage(quota);
        let using = Use { right: &right, detail: Some(method), reach: Reach::Grantable };
        if session.decide(&self.gate, using, true) { Ok(quota) } else { Err(BridgeError::denied()) }
    }

    async fn read_items(
        &self,
        session: &PageSession,
    ) -> Result<(Map<String, Value>, Condition), BridgeError> {
        let workspaces = self.store.workspaces().await?;
        let owner = place::storage_of(session.own_id());
        match workspaces.get(&owner, &items_path()?, None).await {
            Ok(file) => {
                let items = serde_json::from_slice(&file.content).unwrap_or_default();
                Ok((items, Condition::unchanged(&file.info.etag)))
            }
            Err(WorkspaceError::NotFound) => Ok((Map::new(), Condition::create_only())),
            Err(error) => Err(BridgeError::failed(error.to_string())),
        }
    }

    async fn change_items(
        &self,
        session: &PageSession,
        quota: u64,
        change: impl Fn(&mut Map<String, Value>),
    ) -> Answer {
        let workspaces = self.store.workspaces().await?;
        let owner = place::storage_of(session.own_id());
        for _ in 0..TRIES {
            let (mut items, condition) = self.read_items(session).await?;
            change(&mut items);
            let used: usize =
                items.iter().map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum();
            if used as u64 > quota {
                return Err(BridgeError::new("too_large", "QuotaExceededError"));
            }
            let bytes = serde_json::to_vec(&items).unwrap_or_default();
            let content = Some(Content { bytes, content_type: "application/json".to_owned() });
            let write = Write { path: items_path()?, condition, content };
            match workspaces.write_one(&owner, &self.page_writer(session), write, None).await {
                Ok(_) => return Ok(Value::Bool(true)),
                Err(WorkspaceError::Conflict { .. }) => {}
                Err(error) => return Err(BridgeError::failed(error.to_string())),
            }
        }
        Err(BridgeError::failed("The storage is busy"))
    }
}

fn items_path() -> Result<FilePath, BridgeError> {
    FilePath::parse("items.json").map_err(|error| BridgeError::failed(error.to_string()))
}
