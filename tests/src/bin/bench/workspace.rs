//! Files with history through the real program: 4 KiB files, If-Match, 20 versions kept, durable.
//!
//! Writes are given as a ratio to what the disk itself does in the same run: 4 KiB written and flushed, one after the
//! other. Clients, host and PostgreSQL share the machine.

use crate::{Table, chat::Host, microseconds, milliseconds, percentile, program};
use anyhow::{Context as _, Result};
use roost_protocol::Tenant;
use roost_storage::{Change, Database, Faults, Location, Parameter, StorageError, Transaction};
use roost_tests::KeepAlive;
use roost_workspace::{Limits, MIGRATIONS, Owner, WorkspaceName, Workspaces};
use serde_json::{Value, json};
use std::{
    fs,
    io::Write as _,
    os::unix::fs::FileExt as _,
    path::Path,
    time::{Duration, Instant},
};

const CLIENTS: usize = 16;
/// Clients that are spread over nodes: more than one node has connections for.
const SPREAD_CLIENTS: usize = 48;
const PATHS: usize = 12;
const FOR: Duration = Duration::from_secs(3);
const CONTENT: usize = 4096;

/// Files and versions of a large workspace.
const MANY_FILES: i64 = 10_000;
const MANY_VERSIONS: i64 = 100;

pub(crate) async fn files(table: &mut Table) -> Result<()> {
    let home = home("")?;
    let disk = disk_rate(home.path())?;
    table.at_least("disk: 4 KiB write and fdatasync", "/s", disk, 1.0);
    let host = Host::start(home.path(), &[], 0).await?;
    let token = token(home.path())?;
    // Files that grow cost more than files that are written over, and a store does not stay new for long.
    let clients = vec![(host.port, token.clone()); CLIENTS];
    puts(&clients).await?;
    let (rate, _) = puts(&clients[..1]).await?;
    table.at_least("PUT, 1 client, SQLite, to the disk's rate", "x", rate / disk, 0.3);
    let (rate, p99) = puts(&clients).await?;
    table.at_least("PUT, 16 clients, SQLite, to the disk's rate", "x", rate / disk, 1.0);
    table.at_most("PUT, 16 clients, SQLite, p99", "ms", milliseconds(p99), 10.0);
    let rate = gets(host.port, &token).await?;
    table.at_least("GET, 16 clients", "/s", rate, 10_000.0);
    let files = fill(host.port, &token, 256).await?;
    anyhow::ensure!(files == 256, "{files} files");
    let mut client = KeepAlive::connect(host.port).await?;
    let mut times = Vec::new();
    for _ in 0..500 {
        let started = Instant::now();
        let (status, _) = client.request("GET", "/v1/host/workspace/files", &token, "").await?;
        anyhow::ensure!(status == 200, "{status}");
        times.push(started.elapsed());
    }
    table.at_most("list of 256 files, p50", "ms", milliseconds(percentile(&mut times, 50)), 2.0);
    drop(host);
    snapshots(table, home.path()).await?;
    on_postgres(table, disk).await?;
    many_versions(table).await
}

/// The moment of a run's beginning, taken after a write.
async fn snapshots(table: &mut Table, home: &Path) -> Result<()> {
    let folder = tempfile::tempdir_in(home)?;
    let location = Location::File(folder.path().join("roost.db"));
    let database = Database::open(location, MIGRATIONS, Faults::default()).await?;
    database.write(&owner()?.tenant, Fill { files: 256, versions: 1, bytes: 65_536 }).await?;
    let workspaces = Workspaces::new(database, Limits::default());
    let owner = owner()?;
    let path = roost_workspace::FilePath::parse("file/00001.md")?;
    let mut times = Vec::new();
    for _ in 0..200 {
        let writer = roost_workspace::Writer::person("bench");
        let content =
            roost_workspace::Content { bytes: vec![b'x'; CONTENT], content_type: "text/plain".to_owned() };
        let condition = roost_workspace::Condition::none();
        let write = roost_workspace::Write { path: path.clone(), condition, content: Some(content) };
        workspaces.write_one(&owner, &writer, write, None).await?;
        let started = Instant::now();
        workspaces.take_snapshot(&owner).await?;
        times.push(started.elapsed());
    }
    table.at_most(
        "snapshot of 256 files of 64 KiB, p50",
        "ms",
        milliseconds(percentile(&mut times, 50)),
        2.0,
    );
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "the script that starts the cluster says where it is")]
async fn on_postgres(table: &mut Table, disk: f64) -> Result<()> {
    let Ok(url) = std::env::var("ROOST_TEST_POSTGRES") else {
        eprintln!("no PostgreSQL: run through scripts/with-postgres.sh");
        return Ok(());
    };
    let home = home("")?;
    let host = Host::start(home.path(), &[("ROOST_DATABASE_URL", &url)], 0).await?;
    let token = token(home.path())?;
    let clients = vec![(host.port, token); CLIENTS];
    puts(&clients).await?;
    let (rate, p99) = puts(&clients).await?;
    table.at_least("PUT, 16 clients, PostgreSQL, to the disk's rate", "x", rate / disk, 0.4);
    table.at_most("PUT, 16 clients, PostgreSQL, p99", "ms", milliseconds(p99), 50.0);
    on_three_nodes(table, &url, &host, home.path()).await
}

