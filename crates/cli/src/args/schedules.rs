//! What `roost schedules` takes.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct SchedulesArguments {
    #[command(subcommand)]
    pub(crate) verb: Option<SchedulesVerb>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SchedulesVerb {
    /// Show every schedule (the default)
    List,
    /// Say a message to the host at set times
    Add {
        /// What to call it; APP/NAME lets a native app keep it, built-in/NAME the host
        name: String,
        /// When: second minute hour day month weekday, such as "0 30 9 * * MON-FRI"
        expression: String,
        /// What to say; a line with a slash calls one agent
        message: String,
        /// Where the answer goes: '{"channel": "APP or NAME", "to": "CONVERSATION"}'
        #[arg(long, value_name = "JSON", default_value = "")]
        deliver: String,
    },
    /// Remove a schedule with its history
    Remove {
        /// As `roost schedules` lists it
        name: String,
    },
    /// Switch a schedule on, from now on
    Enable {
        /// As `roost schedules` lists it
        name: String,
    },
    /// Switch a schedule off
    Disable {
        /// As `roost schedules` lists it
        name: String,
    },
    /// Run a schedule now
    Run {
        /// As `roost schedules` lists it
        name: String,
    },
    /// Show what became of a schedule, newest first
    History {
        /// As `roost schedules` lists it
        name: String,
        /// How many
        #[arg(long, default_value_t = 20)]
        limit: u32,
        /// Leave out so many of the newest
        #[arg(long, default_value_t = 0)]
        offset: u32,
    },
    /// Show who keeps schedules, or choose who gets new ones
    Scheduler {
        /// `built-in`, or the id of a native app
        scheduler: Option<String>,
    },
}
