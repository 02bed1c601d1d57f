//! Conversations elsewhere that an app brings: what is said there, and what is said back.

use super::{
    asking::said_no,
    connection::{Channel, MESSAGE_BYTES_MAX},
    contract::{
        Attachment, ChannelConnectRequest, ChannelSendRequest, Empty, InboundMessage, MessageAction,
        MessageSender, channel_service_client::ChannelServiceClient,
    },
    launch::NativeApp,
    stream::AppStream,
};
use roost_protocol::Failure;
use std::{collections::BTreeMap, time::Duration};

/// How long an app may take to say who it is, and to leave.
const BRIEFLY: Duration = Duration::from_secs(5);

/// How long it may take to reach whoever it speaks to.
const REACH_WITHIN: Duration = Duration::from_secs(30);

/// Something that was said elsewhere. Apps of the first version of the contract fill in the first four fields only.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChannelMessage {
    /// The conversation.
    pub channel_id: String,
    /// Who said it.
    pub user_id: String,
    /// What was said.
    pub text: String,
    /// JSON of older apps.
    pub metadata: String,
    /// Its name there; empty when it has none.
    pub message_id: String,
    /// What is known of whoever said it.
    pub sender: Option<ChannelSender>,
    /// What came with it.
    pub attachments: Vec<ChannelAttachment>,
    /// The message that it answers; empty when it answers none.
    pub reply_to: String,
    /// What can be chosen.
    pub actions: Vec<ChannelAction>,
    /// What only the app understands.
    pub platform_data: Vec<u8>,
    /// When, in the form of RFC 3339; empty when that is not known.
    pub timestamp: String,
}

/// Whoever said something.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChannelSender {
    /// Their name.
    pub name: String,
    /// What they are there.
    pub role: String,
    /// The machine they are, if they are one.
    pub bot_id: String,
}

/// Something that came with a message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChannelAttachment {
    /// `image`, `file`, `audio` or `video`.
    pub kind: String,
    /// Where it is.
    pub url: String,
    /// Its name.
    pub filename: String,
    /// Its size in bytes.
    pub size: i64,
}

/// Something that can be chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChannelAction {
    /// What it says.
    pub label: String,
    /// What it is called.
    pub callback_id: String,
}

/// What is said elsewhere, while somebody listens.
pub struct ChannelStream(AppStream<InboundMessage>);

impl NativeApp {
    /// The channel's own name for itself.
    pub async fn channel_name(&self) -> Result<String, Failure> {
        let mut channel = client(self.channel()?);
        Ok(self.ask(BRIEFLY, "ChannelService.ID", channel.id(Empty {})).await?.id)
    }

    /// Lets the app connect to whatever it brings.
    pub async fn connect_channel(&self, settings: BTreeMap<String, String>) -> Result<(), Failure> {
        let mut channel = client(self.channel()?);
        let asked = channel.connect(ChannelConnectRequest { config: settings.into_iter().collect() });
        said_no(
            "ChannelService.Connect",
            self.ask(REACH_WITHIN, "ChannelService.Connect", asked).await?.error,
        )
    }

    /// Lets it leave.
    pub async fn disconnect_channel(&self) -> Result<(), Failure> {
        let mut channel = client(self.channel()?);
        let asked = channel.disconnect(Empty {});
        said_no(
            "ChannelService.Disconnect",
            self.ask(BRIEFLY, "ChannelService.Disconnect", asked).await?.error,
        )
    }

    /// Says something there; the answer is the message's name, where the app gives it one.
    pub async fn send_to_channel(&self, message: ChannelMessage) -> Result<String, Failure> {
        let mut channel = client(self.channel()?);
        let attachment = |one: ChannelAttachment| Attachment {
            r#type: one.kind,
            url: one.url,
            filename: one.filename,
            size: one.size,
        };
        let action = |one: ChannelAction| MessageAction { label: one.label, callback_id: one.callback_id };
        let sender =
            |one: ChannelSender| MessageSender { name: one.name, role: one.role, bot_id: one.bot_id };
        let asked = channel.send(ChannelSendRequest {
            channel_id: message.channel_id,
            text: message.text,
            message_id: message.message_id,
            sender: message.sender.map(sender),
            attachments: message.attachments.into_iter().map(attachment).collect(),
            reply_to: message.reply_to,
            actions: message.actions.into_iter().map(action).collect(),
            platform_data: message.platform_data,
        });
        let answer = self.ask(REACH_WITHIN, "ChannelService.Send", asked).await?;
        said_no("ChannelService.Send", answer.error)?;
        Ok(answer.message_id)
    }

    /// Begins to listen; many apps say nothing before somebody does.
    pub async fn listen_to_channel(&self) -> Result<ChannelStream, Failure> {
        let mut channel = client(self.channel()?);
        let asked = channel.receive(Empty {});
        Ok(ChannelStream(self.listen(None, "ChannelService.Receive", asked).await?))
    }
}

impl ChannelStream {
    /// The next message; nothing when the app stopped telling.
    pub async fn next(&mut self) -> Result<Option<ChannelMessage>, Failure> {
        Ok(self.0.next().await?.map(message))
    }
}

fn message(told: InboundMessage) -> ChannelMessage {
    let attachment = |one: Attachment| ChannelAttachment {
        kind: one.r#type,
        url: one.url,
        filename: one.filename,
        size: one.size,
    };
    let action = |one: MessageAction| ChannelAction { label: one.label, callback_id: one.callback_id };
    let sender = |one: MessageSender| ChannelSender { name: one.name, role: one.role, bot_id: one.bot_id };
    ChannelMessage {
        channel_id: told.channel_id,
        user_id: told.user_id,
        text: told.text,
        metadata: told.metadata,
        message_id: told.message_id,
        sender: told.sender.map(sender),
        attachments: told.attachments.into_iter().map(attachment).collect(),
        reply_to: told.reply_to,
        actions: told.actions.into_iter().map(action).collect(),
        platform_data: told.platform_data,
        timestamp: told.timestamp,
    }
}

fn client(channel: Channel) -> ChannelServiceClient<Channel> {
    ChannelServiceClient::new(channel)
        .max_decoding_message_size(MESSAGE_BYTES_MAX)
        .max_encoding_message_size(MESSAGE_BYTES_MAX)
}