/// Clients with a workspace each, on one node and spread over three.
async fn on_three_nodes(table: &mut Table, url: &str, first: &Host, first_home: &Path) -> Result<()> {
    let homes = [home("")?, home("")?];
    let mut ports = vec![first.port];
    let mut nodes = Vec::new();
    for home in &homes {
        let node = Host::start(home.path(), &[("ROOST_DATABASE_URL", url)], 0).await?;
        ports.push(node.port);
        nodes.push(node);
    }
    let tokens: Vec<String> = (0..SPREAD_CLIENTS)
        .map(|client| token_of(first_home, url, &format!("bench{client}")))
        .collect::<Result<_>>()?;
    let spread = |nodes: usize| -> Vec<(u16, String)> {
        tokens.iter().enumerate().map(|(index, token)| (ports[index % nodes], token.clone())).collect()
    };
    puts(&spread(3)).await?;
    // In turn, because the disk is not the same from one second to the next.
    let (mut alone, mut together) = (0.0, 0.0);
    for _ in 0..3 {
        alone += puts(&spread(1)).await?.0;
        together += puts(&spread(3)).await?.0;
    }
    table.at_least("PUT, 48 workspaces, PostgreSQL, 1 node", "/s", alone / 3.0, 1.0);
    table.at_least("the same on 3 nodes, to 1 node", "x", together / alone, 1.0);
    Ok(())
}

/// A token for a workspace of its own, as a header.
fn token_of(home: &Path, url: &str, workspace: &str) -> Result<String> {
    let scopes = ["--scope", "workspace:read", "--scope", "workspace:write"];
    let made = program(home)?
        .args(["keys", "token", "create", "--tenant", "local", "--workspace", workspace])
        .args(scopes)
        .arg("--json")
        .env("ROOST_DATABASE_URL", url)
        .output()?;
    let made: Value = serde_json::from_slice(&made.stdout)?;
    Ok(format!("Authorization: Bearer {}", made["token"].as_str().context("no token")?))
}

/// A workspace with a million versions beside one with a few.
async fn many_versions(table: &mut Table) -> Result<()> {
    let settings = "[workspace]\nfiles_max = 20000\nversions_max = 100\nworkspace_bytes_max = 1000000000\n";
    let mut medians = Vec::new();
    for (files, versions) in [(100, 1), (MANY_FILES, MANY_VERSIONS)] {
        let home = home(settings)?;
        let location = Location::File(home.path().join("roost.db"));
        let database = Database::open(location, MIGRATIONS, Faults::default()).await?;
        database.write(&owner()?.tenant, Fill { files, versions, bytes: 200 }).await?;
        drop(database);
        let host = Host::start(home.path(), &[], 0).await?;
        let token = token(home.path())?;
        let mut client = KeepAlive::connect(host.port).await?;
        let (mut put_times, mut get_times) = (Vec::new(), Vec::new());
        for round in 0..2000_i64 {
            let path = format!("/v1/host/workspace/files/file%2F{:05}.md", round * 37 % files);
            let body = body();
            let started = Instant::now();
            let (status, answer) = client.request("PUT", &path, &token, &body).await?;
            put_times.push(started.elapsed());
            anyhow::ensure!(status == 200, "{}", String::from_utf8_lossy(&answer));
            let started = Instant::now();
            client.request("GET", &path, &token, "").await?;
            get_times.push(started.elapsed());
        }
        medians.push((
            microseconds(percentile(&mut put_times, 50)),
            microseconds(percentile(&mut get_times, 50)),
        ));
    }
    let (small, large) = (medians[0], medians[1]);
    table.at_most("PUT with 1 million versions, to a small store", "x", large.0 / small.0, 1.5);
    table.at_most("GET with 1 million versions, to a small store", "x", large.1 / small.1, 1.5);
    Ok(())
}

/// Writes of so many clients, each with the etag of its last one: how many a second, and the slowest of a hundred.
async fn puts(clients: &[(u16, String)]) -> Result<(f64, Duration)> {
    let started = Instant::now();
    let tasks: Vec<_> = (clients.iter().cloned().enumerate())
        .map(|(client, (port, token))| {
            tokio::spawn(async move {
                let mut connection = KeepAlive::connect(port).await?;
                let mut etags = vec![None::<String>; PATHS];
                let mut times = Vec::new();
                while started.elapsed() < FOR {
                    let index = times.len() % PATHS;
                    let path = format!("/v1/host/workspace/files/client%2F{client}%2F{index}.md");
                    let condition = match &etags[index] {
                        Some(etag) => format!("{token}\r\nIf-Match: {etag}"),
                        None => token.clone(),
                    };
                    let body = body();
                    let began = Instant::now();
                    let (status, answer) = connection.request("PUT", &path, &condition, &body).await?;
                    times.push(began.elapsed());
                    anyhow::ensure!(status == 200, "{status}: {}", String::from_utf8_lossy(&answer));
                    etags[index] = etag_in(&answer);
                }
                anyhow::Ok(times)
            })
        })
        .collect();
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await??);
    }
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let rate = times.len() as f64 / started.elapsed().as_secs_f64();
    Ok((rate, percentile(&mut times, 99)))
}

