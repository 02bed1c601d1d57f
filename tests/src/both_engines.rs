//! The same story on the embedded database and on PostgreSQL.

use crate::{home::TestHome, postgres::Postgres};
use roost_protocol::Tenant;
use roost_storage::{Database, Engine, Faults, Location, Migration};
use roost_workspace::{Condition, Content, FilePath, Limits, Owner, WorkspaceName, Workspaces, Write};

/// A database of one engine, gone with this value.
pub struct TestDatabase {
    /// Open.
    pub database: Database,
    /// Lets steps of it fail.
    pub faults: Faults,
    /// Where it is, to open it again.
    pub location: Location,
    server: Option<Postgres>,
    _folder: Option<tempfile::TempDir>,
}

impl TestDatabase {
    /// An empty database with these tables.
    pub async fn new(engine: Engine, migrations: &[Migration]) -> Self {
        let faults = Faults::default();
        let (location, server, folder) = match engine {
            Engine::Sqlite => {
                let folder = tempfile::tempdir().expect("a temporary folder can be made");
                (Location::File(folder.path().join("roost.db")), None, Some(folder))
            }
            Engine::Postgres => {
                let server = Postgres::database();
                (Location::Server(server.url().to_owned()), Some(server), None)
            }
        };
        let database = Database::open(location.clone(), migrations, faults.clone())
            .await
            .expect("a new database can be opened");
        Self { database, faults, location, server, _folder: folder }
    }

    /// The server's side of it, where there is one.
    #[must_use]
    pub fn server(&self) -> Option<&Postgres> {
        self.server.as_ref()
    }

    /// Workspaces in it.
    #[must_use]
    pub fn workspaces(&self, limits: Limits) -> Workspaces {
        Workspaces::new(self.database.clone(), limits)
    }
}

/// Both engines.
pub const ENGINES: [Engine; 2] = [Engine::Sqlite, Engine::Postgres];

/// A home without agents whose host keeps everything in one engine; the server's side goes with it.
#[must_use]
pub fn home_on(engine: Engine) -> (TestHome, Option<Postgres>) {
    match engine {
        Engine::Sqlite => (TestHome::new(), None),
        Engine::Postgres => {
            let server = Postgres::database();
            (TestHome::new().with_variable("ROOST_DATABASE_URL", server.url()), Some(server))
        }
    }
}

/// An owner by its two names.
#[must_use]
pub fn owner(tenant: &str, workspace: &str) -> Owner {
    Owner {
        tenant: Tenant::parse(tenant).expect("the name of a tenant"),
        workspace: WorkspaceName::parse(workspace).expect("the name of a workspace"),
    }
}

/// A write of a text.
#[must_use]
pub fn text(path: &str, condition: Condition, content: &str) -> Write {
    let content = Content { bytes: content.as_bytes().to_vec(), content_type: "text/plain".to_owned() };
    Write { path: file_path(path), condition, content: Some(content) }
}

/// The removal of a file.
#[must_use]
pub fn removal(path: &str, condition: Condition) -> Write {
    Write { path: file_path(path), condition, content: None }
}

/// The name of a file.
#[must_use]
pub fn file_path(path: &str) -> FilePath {
    FilePath::parse(path).expect("the name of a file")
}
