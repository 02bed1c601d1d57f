//! What an app is asked, each question with a deadline, each answer within a size.

use super::{
    NativePart,
    channel::MESSAGE_BYTES_MAX,
    contract::{
        Empty, ExecuteRequest, HealthCheckRequest, HealthCheckResponse,
        channel_service_client::ChannelServiceClient, comm_service_client::CommServiceClient,
        gateway_service_client::GatewayServiceClient, hook_service_client::HookServiceClient,
        schedule_service_client::ScheduleServiceClient, tool_service_client::ToolServiceClient,
        ui_service_client::UiServiceClient,
    },
};
use roost_protocol::{Failure, Reason};
use std::time::Duration;
use tonic::{Code, Response, Status, transport::Channel};

/// How long an app may take to say how it is.
const HEALTH_WITHIN: Duration = Duration::from_secs(5);

/// How long an app may take to describe a tool.
const DESCRIBE_WITHIN: Duration = Duration::from_secs(5);

/// What an app says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// Whether it is well.
    pub healthy: bool,
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// A tool as an app describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolDescription {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// A JSON schema, as the app wrote it.
    pub schema: Vec<u8>,
    /// True when a person has to be asked first.
    pub requires_approval: bool,
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolAnswer {
    /// The text.
    pub content: String,
    /// True when the tool says that it failed.
    pub is_error: bool,
}

/// Asks one service how it is.
pub(super) async fn health(channel: &Channel, service: NativePart) -> Result<Health, Failure> {
    let channel = channel.clone();
    let request = HealthCheckRequest {};
    // One arm per service: the generated clients have no common shape.
    let asked = async move {
        match service {
            NativePart::Gateway => GatewayServiceClient::new(channel).health_check(request).await,
            NativePart::Tool => ToolServiceClient::new(channel).health_check(request).await,
            NativePart::Comm => CommServiceClient::new(channel).health_check(request).await,
            NativePart::Channel => ChannelServiceClient::new(channel).health_check(request).await,
            NativePart::Ui => UiServiceClient::new(channel).health_check(request).await,
            NativePart::Schedule => ScheduleServiceClient::new(channel).health_check(request).await,
            NativePart::Hooks => HookServiceClient::new(channel).health_check(request).await,
        }
    };
    let what = format!("{}.HealthCheck", service.wire_name());
    let HealthCheckResponse { healthy, version, name } = within(HEALTH_WITHIN, &what, asked).await?;
    Ok(Health { healthy, name, version })
}

/// Asks a tool what it is.
pub(super) async fn describe_tool(channel: &Channel) -> Result<ToolDescription, Failure> {
    let mut tool = tool_client(channel);
    let name = within(DESCRIBE_WITHIN, "ToolService.Name", tool.name(Empty {})).await?.name;
    let description = tool.description(Empty {});
    let description = within(DESCRIBE_WITHIN, "ToolService.Description", description).await?.description;
    let schema = within(DESCRIBE_WITHIN, "ToolService.Schema", tool.schema(Empty {})).await?.schema;
    let approval = tool.requires_approval(Empty {});
    let approval = within(DESCRIBE_WITHIN, "ToolService.RequiresApproval", approval).await?;
    Ok(ToolDescription { name, description, schema, requires_approval: approval.requires_approval })
}

/// Runs a tool with this JSON.
pub(super) async fn execute(
    channel: &Channel,
    input: Vec<u8>,
    deadline: Duration,
) -> Result<ToolAnswer, Failure> {
    let mut tool = tool_client(channel);
    let asked = tool.execute(ExecuteRequest { input });
    let answer = within(deadline, "ToolService.Execute", asked).await?;
    Ok(ToolAnswer { content: answer.content, is_error: answer.is_error })
}

fn tool_client(channel: &Channel) -> ToolServiceClient<Channel> {
    ToolServiceClient::new(channel.clone())
        .max_decoding_message_size(MESSAGE_BYTES_MAX)
        .max_encoding_message_size(MESSAGE_BYTES_MAX)
}

async fn within<T>(
    deadline: Duration,
    what: &str,
    asked: impl Future<Output = Result<Response<T>, Status>>,
) -> Result<T, Failure> {
    match tokio::time::timeout(deadline, asked).await {
        Err(_) => {
            let message = format!("{what}: no answer within {} s", deadline.as_secs_f32());
            Err(Failure::new(Reason::TimeLimit, message))
        }
        Ok(Ok(answer)) => Ok(answer.into_inner()),
        Ok(Err(status)) => Err(refused(what, &status)),
    }
}

fn refused(what: &str, status: &Status) -> Failure {
    // What an app says is data: one line of it is enough.
    let told: String = status.message().chars().take(300).flat_map(char::escape_debug).collect();
    let reason = match status.code() {
        Code::OutOfRange | Code::ResourceExhausted => Reason::ResultTooLarge,
        Code::Unimplemented => Reason::NativeUnanswered,
        _ => Reason::AgentRaised,
    };
    Failure::new(reason, format!("{what}: {:?}: {told}", status.code()))
}
