//! What the verbs for agent files and bundles take: `new`, `test`, `validate` and `pack`.

use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

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
    /// A new app: a folder with an agent, a page and a manifest that passes `roost validate`
    App {
        /// Its id, which is also its folder: lower-case letters, digits and _
        id: String,
        /// Who will publish it
        #[arg(long, value_name = "@ACCOUNT", default_value = "@me")]
        publisher: String,
        /// What people call it (default: made from the id)
        #[arg(long)]
        name: Option<String>,
        /// What it does, in one sentence
        #[arg(long, default_value = "Counts the words, sentences and characters of a text.")]
        summary: String,
        /// Where to put its folder (default: here)
        #[arg(long, value_name = "FOLDER")]
        folder: Option<PathBuf>,
    },
    /// A new native app in Rust: a folder with a tool and a page that `roost sideload` builds and serves
    Native {
        /// Its name, which is also its folder, its program and its tool: lower-case letters, digits, _ and -
        name: String,
        /// Its id (default: com.example.NAME)
        #[arg(long)]
        id: Option<String>,
        /// Where to put its folder (default: here)
        #[arg(long, value_name = "FOLDER")]
        folder: Option<PathBuf>,
    },
    /// Another host as an agent: what it is asked is answered by that host's chat
    Peer {
        /// Its name: letters, digits, _ and -
        name: String,
        /// Its address, for example http://10.0.0.7:7071
        url: String,
        /// What it is good for, in one sentence
        #[arg(
            long,
            default_value = "Asks another host. Use it when that host knows or can do what is wanted."
        )]
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
pub(crate) struct TestArguments {
    /// The agent file, a bundle (its folder or its zip), or a native app (its folder or its .napp)
    #[arg(value_name = "PATH")]
    pub(crate) path: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct ValidateArguments {
    /// Agent files, bundles (their folders or zips), native apps (their folders or .napp files)
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// Who submits the bundle; its publisher must be the same
    #[arg(long, value_name = "@ACCOUNT")]
    pub(crate) publisher: Option<String>,
    /// The id that the submission names; the folder of a zip without one is called so
    #[arg(long, value_name = "ID")]
    pub(crate) payload_id: Option<String>,
    /// The catalog's index.json: the version must be greater than there
    #[arg(long, value_name = "FILE")]
    pub(crate) catalog: Option<PathBuf>,
    /// By which rules a bundle is judged
    #[arg(long, value_enum, default_value = "spec")]
    pub(crate) rules: RuleSet,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum RuleSet {
    /// As the published validator answers
    Reference,
    /// As the rules are written, with nothing left open
    Spec,
}

#[derive(Debug, Args)]
pub(crate) struct PackArguments {
    /// The folder of a bundle or of a native app
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
    /// Where to write it (default: ID-VERSION.zip or ID-VERSION.napp here)
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}
