//! Messages that the app brings and takes, by a channel and between agents: it tells what a test lets it hear.

use crate::{
    App,
    contract::{
        ChannelConnectRequest, ChannelConnectResponse, ChannelDisconnectResponse, ChannelSendRequest,
        ChannelSendResponse, CommConnectRequest, CommConnectResponse, CommDeregisterResponse,
        CommDisconnectResponse, CommIsConnectedResponse, CommMessage, CommNameResponse, CommRegisterRequest,
        CommRegisterResponse, CommSendRequest, CommSendResponse, CommSubscribeRequest, CommSubscribeResponse,
        CommUnsubscribeRequest, CommUnsubscribeResponse, CommVersionResponse, Empty, HealthCheckRequest,
        HealthCheckResponse, IdResponse, InboundMessage, SettingsMap, channel_service_server::ChannelService,
        comm_service_server::CommService,
    },
};
use futures::{
    StreamExt as _,
    stream::{self, BoxStream},
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, HashMap},
    fs,
    future::pending,
    path::Path,
    sync::{Arc, Mutex},
};
use tokio::sync::broadcast;
use tonic::{Request, Response, Status};

/// More than a test lets it hear at once.
const HEARD_MAX: usize = 4096;

/// What there is of lines.
#[derive(Clone)]
pub(crate) struct Lines {
    heard: broadcast::Sender<Heard>,
    sent: Arc<Mutex<Vec<Value>>>,
    /// The settings that each line was last connected with.
    connected: Arc<Mutex<BTreeMap<&'static str, HashMap<String, String>>>>,
}

#[derive(Debug, Clone)]
enum Heard {
    Channel(Box<InboundMessage>),
    Comm(Box<CommMessage>),
    /// It stops telling.
    End,
}

impl Default for Lines {
    fn default() -> Self {
        Self { heard: broadcast::channel(HEARD_MAX).0, sent: Arc::default(), connected: Arc::default() }
    }
}

impl Lines {
    /// Does what a test says; nothing when it says something else.
    pub(crate) fn obey(&self, order: &str, input: &Value) -> Option<String> {
        let text = |key: &str| input[key].as_str().unwrap_or_default().to_owned();
        let heard = match order {
            "hear" => Heard::Channel(Box::new(InboundMessage {
                channel_id: text("channel_id"),
                user_id: text("user_id"),
                text: text("text"),
                message_id: text("message_id"),
                platform_data: text("platform_data").into_bytes(),
                ..InboundMessage::default()
            })),
            "hear an agent" => Heard::Comm(Box::new(CommMessage {
                id: text("id"),
                from: text("from"),
                r#type: text("type"),
                content: text("content"),
                conversation_id: text("conversation_id"),
                metadata: HashMap::new(),
                ..CommMessage::default()
            })),
            "stop telling" => Heard::End,
            "tell how many listen" => return Some(self.heard.receiver_count().to_string()),
            "tell what was sent" => return Some(json!(self.sent.lock().ok()?.clone()).to_string()),
            "tell what it was connected with" => {
                return Some(json!(self.connected.lock().ok()?.clone()).to_string());
            }
            _ => return None,
        };
        Some(self.heard.send(heard).unwrap_or_default().to_string())
    }

    fn note(&self, what: Value) {
        if let Ok(mut sent) = self.sent.lock() {
            sent.push(what);
        }
    }

    fn connected(&self, line: &'static str, settings: HashMap<String, String>) {
        if let Ok(mut connected) = self.connected.lock() {
            connected.insert(line, settings);
        }
    }

    /// What is told from now on, until it stops.
    fn told<T: Send + 'static>(
        &self,
        pick: impl Fn(Heard) -> Option<T> + Send + Copy + 'static,
    ) -> BoxStream<'static, Result<T, Status>> {
        let heard = self.heard.subscribe();
        let next = |mut heard: broadcast::Receiver<Heard>| async move {
            match heard.recv().await {
                Ok(Heard::End) | Err(_) => None,
                Ok(one) => Some((one, heard)),
            }
        };
        stream::unfold(heard, next).filter_map(move |one| async move { pick(one).map(Ok) }).boxed()
    }
}

impl App {
    fn leave(&self, line: &str) {
        let data = self.environment.get("NEBO_APP_DATA").map_or("/", String::as_str);
        fs::write(Path::new(data).join(format!("left-{line}")), "").ok();
    }

    /// Misbehaves in a call if its name says so; else what it answers where an error would stand.
    async fn in_call(&self, call: &str) -> String {
        match self.name() {
            name if name == format!("hangs in {call}") => pending().await,
            name if name == format!("dies in {call}") => std::process::abort(),
            name if name == format!("fails in {call}") => "on purpose".to_owned(),
            _ => String::new(),
        }
    }
}

#[tonic::async_trait]
impl ChannelService for App {
    type ReceiveStream = BoxStream<'static, Result<InboundMessage, Status>>;

    async fn health_check(
        &self,
        _: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        Ok(Response::new(self.health()))
    }

    async fn id(&self, _: Request<Empty>) -> Result<Response<IdResponse>, Status> {
        self.in_call("id").await;
        Ok(Response::new(IdResponse { id: "test".to_owned() }))
    }

