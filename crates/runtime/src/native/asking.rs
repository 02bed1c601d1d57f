//! How an app is asked: each question with a deadline, each answer within a size.

use super::{
    NativePart,
    contract::{
        HealthCheckRequest, HealthCheckResponse, channel_service_client::ChannelServiceClient,
        comm_service_client::CommServiceClient, gateway_service_client::GatewayServiceClient,
        hook_service_client::HookServiceClient, schedule_service_client::ScheduleServiceClient,
        tool_service_client::ToolServiceClient, ui_service_client::UiServiceClient,
    },
    launch::NativeApp,
};
use roost_protocol::{Failure, Reason};
use std::time::Duration;
use tonic::{Code, Response, Status};

/// How long an app may take to say how it is.
const HEALTH_WITHIN: Duration = Duration::from_secs(5);

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

impl NativeApp {
    /// How a part of the app says it is.
    pub async fn health(&self, part: NativePart) -> Result<Health, Failure> {
        let channel = self.channel()?;
        let request = HealthCheckRequest {};
        // One arm per part: the generated clients have no common shape.
        let asked = async move {
            match part {
                NativePart::Gateway => GatewayServiceClient::new(channel).health_check(request).await,
                NativePart::Tool => ToolServiceClient::new(channel).health_check(request).await,
                NativePart::Comm => CommServiceClient::new(channel).health_check(request).await,
                NativePart::Channel => ChannelServiceClient::new(channel).health_check(request).await,
                NativePart::Ui => UiServiceClient::new(channel).health_check(request).await,
                NativePart::Schedule => ScheduleServiceClient::new(channel).health_check(request).await,
                NativePart::Hooks => HookServiceClient::new(channel).health_check(request).await,
            }
        };
        let what = format!("{}.HealthCheck", part.wire_name());
        let HealthCheckResponse { healthy, version, name } = self.ask(HEALTH_WITHIN, &what, asked).await?;
        Ok(Health { healthy, name, version })
    }
}

/// Waits for an answer, and no longer than the deadline.
pub(super) async fn within<T>(
    deadline: Duration,
    what: &str,
    asked: impl Future<Output = Result<Response<T>, Status>>,
) -> Result<T, Failure> {
    match tokio::time::timeout(deadline, asked).await {
        Err(_) => Err(late(what, deadline)),
        Ok(Ok(answer)) => Ok(answer.into_inner()),
        Ok(Err(status)) => Err(refused(what, &status)),
    }
}

/// Nothing came in time.
pub(super) fn late(what: &str, deadline: Duration) -> Failure {
    Failure::new(Reason::TimeLimit, format!("{what}: no answer within {} s", deadline.as_secs_f32()))
}

/// An answer of the kind that is empty when all is well.
pub(super) fn said_no(what: &str, error: String) -> Result<(), Failure> {
    if error.is_empty() {
        return Ok(());
    }
    let told: String = error.chars().take(300).flat_map(char::escape_debug).collect();
    Err(Failure::new(Reason::AgentRaised, format!("{what}: {told}")))
}

/// The app answered that it does not.
pub(super) fn refused(what: &str, status: &Status) -> Failure {
    // What an app says is data: one line of it is enough.
    let told: String = status.message().chars().take(300).flat_map(char::escape_debug).collect();
    let reason = match status.code() {
        Code::OutOfRange | Code::ResourceExhausted => Reason::ResultTooLarge,
        Code::Unimplemented => Reason::NativeUnanswered,
        _ => Reason::AgentRaised,
    };
    Failure::new(reason, format!("{what}: {:?}: {told}", status.code()))
}
