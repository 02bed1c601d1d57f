//! How far an installation has come, told while it goes on to whoever waits for it.

use super::AppLibrary;
use serde::Serialize;
use tokio::sync::mpsc;

/// More than one installation has: a listener that does not listen costs nobody anything.
const STEPS_MAX: usize = 32;

/// What is being done with an app.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Step {
    /// Its files are on their way.
    Fetching,
    /// Another change of the library goes first.
    Waiting,
    /// Its files, its signatures and what it asks for are read.
    Checking,
    /// It is loaded in its sandbox until it answers.
    Trying,
    /// Its files come to their place.
    Placing,
    /// It is to answer from there.
    Serving,
}

/// The steps, as they come.
pub type Steps = mpsc::Receiver<Step>;

/// Whoever is told.
#[derive(Clone, Default)]
pub(super) struct Listener(Option<mpsc::Sender<Step>>);

impl AppLibrary {
    /// The same library, which tells what it does.
    #[must_use]
    pub fn telling(mut self) -> (Self, Steps) {
        let (sender, steps) = mpsc::channel(STEPS_MAX);
        self.listener = Listener(Some(sender));
        (self, steps)
    }

    pub(super) fn tell(&self, step: Step) {
        if let Some(sender) = &self.listener.0 {
            // Whoever left is not told.
            sender.try_send(step).ok();
        }
    }
}
