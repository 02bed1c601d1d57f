//! Where the host keeps what must survive: one database, opened when it is first needed.
//!
//! A database that cannot be used stops only what needs it; the rest of the host goes on.

use crate::{host::Host, settings::StoreSettings};
use roost_protocol::{Failure, Reason, Tenant};
use roost_storage::{Database, Faults, Location, Migration};
use roost_workspace::{Limits, Owner, WorkspaceName, Workspaces};
use std::path::PathBuf;
use tokio::sync::OnceCell;

/// The tables of this crate. A step that was released never changes.
const MIGRATIONS: &[Migration] = &[
    Migration {
        owner: "host",
        number: 1,
        sqlite: include_str!("tables/0001.sqlite.sql"),
        postgres: include_str!("tables/0001.postgres.sql"),
    },
    Migration {
        owner: "host",
        number: 2,
        sqlite: include_str!("tables/0002.sqlite.sql"),
        postgres: include_str!("tables/0002.postgres.sql"),
    },
];

/// Every table of the database of a home, for whoever opens one beside its host.
#[must_use]
pub fn store_migrations() -> Vec<Migration> {
    [roost_workspace::MIGRATIONS, MIGRATIONS].concat()
}

/// Whose rows those of the host itself are: tokens, and what waits to be done.
pub(crate) fn of_host() -> Tenant {
    Tenant::parse("roost").expect("the name is well formed")
}

/// Whose files a person on this machine works with.
#[must_use]
pub fn local_owner() -> Owner {
    Owner {
        tenant: Tenant::parse("local").expect("the name is well formed"),
        workspace: WorkspaceName::parse("default").expect("the name is well formed"),
    }
}

pub(crate) struct Store {
    location: Location,
    settings: StoreSettings,
    opened: OnceCell<Database>,
}

impl Store {
    pub(crate) fn new(root: PathBuf, settings: StoreSettings) -> Self {
        let location = match &settings.database_url {
            Some(url) => Location::Server(url.clone()),
            None => Location::File(root.join("roost.db")),
        };
        Self { location, settings, opened: OnceCell::new() }
    }

    /// The database, opened. One that could not be opened is tried again by whoever asks next.
    pub(crate) async fn database(&self) -> Result<&Database, Failure> {
        let open =
            || async { Database::open(self.location.clone(), &store_migrations(), Faults::default()).await };
        self.opened.get_or_try_init(open).await.map_err(Failure::from)
    }

    /// The database, if something needed it already.
    pub(crate) fn opened(&self) -> Option<&Database> {
        self.opened.get()
    }

    /// True when there are workspaces.
    pub(crate) fn has_workspaces(&self) -> bool {
        self.settings.workspaces
    }

    /// How much a workspace holds.
    pub(crate) fn limits(&self) -> &Limits {
        &self.settings.limits
    }

    /// False when nothing was ever kept. Opens nothing.
    pub(crate) fn is_there(&self) -> bool {
        self.opened.initialized()
            || match &self.location {
                Location::File(path) => path.exists(),
                Location::Server(_) => true,
            }
    }

    /// Every workspace, unless they are switched off.
    pub(crate) async fn workspaces(&self) -> Result<Workspaces, Failure> {
        if !self.settings.workspaces {
            return Err(Failure::plain(Reason::WorkspacesOff));
        }
        Ok(Workspaces::new(self.database().await?.clone(), self.settings.limits))
    }
}

impl Host {
    /// Files with history, of every owner.
    pub async fn workspaces(&self) -> Result<Workspaces, Failure> {
        self.inner.store.workspaces().await
    }

    /// How much a workspace holds, when there are workspaces.
    #[must_use]
    pub fn workspace_limits(&self) -> Option<&Limits> {
        let store = &self.inner.settings.store;
        store.workspaces.then_some(&store.limits)
    }

    /// Whether the route for conformance tests is there.
    #[must_use]
    pub fn has_test_seam(&self) -> bool {
        self.inner.settings.store.test_seam
    }
}
