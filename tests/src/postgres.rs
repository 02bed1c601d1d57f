//! Databases for tests, in a PostgreSQL cluster that nobody else uses.
//!
//! Clusters are made, started and removed by `scripts/with-postgres.sh` and nowhere else. Most tests share the one that
//! the script starts around all of them; a test that ends the server has its own.

use crate::program::{Ran, find_on_path, repository_root};
use std::{
    hash::{BuildHasher as _, RandomState},
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

/// The URL of the cluster that tests share.
const SHARED_CLUSTER: &str = "ROOST_TEST_POSTGRES";

/// Says where its server is, and ends when nobody holds its input any more: also when the test was killed.
const UNTIL_LET_GO: &str = "echo \"$ROOST_TEST_POSTGRES\" && exec cat";

/// A new database in the cluster that tests share. It goes with this value.
#[derive(Debug)]
pub struct Postgres {
    cluster: String,
    name: String,
    url: String,
}

impl Postgres {
    /// An empty database of which nobody else knows.
    #[track_caller]
    #[must_use]
    pub fn database() -> Self {
        #[expect(clippy::disallowed_methods, reason = "the script that starts the cluster says where it is")]
        let cluster = std::env::var(SHARED_CLUSTER);
        let Ok(cluster) = cluster else {
            panic!("{SHARED_CLUSTER} is not set: run through scripts/with-postgres.sh");
        };
        // Tests run in many processes, so a count would not do.
        let name = format!("roost_{:016x}", RandomState::new().hash_one(std::process::id()));
        // Of the two templates the one that nobody can be connected to: a connection would make this fail.
        succeed(&cluster, &format!("CREATE DATABASE {name} TEMPLATE template0"));
        let url = with_database(&cluster, &name);
        Self { cluster, name, url }
    }

    /// Its name. Roles belong to the whole cluster: a test that makes one starts its name with this.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it is, for its superuser.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Where it is, for another role. There are no passwords.
    #[must_use]
    pub fn login(&self, role: &str) -> String {
        with_role(&self.url, role)
    }

    /// What these statements print as the superuser, without the last line break. They are one transaction.
    #[track_caller]
    pub fn sql(&self, statements: &str) -> String {
        succeed(&self.url, statements)
    }

    /// What the server says against these statements.
    #[track_caller]
    #[must_use]
    pub fn sql_fails(&self, statements: &str) -> String {
        fail(&self.url, statements)
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // What stays goes with the cluster, so a failure here is no reason to hide the one that may have come before.
        psql(&self.cluster, &format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name));
    }
}

/// A cluster for one test, which may end its server. It goes with this value.
#[derive(Debug)]
pub struct Cluster {
    url: String,
    script: Child,
}

impl Cluster {
    /// A new cluster with a running server.
    #[track_caller]
    #[must_use]
    pub fn own() -> Self {
        let mut command = with_postgres(&["sh", "-c", UNTIL_LET_GO]);
        command.env_remove(SHARED_CLUSTER).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut script = command.spawn().expect("the repository has the script");
        let stdout = script.stdout.take().expect("standard output is piped");
        let mut line = String::new();
        let read = BufReader::new(stdout).read_line(&mut line);
        let cluster = Self { url: line.trim().to_owned(), script };
        assert!(!cluster.url.is_empty(), "the cluster did not start ({read:?}); standard error says why");
        cluster
    }

    /// Where its only database is, for its superuser.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What these statements print, without the last line break. They are one transaction.
    #[track_caller]
    pub fn sql(&self, statements: &str) -> String {
        succeed(&self.url, statements)
    }

    /// What the server, or the attempt to reach it, says against these statements.
    #[track_caller]
    #[must_use]
    pub fn sql_fails(&self, statements: &str) -> String {
        fail(&self.url, statements)
    }

    /// Ends the server as a power cut would: nothing is written any more, connections break.
    #[track_caller]
    pub fn stop_immediately(&self) {
        self.control("--stop");
    }

    /// Starts the server again, and waits until it has recovered.
    #[track_caller]
    pub fn start(&self) {
        self.control("--start");
    }

    #[track_caller]
    fn control(&self, verb: &str) {
        let output = with_postgres(&[verb, &self.url]).stdin(Stdio::null()).output();
        let ran = Ran::new(&output.expect("the repository has the script"));
        assert_eq!(ran.status, 0, "with-postgres.sh {verb}: {}", ran.stderr);
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.script.stdin.take());
        self.script.wait().ok();
    }
}

#[expect(clippy::disallowed_methods, reason = "tests start the server they need")]
fn with_postgres(arguments: &[&str]) -> Command {
    let mut command = Command::new(repository_root().join("scripts/with-postgres.sh"));
    command.args(arguments);
    command
}

#[track_caller]
fn succeed(url: &str, statements: &str) -> String {
    let ran = psql(url, statements);
    assert_eq!(ran.status, 0, "{statements}\n{}", ran.stderr);
    ran.stdout.trim_end_matches('\n').to_owned()
}

#[track_caller]
fn fail(url: &str, statements: &str) -> String {
    let ran = psql(url, statements);
    assert_ne!(ran.status, 0, "{statements}\nsucceeded: {}", ran.stdout);
    ran.stderr
}

fn psql(url: &str, statements: &str) -> Ran {
    let program = find_psql();
    #[expect(clippy::disallowed_methods, reason = "tests ask the database what happened")]
    let mut command = Command::new(&program);
    // Without the environment: variables of the person who runs the tests may lead to another server.
    command.env_clear().args(["-XAtq", "-d", url, "-c", statements]).stdin(Stdio::null());
    match command.output() {
        Ok(output) => Ran::new(&output),
        Err(error) => panic!("start {}: {error}", program.display()),
    }
}

/// From the search path, into which the script puts the server's own programs, or where Debian keeps them.
fn find_psql() -> PathBuf {
    let of_debian = || {
        let versions = Path::new("/usr/lib/postgresql").read_dir().into_iter().flatten().flatten();
        versions.map(|version| version.path().join("bin/psql")).find(|program| program.is_file())
    };
    find_on_path("psql").or_else(of_debian).expect("psql is there: scripts/setup.sh test installs it")
}

/// The URL of another database in the same cluster.
fn with_database(url: &str, name: &str) -> String {
    let (cluster, _) = url.rsplit_once('/').expect("the URL of a cluster names a database");
    format!("{cluster}/{name}")
}

/// The same URL for another role.
fn with_role(url: &str, role: &str) -> String {
    let (_, place) = url.split_once('@').expect("the URL of a cluster names a role");
    format!("postgres://{role}@{place}")
}
