//! What the verbs for running native apps take.

use clap::Args;

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
