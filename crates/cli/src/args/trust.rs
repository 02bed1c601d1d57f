//! What the verbs for signing and trust take.

use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum SigningVerb {
    /// Make a key; this home believes what it signs
    New {
        /// Whose it is
        #[arg(long, default_value = "me")]
        name: String,
        /// Until then: a span such as 365d, a date, or a time such as 2026-12-31T12:00:00Z (default: for ever)
        #[arg(long, value_name = "TIME")]
        expires: Option<String>,
    },
    /// Show the keys; never their private halves
    List,
    /// Print the public half of a key, for others to trust
    Export {
        /// As `roost keys signing list` shows it
        id: String,
        /// Write it to this file instead
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum PublisherVerb {
    /// Believe what this key signs
    Trust {
        /// A file with a public key, as `roost keys signing export` writes it
        file: PathBuf,
        /// What to call its owner (default: the key's id)
        #[arg(long)]
        name: Option<String>,
    },
    /// Do not believe it any more
    Remove {
        /// The key's id
        id: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum TrustedStoreVerb {
    /// Believe the keys and revocations of this store
    Add {
        /// Its address; https, or http on this machine
        url: String,
    },
    /// Ask the stores for their keys and revocations again
    Refresh {
        /// Only this one
        url: Option<String>,
    },
    /// Do not believe it any more
    Remove {
        /// As `roost keys list` shows it
        url: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct SignArguments {
    /// A .napp, which is signed in place, or the folder of a native app, which gets a signatures.json
    #[arg(value_name = "PATH")]
    pub(crate) path: PathBuf,
    /// The key (default: the only one)
    #[arg(long, value_name = "ID")]
    pub(crate) key: Option<String>,
    /// Write the signed .napp to this file instead
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}
