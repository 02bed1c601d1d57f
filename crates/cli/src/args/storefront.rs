//! What the maintainer's verbs of `roost store` take, and `roost publish`.

use clap::{Args, Subcommand};
use std::{net::IpAddr, path::PathBuf};

#[derive(Debug, Subcommand)]
pub(crate) enum StorefrontVerb {
    /// Make a store of your own: a folder that can be a git repository
    Init {
        /// The folder
        store: PathBuf,
        /// What the store is called (default: the folder's name)
        #[arg(long)]
        name: Option<String>,
        /// Where its files will be published, such as raw.githubusercontent.com/me/store/main with https before it
        #[arg(long, value_name = "URL")]
        raw_base: Option<String>,
    },
    /// Put a bundle or a repository into a store's staging
    Submit {
        /// The store's folder
        store: PathBuf,
        /// A bundle's folder or zip, or the address of a repository
        what: String,
        /// Who submits it (default: the publisher that its manifest names)
        #[arg(long, value_name = "@ACCOUNT")]
        submitter: Option<String>,
    },
    /// Take in an issue, as a workflow does
    Receive {
        /// The store's folder
        store: PathBuf,
        /// The issue's number
        #[arg(long)]
        number: u64,
        /// The issue's title
        #[arg(long)]
        title: String,
        /// Who wrote it
        #[arg(long, value_name = "@ACCOUNT")]
        author: String,
        /// A file with its body (default: standard input)
        #[arg(long, value_name = "FILE")]
        body: Option<PathBuf>,
    },
    /// Show what waits for review, or everything about one submission
    Review {
        /// The store's folder
        store: PathBuf,
        /// As the list shows it; an issue also by its number
        submission: Option<String>,
        /// Do not run the agent in the sandbox
        #[arg(long)]
        no_test: bool,
    },
    /// Publish a submission
    Approve {
        /// The store's folder
        store: PathBuf,
        /// As `roost store review` shows it; an issue also by its number
        submission: String,
        /// Only if it still has the digest that was reviewed
        #[arg(long, value_name = "SHA256")]
        digest: Option<String>,
        /// Accept that its publisher is another than who submits it
        #[arg(long)]
        accept_override: bool,
        /// Accept what the security scan found
        #[arg(long)]
        accept_findings: bool,
    },
    /// Take a submission away
    Reject {
        /// The store's folder
        store: PathBuf,
        /// As `roost store review` shows it; an issue also by its number
        submission: String,
        /// Why, for its author
        #[arg(long)]
        reason: Option<String>,
    },
    /// Make index.json and the static API anew from the files
    Index {
        /// The store's folder
        store: PathBuf,
    },
    /// Serve a store over HTTP and take submissions with tokens
    Serve {
        /// The store's folder
        store: PathBuf,
        /// Port; 0 takes a free one
        #[arg(long, default_value_t = 7080)]
        port: u16,
        /// Address to listen at; anything but this machine's own is reachable by others
        #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
        bind: IpAddr,
    },
    /// Native apps of a store: publish, list and take back, and the keys they are signed with
    Native {
        /// The store's folder
        store: PathBuf,
        #[command(subcommand)]
        verb: StoreNativeVerb,
    },
    /// Make, list and take back tokens for submissions
    Token {
        /// The store's folder
        store: PathBuf,
        #[command(subcommand)]
        verb: StoreTokenVerb,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum StoreNativeVerb {
    /// Sign a package with a key of this home and publish it
    Add {
        /// The package or the app's folder
        package: PathBuf,
        /// Which key (default: the only one of `roost keys signing list`)
        #[arg(long, value_name = "ID")]
        key: Option<String>,
    },
    /// Show what is published, what was taken back, and the keys
    List,
    /// Take an app back: homes that have it take its program away
    Revoke {
        /// Its id
        id: String,
    },
    /// Let homes believe another key of this home too, before anything is signed with it
    AddKey {
        /// As `roost keys signing list` shows it
        id: String,
    },
    /// Tell homes not to believe a key any more
    RevokeKey {
        /// As `roost store native FOLDER list` shows it
        id: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum StoreTokenVerb {
    /// Make a token; it is shown this once
    Create {
        /// The account that submits with it
        #[arg(value_name = "@ACCOUNT")]
        account: String,
        /// Until then: a span such as 30d, a date, or a time (default: for ever)
        #[arg(long, value_name = "TIME")]
        expires: Option<String>,
        /// What it is for
        #[arg(long, default_value = "")]
        note: String,
    },
    /// Show every token with its account; tokens themselves are never shown
    List,
    /// Take a token back
    Revoke {
        /// As `roost store token FOLDER list` shows it
        id: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct PublishArguments {
    /// The bundle's folder or zip
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    /// A catalog's name of `roost store list`, the address of a store, or its folder
    #[arg(long, value_name = "NAME|URL|FOLDER", required_unless_present = "issue")]
    pub(crate) store: Option<String>,
    /// The token (default: ROOST_STORE_TOKEN, else the secret ROOST_STORE_TOKEN_NAME or ROOST_STORE_TOKEN of the vault)
    #[arg(long)]
    pub(crate) token: Option<String>,
    /// Its files stay in this public repository, and the catalog names it
    #[arg(long, value_name = "URL")]
    pub(crate) repository: Option<String>,
    /// Write title and body of the issue that submits it
    #[arg(long, conflicts_with_all = ["store", "token"])]
    pub(crate) issue: bool,
}
