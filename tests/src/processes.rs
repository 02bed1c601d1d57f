//! Who is alive, as the kernel says.

use std::{fs, os::unix::fs::MetadataExt as _, path::Path};

/// True while the process exists and has not ended; one that waits to be reaped counts as ended.
#[must_use]
pub fn is_alive(pid: u32) -> bool {
    state_and_parent(pid).is_some_and(|(state, _)| state != 'Z' && state != 'X')
}

/// All living processes below this one.
#[must_use]
pub fn descendants(pid: u32) -> Vec<u32> {
    let all: Vec<(u32, u32)> = everybody()
        .filter_map(|pid| {
            let (state, parent) = state_and_parent(pid)?;
            (state != 'Z').then_some((pid, parent))
        })
        .collect();
    let mut found = Vec::new();
    let mut parents = vec![pid];
    while let Some(parent) = parents.pop() {
        for (child, _) in all.iter().filter(|(_, of)| *of == parent) {
            found.push(*child);
            parents.push(*child);
        }
    }
    found
}

/// Every process that holds this file open. How a worker is found from outside: inside it is process 1 of its own
/// world, whatever number it has in ours.
#[must_use]
pub fn holders(file: &Path) -> Vec<u32> {
    let Ok(wanted) = fs::metadata(file) else { return Vec::new() };
    let is_it = |open: fs::DirEntry| {
        fs::metadata(open.path()).is_ok_and(|open| (open.dev(), open.ino()) == (wanted.dev(), wanted.ino()))
    };
    let holds =
        |pid: &u32| fs::read_dir(format!("/proc/{pid}/fd")).is_ok_and(|open| open.flatten().any(is_it));
    everybody().filter(holds).collect()
}

/// A line of kilobytes in what the kernel tells of a process: `VmRSS:` is the memory it has, `VmHWM:` the most it had.
#[must_use]
pub fn status_kb(pid: u32, line: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|told| told.strip_prefix(line))?.split_whitespace().next()?.parse().ok()
}

fn everybody() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn state_and_parent(pid: u32) -> Option<(char, u32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may hold anything, brackets and spaces included.
    let mut fields = stat[stat.rfind(')')? + 1..].split_whitespace();
    let state = fields.next()?.chars().next()?;
    Some((state, fields.next()?.parse().ok()?))
}
