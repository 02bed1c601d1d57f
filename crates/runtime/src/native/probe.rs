//! Every call of the contract, tried once: what an app answers of the parts that it offers, and what it does not.
//!
//! For authors who want to know, not for work: whatever is made here is thrown away again, and an app is tried in a copy.

mod conversation; // gateway, comm and channel
mod deeds; // tools, pages, schedules and hooks

use super::{NativePart, asking, connection::MESSAGE_BYTES_MAX, contract::SettingsMap, launch::NativeApp};
use roost_protocol::{Failure, Reason};
use std::time::Duration;
use tonic::{Code, Response, Status, Streaming};

/// How long an app may take for one call.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// How long a stream may be silent before it counts as one that waits for something to tell.
const SILENT_FOR: Duration = Duration::from_millis(200);

/// Events of one answer that are read.
const EVENTS_MAX: usize = 1000;

/// What stands for whatever has to have a name.
const NAME: &str = "roost-test";

/// One call that was tried.
#[derive(Debug, Clone, PartialEq)]
pub struct Probed {
    /// Its name on the wire, such as `ToolService.Name`.
    pub call: &'static str,
    /// What was seen, or why it counts as not answered.
    pub outcome: Result<String, Failure>,
}

impl NativeApp {
    /// Tries every call of a part, besides how it is.
    pub async fn probe(&self, part: NativePart) -> Result<Vec<Probed>, Failure> {
        let channel = self.channel()?;
        let mut probes = Probes { app: self, done: Vec::new() };
        match part {
            NativePart::Gateway => probes.gateway(channel).await,
            NativePart::Tool => probes.tool(channel).await,
            NativePart::Comm => probes.comm(channel).await,
            NativePart::Channel => probes.channel(channel).await,
            NativePart::Ui => probes.ui(channel).await,
            NativePart::Schedule => probes.schedule(channel).await,
            NativePart::Hooks => probes.hooks(channel).await,
        }
        Ok(probes.done)
    }
}

/// The calls of one part, one after the other.
struct Probes<'a> {
    app: &'a NativeApp,
    done: Vec<Probed>,
}

impl Probes<'_> {
    /// Asks, and lets the answer be judged: a sentence for what was seen, or for what is wrong with it.
    async fn ask<T>(
        &mut self,
        call: &'static str,
        asked: impl Future<Output = Result<Response<T>, Status>>,
        judge: impl FnOnce(&T) -> Result<String, String>,
    ) -> Option<T> {
        match self.app.ask(ANSWER_WITHIN, call, asked).await {
            Ok(answer) => {
                let outcome = judge(&answer).map_err(|why| wrong(call, &why));
                self.done.push(Probed { call, outcome });
                Some(answer)
            }
            Err(failure) => {
                self.done.push(Probed { call, outcome: Err(failure) });
                None
            }
        }
    }

    /// Opens a stream that may stay silent for as long as there is nothing to tell.
    async fn listen<T>(
        &mut self,
        call: &'static str,
        asked: impl Future<Output = Result<Response<Streaming<T>>, Status>>,
    ) {
        let first = async { asked.await?.into_inner().message().await };
        let outcome = match tokio::time::timeout(SILENT_FOR, first).await {
            Err(_) => Ok("waits for something to tell".to_owned()),
            Ok(Ok(Some(_))) => Ok("told something".to_owned()),
            Ok(Ok(None)) => Err(wrong(call, "it ended at once, and is to stay open")),
            Ok(Err(status)) if status.code() == Code::Cancelled => Ok("closed by the app".to_owned()),
            Ok(Err(status)) => Err(asking::refused(call, &status)),
        };
        self.done.push(Probed { call, outcome });
    }
}

fn wrong(call: &str, why: &str) -> Failure {
    Failure::new(Reason::NativeUnanswered, format!("{call}: {why}"))
}

/// Fields named `error` are empty when all went well; an app may have reasons of its own.
fn own_error(error: &str) -> Result<String, String> {
    if error.is_empty() {
        Ok("done".to_owned())
    } else {
        Ok(format!("an error of its own: {}", shown(error)))
    }
}

/// A text of the app, short and on one line.
fn shown(text: &str) -> String {
    text.chars().take(80).flat_map(char::escape_debug).collect()
}

/// The settings of an app that has none.
fn no_settings() -> SettingsMap {
    SettingsMap::default()
}

/// A client of a part, with the sizes that hold everywhere.
macro_rules! client {
    ($client:ty, $channel:expr) => {
        <$client>::new($channel)
            .max_decoding_message_size(MESSAGE_BYTES_MAX)
            .max_encoding_message_size(MESSAGE_BYTES_MAX)
    };
}
use client;
