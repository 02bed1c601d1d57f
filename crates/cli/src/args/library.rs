//! What `roost install`, `update` and `remove` take.

use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct InstallArguments {
    /// A path, a zip, a .napp, id, @publisher/id, id@1.2.3, the address of a repository at GitHub, or that of a file
    #[arg(required_unless_present = "locked")]
    pub(crate) source: Option<String>,
    /// Ask nothing; it gets what the policy allows
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
    /// Ask nothing, and give it everything it asks for
    #[arg(long, conflicts_with = "yes")]
    pub(crate) asked: bool,
    /// Only show what it is and what it asks for
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Install exactly the apps of a lock file (default: roost.lock of the home)
    #[arg(long, value_name = "FILE", num_args = 0..=1, conflicts_with_all = ["source", "dry_run"])]
    pub(crate) locked: Option<Option<PathBuf>>,
}

#[derive(Debug, Args)]
pub(crate) struct UpdateArguments {
    /// Id of an installed app (default: all of them)
    #[arg(required_if_eq_any = [("rollback", "true"), ("approve", "true"), ("reject", "true"), ("now", "true")])]
    pub(crate) id: Option<String>,
    /// Go back to the version before
    #[arg(long, group = "what")]
    pub(crate) rollback: bool,
    /// Let the version serve that waits, with the rights it asks for
    #[arg(long, group = "what")]
    pub(crate) approve: bool,
    /// Do not take the version that waits
    #[arg(long, group = "what")]
    pub(crate) reject: bool,
    /// Take a version however young it is
    #[arg(long, group = "what")]
    pub(crate) now: bool,
    /// Ask nothing
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SideloadArguments {
    /// The folder of a native app; `make build` is run there when it has a Makefile
    #[arg(default_value = ".")]
    pub(crate) folder: PathBuf,
    /// Give it everything it asks for
    #[arg(long)]
    pub(crate) asked: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SettingsArguments {
    /// Id of a native app
    pub(crate) app: String,
    /// New values; an empty one is a value, too
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) values: Vec<String>,
    /// A setting that nobody sets any more
    #[arg(long, value_name = "KEY")]
    pub(crate) unset: Vec<String>,
    /// Never show these values again, also where the app does not call them secret
    #[arg(long)]
    pub(crate) secret: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RemoveArguments {
    /// Id of an installed app
    pub(crate) id: String,
}
