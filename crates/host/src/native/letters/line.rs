//! How an app brings and takes messages: by a channel to people elsewhere, or between agents.

use super::LiveApp;
use crate::{converse::CHAT_DEPTH_MAX, host::Host};
use jiff::Timestamp;
use roost_protocol::{AgentState, Failure, Reason, Right};
use roost_runtime::{ChannelMessage, ChannelSender, CommMessage, CommRequest};
use std::collections::BTreeMap;
use tokio::sync::mpsc;

/// What this host is called among agents.
const OWN_NAME: &str = "roost";

/// Where it stands how many hosts a message has been answered by, so that two of them do not talk without end.
const DEPTH: &str = "roost-depth";

/// Longest name, and longest id, that is taken from an app.
const NAME_BYTES_MAX: usize = 256;

/// Names of tools that others are told of; more would fill the message.
const CAPABILITIES_MAX: usize = 500;

/// One of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::native) enum Line {
    /// Conversations elsewhere.
    Channel,
    /// Messages between agents.
    Comm,
}

/// Which ways are open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rights {
    pub(super) send: bool,
    pub(super) receive: bool,
}

impl Rights {
    pub(super) const NONE: Self = Self { send: false, receive: false };
}

/// A message that somebody here is to know of.
pub(super) struct Letter {
    /// Letters of one conversation are answered in their order.
    pub(super) conversation: String,
    /// Who wrote it, as the app knows them.
    pub(super) user: String,
    pub(super) text: String,
    pub(super) depth: u32,
    pub(super) wish: Wish,
    came_as: CameAs,
}

/// What whoever wrote a letter wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    /// An answer.
    Answered,
    /// That it is known, and no answer: two that inform each other would not end.
    Known,
}

enum CameAs {
    Channel(Box<ChannelMessage>),
    Comm(Box<CommMessage>),
}

/// What was heard until it stopped.
pub(super) struct Heard {
    pub(super) count: u64,
    pub(super) failure: Option<Failure>,
}

/// A message to people elsewhere.
#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutgoingMessage {
    /// The conversation, as the app calls it.
    pub channel_id: String,
    /// What is said.
    pub text: String,
    /// The message that this one answers.
    #[serde(default)]
    pub reply_to: String,
}

impl OutgoingMessage {
    pub(super) fn into_channel_message(self) -> ChannelMessage {
        ChannelMessage {
            channel_id: self.channel_id,
            text: self.text,
            reply_to: self.reply_to,
            message_id: new_id(),
            ..ChannelMessage::default()
        }
    }
}

/// The same request with what its sender left open.
pub(super) fn completed(request: CommRequest) -> CommRequest {
    let CommRequest::Send(mut message) = request else { return request };
    if message.id.is_empty() {
        message.id = new_id();
    }
    if message.kind.is_empty() {
        "message".clone_into(&mut message.kind);
    }
    // Who sends is never somebody else.
    OWN_NAME.clone_into(&mut message.from);
    message.timestamp = Timestamp::now().as_second();
    CommRequest::Send(message)
}

