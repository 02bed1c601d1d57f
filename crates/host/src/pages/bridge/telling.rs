//! `system.*`: a few chosen facts, and what the host page does for a page once the gate allowed it.

use super::{Answer, BridgeError, text};
use crate::{
    gate::{Decision, Reach, Use},
    host::Inner,
    pages::session::PageSession,
    standing::Standing,
};
use roost_protocol::{Ask, Right, to_page};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;

/// Longest title and text of a message to the person.
const TITLE_CHARACTERS_MAX: usize = 100;
const BODY_CHARACTERS_MAX: usize = 500;

impl Inner {
    /// Nothing about conversations: only how this page itself stands, and how much there is.
    pub(super) fn state_for(&self, session: &PageSession) -> Answer {
        if !session.note(&self.gate, "system.getState", true) {
            return Err(BridgeError::denied());
        }
        let calls = session.calls.load(Ordering::Relaxed);
        Ok(json!({
            "version": env!("CARGO_PKG_VERSION"),
            "totalCycles": calls,
            "session": { "status": "active" },
            "stats": { "apiCalls": calls, "errors": session.errors.load(Ordering::Relaxed) },
        }))
    }

    /// Who the page is, and what it may do.
    pub(super) fn configuration_for(&self, session: &PageSession) -> Answer {
        if !session.note(&self.gate, "system.getConfig", true) {
            return Err(BridgeError::denied());
        }
        let Standing { caller, asks } = &session.standing;
        let holds =
            |ask: &&Ask| matches!(self.gate.consider(caller, asks, &ask.right), Decision::Allowed { .. });
        let granted: Vec<Ask> = asks.asks.iter().filter(holds).cloned().collect();
        let manifest = session.page.manifest();
        Ok(json!({
            "app": { "id": manifest.id, "name": manifest.name, "version": manifest.version },
            "permissions": to_page(&granted),
            "mode": session.mode,
            "host": { "name": "roost", "version": env!("CARGO_PKG_VERSION") },
        }))
    }

    /// The host page shows the message, with the name of the page beside it.
    pub(super) fn may_notify(&self, session: &PageSession, arguments: &[Value]) -> Answer {
        let title = text(arguments, 0, "The title")?;
        let body = arguments.get(1).and_then(Value::as_str).unwrap_or_default();
        if title.chars().count() > TITLE_CHARACTERS_MAX || body.chars().count() > BODY_CHARACTERS_MAX {
            return Err(BridgeError::invalid("The notification is too long"));
        }
        self.may_use(session, &Right::Notifications, "system.notify")
    }

    pub(super) fn may_use_clipboard(&self, session: &PageSession, method: &str) -> Answer {
        self.may_use(session, &Right::Clipboard, method)
    }

    fn may_use(&self, session: &PageSession, right: &Right, method: &str) -> Answer {
        let using = Use { right, detail: Some(method), reach: Reach::Grantable };
        if session.decide(&self.gate, using, false) {
            Ok(Value::Bool(true))
        } else {
            Err(BridgeError::denied())
        }
    }
}