    async fn connect(
        &self,
        request: Request<ChannelConnectRequest>,
    ) -> Result<Response<ChannelConnectResponse>, Status> {
        self.lines.connected("channel", request.into_inner().config);
        Ok(Response::new(ChannelConnectResponse { error: self.in_call("connect").await }))
    }

    async fn disconnect(&self, _: Request<Empty>) -> Result<Response<ChannelDisconnectResponse>, Status> {
        self.leave("channel");
        Ok(Response::new(ChannelDisconnectResponse { error: self.in_call("disconnect").await }))
    }

    async fn send(
        &self,
        request: Request<ChannelSendRequest>,
    ) -> Result<Response<ChannelSendResponse>, Status> {
        let sent = request.into_inner();
        self.lines.note(json!({
            "channel_id": sent.channel_id, "text": sent.text, "message_id": sent.message_id,
            "reply_to": sent.reply_to, "platform_data": String::from_utf8_lossy(&sent.platform_data),
        }));
        let error = self.in_call("send").await;
        Ok(Response::new(ChannelSendResponse { error, message_id: "its-own".to_owned() }))
    }

    async fn receive(&self, _: Request<Empty>) -> Result<Response<Self::ReceiveStream>, Status> {
        self.in_call("receive").await;
        if self.is("tells without end") {
            let endless = stream::repeat(()).map(|()| {
                let (channel_id, text) = ("test:1".to_owned(), "hello".to_owned());
                Ok(InboundMessage { channel_id, text, ..InboundMessage::default() })
            });
            return Ok(Response::new(endless.boxed()));
        }
        Ok(Response::new(self.lines.told(|heard| match heard {
            Heard::Channel(message) => Some(*message),
            _ => None,
        })))
    }

    async fn configure(&self, _: Request<SettingsMap>) -> Result<Response<Empty>, Status> {
        Ok(Response::new(Empty {}))
    }
}

#[tonic::async_trait]
impl CommService for App {
    type ReceiveStream = BoxStream<'static, Result<CommMessage, Status>>;

    async fn health_check(
        &self,
        _: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        Ok(Response::new(self.health()))
    }

    async fn name(&self, _: Request<Empty>) -> Result<Response<CommNameResponse>, Status> {
        Ok(Response::new(CommNameResponse { name: "test".to_owned() }))
    }

    async fn version(&self, _: Request<Empty>) -> Result<Response<CommVersionResponse>, Status> {
        Ok(Response::new(CommVersionResponse { version: "1".to_owned() }))
    }

    async fn connect(
        &self,
        request: Request<CommConnectRequest>,
    ) -> Result<Response<CommConnectResponse>, Status> {
        self.lines.connected("comm", request.into_inner().config);
        Ok(Response::new(CommConnectResponse { error: self.in_call("connect").await }))
    }

    async fn disconnect(&self, _: Request<Empty>) -> Result<Response<CommDisconnectResponse>, Status> {
        self.leave("comm");
        Ok(Response::new(CommDisconnectResponse { error: String::new() }))
    }

    async fn is_connected(&self, _: Request<Empty>) -> Result<Response<CommIsConnectedResponse>, Status> {
        Ok(Response::new(CommIsConnectedResponse { connected: true }))
    }

    async fn send(&self, request: Request<CommSendRequest>) -> Result<Response<CommSendResponse>, Status> {
        if let Some(sent) = request.into_inner().message {
            self.lines.note(json!({
                "id": sent.id, "from": sent.from, "to": sent.to, "content": sent.content,
                "conversation_id": sent.conversation_id, "type": sent.r#type,
            }));
        }
        Ok(Response::new(CommSendResponse { error: self.in_call("send").await }))
    }

    async fn subscribe(
        &self,
        request: Request<CommSubscribeRequest>,
    ) -> Result<Response<CommSubscribeResponse>, Status> {
        self.lines.note(json!({ "subscribe": request.into_inner().topic }));
        Ok(Response::new(CommSubscribeResponse { error: String::new() }))
    }

    async fn unsubscribe(
        &self,
        request: Request<CommUnsubscribeRequest>,
    ) -> Result<Response<CommUnsubscribeResponse>, Status> {
        self.lines.note(json!({ "unsubscribe": request.into_inner().topic }));
        Ok(Response::new(CommUnsubscribeResponse { error: String::new() }))
    }

    async fn register(
        &self,
        request: Request<CommRegisterRequest>,
    ) -> Result<Response<CommRegisterResponse>, Status> {
        let CommRegisterRequest { agent_id, capabilities } = request.into_inner();
        self.lines.note(json!({ "register": agent_id, "capabilities": capabilities }));
        Ok(Response::new(CommRegisterResponse { error: self.in_call("register").await }))
    }

    async fn deregister(&self, _: Request<Empty>) -> Result<Response<CommDeregisterResponse>, Status> {
        Ok(Response::new(CommDeregisterResponse { error: String::new() }))
    }

    async fn receive(&self, _: Request<Empty>) -> Result<Response<Self::ReceiveStream>, Status> {
        Ok(Response::new(self.lines.told(|heard| match heard {
            Heard::Comm(message) => Some(*message),
            _ => None,
        })))
    }

    async fn configure(&self, _: Request<SettingsMap>) -> Result<Response<Empty>, Status> {
        Ok(Response::new(Empty {}))
    }
}
