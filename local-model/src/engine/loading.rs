//! Loads a model, tells its facts, and then works through the queue until nobody can send to it any more.

use super::session::Session;
use super::{Event, Failure, Job, Settings, generation};
use crate::announce;
use crate::ending::Ending;
use crate::prompt::Source;
use llama_cpp_2::context::params::LlamaContextParams;
use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;
use llama_cpp_2::token::LlamaToken;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// Progress is told in steps of this size, since llama.cpp reports every tensor.
const PROGRESS_STEP: f32 = 0.02;

/// Why a model is not there.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("start llama.cpp")]
    Backend(#[source] llama_cpp_2::LlamaCppError),
    #[error("load {}: llama.cpp does not take it as a GGUF model", path.display())]
    Model {
        path: PathBuf,
        #[source]
        source: llama_cpp_2::LlamaModelLoadError,
    },
    #[error("make room for a context of {tokens} tokens")]
    Context {
        tokens: u32,
        #[source]
        source: llama_cpp_2::LlamaContextLoadError,
    },
}

/// What is known of a loaded model.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) context_tokens: usize,
    pub(crate) template: Source,
    /// Texts of the tokens that mark turns and that no message may contain.
    pub(crate) control_texts: Vec<String>,
}

/// The whole life of the model's thread.
pub(crate) fn load_and_work(
    settings: &Settings,
    ending: &Arc<Ending>,
    loaded: oneshot::Sender<Result<Facts, Error>>,
    mut queue: mpsc::Receiver<Job>,
) {
    let parts = ending.during(|| load(settings, Arc::clone(ending)));
    let (backend, model) = match parts {
        Ok(parts) => parts,
        // Nobody listens only when the process ends already.
        Err(error) => return drop(loaded.send(Err(error))),
    };
    let context_tokens = settings.context_tokens.min(model.n_ctx_train());
    let threads = i32::try_from(settings.threads).unwrap_or(1);
    let parameters = LlamaContextParams::default()
        .with_n_ctx(NonZeroU32::new(context_tokens))
        .with_n_batch(u32::try_from(crate::limits::BATCH_TOKENS).expect("the batch is small"))
        .with_n_threads(threads)
        .with_n_threads_batch(threads);
    let context = match ending.during(|| model.new_context(&backend, parameters)) {
        Ok(context) => context,
        Err(source) => return drop(loaded.send(Err(Error::Context { tokens: context_tokens, source }))),
    };
    let facts = facts(&model, context.n_ctx() as usize);
    let mut session = Session::new(&model, context);
    if loaded.send(Ok(facts)).is_err() {
        return;
    }
    while let Some(job) = queue.blocking_recv() {
        if job.events.is_closed() || ending.asked() {
            continue;
        }
        ending.during(|| work(&mut session, &job, ending));
    }
}

fn work(session: &mut Session<'_>, job: &Job, ending: &Ending) {
    let gone = || job.events.is_closed() || ending.asked();
    let last = match generation::generate(session, job, &gone) {
        Ok((reason, usage)) => Event::Finished { reason, usage },
        Err(generation::Halt::Gone) => return,
        Err(generation::Halt::Failed(failure)) => {
            if matches!(failure, Failure::Model(_)) {
                // What the model has seen is not certain any more.
                session.forget();
            }
            Event::Failed(failure)
        }
    };
    // A client that left in this moment needs no last event.
    drop(job.events.try_send(last));
}

fn load(settings: &Settings, ending: Arc<Ending>) -> Result<(LlamaBackend, LlamaModel), Error> {
    let backend = LlamaBackend::init().map_err(Error::Backend)?;
    let mut told = -PROGRESS_STEP;
    let parameters =
        LlamaModelParams::default().with_n_gpu_layers(0).with_progress_callback(move |progress| {
            if progress - told >= PROGRESS_STEP {
                told = progress;
                announce::loading(progress);
            }
            !ending.asked()
        });
    let model = LlamaModel::load_from_file(&backend, &settings.model, &parameters)
        .map_err(|source| Error::Model { path: settings.model.clone(), source })?;
    Ok((backend, model))
}

fn facts(model: &LlamaModel, context_tokens: usize) -> Facts {
    let vocabulary = model.vocab();
    let text_of = |token: LlamaToken| -> String {
        // A model without such a token has a negative number in its place.
        if token.0 < 0 {
            return String::new();
        }
        vocabulary.text(token).map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
    };
    let template = Source {
        template: model.meta_val_str("tokenizer.chat_template").ok(),
        bos: text_of(vocabulary.bos()),
        eos: text_of(vocabulary.eos()),
    };
    let control = vocabulary.tokens().filter(|token| vocabulary.is_control(*token));
    Facts { context_tokens, template, control_texts: control.map(text_of).collect() }
}
