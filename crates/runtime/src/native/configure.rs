//! What an app is told of its settings: all of them, every time, at one of its parts.

use super::{
    NativePart,
    contract::{
        SettingsMap, channel_service_client::ChannelServiceClient, comm_service_client::CommServiceClient,
        gateway_service_client::GatewayServiceClient, schedule_service_client::ScheduleServiceClient,
        tool_service_client::ToolServiceClient, ui_service_client::UiServiceClient,
    },
    launch::NativeApp,
};
use roost_protocol::{Failure, Reason};
use std::{collections::BTreeMap, time::Duration};

/// How long an app may take to hear its settings.
const CONFIGURE_WITHIN: Duration = Duration::from_secs(5);

/// Parts that can be told, the first that an app has is.
const TOLD: [NativePart; 6] = [
    NativePart::Gateway,
    NativePart::Tool,
    NativePart::Comm,
    NativePart::Channel,
    NativePart::Ui,
    NativePart::Schedule,
];

impl NativeApp {
    /// Tells the app its settings, all of them, at the first of its parts that can be told.
    pub async fn configure(
        &self,
        parts: &[NativePart],
        values: BTreeMap<String, String>,
    ) -> Result<(), Failure> {
        let Some(part) = TOLD.into_iter().find(|part| parts.contains(part)) else {
            let message = "none of its parts can be told settings";
            return Err(Failure::new(Reason::NativeUnanswered, message));
        };
        let channel = self.channel()?;
        let request = SettingsMap { values: values.into_iter().collect() };
        // One arm per part: the generated clients have no common shape.
        let asked = async move {
            match part {
                NativePart::Gateway => GatewayServiceClient::new(channel).configure(request).await,
                NativePart::Tool => ToolServiceClient::new(channel).configure(request).await,
                NativePart::Comm => CommServiceClient::new(channel).configure(request).await,
                NativePart::Channel => ChannelServiceClient::new(channel).configure(request).await,
                NativePart::Ui => UiServiceClient::new(channel).configure(request).await,
                _ => ScheduleServiceClient::new(channel).configure(request).await,
            }
        };
        let what = format!("{}.Configure", part.wire_name());
        self.ask(CONFIGURE_WITHIN, &what, asked).await.map(drop)
    }
}
