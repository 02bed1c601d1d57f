//! All files at once: saved as a zip, and brought in from one.

use super::{
    desk::{Desk, address, document},
    files::read_input,
    table::{rows, size, word},
};
use crate::{args::OnConflict, partner::Method};
use roost_protocol::{Failure, Reason};
use serde_json::{Value, json};
use std::{
    io::{self, Write as _},
    path::Path,
};

pub(super) async fn export(desk: &Desk, to: &Path, no_history: bool, force: bool) -> Result<(), Failure> {
    let history = if no_history { "false" } else { "true" };
    let zip = desk.bytes("export", &[("history", history)]).await?;
    if to == Path::new("-") {
        let mut stdout = io::stdout().lock();
        stdout.write_all(&zip).and_then(|()| stdout.flush()).ok();
        return Ok(());
    }
    save(to, &zip, force).map_err(|error| {
        Failure::new(Reason::WrongUse, format!("write {}: {error}", to.display()))
            .with_next("choose a folder that can be written and has room")
    })?;
    let bytes = i64::try_from(zip.len()).unwrap_or(i64::MAX);
    desk.say(&json!({ "file": to, "bytes": bytes }), |_| vec![format!("{}: {}", to.display(), size(bytes))]);
    Ok(())
}

/// Whole or not at all; what is there stays unless it may be replaced.
fn save(to: &Path, bytes: &[u8], force: bool) -> io::Result<()> {
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut staging = tempfile::NamedTempFile::new_in(folder)?;
    staging.write_all(bytes)?;
    staging.as_file().sync_all()?;
    let kept = if force { staging.persist(to) } else { staging.persist_noclobber(to) };
    kept.map(drop).map_err(|error| error.error)
}

pub(super) async fn import(
    desk: &Desk,
    from: &Path,
    dry_run: bool,
    on_conflict: OnConflict,
) -> Result<(), Failure> {
    let zip = read_input(from)?;
    let policy = match on_conflict {
        OnConflict::Fail => "fail",
        OnConflict::Skip => "skip",
        OnConflict::Replace => "replace",
    };
    let dry_run = if dry_run { "true" } else { "false" };
    let address = address("import", &[("dryRun", dry_run), ("onConflict", policy)]);
    let headers = [("content-type", "application/zip".to_owned())];
    let answer = document(&desk.send(Method::Post, &address, &headers, zip).await?)?;
    desk.say(&answer, |answer| plan(answer, policy));
    Ok(())
}

/// What became or would become of each file.
fn plan(answer: &Value, policy: &str) -> Vec<String> {
    let in_the_way = if policy == "fail" { "in the way" } else { "kept" };
    let kinds = [("create", "new"), ("replace", "replaced"), ("same", "same"), ("conflict", in_the_way)];
    let mut lines = Vec::new();
    for (kind, shown) in kinds {
        lines.extend(rows(&answer[kind]).iter().map(|path| format!("{shown:10}  {}", word(path))));
    }
    if lines.is_empty() {
        lines.push("The export holds no files.".to_owned());
    }
    if answer["dryRun"] == true {
        lines.push("Nothing was changed; without --dry-run it is done.".to_owned());
    }
    lines
}
