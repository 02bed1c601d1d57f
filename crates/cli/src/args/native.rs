//! What the verbs for running native apps take.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct AccountsArguments {
    /// The app's id
    pub(crate) app: String,
    #[command(subcommand)]
    pub(crate) verb: Option<AccountsVerb>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AccountsVerb {
    /// Print the address at which you let the app use an account
    Connect {
        /// As the app's manifest and `roost.toml` name it, such as google
        provider: String,
        /// Some of those that the app names; all of them unless said
        #[arg(long, value_delimiter = ',', value_name = "SCOPE,…")]
        scopes: Option<Vec<String>>,
    },
    /// Forget an account, and tell the app so
    Disconnect {
        /// As `roost accounts APP` lists it
        provider: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct InspectArguments {
    /// The app's id
    pub(crate) app: String,
    /// Go on with what happens from now on
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Show the messages too, without secrets; they are kept only while somebody follows them so
    #[arg(long)]
    pub(crate) payloads: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LogsArguments {
    /// The app's id
    pub(crate) app: String,
    /// What it printed to standard error, in place of standard output
    #[arg(long)]
    pub(crate) stderr: bool,
    /// Go on with what it prints from now on
    #[arg(short, long)]
    pub(crate) follow: bool,
}