impl Line {
    pub(in crate::native) fn name(self) -> &'static str {
        match self {
            Self::Channel => "channel",
            Self::Comm => "comm",
        }
    }

    /// What was granted. An app that asks for one way only, as most do, means both by it; one that asks for both is given
    /// each by itself.
    pub(super) fn rights(self, live: &LiveApp) -> Rights {
        let right = |way: &str| format!("feature:{}:{way}", self.name()).parse::<Right>().ok();
        let holds =
            |way: &str| right(way).is_some_and(|right| live.rights.iter().any(|held| held.covers(&right)));
        let asks = |way: &str| {
            let asked = live.standing.asks.asks.iter().map(|ask| &ask.right);
            right(way).is_some_and(|right| asked.into_iter().any(|ask| ask.covers(&right)))
        };
        let (send, receive) = (holds("send"), holds("receive"));
        if asks("send") && asks("receive") {
            return Rights { send, receive };
        }
        Rights { send: send || receive, receive: send || receive }
    }

    /// Lets the app connect; the answer is what it calls itself.
    pub(super) async fn connect(
        self,
        live: &LiveApp,
        settings: BTreeMap<String, String>,
        tools: Vec<String>,
    ) -> Result<String, Failure> {
        let name = match self {
            Self::Channel => {
                let name = live.app.channel_name().await?;
                live.app.connect_channel(settings).await?;
                name
            }
            Self::Comm => {
                let name = live.app.comm_name().await?;
                live.app.connect_comm(settings).await?;
                register(live, tools).await?;
                name
            }
        };
        if name.is_empty() || name.len() > NAME_BYTES_MAX || name.chars().any(char::is_control) {
            return Err(Failure::new(Reason::InvalidName, "its name is empty or too long"));
        }
        Ok(name)
    }

    pub(super) async fn disconnect(self, live: &LiveApp) -> Result<(), Failure> {
        match self {
            Self::Channel => live.app.disconnect_channel().await,
            Self::Comm => live.app.leave_comm().await,
        }
    }

    /// Hands on what the app tells, until it stops or nobody wants it any more.
    pub(super) async fn listen(self, live: &LiveApp, give: &mpsc::Sender<Letter>) -> Heard {
        let mut count = 0;
        let heard = async {
            match self {
                Self::Channel => {
                    let mut stream = live.app.listen_to_channel().await?;
                    while let Some(message) = stream.next().await? {
                        count += 1;
                        if hand_on(live, give, of_channel(message)).await.is_none() {
                            break;
                        }
                    }
                }
                Self::Comm => {
                    let mut stream = live.app.listen_to_comm().await?;
                    while let Some(message) = stream.next().await? {
                        count += 1;
                        if hand_on(live, give, of_comm(message)).await.is_none() {
                            break;
                        }
                    }
                }
            }
            Ok::<(), Failure>(())
        };
        let failure = heard.await.err();
        Heard { count, failure }
    }
}

impl Letter {
    /// Sends the answer to where the letter came from.
    pub(super) async fn answer(self, live: &LiveApp, text: String) -> Result<(), Failure> {
        match self.came_as {
            CameAs::Channel(came) => {
                let message = ChannelMessage {
                    channel_id: came.channel_id,
                    text,
                    message_id: new_id(),
                    reply_to: came.message_id,
                    platform_data: came.platform_data,
                    ..ChannelMessage::default()
                };
                live.app.send_to_channel(message).await.map(drop)
            }
            CameAs::Comm(came) => {
                let message = CommMessage {
                    to: came.from,
                    topic: came.topic,
                    conversation_id: came.conversation_id,
                    content: text,
                    metadata: BTreeMap::from([
                        (DEPTH.to_owned(), self.depth.saturating_add(1).to_string()),
                        ("reply_to".to_owned(), came.id),
                    ]),
                    ..CommMessage::default()
                };
                live.app.ask_comm(completed(CommRequest::Send(Box::new(message)))).await
            }
        }
    }
}

/// Nothing when nobody takes letters any more.
async fn hand_on(live: &LiveApp, give: &mpsc::Sender<Letter>, letter: Option<Letter>) -> Option<()> {
    let Some(letter) = letter else {
        tracing::debug!(app = live.folder.id(), "a message that is passed over");
        return Some(());
    };
    give.send(letter).await.ok()
}

/// A letter, where somebody said something.
fn of_channel(mut message: ChannelMessage) -> Option<Letter> {
    if message.text.trim().is_empty() || message.channel_id.len() > NAME_BYTES_MAX {
        return None;
    }
    if message.message_id.is_empty() {
        message.message_id = new_id();
    }
    // What machines say to machines never ends.
    if message.sender.as_ref().is_some_and(|ChannelSender { bot_id, .. }| bot_id == OWN_NAME) {
        return None;
    }
    let user = if message.user_id.is_empty() { &message.channel_id } else { &message.user_id };
    Some(Letter {
        conversation: message.channel_id.clone(),
        user: user.clone(),
        text: message.text.clone(),
        depth: 0,
        wish: Wish::Answered,
        came_as: CameAs::Channel(Box::new(message)),
    })
}

