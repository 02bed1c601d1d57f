//! The command line as clap reads it.

mod bundles; // what the verbs for agent files and bundles take
mod keys; // what `roost keys` and `roost secrets` take
mod library; // what the verbs for installed apps take
mod native; // what the verbs for running native apps take
mod pages; // what `roost pages` and `roost approvals` take
mod runs; // what `roost runs` takes
mod schedules; // what `roost schedules` takes
mod store; // what `roost store` takes
mod storefront; // what a maintainer and an author of a store use
mod trust; // what the verbs for signing and trust take
mod workspace; // what `roost workspace` takes

pub(crate) use bundles::{
    New, NewArguments, NewLanguage, PackArguments, RuleSet, TestArguments, ValidateArguments,
};
pub(crate) use keys::{Keys, KeysArguments, SecretsArguments, SecretsVerb, TokenArguments, TokenVerb};
pub(crate) use library::{
    InstallArguments, RemoveArguments, SettingsArguments, SideloadArguments, UpdateArguments,
};
pub(crate) use native::{AccountsArguments, AccountsVerb, InspectArguments, LogsArguments};
pub(crate) use pages::{ApprovalsArguments, ApprovalsVerb, PagesArguments, PagesVerb};
pub(crate) use runs::{RunsArguments, RunsVerb};
pub(crate) use schedules::{SchedulesArguments, SchedulesVerb};
pub(crate) use store::{SearchArguments, StoreArguments, StoreVerb};
pub(crate) use storefront::{PublishArguments, StoreNativeVerb, StoreTokenVerb, StorefrontVerb};
pub(crate) use trust::{PublisherVerb, SignArguments, SigningVerb, TrustedStoreVerb};
pub(crate) use workspace::{
    OnConflict, ProposalsVerb, RuleWord, RulesVerb, WorkspaceArguments, WorkspaceVerb,
};

