//! A zip as Python's library takes it, for answering as the published validator does. Only in memory: what comes out
//! is never written anywhere, and whatever that library stops at is refused.

use super::{
    inflate,
    refusal::{REFUSALS_MAX, Refusal, Refused},
    zip_end::{self, Strictness},
    zip_entries::{self, FLAG_UTF_8, ZipEntry},
};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// No archive that is small enough to be looked at has more.
const ENTRIES_MAX: usize = 200_000;

const COMPONENT_BYTES_MAX: usize = 255;

/// What 0x80 to 0xff mean in the names of old archives.
const OLD_NAMES: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";

/// Paths as they would be on disk; not safe to join to anything.
pub(crate) type LooseFiles = BTreeMap<String, Vec<u8>>;

/// Reads a zip; `content_bytes_max` holds for the sizes that are told.
pub(crate) fn read_loose_zip(bytes: &[u8], content_bytes_max: u64) -> Result<LooseFiles, Vec<Refused>> {
    let one = |refused| vec![refused];
    let end = zip_end::find(bytes, Strictness::Loose).map_err(one)?;
    let entries = zip_entries::directory(bytes, &end, ENTRIES_MAX, Strictness::Loose).map_err(one)?;
    let names =
        entries.iter().map(|entry| name_of(entry).map_err(one)).collect::<Result<Vec<String>, _>>()?;
    check_list(&entries, &names, content_bytes_max)?;
    let next_starts = zip_entries::next_starts(&entries, end.directory_start);
    // The library extracts by name, so of two entries with one name only the last is ever opened.
    let last: HashMap<&str, usize> = names.iter().enumerate().map(|(at, name)| (name.as_str(), at)).collect();
    let mut disk = Disk::default();
    for (at, name) in names.iter().enumerate() {
        let entry = &entries[at];
        let parts: Vec<&str> = name.split('/').filter(|part| !matches!(*part, "" | "." | "..")).collect();
        if name.ends_with('/') {
            disk.add_folder(&parts, entry).map_err(one)?;
        } else if last.get(name.as_str()) == Some(&at) {
            let content = open(bytes, entry, next_starts[at], end.directory_start).map_err(one)?;
            disk.add_file(&parts, content, entry).map_err(one)?;
        }
    }
    Ok(disk.files)
}

fn open(
    bytes: &[u8],
    entry: &ZipEntry<'_>,
    next_start: usize,
    directory_start: usize,
) -> Result<Vec<u8>, Refused> {
    let span = zip_entries::span(bytes, entry, directory_start, Strictness::Loose)?;
    if span.content_end > next_start {
        return Err(zip_entries::overlap());
    }
    if entry.is_unreadable() {
        return Err(Refused::at(Refusal::Encrypted, entry.name, "it is encrypted"));
    }
    inflate::content(&bytes[span.content_start..span.content_end], entry, Strictness::Loose)
}

fn name_of(entry: &ZipEntry<'_>) -> Result<String, Refused> {
    let name = if entry.flags & FLAG_UTF_8 == 0 {
        let old = |byte: &u8| match byte {
            0..0x80 => char::from(*byte),
            _ => OLD_NAMES.chars().nth(usize::from(byte - 0x80)).unwrap_or(char::REPLACEMENT_CHARACTER),
        };
        entry.name.iter().map(old).collect()
    } else {
        let name = std::str::from_utf8(entry.name);
        name.map_err(|_| Refused::at(Refusal::BadPath, entry.name, "its name is not UTF-8"))?.to_owned()
    };
    // The library forgets what follows a zero byte.
    Ok(name.split('\0').next().unwrap_or_default().to_owned())
}

fn check_list(
    entries: &[ZipEntry<'_>],
    names: &[String],
    content_bytes_max: u64,
) -> Result<(), Vec<Refused>> {
    let mut refused = Vec::new();
    let mut total = 0_u64;
    for (entry, name) in entries.iter().zip(names) {
        if name.starts_with('/') || name.split(['/', '\\']).any(|part| part == "..") {
            refused.push(Refused::at(Refusal::Traversal, name, "the path climbs out of its folder"));
        }
        total = total.saturating_add(entry.size);
        if total > content_bytes_max {
            let detail = format!("its files have more than {content_bytes_max} bytes together");
            refused.push(Refused::new(Refusal::TooManyBytes, detail));
            break;
        }
        if refused.len() >= REFUSALS_MAX {
            break;
        }
    }
    if refused.is_empty() { Ok(()) } else { Err(refused) }
}

/// What extracting would leave, in memory.
#[derive(Default)]
struct Disk {
    files: LooseFiles,
    folders: BTreeSet<String>,
}

impl Disk {
    fn add_folder(&mut self, parts: &[&str], entry: &ZipEntry<'_>) -> Result<(), Refused> {
        for end in 1..=parts.len() {
            let path = parts[..end].join("/");
            if parts[end - 1].len() > COMPONENT_BYTES_MAX {
                return Err(Refused::at(Refusal::BadPath, entry.name, "a part of the path is too long"));
            }
            if self.files.contains_key(&path) {
                return Err(clash(entry));
            }
            self.folders.insert(path);
        }
        Ok(())
    }

    fn add_file(&mut self, parts: &[&str], content: Vec<u8>, entry: &ZipEntry<'_>) -> Result<(), Refused> {
        let Some((name, folder)) = parts.split_last() else { return Err(clash(entry)) };
        self.add_folder(folder, entry)?;
        if name.len() > COMPONENT_BYTES_MAX {
            return Err(Refused::at(Refusal::BadPath, entry.name, "a part of the path is too long"));
        }
        let path = parts.join("/");
        if self.folders.contains(&path) {
            return Err(clash(entry));
        }
        self.files.insert(path, content);
        Ok(())
    }
}

fn clash(entry: &ZipEntry<'_>) -> Refused {
    Refused::at(Refusal::FileAndFolder, entry.name, "the path is a file and a folder")
}
