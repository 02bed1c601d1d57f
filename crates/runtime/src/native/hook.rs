//! Hooks of an app: where it wants to take part, and what it makes of a payload.

use super::{
    asking::said_no,
    connection::{Channel, MESSAGE_BYTES_MAX},
    contract::{Empty, HookRegistration, HookRequest, hook_service_client::HookServiceClient},
    launch::NativeApp,
};
use roost_protocol::Failure;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long an app may take to list its hooks.
const LIST_WITHIN: Duration = Duration::from_secs(5);

/// Longest time an app may take at one hook: whatever waits for it waits so long at most.
const HOOK_WITHIN: Duration = Duration::from_millis(500);

/// A point at which an app wants to take part, as it wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookSubscription {
    /// The point.
    pub hook: String,
    /// `filter` or `action`, if the app is right.
    pub kind: String,
    /// Lower is earlier; 0 when the app does not care.
    pub priority: i32,
}

/// What an app made of a payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookAnswer {
    /// The new payload; empty for the old one.
    pub payload: Vec<u8>,
    /// True when the app says that nothing else is to be done.
    pub handled: bool,
}

impl NativeApp {
    /// Where the app wants to take part.
    pub async fn list_hooks(&self) -> Result<Vec<HookSubscription>, Failure> {
        let mut hooks = client(self.channel()?);
        let listed = self.ask(LIST_WITHIN, "HookService.ListHooks", hooks.list_hooks(Empty {})).await?;
        let written = |one: HookRegistration| HookSubscription {
            hook: one.hook,
            kind: one.r#type,
            priority: one.priority,
        };
        Ok(listed.hooks.into_iter().map(written).collect())
    }

    /// Lets the app change a payload.
    pub async fn apply_filter(&self, hook: &str, payload: Vec<u8>) -> Result<HookAnswer, Failure> {
        let mut hooks = client(self.channel()?);
        let asked = hooks.apply_filter(request(hook, payload));
        let answer = self.ask(HOOK_WITHIN, "HookService.ApplyFilter", asked).await?;
        said_no("HookService.ApplyFilter", answer.error)?;
        Ok(HookAnswer { payload: answer.payload, handled: answer.handled })
    }

    /// Tells the app that something happened.
    pub async fn do_action(&self, hook: &str, payload: Vec<u8>) -> Result<(), Failure> {
        let mut hooks = client(self.channel()?);
        let asked = hooks.do_action(request(hook, payload));
        self.ask(HOOK_WITHIN, "HookService.DoAction", asked).await.map(drop)
    }
}

fn request(hook: &str, payload: Vec<u8>) -> HookRequest {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    HookRequest { hook: hook.to_owned(), payload, timestamp_ms: i64::try_from(now).unwrap_or(i64::MAX) }
}

fn client(channel: Channel) -> HookServiceClient<Channel> {
    HookServiceClient::new(channel)
        .max_decoding_message_size(MESSAGE_BYTES_MAX)
        .max_encoding_message_size(MESSAGE_BYTES_MAX)
}
