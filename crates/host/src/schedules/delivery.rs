//! Where an answer goes that nobody waits for: to a conversation elsewhere, through the channel of a native app.

use crate::{host::Host, native::OutgoingMessage};
use roost_protocol::{Failure, Reason, Right};
use serde::Deserialize;

/// Where an answer is to go, as it stands with a schedule.
pub(super) struct Delivery<'a> {
    /// JSON; nowhere when it is empty.
    pub(super) deliver: &'a str,
    /// Whose wish that is.
    pub(super) wisher: Wisher<'a>,
}

/// Who says where an answer goes.
pub(super) enum Wisher<'a> {
    /// Whoever may keep schedules here: the owner.
    Owner,
    /// An app that is a scheduler.
    App(&'a str),
}

/// What `deliver` says. More may stand there, for whoever keeps the schedule.
#[derive(Deserialize)]
struct Address {
    /// An app with a channel, or the name of its channel.
    channel: String,
    /// The conversation, as the app calls it.
    to: String,
}

impl Host {
    /// Sends an answer to where it is to go. One that says nothing is not sent.
    pub(super) async fn deliver(&self, delivery: &Delivery<'_>, answer: &str) -> Result<(), Failure> {
        if delivery.deliver.is_empty() || answer.trim().is_empty() {
            return Ok(());
        }
        let Address { channel, to } = serde_json::from_str(delivery.deliver)
            .map_err(|error| Failure::new(Reason::BadArguments, format!("deliver: {error}")))?;
        if let Wisher::App(app) = delivery.wisher {
            self.may_deliver(app)?;
        }
        let native = &self.inner.native;
        let app = native.channel_called(&channel)?;
        let message =
            OutgoingMessage { channel_id: to, text: answer.to_owned(), ..OutgoingMessage::default() };
        native.say(&app, message).await.map(drop)
    }

    /// An app that sends by the channel of another says to people what it likes: it needs the right to.
    fn may_deliver(&self, app: &str) -> Result<(), Failure> {
        let scheduler = self.inner.native.schedulers().find(app)?;
        let needed = "feature:channel:send".parse::<Right>().ok();
        let holds = |needed: &Right| scheduler.rights.iter().any(|held| held.covers(needed));
        if needed.as_ref().is_some_and(holds) {
            return Ok(());
        }
        let message = format!("`{app}` was not granted channel:send, so its schedules deliver nothing");
        Err(Failure::new(Reason::RightMissing, message))
    }
}
