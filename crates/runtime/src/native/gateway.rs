//! Language models of an app: one question, and what it answers while it writes it.

use super::{
    connection::{Channel, MESSAGE_BYTES_MAX},
    contract::{
        CancelRequest, GatewayEvent, GatewayMessage, GatewayRequest, GatewayToolDef, UserContext,
        gateway_service_client::GatewayServiceClient,
    },
    launch::NativeApp,
    stream::AppStream,
};
use roost_protocol::Failure;
use std::time::Duration;

/// How long an app may take to hear that nobody waits any more.
const CANCEL_WITHIN: Duration = Duration::from_secs(5);

/// What a model is asked.
#[derive(Debug, Clone, Default)]
pub struct GatewayQuestion {
    /// Names the question, for taking it back.
    pub request_id: String,
    /// What was said, in order.
    pub messages: Vec<GatewaySaid>,
    /// What the model may use.
    pub tools: Vec<GatewayTool>,
    /// Longest answer; 0 when the app may choose.
    pub max_tokens: i32,
    /// How freely it answers; 0 when the app may choose.
    pub temperature: f64,
    /// What the model is told about itself.
    pub system: String,
    /// Who asks, where that is known.
    pub user: Option<GatewayUser>,
}

/// One message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GatewaySaid {
    /// `user`, `assistant` or `tool`.
    pub role: String,
    /// Its text.
    pub content: String,
    /// The call that a tool answers; empty elsewhere.
    pub tool_call_id: String,
    /// The calls of an assistant as a JSON list; empty when there are none.
    pub tool_calls: String,
}

/// One tool.
#[derive(Debug, Clone)]
pub struct GatewayTool {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// A JSON schema.
    pub schema: Vec<u8>,
}

/// Who asks.
#[derive(Debug, Clone, Default)]
pub struct GatewayUser {
    /// What the app may act with for them; empty unless it was granted.
    pub token: String,
    /// Who they are.
    pub id: String,
}

/// Something that an app says while it answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GatewayPart {
    /// More text.
    Text(String),
    /// What the model thinks.
    Thinking(String),
    /// A call of a tool, as JSON.
    ToolCall(String),
    /// Something went wrong.
    Error(String),
    /// Nothing more comes.
    Done,
}

/// An answer while it is written. Dropping it closes the call.
pub struct GatewayStream(AppStream<GatewayEvent>);

impl NativeApp {
    /// Asks the app's model; the answer has to begin within this time.
    pub async fn ask_gateway(
        &self,
        question: GatewayQuestion,
        within: Duration,
    ) -> Result<GatewayStream, Failure> {
        let mut gateway = client(self.channel()?);
        let asked = gateway.stream(request(question));
        Ok(GatewayStream(self.listen(Some(within), "GatewayService.Stream", asked).await?))
    }

    /// Tells the app that nobody waits for this answer any more.
    pub async fn cancel_gateway(&self, request_id: String) -> Result<bool, Failure> {
        let mut gateway = client(self.channel()?);
        let asked = gateway.cancel(CancelRequest { request_id });
        Ok(self.ask(CANCEL_WITHIN, "GatewayService.Cancel", asked).await?.cancelled)
    }
}

impl GatewayStream {
    /// The next part, which has to come within this time; nothing at the end.
    pub async fn next(&mut self, within: Duration) -> Result<Option<GatewayPart>, Failure> {
        // Kinds that are not known are passed over; whoever sends nothing else is as good as silent.
        let known = async {
            while let Some(event) = self.0.next().await? {
                let part = match event.r#type.as_str() {
                    "text" => GatewayPart::Text(event.content),
                    "thinking" => GatewayPart::Thinking(event.content),
                    "tool_call" => GatewayPart::ToolCall(event.content),
                    "error" => GatewayPart::Error(event.content),
                    "done" => GatewayPart::Done,
                    _ => continue,
                };
                return Ok(Some(part));
            }
            Ok(None)
        };
        let late = |_| Err(super::asking::late("GatewayService.Stream", within));
        tokio::time::timeout(within, known).await.unwrap_or_else(late)
    }
}

fn request(question: GatewayQuestion) -> GatewayRequest {
    let message = |said: GatewaySaid| GatewayMessage {
        role: said.role,
        content: said.content,
        tool_call_id: said.tool_call_id,
        tool_calls: said.tool_calls,
    };
    let tool = |tool: GatewayTool| GatewayToolDef {
        name: tool.name,
        description: tool.description,
        input_schema: tool.schema,
    };
    let user = |user: GatewayUser| UserContext { token: user.token, user_id: user.id, plan: String::new() };
    GatewayRequest {
        request_id: question.request_id,
        messages: question.messages.into_iter().map(message).collect(),
        tools: question.tools.into_iter().map(tool).collect(),
        max_tokens: question.max_tokens,
        temperature: question.temperature,
        system: question.system,
        user: question.user.map(user),
    }
}

fn client(channel: Channel) -> GatewayServiceClient<Channel> {
    GatewayServiceClient::new(channel)
        .max_decoding_message_size(MESSAGE_BYTES_MAX)
        .max_encoding_message_size(MESSAGE_BYTES_MAX)
}
