//! The cartridge protocol (`rapp:*`): a page with an agent behind it. The same gate, the same session, other words.
//!
//! Replies have the fields that pages of rapplications read; errors are plain texts. No token ever crosses.

mod desk; // `rapp:workspace:*`: the agent's own folder

use super::{
    Pages,
    bridge::BridgeError,
    egress::Wanted,
    session::{PageSession, lock},
};
use crate::{
    converse::{ChatFailure, ChatRequest},
    gate::{Reach, Use},
    perform::Request,
};
use roost_chat::{HistoryRule, history, split_slots};
use roost_protocol::{AgentsUse, Failure, Pattern, Right};
use serde_json::{Map, Value, json};

/// Turns of a page's own conversation that it is told again.
const HISTORY_MAX: usize = 40;

/// Fields of a reply, or the text of its error.
type Reply = Result<Value, String>;

impl Pages<'_> {
    /// Answers one message of a page; nothing for those that nobody knows.
    pub async fn cartridge(self, session: &PageSession, kind: &str, message: &Value) -> Option<Value> {
        let reply = match kind {
            "rapp:get_cartridge" if session.note_repeatable(&self.host.inner.gate, kind) => {
                return Some(self.envelope(session).await);
            }
            "rapp:get_cartridge" => Err(BridgeError::denied().message),
            "rapp:invoke" => self.invoke(session, &message["args"]).await,
            "rapp:chat" => self.chat(session, message["message"].as_str().unwrap_or_default()).await,
            "rapp:fetch" => self.fetch(session, &message["url"], &message["init"]).await,
            "rapp:proxy_fetch" => self.proxy_fetch(session, message).await,
            _ => self.workspace_message(session, kind.strip_prefix("rapp:workspace:")?, message).await,
        };
        let mut answer = match reply {
            Ok(Value::Object(fields)) => fields,
            Ok(_) => Map::new(),
            Err(error) => Map::from_iter([("error".to_owned(), Value::String(error))]),
        };
        answer.insert("type".to_owned(), json!(format!("{kind}:result")));
        if let Some(id) = message.get("id") {
            answer.insert("id".to_owned(), id.clone());
        }
        Some(Value::Object(answer))
    }

    /// Everything a page is told about where it is.
    async fn envelope(self, session: &PageSession) -> Value {
        let manifest = session.page.manifest();
        json!({
            "type": "rapp:cartridge",
            "schema": "rapp-cartridge/1.0",
            "rapp": {
                "id": manifest.id, "name": manifest.name, "version": manifest.version,
                "summary": manifest.description, "publisher": manifest.author,
            },
            "context": {
                "user": Value::Null,
                "tether": { "active": true, "base": "http://localhost:7071" },
                "session": { "id": format!("vbs-{}", &session.id[..8]), "conversation_history": *lock(&session.said) },
                "origin": { "vbrainstem": Value::Null, "catalog_source": Value::Null },
                "env": "local-brainstem",
                "workspace": self.workspace_block(session).await,
            },
            "capabilities": {
                "can_invoke_agent": manifest.agent.is_some(), "can_proxy_fetch": true, "can_post_chat": true,
            },
        })
    }

    /// Runs the agent behind the page.
    async fn invoke(self, session: &PageSession, arguments: &Value) -> Reply {
        let Some(agent) = session.page.manifest().agent.clone() else {
            return Err("no agent loaded in vBrainstem".to_owned());
        };
        let pattern = Pattern::parse(agent.as_str()).map_err(|error| error.to_string())?;
        self.may(session, &Right::Agents(AgentsUse::Call(pattern)), "rapp:invoke")?;
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let request = Request { arguments, ..Request::default() };
        let outcome = self.host.call(agent.as_str(), &request).await.map_err(in_words)?;
        match outcome.error {
            Some(failure) => Err(failure.message),
            None => Ok(json!({ "result": outcome.output })),
        }
    }

    /// One turn of a conversation of its own. It may use every agent, so that both rights are needed.
    async fn chat(self, session: &PageSession, message: &str) -> Reply {
        if message.trim().is_empty() {
            return Err("empty message".to_owned());
        }
        let every = Pattern::parse("*").map_err(|error| error.to_string())?;
        self.may(session, &Right::Model, "rapp:chat")?;
        self.may(session, &Right::Agents(AgentsUse::Call(every)), "rapp:chat")?;
        let before = Value::Array(lock(&session.said).clone());
        let history = history(Some(before), HistoryRule::Filtered).unwrap_or_default();
        let request = ChatRequest { input: message.to_owned(), history, ..ChatRequest::default() };
        let answer = self
            .host
            .converse(request, None)
            .await
            .map_err(|failure: ChatFailure| in_words(failure.into()))?;
        let reply = split_slots(&answer.text).main;
        let mut said = lock(&session.said);
        said.push(json!({ "role": "user", "content": message }));
        said.push(json!({ "role": "assistant", "content": reply }));
        let surplus = said.len().saturating_sub(HISTORY_MAX);
        said.drain(..surplus);
        Ok(json!({ "reply": reply }))
    }

    async fn fetch(self, session: &PageSession, url: &Value, init: &Value) -> Reply {
        let wanted = Wanted::read(url.as_str().unwrap_or_default(), init)?;
        self.may(session, &wanted.right(), "rapp:fetch")?;
        let fetched = self.host.inner.fetch_for_page(wanted).await?;
        Ok(json!({ "status": fetched.status, "body": fetched.body, "headers": fetched.headers }))
    }

    /// What pages ask of `localhost:7071`: a few answers of this host, each under the page's own rights.
    async fn proxy_fetch(self, session: &PageSession, message: &Value) -> Reply {
        let url = message["url"].as_str().unwrap_or_default();
        let Some(path) = local_path(url) else {
            return self.fetch(session, &message["url"], message).await;
        };
        let method = message["method"].as_str().unwrap_or("GET").to_ascii_uppercase();
        let body: Value = match &message["body"] {
            Value::String(text) => serde_json::from_str(text).unwrap_or_default(),
            other => other.clone(),
        };
        let (status, answer) = self.local_answer(session, &method, path, &body).await;
        Ok(
            json!({ "status": status, "body": answer.to_string(), "headers": { "content-type": "application/json" } }),
        )
    }

    async fn local_answer(
        self,
        session: &PageSession,
        method: &str,
        path: &str,
        body: &Value,
    ) -> (u16, Value) {
        let version = env!("CARGO_PKG_VERSION");
        match (method, path) {
            ("GET", "/health") => (200, json!({ "status": "ok", "version": version })),
            ("GET", "/version") => (200, json!({ "version": version, "runtime": "roost" })),
            ("GET", "/api/binder" | "/api/binder/installed") => {
                (200, json!({ "installed": [{ "id": session.page.manifest().id }], "rapps": [] }))
            }
            ("POST", "/chat") => {
                let input = body["user_input"].as_str().or(body["message"].as_str()).unwrap_or_default();
                if input.is_empty() {
                    return (400, json!({ "error": "user_input is required" }));
                }
                match self.chat(session, input).await {
                    Ok(reply) => (200, json!({ "response": reply["reply"], "session_id": &session.id[..8] })),
                    Err(error) => (403, json!({ "error": error })),
                }
            }
            ("POST", "/api/binder/agent") => match self.invoke(session, body).await {
                Ok(result) => (200, result),
                Err(error) => (403, json!({ "error": error })),
            },
            _ => (404, json!({ "error": "not found", "path": path, "method": method })),
        }
    }

    /// Decides one use, and records it.
    fn may(self, session: &PageSession, right: &Right, detail: &str) -> Result<(), String> {
        let using = Use { right, detail: Some(detail), reach: Reach::Grantable };
        let is_allowed = session.decide(&self.host.inner.gate, using, false);
        if is_allowed { Ok(()) } else { Err(BridgeError::denied().message) }
    }
}

/// The path of an address that pages take for their host.
fn local_path(url: &str) -> Option<&str> {
    let rest =
        ["http://localhost:7071", "http://127.0.0.1:7071"].iter().find_map(|base| url.strip_prefix(base));
    let path = rest.unwrap_or(url);
    let path = path.split(['?', '#']).next().unwrap_or_default();
    match (rest, path) {
        (Some(_), "") => Some("/"),
        _ => path.starts_with('/').then_some(path).filter(|path| !path.starts_with("//")),
    }
}

fn in_words(failure: Failure) -> String {
    failure.message
}

#[cfg(test)]
mod tests {
    use super::local_path;

    #[test]
    fn what_pages_take_for_their_host_is_known() {
        assert_eq!(local_path("http://localhost:7071/health?x=1"), Some("/health"));
        assert_eq!(local_path("/chat"), Some("/chat"));
        assert_eq!(local_path("http://127.0.0.1:7071"), Some("/"));
        for other in
            ["https://a.example/chat", "//a.example/x", "http://localhost:70710.evil.example/", "chat"]
        {
            assert!(local_path(other).is_none_or(|path| !path.starts_with('/')), "{other}");
        }
    }
}
