//! What an app sends one after the other, for as long as its process lives.

use super::{asking::refused, launch::NativeApp};
use crate::exit::{ExitWatch, ended};
use roost_protocol::{Failure, Reason};
use std::time::Duration;
use tonic::{Response, Status, Streaming};

/// How long the end of a process may take to be known after its connection broke.
const DEATH_WITHIN: Duration = Duration::from_millis(500);

/// Messages of one call.
pub(super) struct AppStream<T> {
    messages: Streaming<T>,
    exit: ExitWatch,
    what: &'static str,
}

impl NativeApp {
    /// Begins to listen. Some apps say nothing at all before their first message, so only who expects one at once has a
    /// deadline.
    pub(super) async fn listen<T>(
        &self,
        within: Option<Duration>,
        what: &'static str,
        asked: impl Future<Output = Result<Response<Streaming<T>>, Status>>,
    ) -> Result<AppStream<T>, Failure> {
        let messages = match within {
            Some(within) => match self.ask(within, what, asked).await {
                Ok(messages) => messages,
                Err(failure) => return Err(or_death(&mut self.exit(), failure).await),
            },
            None => {
                let mut exit = self.exit();
                tokio::select! {
                    begun = asked => begun.map(Response::into_inner).map_err(|status| refused(what, &status))?,
                    exit = ended(&mut exit) => return Err(exit.failure()),
                }
            }
        };
        Ok(AppStream { messages, exit: self.exit(), what })
    }
}

impl<T> AppStream<T> {
    /// The next message; nothing when the app ended the call by itself.
    pub(super) async fn next(&mut self) -> Result<Option<T>, Failure> {
        let status = tokio::select! {
            message = self.messages.message() => match message {
                Ok(message) => return Ok(message),
                Err(status) => status,
            },
            exit = ended(&mut self.exit) => return Err(exit.failure()),
        };
        Err(or_death(&mut self.exit, refused(self.what, &status)).await)
    }
}

/// The failure, or the end of the process that it comes from: of one that died, the connection goes a moment before.
async fn or_death(exit: &mut ExitWatch, failure: Failure) -> Failure {
    if failure.reason != Reason::AgentRaised {
        return failure;
    }
    tokio::time::timeout(DEATH_WITHIN, ended(exit)).await.map_or(failure, |exit| exit.failure())
}