async fn gets(port: u16, token: &str) -> Result<f64> {
    let started = Instant::now();
    let tasks: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let token = token.to_owned();
            tokio::spawn(async move {
                let mut connection = KeepAlive::connect(port).await?;
                let mut count = 0_usize;
                while started.elapsed() < FOR {
                    let path = format!("/v1/host/workspace/files/client%2F{client}%2F{}.md", count % PATHS);
                    let (status, _) = connection.request("GET", &path, &token, "").await?;
                    anyhow::ensure!(status == 200, "{status}");
                    count += 1;
                }
                anyhow::Ok(count)
            })
        })
        .collect();
    let mut count = 0;
    for task in tasks {
        count += task.await??;
    }
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    Ok(count as f64 / started.elapsed().as_secs_f64())
}

/// Writes files until there are so many.
async fn fill(port: u16, token: &str, files: usize) -> Result<usize> {
    let mut client = KeepAlive::connect(port).await?;
    for index in CLIENTS * PATHS..files {
        let path = format!("/v1/host/workspace/files/more%2F{index}.md");
        client.request("PUT", &path, token, &body()).await?;
    }
    let (_, list) = client.request("GET", "/v1/host/workspace/files", token, "").await?;
    let list: Value = serde_json::from_slice(&list)?;
    Ok(list["files"].as_array().map_or(0, Vec::len))
}

fn body() -> String {
    json!({ "content": "x".repeat(CONTENT), "contentType": "text/plain" }).to_string()
}

/// Found as text: parsing 4 KiB of JSON would be the client's time.
fn etag_in(answer: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(answer).ok()?;
    let from = text.find("\"etag\":\"\\\"")? + "\"etag\":\"\\\"".len();
    let length = text[from..].find('\\')?;
    Some(format!("\"{}\"", &text[from..from + length]))
}

/// What the disk does alone: 4 KiB to the end of a file and a flush, one after the other.
fn disk_rate(folder: &Path) -> Result<f64> {
    let file = fs::File::create(folder.join("disk"))?;
    (&file).write_all(&vec![0; 64 << 20])?;
    file.sync_all()?;
    let block = vec![7; CONTENT];
    let started = Instant::now();
    let mut count = 0_u64;
    while started.elapsed() < FOR {
        file.write_all_at(&block, count % 16_000 * 4096)?;
        file.sync_data()?;
        count += 1;
    }
    fs::remove_file(folder.join("disk"))?;
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    Ok(count as f64 / started.elapsed().as_secs_f64())
}

fn home(settings: &str) -> Result<tempfile::TempDir> {
    let home = tempfile::tempdir_in(std::env::current_exe()?.parent().context("no folder")?)?;
    fs::create_dir_all(home.path().join("agents"))?;
    fs::write(home.path().join("roost.toml"), settings)?;
    Ok(home)
}

/// The owner's token as a header.
fn token(home: &Path) -> Result<String> {
    Ok(format!("Authorization: Bearer {}", fs::read_to_string(home.join("run/owner.token"))?))
}

fn owner() -> Result<Owner> {
    Ok(Owner { tenant: Tenant::parse("local")?, workspace: WorkspaceName::parse("default")? })
}

/// Fills an empty workspace without going through the contract a million times.
struct Fill {
    files: i64,
    versions: i64,
    bytes: i64,
}

const WORKSPACE: &str = "INSERT INTO workspaces (id, tenant, name, sequence, files, bytes)
    VALUES (1, 'local', 'default', $1, $2, $3)";
const FILES: &str = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < $1 - 1)
    INSERT INTO files (id, tenant, workspace, path, version, sequence, etag, removed, bytes, content_type, updated_at)
    SELECT i + 1, 'local', 1, printf('file/%05d.md', i), $2, i * $2 + $2,
    '\"' || lower(hex(randomblob(16))) || '\"', 0, $3, 'text/plain', 0 FROM n";
const VERSIONS: &str = "WITH RECURSIVE v(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM v WHERE i < $1)
    INSERT INTO versions (tenant, file, version, sequence, etag, removed, bytes, content_type, updated_at, sha256, principal, content)
    SELECT 'local', f.id, v.i, (f.id - 1) * $1 + v.i, f.etag, 0, $2, 'text/plain', 0, randomblob(32), 'bench', randomblob($2)
    FROM files f, v";

impl Change for Fill {
    type Output = ();
    type Error = StorageError;

    async fn apply(&self, transaction: &mut Transaction) -> Result<(), StorageError> {
        let total = [self.files * self.versions, self.files, self.files * self.bytes].map(Parameter::from);
        transaction.execute(WORKSPACE, &total).await?;
        let files = [self.files, self.versions, self.bytes].map(Parameter::from);
        transaction.execute(FILES, &files).await?;
        let versions = [self.versions, self.bytes].map(Parameter::from);
        transaction.execute(VERSIONS, &versions).await.map(drop)
    }
}
