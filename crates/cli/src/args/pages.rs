//! What `roost pages` and `roost approvals` take.

use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct PagesArguments {
    #[command(subcommand)]
    pub(crate) verb: Option<PagesVerb>,
}

#[derive(Debug, Args)]
pub(crate) struct ApprovalsArguments {
    #[command(subcommand)]
    pub(crate) verb: Option<ApprovalsVerb>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsVerb {
    /// Show what waits for a person (the default)
    List,
    /// Do what was waited for
    Approve {
        /// As `roost approvals` lists it
        id: String,
    },
    /// Forget what was waited for
    Deny {
        /// As `roost approvals` lists it
        id: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum PagesVerb {
    /// Show every page and what is wrong with those that cannot be mounted (the default)
    List,
    /// Show one page: what it says of itself, what it asks for and what it has
    Show {
        /// Its id
        id: String,
    },
    /// Make a small page that works
    Create {
        /// Lower-case words joined by hyphens
        id: String,
        /// What people call it (default: its id)
        #[arg(long)]
        name: Option<String>,
    },
    /// Take a page from a zip or a folder
    Import {
        /// A zip, or a folder with a manifest.json
        path: PathBuf,
        /// Let a page of the same id give way; its data stays
        #[arg(long)]
        replace: bool,
    },
    /// Write a page as a zip, without its data
    Export {
        /// Its id
        id: String,
        /// Where to (default: ID.zip); an existing file is not replaced
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Remove a page with its data and its grants; history has the files still
    Remove {
        /// Its id
        id: String,
    },
}
