//! Messages between agents that an app carries.

use super::{
    asking::said_no,
    connection::{Channel, MESSAGE_BYTES_MAX},
    contract::{
        self, CommConnectRequest, CommRegisterRequest, CommSendRequest, CommSubscribeRequest,
        CommUnsubscribeRequest, Empty, comm_service_client::CommServiceClient,
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

/// One message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommMessage {
    /// Its name.
    pub id: String,
    /// Who sends it.
    pub from: String,
    /// Who is to get it.
    pub to: String,
    /// What it belongs to, for those who listen to it.
    pub topic: String,
    /// The conversation.
    pub conversation_id: String,
    /// `message`, `mention`, `proposal`, `command`, `info` or `task`.
    pub kind: String,
    /// What it says.
    pub content: String,
    /// What else is known of it.
    pub metadata: BTreeMap<String, String>,
    /// When, in seconds since 1970.
    pub timestamp: i64,
    /// True when a person wrote it.
    pub human_injected: bool,
    /// Which person.
    pub human_id: String,
}

/// Messages of others, while somebody listens.
pub struct CommStream(AppStream<contract::CommMessage>);

/// What can be asked of what an app carries.
#[derive(Debug, Clone)]
pub enum CommRequest {
    /// Carry a message.
    Send(Box<CommMessage>),
    /// Bring what belongs to a topic.
    Subscribe(String),
    /// Bring it no longer.
    Unsubscribe(String),
}

impl NativeApp {
    /// What the app calls what it carries messages by.
    pub async fn comm_name(&self) -> Result<String, Failure> {
        let mut comm = client(self.channel()?);
        Ok(self.ask(BRIEFLY, "CommService.Name", comm.name(Empty {})).await?.name)
    }

    /// Lets the app connect.
    pub async fn connect_comm(&self, settings: BTreeMap<String, String>) -> Result<(), Failure> {
        let mut comm = client(self.channel()?);
        let asked = comm.connect(CommConnectRequest { config: settings.into_iter().collect() });
        said_no("CommService.Connect", self.ask(REACH_WITHIN, "CommService.Connect", asked).await?.error)
    }

    /// Makes this host known there, with what it can do now.
    pub async fn register_at_comm(&self, agent_id: String, capabilities: Vec<String>) -> Result<(), Failure> {
        let mut comm = client(self.channel()?);
        let asked = comm.register(CommRegisterRequest { agent_id, capabilities });
        said_no("CommService.Register", self.ask(REACH_WITHIN, "CommService.Register", asked).await?.error)
    }

    /// Takes this host back, and lets the app leave.
    pub async fn leave_comm(&self) -> Result<(), Failure> {
        let mut comm = client(self.channel()?);
        let asked = comm.deregister(Empty {});
        let deregistered = self.ask(BRIEFLY, "CommService.Deregister", asked).await;
        let mut comm = client(self.channel()?);
        let asked = comm.disconnect(Empty {});
        let answer = self.ask(BRIEFLY, "CommService.Disconnect", asked).await?;
        said_no("CommService.Deregister", deregistered?.error)?;
        said_no("CommService.Disconnect", answer.error)
    }

    /// Asks something of what the app carries.
    pub async fn ask_comm(&self, request: CommRequest) -> Result<(), Failure> {
        let mut comm = client(self.channel()?);
        let (what, error) = match request {
            CommRequest::Send(message) => {
                let asked = comm.send(CommSendRequest { message: Some(written(*message)) });
                ("CommService.Send", self.ask(REACH_WITHIN, "CommService.Send", asked).await?.error)
            }
            CommRequest::Subscribe(topic) => {
                let asked = comm.subscribe(CommSubscribeRequest { topic });
                ("CommService.Subscribe", self.ask(REACH_WITHIN, "CommService.Subscribe", asked).await?.error)
            }
            CommRequest::Unsubscribe(topic) => {
                let asked = comm.unsubscribe(CommUnsubscribeRequest { topic });
                let answer = self.ask(REACH_WITHIN, "CommService.Unsubscribe", asked).await?;
                ("CommService.Unsubscribe", answer.error)
            }
        };
        said_no(what, error)
    }

    /// Begins to listen; many apps say nothing before somebody does.
    pub async fn listen_to_comm(&self) -> Result<CommStream, Failure> {
        let mut comm = client(self.channel()?);
        let asked = comm.receive(Empty {});
        Ok(CommStream(self.listen(None, "CommService.Receive", asked).await?))
    }
}

impl CommStream {
    /// The next message; nothing when the app stopped telling.
    pub async fn next(&mut self) -> Result<Option<CommMessage>, Failure> {
        Ok(self.0.next().await?.map(read))
    }
}

fn read(told: contract::CommMessage) -> CommMessage {
    CommMessage {
        id: told.id,
        from: told.from,
        to: told.to,
        topic: told.topic,
        conversation_id: told.conversation_id,
        kind: told.r#type,
        content: told.content,
        metadata: told.metadata.into_iter().collect(),
        timestamp: told.timestamp,
        human_injected: told.human_injected,
        human_id: told.human_id,
    }
}

fn written(message: CommMessage) -> contract::CommMessage {
    contract::CommMessage {
        id: message.id,
        from: message.from,
        to: message.to,
        topic: message.topic,
        conversation_id: message.conversation_id,
        r#type: message.kind,
        content: message.content,
        metadata: message.metadata.into_iter().collect(),
        timestamp: message.timestamp,
        human_injected: message.human_injected,
        human_id: message.human_id,
    }
}

fn client(channel: Channel) -> CommServiceClient<Channel> {
    CommServiceClient::new(channel)
        .max_decoding_message_size(MESSAGE_BYTES_MAX)
        .max_encoding_message_size(MESSAGE_BYTES_MAX)
}
