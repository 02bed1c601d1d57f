//! The command line as clap reads it.

use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum, error::ErrorKind};
use std::path::PathBuf;

/// A host for agent apps: drop in a file, and it is a tool, an endpoint and a command.
#[derive(Debug, Parser)]
#[command(name = "roost", version, propagate_version = true, arg_required_else_help = true)]
#[command(
    after_help = "Exit status: 0 ok, 1 the thing asked about is not ok, 2 wrong use, 3 the host failed."
)]
pub(crate) struct Arguments {
    /// Home folder (default: ROOST_HOME, else ~/.roost)
    #[arg(long, global = true, value_name = "FOLDER")]
    pub(crate) home: Option<PathBuf>,
    /// Answer as JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Say more: receipts, and what the host does
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Arguments {
    /// Reads the words of the command line.
    pub(crate) fn read() -> Result<Asked, clap::Error> {
        let arguments = Self::try_parse()?;
        let Some(verb) = arguments.command.wants_own_help() else {
            return Ok(Asked::Command(Box::new(arguments)));
        };
        let mut program = Self::command();
        program.build();
        let Some(command) = program.find_subcommand_mut(verb) else {
            return Ok(Asked::Command(Box::new(arguments)));
        };
        if arguments.command.has_help_flag() {
            return Ok(Asked::Help(command.render_help().to_string()));
        }
        Err(command.error(ErrorKind::MissingRequiredArgument, "say what to run"))
    }
}

/// What the command line asks for.
pub(crate) enum Asked {
    /// A verb.
    Command(Box<Arguments>),
    /// How a verb is used.
    Help(String),
}

/// One variant per verb.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start the host and keep it running
    Up(UpArguments),
    /// Run an agent file, from anywhere, without any setup
    Run(RunArguments),
    /// List the agents of this home
    Agents(AgentsArguments),
    /// Call an agent of this home by name
    Call(CallArguments),
    /// Make something new from a template
    New(NewArguments),
    /// Run the contract tests of an agent file
    Test(FileArguments),
    /// Check an agent file without running it
    Validate(FileArguments),
    /// Say why something does not work, and what to do
    Why(WhyArguments),
    /// Look at what this machine has and what is missing
    Doctor,
}

impl Command {
    /// The verb when its own help is asked for, rather than an agent's.
    pub(crate) fn wants_own_help(&self) -> Option<&'static str> {
        match self {
            Self::Run(run) if run.file.is_none() => Some("run"),
            Self::Call(call) if call.agent.is_none() => Some("call"),
            _ => None,
        }
    }

    fn has_help_flag(&self) -> bool {
        matches!(
            self,
            Self::Run(RunArguments { help: true, .. }) | Self::Call(CallArguments { help: true, .. })
        )
    }

    /// Words after FILE or AGENT are not clap's, but `--json` among them means the same.
    pub(crate) fn asks_for_json(&self) -> bool {
        let words = match self {
            Self::Run(run) => &run.words,
            Self::Call(call) => &call.words,
            _ => return false,
        };
        words.iter().any(|word| word == "--json")
    }
}

#[derive(Debug, Args)]
pub(crate) struct UpArguments {
    /// Port on 127.0.0.1; 0 takes a free one (default: PORT, else 7071)
    #[arg(long)]
    pub(crate) port: Option<u16>,
}

#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct RunArguments {
    /// The agent file
    pub(crate) file: Option<PathBuf>,
    /// Show this, or with FILE the agent's own arguments
    #[arg(short, long)]
    pub(crate) help: bool,
    /// key=value arguments; --args JSON; --agent NAME; --user GUID; --then FILE key=value…
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "key=value")]
    pub(crate) words: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct AgentsArguments {
    /// Ask every file again, also those that failed before
    #[arg(long)]
    pub(crate) refresh: bool,
}

#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct CallArguments {
    /// The agent's name
    pub(crate) agent: Option<String>,
    /// Show this, or with AGENT the agent's own arguments
    #[arg(short, long)]
    pub(crate) help: bool,
    /// key=value arguments; --args JSON; --user GUID; --then AGENT key=value…
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "key=value")]
    pub(crate) words: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct NewArguments {
    #[command(subcommand)]
    pub(crate) what: New,
}

#[derive(Debug, Subcommand)]
pub(crate) enum New {
    /// A new agent file that works as it is
    Agent {
        /// Its name: letters, digits, _ and -
        name: String,
        /// The language of the file
        #[arg(long, value_enum, default_value = "python")]
        language: NewLanguage,
        /// What it does, in one sentence
        #[arg(long, default_value = "Says hello and repeats what it was asked.")]
        description: String,
        /// Where to put the file (default: the home's agents folder)
        #[arg(long, value_name = "FOLDER")]
        folder: Option<PathBuf>,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum NewLanguage {
    Python,
    Typescript,
}

#[derive(Debug, Args)]
pub(crate) struct FileArguments {
    /// The agent file
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct WhyArguments {
    /// An agent, a file of the agents folder, or a reason code
    pub(crate) subject: String,
}
