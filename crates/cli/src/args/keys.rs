//! What `roost keys` and `roost secrets` take.

use super::{PublisherVerb, SigningVerb, TrustedStoreVerb};
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct SecretsArguments {
    #[command(subcommand)]
    pub(crate) verb: Option<SecretsVerb>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SecretsVerb {
    /// Show every name and who was granted it (the default); values are never shown
    List,
    /// Keep a value, read from standard input or asked for at a terminal
    Set {
        /// Letters, digits and `_`, as agents read it; or rapp-store/OWNER/REPOSITORY for a token of private apps
        name: String,
    },
    /// Forget a value
    Remove {
        /// As `roost secrets` lists it
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct KeysArguments {
    #[command(subcommand)]
    pub(crate) what: Keys,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Keys {
    /// Tokens for one workspace each
    Token {
        #[command(subcommand)]
        verb: TokenVerb,
    },
    /// Keys to sign native apps with
    Signing {
        #[command(subcommand)]
        verb: SigningVerb,
    },
    /// Publishers whose signatures are believed
    Publisher {
        #[command(subcommand)]
        verb: PublisherVerb,
    },
    /// Stores whose signatures and revocations are believed
    Store {
        #[command(subcommand)]
        verb: TrustedStoreVerb,
    },
    /// Show every key to sign with, and everyone who is believed
    List,
    /// Say whether a native app would be believed now
    Verify {
        /// The .napp, or the app's folder
        path: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenVerb {
    /// Make a token; it is shown this once
    Create(TokenArguments),
    /// Show every token with what it may do; tokens themselves are never shown
    List,
    /// Take a token back
    Revoke {
        /// As `roost keys token list` shows it
        id: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct TokenArguments {
    /// Whose files
    #[arg(long, default_value = "local")]
    pub(crate) tenant: String,
    /// Which of them
    #[arg(long, default_value = "default")]
    pub(crate) workspace: String,
    /// What it may do: workspace:read, workspace:write, runs:read, runs:write; may stand more than once
    #[arg(long = "scope", value_name = "SCOPE", default_values = ["workspace:read", "workspace:write"])]
    pub(crate) scopes: Vec<String>,
    /// Until then: a span such as 30d, a date, or a time such as 2026-12-31T12:00:00Z (default: for ever)
    #[arg(long, value_name = "TIME")]
    pub(crate) expires: Option<String>,
    /// What it is for
    #[arg(long)]
    pub(crate) note: Option<String>,
    /// Requests in a second; 0 is no limit (default: 1000)
    #[arg(long, value_name = "N")]
    pub(crate) rate: Option<i64>,
}