use clap::{Args, CommandFactory as _, Parser, Subcommand, error::ErrorKind};
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
    /// Print an address that lets your browser in
    Open,
    /// Run an agent file, from anywhere, without any setup
    Run(RunArguments),
    /// List the agents of this home
    Agents(AgentsArguments),
    /// Call an agent of this home by name
    Call(CallArguments),
    /// List the services of this home
    Services,
    /// List, add, remove or sync the sources of agents
    Repos(ReposArguments),
    /// List the installed apps
    Apps,
    /// Install an app: from a path, a zip, a catalog, a repository or an address
    Install(InstallArguments),
    /// Bring installed apps up to date, or back to the version before
    Update(UpdateArguments),
    /// Remove an installed app; its workspace stays
    Remove(RemoveArguments),
    /// Run a native app from the folder in which it is written; nobody vouches for it
    Sideload(SideloadArguments),
    /// Remove an app that was sideloaded
    Unsideload(RemoveArguments),
    /// Show or change the settings of a native app
    Settings(SettingsArguments),
    /// Show, connect and disconnect accounts elsewhere that a native app uses
    Accounts(AccountsArguments),
    /// Show what a native app was asked and answered
    Inspect(InspectArguments),
    /// Show what a native app printed
    Logs(LogsArguments),
    /// Find apps: search catalogs, add and remove them; or run a store of your own
    Store(StoreArguments),
    /// Decide what models want to do and only a person may allow
    Approvals(ApprovalsArguments),
    /// List, make, carry and remove page apps
    Pages(PagesArguments),
    /// List, set or remove the secrets of this home
    Secrets(SecretsArguments),
    /// Show what happened, go through it again, or carry it to another host
    Runs(RunsArguments),
    /// Do things at set times: list, add, remove, switch on and off, run, look back
    Schedules(SchedulesArguments),
    /// Read, write and restore files with history
    #[command(alias = "ws")]
    Workspace(WorkspaceArguments),
    /// Tokens for programs, keys to sign with, and whom this home trusts
    Keys(KeysArguments),
    /// Talk to the host: a conversation, or one message and its answer
    Chat(ChatArguments),
    /// Show the models there are, choose one, or fetch one for this machine
    Models(ModelsArguments),
    /// Sign in at GitHub, so that Copilot's models answer
    Login(LoginArguments),
    /// Make something new from a template
    New(NewArguments),
    /// Run the contract tests of an agent file, of a bundle's agent or of a native app
    Test(TestArguments),
    /// Check an agent file, a bundle or a native app without running it
    Validate(ValidateArguments),
    /// Make the file of a bundle or of a native app that a store takes
    Pack(PackArguments),
    /// Submit a bundle to a store
    Publish(PublishArguments),
    /// Sign a native app with a key of this home
    Sign(SignArguments),
    /// Show what an app asks for and what it may do
    Rights(RightsArguments),
    /// Give rights to an app
    Grant(GrantArguments),
    /// Take rights back from an app
    Revoke(RevokeArguments),
    /// Find grants that are not used, and the command that takes them back
    Suggest(SuggestArguments),
    /// Show or check the record of every decision
    Audit(AuditArguments),
    /// Say why something does not work, and what to do
    Why(WhyArguments),
    /// Look at what this machine has and what is missing
    Doctor,
    /// Print the description of the HTTP routes
    #[command(hide = true)]
    Openapi,
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
pub(crate) struct ChatArguments {
    /// One message; without it a conversation begins, or the message is read from standard input
    pub(crate) message: Vec<String>,
    /// Who speaks; memories belong to somebody
    #[arg(long, value_name = "GUID")]
    pub(crate) user: Option<String>,
    /// The model that answers (default: the chosen one)
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Continue this conversation
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Continue the last conversation
    #[arg(long = "continue", conflicts_with = "session")]
    pub(crate) resume: bool,
    /// List the conversations of this home
    #[arg(long, conflicts_with_all = ["message", "session", "resume"])]
    pub(crate) list: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ModelsArguments {
    #[command(subcommand)]
    pub(crate) verb: Option<ModelsVerb>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelsVerb {
    /// Show the models there are (the default)
    List,
    /// Use this model from now on; `auto` lets the host choose
    Set {
        /// As `roost models` lists it
        name: String,
    },
    /// Fetch a model that runs on this machine
    Pull {
        /// As `roost models` lists it
        name: String,
    },
    /// Take a copy of a model file
    Add {
        /// A file in the format GGUF
        file: PathBuf,
        /// What to call it (default: the file's name)
        #[arg(long)]
        name: Option<String>,
    },
    /// Remove a model file of this home
    Remove {
        /// As `roost models` lists it
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct LoginArguments {
    /// Sign in with another account; the present one stays until that is done
    #[arg(long)]
    pub(crate) switch: bool,
    /// Only say who is signed in
    #[arg(long, conflicts_with = "switch")]
    pub(crate) status: bool,
    /// With --json: wait until the login is done
    #[arg(long)]
    pub(crate) wait: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WhyArguments {
    /// An agent, a file of the agents folder, a call's id, or a reason code
    pub(crate) subject: String,
}

#[derive(Debug, Args)]
pub(crate) struct RightsArguments {
    /// An agent's name, or an agent file
    #[arg(required_unless_present = "list")]
    pub(crate) app: Option<String>,
    /// Show every right there is
    #[arg(long)]
    pub(crate) list: bool,
}

#[derive(Debug, Args)]
pub(crate) struct GrantArguments {
    /// An agent's name, or an agent file
    pub(crate) app: String,
    /// Rights, for example network:api.example.com
    #[arg(required_unless_present = "asked")]
    pub(crate) rights: Vec<String>,
    /// Everything it asks for
    #[arg(long, conflicts_with = "rights")]
    pub(crate) asked: bool,
    /// For the next call only
    #[arg(long, group = "lasting")]
    pub(crate) once: bool,
    /// Until the file changes
    #[arg(long, group = "lasting")]
    pub(crate) this_version: bool,
    /// Also when the file changes, as long as it asks for the same (the default)
    #[arg(long, group = "lasting")]
    pub(crate) always: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RevokeArguments {
    /// An agent's name, or an agent file
    pub(crate) app: String,
    /// Rights to take back, with every narrower one
    #[arg(required_unless_present = "all")]
    pub(crate) rights: Vec<String>,
    /// Everything that was granted to it
    #[arg(long, conflicts_with = "rights")]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReposArguments {
    #[command(subcommand)]
    pub(crate) what: Option<Repos>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Repos {
    /// Show every source (default)
    List,
    /// Connect a git repository or a folder, and bring its agents
    Add {
        /// https, ssh or file URL of a git repository, or the path of a folder
        url: String,
        /// Branch, tag or commit
        #[arg(long = "ref", value_name = "REF")]
        reference: Option<String>,
        /// Folder in the repository, when not its top
        #[arg(long)]
        folder: Option<String>,
    },
    /// Forget a source and remove what it brought
    Remove {
        /// Id of the source
        id: String,
    },
    /// Bring what a source has now
    Sync {
        /// Id of the source
        id: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct SuggestArguments {
    /// Not used in so many runs
    #[arg(long, default_value_t = 20)]
    pub(crate) runs: u64,
}

#[derive(Debug, Args)]
pub(crate) struct AuditArguments {
    #[command(subcommand)]
    pub(crate) what: Option<Audit>,
    /// Only this app
    #[arg(long)]
    pub(crate) app: Option<String>,
    /// Only since then: a time such as 2026-11-01T12:00:00Z, a date, or a span such as 2h or 3d
    #[arg(long)]
    pub(crate) since: Option<String>,
    /// At most so many rows, the newest
    #[arg(long, default_value_t = 100)]
    pub(crate) limit: usize,
}

#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum Audit {
    /// Check that no row was changed or removed
    Verify,
}
