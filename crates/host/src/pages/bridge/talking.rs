//! `eventbus.*`: hearing what happens, and speaking in one's own name only.

use super::{Answer, BridgeError, text};
use crate::{
    gate::{Reach, Use},
    host::Inner,
    pages::{events, session::PageSession},
};
use roost_protocol::{Direction, Pattern, Right};
use serde_json::{Value, json};

/// Longest name of an event.
const NAME_BYTES_MAX: usize = 200;

impl Inner {
    pub(super) fn subscribe(&self, session: &PageSession, arguments: &[Value]) -> Answer {
        let name = event_name(arguments)?;
        let right = events::watching(name).ok_or_else(|| BridgeError::invalid("Invalid event name"))?;
        let using = Use { right: &right, detail: Some("eventbus.subscribe"), reach: Reach::Grantable };
        if !session.decide(&self.gate, using, false) {
            return Err(BridgeError::denied());
        }
        let Right::Events { pattern, .. } = right else { return Err(BridgeError::denied()) };
        let id = session.subscribe(pattern);
        id.map(Value::String).ok_or_else(|| BridgeError::new("rate_limited", "Too many subscriptions"))
    }

    /// A page takes back what is its own; there is no other name it could know.
    pub(super) fn unsubscribe(&self, session: &PageSession, arguments: &[Value]) -> Answer {
        let id = text(arguments, 0, "The subscription")?;
        let was_there = session.unsubscribe(id);
        session.note(&self.gate, "eventbus.unsubscribe", was_there);
        if was_there { Ok(Value::Null) } else { Err(BridgeError::denied()) }
    }

    /// Other names are commands and facts of the host: they stay closed, whatever the manifest says.
    pub(super) fn emit(&self, session: &PageSession, arguments: &[Value]) -> Answer {
        let name = event_name(arguments)?;
        let pattern = Pattern::parse(name).map_err(|_| BridgeError::invalid("Invalid event name"))?;
        let is_own = name.starts_with(&format!("app:{}:", session.own_id())) && !name.contains('*');
        let reach = if is_own { Reach::Grantable } else { Reach::Never };
        let right = Right::Events { direction: Direction::Emit, pattern };
        let using = Use { right: &right, detail: Some("eventbus.emit"), reach };
        if !session.decide(&self.gate, using, false) {
            return Err(BridgeError::denied());
        }
        let data = json!({ "from": session.own_id(), "data": events::plain(arguments.get(1)) });
        self.tell_pages(name, &data);
        Ok(Value::Null)
    }
}

fn event_name(arguments: &[Value]) -> Result<&str, BridgeError> {
    let name = text(arguments, 0, "The event name")?;
    let is_plain = !name.is_empty()
        && name.len() <= NAME_BYTES_MAX
        && !name.chars().any(|character| character.is_control() || roost_protocol::is_hidden(character));
    if is_plain { Ok(name) } else { Err(BridgeError::invalid("Invalid event name")) }
}
