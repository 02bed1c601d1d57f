//! What a mounted page can ask for. Who asks is known from the session, never from the message.
//!
//! Each call: how often, what it is, one decision that is recorded as taken, then the thing itself.

mod files; // `vfs.*`
mod keeping; // `storage.*`
mod talking; // `eventbus.*`
mod telling; // `system.*` and what a host page does for a page

use super::{
    Pages,
    session::{IN_FLIGHT_MAX, PageSession},
};
use crate::host::Inner;
use serde_json::Value;

/// Longest name of a method; the longest there is has 21 characters.
const METHOD_BYTES_MAX: usize = 64;

/// Why a call was not done, in the words that pages expect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BridgeError {
    /// For the page.
    pub message: String,
    /// For programs.
    pub code: &'static str,
}

impl BridgeError {
    pub(super) fn denied() -> Self {
        Self::new("permission_denied", "Permission denied")
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new("invalid", message)
    }

    pub(super) fn failed(message: impl Into<String>) -> Self {
        Self::new("failed", message)
    }

    pub(super) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { message: message.into(), code }
    }
}

type Answer = Result<Value, BridgeError>;

impl Pages<'_> {
    /// Does what a page asks for, if it may.
    pub async fn call(self, session: &PageSession, method: &str, arguments: &[Value]) -> Answer {
        let inner = &self.host.inner;
        if session.ended().is_some() {
            return Err(BridgeError::new("closed", "The app is not mounted"));
        }
        if !session.may_call() {
            return Err(BridgeError::new("rate_limited", "Too many requests"));
        }
        let Ok(_permit) = session.in_flight.try_acquire() else {
            let message = format!("More than {IN_FLIGHT_MAX} requests at once");
            return Err(BridgeError::new("rate_limited", message));
        };
        let answer = match method.starts_with("rapp:") {
            // What nobody knows is met with silence, as the protocol has it.
            true => Ok(self
                .cartridge(session, method, arguments.first().unwrap_or(&Value::Null))
                .await
                .unwrap_or_default()),
            false => inner.dispatch(session, method, arguments).await,
        };
        session.count(answer.is_err());
        answer
    }
}

impl Inner {
    async fn dispatch(&self, session: &PageSession, method: &str, arguments: &[Value]) -> Answer {
        match method {
            "vfs.read" => self.vfs_read(session, arguments).await,
            "vfs.write" => self.vfs_write(session, arguments).await,
            "vfs.list" => self.vfs_list(session, arguments).await,
            "vfs.exists" => self.vfs_exists(session, arguments).await,
            "vfs.delete" => self.vfs_delete(session, arguments).await,
            "eventbus.subscribe" => self.subscribe(session, arguments),
            "eventbus.unsubscribe" => self.unsubscribe(session, arguments),
            "eventbus.emit" => self.emit(session, arguments),
            "system.getState" => self.state_for(session),
            "system.getConfig" => self.configuration_for(session),
            "system.notify" => self.may_notify(session, arguments),
            "clipboard.writeText" | "clipboard.readText" => self.may_use_clipboard(session, method),
            "storage.all" => self.stored(session).await,
            "storage.set" => self.store_item(session, arguments).await,
            "storage.remove" => self.remove_item(session, arguments).await,
            "storage.clear" => self.clear_items(session).await,
            _ => {
                let shown: String = method.chars().filter(|character| !character.is_control()).collect();
                let shown = shown.get(..METHOD_BYTES_MAX.min(shown.len())).unwrap_or("?").to_owned();
                session.note(&self.gate, &format!("unknown method {shown}"), false);
                Err(BridgeError::new("unknown_method", format!("Unknown method: {shown}")))
            }
        }
    }
}

/// The argument at this place, which must be text.
fn text<'a>(arguments: &'a [Value], at: usize, what: &str) -> Result<&'a str, BridgeError> {
    let argument = arguments.get(at).and_then(Value::as_str);
    argument.ok_or_else(|| BridgeError::invalid(format!("{what} must be a string")))
}
