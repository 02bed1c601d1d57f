//! Who is alive, as the kernel says.

use std::fs;

/// True while the process exists and has not ended; one that waits to be reaped counts as ended.
#[must_use]
pub fn is_alive(pid: u32) -> bool {
    state_and_parent(pid).is_some_and(|(state, _)| state != 'Z' && state != 'X')
}

/// All living processes below this one.
#[must_use]
pub fn descendants(pid: u32) -> Vec<u32> {
    let all: Vec<(u32, u32)> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
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

fn state_and_parent(pid: u32) -> Option<(char, u32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may hold anything, brackets and spaces included.
    let mut fields = stat[stat.rfind(')')? + 1..].split_whitespace();
    let state = fields.next()?.chars().next()?;
    Some((state, fields.next()?.parse().ok()?))
}
