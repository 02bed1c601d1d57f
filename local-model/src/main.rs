//! Runs a language model for Roost in a process of its own, so that its crash or memory is never the host's.
//!
//! `serve` loads one GGUF file with llama.cpp and answers an OpenAI-compatible subset of HTTP on 127.0.0.1. It ends
//! with its parent, reads nothing but the model, and reaches no network. See README.md for the protocol.

mod limits; // every limit and its reason
mod arguments; // command line and environment
mod announce; // lines on standard output
mod cpu; // can this computer run the build
mod confinement; // the kernel's sandbox
mod ending; // ends with the parent
mod json_text; // JSON as models know it
mod request; // what is asked, checked
mod grammar; // schemas as grammars
mod prompt; // the text that a model continues
mod plan; // the form that an answer may have
mod reply; // what a model writes, read as it comes
mod engine; // the model in its thread
mod http; // the door

use arguments::{Arguments, Command, Serve};
use clap::Parser;
use ending::Ending;
use engine::{Engine, Settings};
use std::net::{Ipv4Addr, TcpListener};
use std::process::ExitCode;
use std::sync::Arc;

/// Why the program gives up before or while it serves. The code tells the parent what to offer.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("{} must hold the key that requests bear", arguments::KEY_VARIABLE)]
    NoKey,
    #[error(transparent)]
    Processor(#[from] cpu::Unsupported),
    #[error(transparent)]
    Confinement(#[from] confinement::Error),
    #[error(transparent)]
    Load(#[from] engine::LoadError),
    #[error(transparent)]
    Template(#[from] prompt::Error),
    #[error("listen on 127.0.0.1")]
    Listen(#[source] std::io::Error),
    #[error("start a thread")]
    Thread(#[source] std::io::Error),
    #[error("the model's thread ended while loading")]
    ThreadEnded,
}

impl Error {
    fn code(&self) -> &'static str {
        match self {
            Self::NoKey => "no_key",
            Self::Processor(_) => "processor_unsupported",
            Self::Confinement(confinement::Error::Model { .. }) => "model_unreadable",
            Self::Confinement(_) => "sandbox",
            Self::Load(engine::LoadError::Model { .. }) | Self::Template(_) => "model_invalid",
            Self::Load(_) => "model_not_loaded",
            Self::Listen(_) | Self::Thread(_) | Self::ThreadEnded => "start",
        }
    }
}

fn main() -> ExitCode {
    let Command::Serve(arguments) = Arguments::parse().command;
    match serve(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            announce::error(&with_sources(&error), error.code());
            ExitCode::FAILURE
        }
    }
}

/// The order matters: no thread before the sandbox, no byte of the model before it, and the socket bound before,
/// since the sandbox refuses binding as well.
fn serve(arguments: &Serve) -> Result<(), Error> {
    cpu::check()?;
    let key = arguments::key().ok_or(Error::NoKey)?;
    let threads = arguments.threads.unwrap_or_else(available_threads);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(Error::Listen)?;
    let port = listener.local_addr().map_err(Error::Listen)?.port();
    listener.set_nonblocking(true).map_err(Error::Listen)?;
    for gap in confinement::confine_to(&arguments.model)? {
        eprintln!("roost-local-model: the kernel does not restrict {gap}");
    }
    forward_logs();
    let ending = Arc::new(Ending::default());
    ending::follow_standard_input(Arc::clone(&ending)).map_err(Error::Thread)?;
    let name =
        arguments.model.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let settings = Settings { model: arguments.model.clone(), context_tokens: arguments.context, threads };
    let (engine, loaded) = Engine::start(settings, ending).map_err(Error::Thread)?;
    let facts = loaded.blocking_recv().map_err(|_| Error::ThreadEnded)??;
    let door = http::Door::new(engine, facts, name.clone(), key)?;
    // One thread is enough for the door, and leaves the others to the model.
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Thread)?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener).map_err(Error::Listen)?;
        announce::ready(port, &name);
        http::serve(listener, door).await.map_err(Error::Listen)
    })
}

/// One less than the computer offers. llama.cpp's threads spin while they wait for each other: with one on every core,
/// any other work makes all of them wait, and an answer takes ten times as long.
fn available_threads() -> u32 {
    let available = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    u32::try_from(available.saturating_sub(1)).unwrap_or(1).max(1)
}

/// Warnings of llama.cpp on standard error, where the parent keeps a log.
fn forward_logs() {
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::WARN)
        .with_writer(std::io::stderr)
        .without_time()
        .finish();
    // It fails only when one is set already, and then logs go there.
    drop(tracing::subscriber::set_global_default(subscriber));
    llama_cpp_2::send_logs_to_tracing(llama_cpp_2::LogOptions::default());
}

fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
