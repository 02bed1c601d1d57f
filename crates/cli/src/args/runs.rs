//! What `roost runs` takes.

use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct RunsArguments {
    #[command(subcommand)]
    pub(crate) verb: Option<RunsVerb>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RunsVerb {
    /// Show the newest turns, calls and workflows (the default)
    List {
        /// How many
        #[arg(long, default_value_t = 20)]
        limit: u32,
    },
    /// Show everything that happened in a run
    Show {
        /// As `roost runs` lists it
        run: String,
    },
    /// Go through a run again with what was written down, and tell the first difference
    Replay {
        /// As `roost runs` lists it
        run: String,
    },
    /// Write a run with the files it saw into one document
    Export {
        /// As `roost runs` lists it
        run: String,
        /// The document; standard output when absent
        file: Option<PathBuf>,
    },
    /// Take over a run that was exported
    Import {
        /// The document
        file: PathBuf,
    },
    /// End a run that goes on
    Cancel {
        /// As `roost runs` lists it
        run: String,
    },
    /// Forget a run that ended, and what only it needed
    Remove {
        /// As `roost runs` lists it
        run: String,
    },
}
