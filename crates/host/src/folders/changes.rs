//! What changed in a folder since it was last the same as its workspace.

use super::{
    known::{Known, OnDisk},
    tree::{Content, Stamp, Tree},
    watching::{Changed, Watching},
};
use roost_workspace::{FilePath, Limit, Limits};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes that are in memory at once, and so in one write; what is left comes with the next.
const BYTES_AT_ONCE: u64 = 32 << 20;

/// Directories that are watched; a folder with more is looked at after every call.
const WATCHED_MAX: usize = 1024;

/// What is different on the side of the folder.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// New contents.
    pub(super) written: BTreeMap<FilePath, Content>,
    pub(super) removed: BTreeSet<FilePath>,
    /// Files that are larger than a workspace takes, and stay as they are.
    pub(super) too_large: BTreeSet<FilePath>,
    /// Whatever stays out of the workspace, and why.
    pub(super) skipped: Vec<(String, String)>,
    /// True when there is more to read than was read.
    pub(super) has_more: bool,
    /// True when changes of every directory are heard.
    pub(super) is_watched: bool,
}

/// Looks at the whole folder. Files that only look changed are noted as unchanged.
pub(super) fn find_changes(
    tree: &Tree,
    known: &mut Known,
    limits: &Limits,
    watching: Option<(&Watching, &Changed)>,
) -> Result<Changes, Errno> {
    let mut directories = 0;
    let mut is_watched = watching.is_some();
    let seen = tree.look(&mut |directory| {
        directories += 1;
        if let Some((watching, changed)) = watching.filter(|_| is_watched) {
            is_watched = directories <= WATCHED_MAX && watching.add(directory, changed).is_ok();
        }
    })?;
    let mut changes = Changes { skipped: seen.skipped, is_watched, ..Changes::default() };
    if seen.is_complete {
        let is_gone = |path: &&FilePath| !seen.files.contains_key(*path);
        let on_disk = known.files.iter().filter(|(_, file)| file.on_disk.is_some()).map(|(path, _)| path);
        changes.removed = on_disk.filter(is_gone).cloned().collect();
    }
    let removed_bytes: i64 =
        changes.removed.iter().filter_map(|path| known.files.get(path)).map(|file| file.bytes).sum();
    let mut room = Room {
        files: limits.files_max.saturating_sub(length(known.files.len())) + length(changes.removed.len()),
        bytes: limits.workspace_bytes_max - known.bytes() + removed_bytes,
        file_bytes_max: limits.file_bytes_max,
    };
    let mut read = 0;
    for (path, stamp) in seen.files {
        let before = known.files.get(&path);
        let on_disk = before.and_then(|file| file.on_disk.as_ref());
        if on_disk.is_some_and(|on_disk| on_disk.is_surely(&stamp)) {
            continue;
        }
        if let Err(why) = room.take(&stamp, before.map(|file| file.bytes)) {
            if stamp.bytes > u64::try_from(limits.file_bytes_max).unwrap_or(0) {
                changes.too_large.insert(path.clone());
            }
            changes.skipped.push((path.as_str().to_owned(), why));
            continue;
        }
        if read > BYTES_AT_ONCE {
            changes.has_more = true;
            break;
        }
        let content = match tree.read(&path, u64::try_from(limits.file_bytes_max).unwrap_or(0)) {
            Ok(Some(content)) => content,
            // Gone or grown meanwhile: that is heard as another change.
            Ok(None) => continue,
            Err(error) => {
                changes.skipped.push((path.as_str().to_owned(), error.to_string()));
                continue;
            }
        };
        read = read.saturating_add(stamp.bytes);
        match known.files.get_mut(&path).and_then(|file| file.on_disk.as_mut()) {
            Some(on_disk) if on_disk.holds(&content.bytes) => {
                *on_disk = OnDisk::new(content.stamp, &content.bytes);
            }
            _ => drop(changes.written.insert(path, content)),
        }
    }
    Ok(changes)
}

/// How much a workspace still takes.
struct Room {
    files: i64,
    bytes: i64,
    file_bytes_max: i64,
}

impl Room {
    fn take(&mut self, stamp: &Stamp, before: Option<i64>) -> Result<(), String> {
        let bytes = i64::try_from(stamp.bytes).unwrap_or(i64::MAX);
        let over = |limit: Limit| format!("more than {limit} allows");
        if bytes > self.file_bytes_max {
            return Err(over(Limit::FileBytes));
        }
        if before.is_none() && self.files < 1 {
            return Err(over(Limit::Files));
        }
        let more = bytes - before.unwrap_or(0);
        if more > 0 && more > self.bytes {
            return Err(over(Limit::WorkspaceBytes));
        }
        self.files -= i64::from(before.is_none());
        self.bytes -= more;
        Ok(())
    }
}

fn length(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
