//! Writes files until somebody ends it, and says of each write that it was told to be stored.
//!
//! Takes where the database is: a URL, or a file. A line is the name of a file, its version, and how the content begins.
//! Meant to be killed at any moment; what it said before must hold afterwards.
#![allow(clippy::print_stdout, reason = "what it prints is what it is for")]

use roost_storage::{Database, Faults, Location};
use roost_tests::{WRITER_FILES_EACH, WRITER_TASKS, owner, written_content};
use roost_workspace::{
    Condition, Content, Done, FilePath, Limits, MIGRATIONS, WorkspaceError, Workspaces, Write, Writer,
};
use std::{
    io::Write as _,
    time::{Duration, SystemTime},
};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let place = std::env::args().nth(1).ok_or_else(|| anyhow::anyhow!("where is the database?"))?;
    let location = match place.starts_with("postgres://") {
        true => Location::Server(place),
        false => Location::File(place.into()),
    };
    let database = Database::open(location, MIGRATIONS, Faults::default()).await?;
    let workspaces = Workspaces::new(database, Limits::default());
    let tasks = (0..WRITER_TASKS).map(|task| tokio::spawn(write_on(workspaces.clone(), task)));
    futures::future::try_join_all(tasks).await?.into_iter().collect()
}

/// Writes its own files in turn, without an end.
async fn write_on(workspaces: Workspaces, task: usize) -> anyhow::Result<()> {
    let owner = owner("acme", "main");
    let begun = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_nanos();
    for number in 0_usize.. {
        let path = FilePath::parse(&format!("{task}-{}.md", number % WRITER_FILES_EACH))?;
        let beginning = format!("{begun}-{task}-{number}");
        let condition = match workspaces.get(&owner, &path, None).await {
            Ok(file) => Condition::unchanged(&file.info.etag),
            Err(WorkspaceError::NotFound) => Condition::create_only(),
            Err(WorkspaceError::Storage(_)) => {
                // tidy: sleep because a server that was cut off needs the processor to come back
                tokio::time::sleep(Duration::from_millis(5)).await;
                continue;
            }
            Err(other) => return Err(other.into()),
        };
        let content = Content { bytes: written_content(&beginning), content_type: "text/plain".to_owned() };
        let write = Write { path: path.clone(), condition, content: Some(content) };
        match workspaces.write_one(&owner, &Writer::person("writer"), write, None).await {
            Ok(done) => {
                let Done::Made(info) = done.value else { continue };
                let line = format!("{} {} {beginning}\n", path.as_str(), info.version);
                // One call, so that a line is there whole or not at all.
                std::io::stdout().lock().write_all(line.as_bytes())?;
                std::io::stdout().flush()?;
            }
            // Whether it is stored is not known; nothing was promised.
            Err(WorkspaceError::Storage(_)) => {}
            Err(other) => return Err(other.into()),
        }
    }
    Ok(())
}
