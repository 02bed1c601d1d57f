//! A zip that keeps every rule: the list first, all of it, then the content.

use super::{
    ContainerLimits,
    files::Files,
    inflate::{self, DEFLATED, STORED},
    paths::{self, Kind, Together},
    refusal::{REFUSALS_MAX, Refusal, Refused},
    zip_end::{self, Strictness},
    zip_entries::{self, Span, ZipEntry},
};
use std::collections::BTreeMap;

const KIND_MASK: u32 = 0o170_000;
const KIND_FOLDER: u32 = 0o040_000;
const KIND_FILE: u32 = 0o100_000;
const KIND_LINK: u32 = 0o120_000;

pub(super) fn read(bytes: &[u8], limits: &ContainerLimits) -> Result<Files, Vec<Refused>> {
    if bytes.len() as u64 > limits.archive_bytes_max {
        let detail = format!("{} bytes; at most {} are read", bytes.len(), limits.archive_bytes_max);
        return Err(vec![Refused::new(Refusal::TooLarge, detail)]);
    }
    let one = |refused| vec![refused];
    let end = zip_end::find(bytes, Strictness::Strict).map_err(one)?;
    let entries = zip_entries::directory(bytes, &end, limits.entries_max, Strictness::Strict).map_err(one)?;
    let names = check_list(&entries, limits)?;
    let spans = entries
        .iter()
        .map(|entry| zip_entries::span(bytes, entry, end.directory_start, Strictness::Strict))
        .collect::<Result<Vec<Span>, Refused>>()
        .map_err(one)?;
    zip_entries::check_tiling(&spans, end.directory_start).map_err(one)?;
    let mut files = BTreeMap::new();
    for ((entry, span), name) in entries.iter().zip(&spans).zip(names) {
        let packed = &bytes[span.content_start..span.content_end];
        let content = inflate::content(packed, entry, Strictness::Strict).map_err(one)?;
        if !entry.is_folder() {
            files.insert(name.to_owned(), content);
        }
    }
    Ok(Files::checked(files))
}

/// Checks what the directory says of every entry, and gives their names.
fn check_list<'a>(entries: &[ZipEntry<'a>], limits: &ContainerLimits) -> Result<Vec<&'a str>, Vec<Refused>> {
    let mut refused = Vec::new();
    let mut together = Together::default();
    let mut names = Vec::with_capacity(entries.len());
    let mut total = 0_u64;
    for entry in entries {
        match check_entry(entry, &mut together) {
            Ok(name) => names.push(name),
            Err(error) => refused.push(error),
        }
        total = total.saturating_add(entry.size);
        if total > limits.content_bytes_max {
            let detail = format!("its files have more than {} bytes together", limits.content_bytes_max);
            refused.push(Refused::new(Refusal::TooManyBytes, detail));
            break;
        }
        if refused.len() >= REFUSALS_MAX {
            break;
        }
    }
    if refused.is_empty() { Ok(names) } else { Err(refused) }
}

fn check_entry<'a>(entry: &ZipEntry<'a>, together: &mut Together) -> Result<&'a str, Refused> {
    let refuse = |refusal, why: &str| Err(Refused::at(refusal, entry.name, why));
    let Ok(name) = std::str::from_utf8(entry.name) else {
        return refuse(Refusal::BadPath, "its name is not UTF-8");
    };
    let path = name.strip_suffix('/').unwrap_or(name);
    paths::check(path)?;
    match (entry.mode & KIND_MASK, entry.is_folder()) {
        (0, _) | (KIND_FILE, false) | (KIND_FOLDER, true) => {}
        (KIND_LINK, _) => return refuse(Refusal::Link, "it is a symbolic link"),
        (KIND_FILE | KIND_FOLDER, _) => {
            return refuse(Refusal::FileAndFolder, "its name and its kind do not agree");
        }
        _ => return refuse(Refusal::SpecialFile, "it is neither a file nor a folder"),
    }
    if entry.is_folder() && entry.size != 0 {
        return refuse(Refusal::FileAndFolder, "a folder has no content");
    }
    if entry.is_encrypted() {
        return refuse(Refusal::Encrypted, "it is encrypted");
    }
    if !matches!(entry.method, STORED | DEFLATED) {
        return refuse(Refusal::Method, "it is neither stored nor deflated");
    }
    together.add(path, if entry.is_folder() { Kind::Folder } else { Kind::File })?;
    Ok(name)
}
