//! The model in its own thread: takes jobs one at a time from a short queue, and sends events as an answer grows.
//!
//! Only this folder touches llama.cpp. It knows nothing of HTTP and never waits for a client: a client that reads
//! slowly is given a channel that holds the whole answer, and one that left is noticed at the next token.

mod loading; // from a file to a model and its facts
mod session; // tokens that the model has seen, and what can be kept of them
mod chooser; // which token comes next
mod generation; // one answer from prompt to end

use crate::ending::Ending;
use crate::limits::{EVENTS_PER_TOKEN_MAX, QUEUE_MAX};
use crate::plan::Plan;
use crate::request::Sampling;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

pub(crate) use loading::{Error as LoadError, Facts};

/// What the model's thread is told at its start.
pub(crate) struct Settings {
    pub(crate) model: PathBuf,
    pub(crate) context_tokens: u32,
    pub(crate) threads: u32,
}

/// One answer to make.
pub(crate) struct Job {
    pub(crate) prompt: String,
    pub(crate) plan: Plan,
    pub(crate) sampling: Sampling,
    pub(crate) tokens_max: usize,
    pub(crate) events: mpsc::Sender<Event>,
}

/// What happens to a job. The last one is `Finished` or `Failed`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    /// The prompt was read; the answer begins.
    Started,
    Text(String),
    CallBegan {
        index: usize,
        name: String,
    },
    CallArguments {
        index: usize,
        text: String,
    },
    Finished {
        reason: FinishReason,
        usage: Usage,
    },
    Failed(Failure),
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FinishReason {
    Stop,
    Length,
    ToolCalls,
}

/// Tokens that an answer took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) prompt_tokens: usize,
    pub(crate) cached_tokens: usize,
    pub(crate) completion_tokens: usize,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    #[error("the conversation has {prompt_tokens} tokens and the context only {context_tokens}")]
    ContextExceeded { prompt_tokens: usize, context_tokens: usize },
    #[error("llama.cpp takes no grammar made of these tools")]
    Grammar,
    #[error("the model cannot go on: {0}")]
    Model(String),
}

/// The queue is full. Waiting would be longer than anybody waits.
#[derive(Debug)]
pub(crate) struct Full;

/// The way to the model's thread.
#[derive(Clone)]
pub(crate) struct Engine {
    jobs: mpsc::Sender<Job>,
}

impl Engine {
    /// Starts the thread. The facts arrive when the model is loaded.
    pub(crate) fn start(
        settings: Settings,
        ending: Arc<Ending>,
    ) -> std::io::Result<(Self, oneshot::Receiver<Result<Facts, LoadError>>)> {
        let (jobs, queue) = mpsc::channel(QUEUE_MAX);
        let (loaded, facts) = oneshot::channel();
        let thread = std::thread::Builder::new().name("model".to_owned());
        thread.spawn(move || loading::load_and_work(&settings, &ending, loaded, queue))?;
        Ok((Self { jobs }, facts))
    }

    /// Puts a job into the queue.
    pub(crate) fn submit(&self, job: Job) -> Result<(), Full> {
        self.jobs.try_send(job).map_err(|_| Full)
    }

    /// A channel that holds all events of an answer, so that the model never waits for a reader.
    pub(crate) fn events_channel(tokens_max: usize) -> (mpsc::Sender<Event>, mpsc::Receiver<Event>) {
        mpsc::channel(tokens_max.saturating_add(2).saturating_mul(EVENTS_PER_TOKEN_MAX))
    }
}
