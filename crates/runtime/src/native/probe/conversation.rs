//! Models, messages between agents, and conversations elsewhere.

use super::{
    ANSWER_WITHIN, EVENTS_MAX, MESSAGE_BYTES_MAX, NAME, Probed, Probes, client, no_settings, own_error, shown,
};
use crate::native::{
    asking,
    connection::Channel,
    contract::{
        CancelRequest, ChannelConnectRequest, ChannelSendRequest, CommConnectRequest, CommMessage,
        CommRegisterRequest, CommSendRequest, CommSubscribeRequest, CommUnsubscribeRequest, Empty,
        GatewayMessage, GatewayRequest, PollRequest, channel_service_client::ChannelServiceClient,
        comm_service_client::CommServiceClient, gateway_service_client::GatewayServiceClient,
    },
};

impl Probes<'_> {
    pub(super) async fn gateway(&mut self, channel: Channel) {
        let mut gateway = client!(GatewayServiceClient<Channel>, channel);
        self.stream(&mut gateway).await;
        let asked = gateway.poll(PollRequest { request_id: NAME.to_owned() });
        self.ask("GatewayService.Poll", asked, |answer| Ok(format!("{} events", answer.events.len()))).await;
        let asked = gateway.cancel(CancelRequest { request_id: NAME.to_owned() });
        let said = |cancelled: bool| if cancelled { "cancelled" } else { "nothing to cancel" };
        self.ask("GatewayService.Cancel", asked, |answer| Ok(said(answer.cancelled).to_owned())).await;
        self.ask("GatewayService.Configure", gateway.configure(no_settings()), |_| Ok("taken".to_owned()))
            .await;
    }

    /// One small message, and all that is said to it.
    async fn stream(&mut self, gateway: &mut GatewayServiceClient<Channel>) {
        const CALL: &str = "GatewayService.Stream";
        let message = GatewayMessage {
            role: "user".to_owned(),
            content: "Hello".to_owned(),
            ..GatewayMessage::default()
        };
        let request = GatewayRequest {
            request_id: NAME.to_owned(),
            messages: vec![message],
            max_tokens: 16,
            ..GatewayRequest::default()
        };
        let said = async {
            let mut events = gateway.stream(request).await?.into_inner();
            let (mut count, mut last) = (0, String::new());
            while let Some(event) = events.message().await? {
                (count, last) = (count + 1, event.r#type);
                if count == EVENTS_MAX || last == "done" {
                    break;
                }
            }
            Ok((count, last))
        };
        let outcome = match tokio::time::timeout(ANSWER_WITHIN, said).await {
            Err(_) => Err(super::wrong(CALL, "the answer does not end")),
            Ok(Err(status)) => Err(asking::refused(CALL, &status)),
            Ok(Ok((0, _))) => Err(super::wrong(CALL, "no event at all")),
            Ok(Ok((count, last))) => Ok(format!("{count} events, the last is `{}`", shown(&last))),
        };
        self.done.push(Probed { call: CALL, outcome });
    }

    pub(super) async fn comm(&mut self, channel: Channel) {
        let mut comm = client!(CommServiceClient<Channel>, channel);
        let topic = || NAME.to_owned();
        self.ask("CommService.Name", comm.name(Empty {}), |answer| named(&answer.name)).await;
        self.ask("CommService.Version", comm.version(Empty {}), |answer| Ok(shown(&answer.version))).await;
        let asked = comm.connect(CommConnectRequest::default());
        self.ask("CommService.Connect", asked, |answer| own_error(&answer.error)).await;
        let asked = comm.is_connected(Empty {});
        let said = |connected: bool| if connected { "connected" } else { "not connected" };
        self.ask("CommService.IsConnected", asked, |answer| Ok(said(answer.connected).to_owned())).await;
        let asked = comm.register(CommRegisterRequest { agent_id: topic(), capabilities: Vec::new() });
        self.ask("CommService.Register", asked, |answer| own_error(&answer.error)).await;
        let asked = comm.subscribe(CommSubscribeRequest { topic: topic() });
        self.ask("CommService.Subscribe", asked, |answer| own_error(&answer.error)).await;
        let message = CommMessage {
            id: topic(),
            from: topic(),
            topic: topic(),
            r#type: "message".to_owned(),
            content: "Hello".to_owned(),
            ..CommMessage::default()
        };
        let asked = comm.send(CommSendRequest { message: Some(message) });
        self.ask("CommService.Send", asked, |answer| own_error(&answer.error)).await;
        self.listen("CommService.Receive", comm.receive(Empty {})).await;
        let asked = comm.unsubscribe(CommUnsubscribeRequest { topic: topic() });
        self.ask("CommService.Unsubscribe", asked, |answer| own_error(&answer.error)).await;
        self.ask("CommService.Deregister", comm.deregister(Empty {}), |answer| own_error(&answer.error))
            .await;
        self.ask("CommService.Disconnect", comm.disconnect(Empty {}), |answer| own_error(&answer.error))
            .await;
        self.ask("CommService.Configure", comm.configure(no_settings()), |_| Ok("taken".to_owned())).await;
    }

    pub(super) async fn channel(&mut self, channel: Channel) {
        let mut channel = client!(ChannelServiceClient<Channel>, channel);
        self.ask("ChannelService.ID", channel.id(Empty {}), |answer| named(&answer.id)).await;
        let asked = channel.connect(ChannelConnectRequest::default());
        self.ask("ChannelService.Connect", asked, |answer| own_error(&answer.error)).await;
        self.listen("ChannelService.Receive", channel.receive(Empty {})).await;
        let message = ChannelSendRequest {
            channel_id: NAME.to_owned(),
            text: "Hello".to_owned(),
            message_id: NAME.to_owned(),
            ..ChannelSendRequest::default()
        };
        self.ask("ChannelService.Send", channel.send(message), |answer| own_error(&answer.error)).await;
        let asked = channel.disconnect(Empty {});
        self.ask("ChannelService.Disconnect", asked, |answer| own_error(&answer.error)).await;
        self.ask("ChannelService.Configure", channel.configure(no_settings()), |_| Ok("taken".to_owned()))
            .await;
    }
}

/// By this it is known from then on.
fn named(name: &str) -> Result<String, String> {
    if name.trim().is_empty() {
        Err("the name is empty".to_owned())
    } else {
        Ok(format!("the name is {}", shown(name)))
    }
}
