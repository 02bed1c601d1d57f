//! `rapp:workspace:*`: the folder of the agent behind a page, with history. Needs no right, because it is its own.

use super::Reply;
use crate::{
    confinement::own_name,
    folders::{Visitor, owner_of},
    pages::{Pages, session::PageSession},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use roost_protocol::media_type;
use roost_workspace::{Condition, Content, FilePath, Prefix, WorkspaceError, Write};
use serde_json::{Value, json};
use std::sync::Arc;

/// Longest name; a name is a leaf and nothing else.
const NAME_BYTES_MAX: usize = 255;

impl Pages<'_> {
    pub(super) async fn workspace_message(self, session: &PageSession, verb: &str, message: &Value) -> Reply {
        let own = self.own_folder(session).await?;
        let detail = format!("rapp:workspace:{}", verb.chars().take(40).collect::<String>());
        if !session.note(&self.host.inner.gate, &detail, true) {
            return Err("Permission denied".to_owned());
        }
        match verb {
            "list" => Ok(json!({ "files": self.leaves(session, &own).await? })),
            "read" => self.read_leaf(session, &own, leaf(message)?).await,
            "write" => self.write_leaf(session, &own, leaf(message)?, message).await,
            "delete" => self.delete_leaf(session, &own, leaf(message)?).await,
            "request_files" => {
                let params = json!({
                    "prompt": message["prompt"].as_str().unwrap_or_default(),
                    "patterns": message["patterns"].as_array().cloned().unwrap_or_default(),
                });
                let requests = &self.host.inner.workshop().calls.file_requests;
                requests.ask(&session.standing.caller.app, &own, params).map_err(|failure| failure.message)
            }
            "reveal" => Ok(json!({ "ok": true, "path": self.path(&own) })),
            // A host has no screen of its own; the path in the cartridge says where to look.
            "open_in_finder" => Err("not_supported".to_owned()),
            _ => Err(format!("unknown workspace message: {}", verb.chars().take(40).collect::<String>())),
        }
    }

    pub(super) async fn workspace_block(self, session: &PageSession) -> Value {
        let Ok(own) = self.own_folder(session).await else {
            return json!({ "available": false, "path": null, "mode": "local", "file_count": 0 });
        };
        let count = self.leaves(session, &own).await.map_or(0, |files| files.len());
        json!({ "available": true, "path": self.path(&own), "mode": "local", "file_count": count })
    }

    /// The name of the agent's own folders.
    async fn own_folder(self, session: &PageSession) -> Result<String, String> {
        let agent = session.page.manifest().agent.as_ref().ok_or("no workspace")?;
        let (_, callable) =
            self.host.inner.agents.current(agent.as_str()).await.map_err(|failure| failure.message)?;
        Ok(own_name(&callable.path, self.host.home()))
    }

    fn path(self, own: &str) -> String {
        self.host.home().data().join("workspaces").join(own).display().to_string()
    }

    /// Makes the folder on disk and its history the same.
    async fn meet(self, session: &PageSession, own: &str) {
        let inner = &self.host.inner;
        let author = inner.page_writer(session).author;
        let visitor = Visitor { author, secrets: Arc::from([]) };
        let visit = inner.folders.before(&inner.store, own, visitor).await;
        drop(inner.folders.after(&inner.store, visit).await);
    }

    async fn leaves(self, session: &PageSession, own: &str) -> Result<Vec<Value>, String> {
        self.meet(session, own).await;
        let workspaces = self.host.workspaces().await.map_err(|failure| failure.message)?;
        let listed = workspaces.list(&owner_of(own), &Prefix::default()).await.map_err(in_words)?;
        let file = |info: &roost_workspace::FileInfo| {
            let name = info.path.as_str();
            json!({ "name": name, "size": info.bytes, "mtime": info.updated_at / 1000, "mime": plain_type(name) })
        };
        Ok(listed.files.iter().map(file).collect())
    }

    async fn read_leaf(self, session: &PageSession, own: &str, name: FilePath) -> Reply {
        self.meet(session, own).await;
        let workspaces = self.host.workspaces().await.map_err(|failure| failure.message)?;
        let file = workspaces.get(&owner_of(own), &name, None).await.map_err(in_words)?;
        let mime = plain_type(name.as_str());
        let (content, encoding) = match String::from_utf8(file.content) {
            Ok(text) => (text, "utf-8"),
            Err(bytes) => (STANDARD.encode(bytes.into_bytes()), "base64"),
        };
        Ok(json!({ "content": content, "encoding": encoding, "mime": mime }))
    }

    async fn write_leaf(self, session: &PageSession, own: &str, name: FilePath, message: &Value) -> Reply {
        let content = message["content"].as_str().ok_or("content must be a string")?;
        let bytes = match message["encoding"].as_str() {
            Some("base64") => STANDARD.decode(content).map_err(|_| "content is not base64".to_owned())?,
            _ => content.as_bytes().to_vec(),
        };
        let size = bytes.len();
        let shown = name.to_string();
        let content = Some(Content { bytes, content_type: plain_type(&shown).to_owned() });
        self.put(session, own, Write { path: name, condition: Condition::none(), content }).await?;
        Ok(json!({ "ok": true, "name": shown, "size": size }))
    }

    async fn delete_leaf(self, session: &PageSession, own: &str, name: FilePath) -> Reply {
        self.put(session, own, Write { path: name, condition: Condition::none(), content: None }).await?;
        Ok(json!({ "ok": true }))
    }

    async fn put(self, session: &PageSession, own: &str, write: Write) -> Result<(), String> {
        self.meet(session, own).await;
        let workspaces = self.host.workspaces().await.map_err(|failure| failure.message)?;
        let writer = self.host.inner.page_writer(session);
        workspaces.write_one(&owner_of(own), &writer, write, None).await.map_err(in_words)?;
        self.meet(session, own).await;
        Ok(())
    }
}

/// The name in a message: a leaf, never a path.
fn leaf(message: &Value) -> Result<FilePath, String> {
    let invalid = || "invalid_name".to_owned();
    let name = message["name"].as_str().ok_or_else(invalid)?;
    let is_leaf =
        !name.contains(['/', '\\', ':']) && name.len() <= NAME_BYTES_MAX && name != "." && name != "..";
    if !is_leaf {
        return Err(invalid());
    }
    FilePath::of_folder(name).map_err(|_| invalid())
}

fn plain_type(name: &str) -> &'static str {
    media_type(name).split(';').next().unwrap_or("application/octet-stream")
}

fn in_words(error: WorkspaceError) -> String {
    match error {
        WorkspaceError::NotFound => "not found".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::leaf;
    use serde_json::json;

    #[test]
    fn a_name_is_a_leaf() {
        for good in ["a.txt", "with space.md", ".hidden", "é.csv"] {
            assert!(leaf(&json!({"name": good})).is_ok(), "{good}");
        }
        for bad in ["", ".", "..", "../a", "/a", "a/b", "a\\b", "C:a", "a\u{0}b"] {
            assert_eq!(leaf(&json!({"name": bad})).unwrap_err(), "invalid_name", "{bad:?}");
        }
        assert!(leaf(&json!({})).is_err());
    }
}
