//! The command line and the environment, read once.

use crate::limits::{CONTEXT_TOKENS_MAX, CONTEXT_TOKENS_MIN, THREADS_MAX};
use clap::{Parser, Subcommand};
use std::path::PathBuf;

/// Holds the key that requests must bear. Not an argument, since arguments are seen by every user of the computer.
pub(crate) const KEY_VARIABLE: &str = "ROOST_LOCAL_MODEL_KEY";

/// Runs a GGUF model in a process of its own, behind an OpenAI-compatible interface on loopback.
#[derive(Debug, Parser)]
#[command(name = "roost-local-model", version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serves a chat model until standard input ends. The key is read from ROOST_LOCAL_MODEL_KEY.
    Serve(Serve),
}

/// A model and how to run it.
#[derive(Debug, clap::Args)]
pub(crate) struct Serve {
    /// The model, one GGUF file.
    #[arg(long, value_name = "FILE")]
    pub(crate) model: PathBuf,
    /// Tokens of conversation and answer together; no more than the model was trained for are used.
    #[arg(long, default_value_t = 4096, value_parser = clap::value_parser!(u32).range(i64::from(CONTEXT_TOKENS_MIN)..=i64::from(CONTEXT_TOKENS_MAX)))]
    pub(crate) context: u32,
    /// Threads that compute; one less than the computer offers where none are named.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(THREADS_MAX)))]
    pub(crate) threads: Option<u32>,
}

/// The key of the environment, where there is one that is not empty.
#[expect(clippy::disallowed_methods, reason = "the only place of this program that reads the environment")]
pub(crate) fn key() -> Option<String> {
    std::env::var(KEY_VARIABLE).ok().filter(|key| !key.is_empty())
}