/// A letter, where it is one of those that the contract knows.
fn of_comm(message: CommMessage) -> Option<Letter> {
    let wish = match message.kind.as_str() {
        "message" | "mention" | "command" | "task" => Wish::Answered,
        "info" | "proposal" => Wish::Known,
        _ => return None,
    };
    let depth = message.metadata.get(DEPTH).map_or(0, |text| text.parse().unwrap_or(u32::MAX));
    let is_own = message.from == OWN_NAME;
    if is_own || depth > CHAT_DEPTH_MAX || message.content.trim().is_empty() {
        return None;
    }
    let conversation = if message.conversation_id.is_empty() {
        message.from.clone()
    } else {
        message.conversation_id.clone()
    };
    if conversation.len() > NAME_BYTES_MAX {
        return None;
    }
    Some(Letter {
        conversation,
        user: message.from.clone(),
        text: message.content.clone(),
        depth,
        wish,
        came_as: CameAs::Comm(Box::new(message)),
    })
}

/// Tells other agents what can be used here.
pub(super) async fn register(live: &LiveApp, tools: Vec<String>) -> Result<(), Failure> {
    live.app.register_at_comm(OWN_NAME.to_owned(), tools).await
}

/// Names of the tools that can be used here.
pub(super) fn tools_of(host: &Host) -> Vec<String> {
    let agents = host.roster();
    let ready = agents.agents().iter().filter(|agent| agent.state == AgentState::Ready);
    ready.map(|agent| agent.name.clone()).take(CAPABILITIES_MAX).collect()
}

fn new_id() -> String {
    uuid::Uuid::now_v7().to_string()
}

#[cfg(test)]
mod tests {
    use super::{Wish, of_channel, of_comm};
    use roost_runtime::{ChannelMessage, CommMessage};
    use std::collections::BTreeMap;

    #[test]
    fn a_message_of_an_old_app_is_a_letter_with_a_name() {
        let message = ChannelMessage {
            channel_id: "old:1".to_owned(),
            text: "hi".to_owned(),
            ..ChannelMessage::default()
        };
        let letter = of_channel(message).unwrap();
        assert_eq!((letter.conversation.as_str(), letter.user.as_str()), ("old:1", "old:1"));
        let super::CameAs::Channel(came) = letter.came_as else { panic!("it came by a channel") };
        assert_eq!(uuid::Uuid::parse_str(&came.message_id).unwrap().get_version_num(), 7);
        assert!(of_channel(ChannelMessage::default()).is_none(), "nothing was said");
    }

    #[test]
    fn what_wants_an_answer_is_told_from_what_wants_to_be_known() {
        let message = |kind: &str, depth: &str| CommMessage {
            from: "other".to_owned(),
            kind: kind.to_owned(),
            content: "hi".to_owned(),
            metadata: BTreeMap::from([("roost-depth".to_owned(), depth.to_owned())]),
            ..CommMessage::default()
        };
        for kind in ["message", "mention", "command", "task"] {
            assert_eq!(of_comm(message(kind, "1")).unwrap().wish, Wish::Answered, "{kind}");
        }
        for kind in ["info", "proposal"] {
            assert_eq!(of_comm(message(kind, "1")).unwrap().wish, Wish::Known, "{kind}");
        }
        for kind in ["", "else"] {
            assert!(of_comm(message(kind, "1")).is_none(), "{kind}");
        }
        for depth in ["5", "many", "-1"] {
            assert!(of_comm(message("message", depth)).is_none(), "{depth}");
        }
        assert!(of_comm(CommMessage { from: "roost".to_owned(), ..message("message", "0") }).is_none());
    }
}
