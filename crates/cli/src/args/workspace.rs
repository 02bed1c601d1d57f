//! What `roost workspace` takes.

use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct WorkspaceArguments {
    /// Another workspace of this home (default: default)
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) workspace: Option<String>,
    /// The files of this app
    #[arg(long, global = true, value_name = "ID", conflicts_with = "workspace")]
    pub(crate) app: Option<String>,
    #[command(subcommand)]
    pub(crate) verb: WorkspaceVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WorkspaceVerb {
    /// List files
    Ls {
        /// Only files whose name begins so
        prefix: Option<String>,
    },
    /// Print a file
    // `--version` is a version of the file here, not that of the program.
    #[command(disable_version_flag = true)]
    Cat {
        path: String,
        /// An older version
        #[arg(long, value_name = "N")]
        version: Option<i64>,
    },
    /// Write a file
    Put {
        path: String,
        /// What to write (default: standard input, as `-`)
        #[arg(default_value = "-")]
        file: PathBuf,
        /// Only over the version with this etag; `*` for any
        #[arg(long, value_name = "ETAG")]
        if_match: Option<String>,
        /// What it is (default: by the ending of its name)
        #[arg(long = "type", value_name = "TYPE")]
        content_type: Option<String>,
    },
    /// Remove a file; its versions stay
    Rm { path: String },
    /// Show the versions of a file, and who wrote them
    Log { path: String },
    /// Show what changed between two versions (default: the newest and the one before)
    Diff {
        path: String,
        /// A version
        from: Option<i64>,
        /// Another version (default: the newest)
        to: Option<i64>,
    },
    /// Write an older version again, as a new one
    #[command(disable_version_flag = true)]
    Restore { path: String, version: i64 },
    /// Bring back a file that was removed
    Undelete { path: String },
    /// Forget the versions of a removed file, for good
    Purge {
        path: String,
        /// Do it: this cannot be undone
        #[arg(long)]
        yes: bool,
    },
    /// Give a file another name
    Mv { from: String, to: String },
    /// Find lines that hold a text
    Search {
        text: String,
        /// The text is a regular expression
        #[arg(long)]
        regex: bool,
        /// Find `A` for `a`
        #[arg(long, short)]
        ignore_case: bool,
        /// Only in files whose name begins so
        #[arg(long, value_name = "PREFIX")]
        prefix: Option<String>,
        /// Most lines
        #[arg(long, default_value_t = 100)]
        limit: u32,
    },
    /// Show how full the workspace is
    Usage,
    /// Save the workspace as a zip
    Export {
        /// Where to; `-` is standard output
        file: PathBuf,
        /// Only the newest versions
        #[arg(long)]
        no_history: bool,
        /// Replace the file if it is there
        #[arg(long)]
        force: bool,
    },
    /// Bring in what an export holds, all or nothing
    Import {
        /// The zip; `-` is standard input
        file: PathBuf,
        /// Only say what it would do
        #[arg(long)]
        dry_run: bool,
        /// What becomes of files that are there and differ
        #[arg(long, value_enum, default_value = "fail")]
        on_conflict: OnConflict,
    },
    /// Show or set what agents may do, by the beginning of names
    Rules {
        #[command(subcommand)]
        verb: Option<RulesVerb>,
    },
    /// Show and decide what agents propose
    Proposals {
        #[command(subcommand)]
        verb: Option<ProposalsVerb>,
    },
    /// Print a line for every change until Ctrl-C
    Watch,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum OnConflict {
    /// Nothing is imported
    Fail,
    /// They stay as they are
    Skip,
    /// They get one new version
    Replace,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RulesVerb {
    /// Set what agents may do with files whose name begins so
    Set {
        prefix: String,
        #[arg(value_enum)]
        rule: RuleWord,
    },
    /// Take a rule back
    Unset { prefix: String },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum RuleWord {
    /// Only read
    Read,
    /// Read, and propose changes that a person approves
    Propose,
    /// Read and write
    Write,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProposalsVerb {
    /// Show one, compared with the file as it is
    Show { id: i64 },
    /// Make the change
    Approve { id: i64 },
    /// Drop it
    Reject { id: i64 },
}
