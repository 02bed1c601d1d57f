//! What `roost store` takes.

use super::StorefrontVerb;
use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct StoreArguments {
    #[command(subcommand)]
    pub(crate) verb: StoreVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StoreVerb {
    /// Show the catalogs that apps are found in, and how old each is
    List,
    /// Add a catalog: the address of an index.json, a repository on GitHub, or a folder
    Add {
        /// https address, or the path of a folder
        address: String,
        /// What to call it (default: from the address)
        #[arg(long)]
        name: Option<String>,
        /// Before all others: where two have the same id, the first counts
        #[arg(long)]
        first: bool,
    },
    /// Forget a catalog; what was installed from it stays
    Remove {
        /// As `roost store list` shows it
        id: String,
    },
    /// Fetch all catalogs, or one, as they are now
    Refresh {
        /// As `roost store list` shows it
        id: Option<String>,
    },
    /// Look for apps
    Search(SearchArguments),
    /// Show everything about one app
    Show {
        /// id, @publisher/id, id@1.2.3 or @publisher/id@1.2.3
        app: String,
        /// Use what was fetched before, however old it is
        #[arg(long)]
        offline: bool,
    },
    /// A store of one's own.
    #[command(flatten)]
    Own(StorefrontVerb),
}

#[derive(Debug, Args)]
pub(crate) struct SearchArguments {
    /// Words that must be in it; none shows everything
    pub(crate) query: Vec<String>,
    /// Only this category
    #[arg(long)]
    pub(crate) category: Option<String>,
    /// Only with this tag
    #[arg(long)]
    pub(crate) tag: Option<String>,
    /// Only of this publisher
    #[arg(long)]
    pub(crate) publisher: Option<String>,
    /// Only of this tier
    #[arg(long)]
    pub(crate) tier: Option<String>,
    /// Only from this catalog
    #[arg(long, value_name = "ID")]
    pub(crate) source: Option<String>,
    /// At most so many
    #[arg(long, default_value_t = 20)]
    pub(crate) limit: usize,
    /// Use what was fetched before, however old it is
    #[arg(long)]
    pub(crate) offline: bool,
}
