//! From bytes to what can be believed: the list of entries, every size while it is inflated, every hash and every name.
//!
//! No message repeats what the zip holds.

use super::{BODIES, FORMAT, ListedFile, ListedVersion, MANIFEST, Manifest, VERSIONS_MAX, bytes_max};
use crate::{FilePath, Limit, Limits, WorkspaceError, Writer, write::within};
use sha2::{Digest as _, Sha256};
use std::{
    collections::{BTreeSet, HashMap},
    io::{Cursor, Read as _},
    sync::Arc,
};
use zip::{CompressionMethod, ZipArchive};

/// Largest list: room for every version that may travel.
const MANIFEST_BYTES_MAX: i64 = 64 << 20;

/// Longest content type, author and reason: what this program writes is much shorter.
const WORDS_BYTES_MAX: usize = 1024;

/// How much of an earlier reason is kept.
const REASON_CHARACTERS_MAX: usize = 300;

/// An export whose every part was checked.
#[derive(Debug)]
pub(crate) struct Parcel {
    pub(super) files: Vec<ParcelFile>,
}

#[derive(Debug)]
pub(super) struct ParcelFile {
    pub(super) path: FilePath,
    /// Oldest first; the first has a content.
    pub(super) versions: Vec<ParcelVersion>,
}

#[derive(Debug)]
pub(super) struct ParcelVersion {
    /// Absent where the file was removed.
    pub(super) content: Option<Arc<Vec<u8>>>,
    pub(super) content_type: String,
    pub(super) sha256: [u8; 32],
    /// Who wrote it and when, for the history.
    pub(super) reason: String,
}

type Zip<'a> = ZipArchive<Cursor<&'a [u8]>>;

/// Reads and checks a zip. Secrets that are known are taken out of what it holds.
pub(crate) fn open(bytes: &[u8], limits: &Limits, writer: &Writer) -> Result<Parcel, WorkspaceError> {
    let mut zip = ZipArchive::new(Cursor::new(bytes)).map_err(|_| refused("it is no zip file"))?;
    check_entries(&mut zip)?;
    let text = inflate(&mut zip, MANIFEST, MANIFEST_BYTES_MAX)?;
    let manifest: Manifest = serde_json::from_slice(&text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        refused(format!("{MANIFEST} is not as it must be at line {line}, column {column}"))
    })?;
    check_list(&manifest, limits)?;
    let mut bodies = read_bodies(&mut zip, &manifest)?;
    let mut files = Vec::with_capacity(manifest.files.len());
    for listed in manifest.files {
        if let Some(file) = parcel_file(listed, &mut bodies, limits, writer)? {
            files.push(file);
        }
    }
    Ok(Parcel { files })
}

/// The entries are what an export has and nothing else, before any of them is inflated.
fn check_entries(zip: &mut Zip<'_>) -> Result<(), WorkspaceError> {
    if zip.len() > VERSIONS_MAX + 1 {
        return Err(refused("it has too many entries"));
    }
    if zip.offset() != 0 {
        return Err(refused("something stands before the zip"));
    }
    if zip.has_duplicate_names() {
        return Err(refused("an entry is there twice"));
    }
    for index in 0..zip.len() {
        let entry = zip.by_index_data(index).map_err(|_| refused("an entry cannot be read"))?;
        let is_body = entry.name_raw().strip_prefix(BODIES.as_bytes()).is_some_and(is_digest);
        if !is_body && entry.name_raw() != MANIFEST.as_bytes() {
            return Err(refused("an entry has a name that no export has"));
        }
        if entry.encrypted() || entry.is_symlink() || entry.is_dir() {
            return Err(refused("an entry is encrypted, a link or a folder"));
        }
        if !matches!(entry.compression(), CompressionMethod::Stored | CompressionMethod::Deflated) {
            return Err(refused("an entry is compressed in a way that is not read here"));
        }
    }
    zip.validate_header_consistency().map_err(|_| refused("its list of entries does not fit its entries"))
}

fn is_digest(text: &[u8]) -> bool {
    text.len() == 64 && text.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// One entry, of which no more is inflated than it may hold.
fn inflate(zip: &mut Zip<'_>, name: &str, bytes_max: i64) -> Result<Vec<u8>, WorkspaceError> {
    let entry = zip.by_name(name).map_err(|_| refused("an entry is missing or cannot be opened"))?;
    let bytes_max = u64::try_from(bytes_max).unwrap_or(0);
    let mut bytes = Vec::new();
    entry.take(bytes_max + 1).read_to_end(&mut bytes).map_err(|_| refused("an entry is damaged"))?;
    if bytes.len() as u64 > bytes_max { Err(refused("an entry is larger than it may be")) } else { Ok(bytes) }
}

/// The list makes sense by itself, and what it promises is within limits.
fn check_list(manifest: &Manifest, limits: &Limits) -> Result<(), WorkspaceError> {
    if manifest.format != FORMAT {
        return Err(refused(format!("its format is not {FORMAT}")));
    }
    if !manifest.files.is_sorted_by(|left, right| left.path < right.path) {
        return Err(refused("its files are not in the order of their names, each once"));
    }
    let (mut bytes, mut versions) = (0_i64, 0_usize);
    for file in &manifest.files {
        if file.versions.is_empty() {
            return Err(refused("a file has no version"));
        }
        if !file.versions.is_sorted_by(|left, right| left.version < right.version) {
            return Err(refused("versions of a file are not in order"));
        }
        if file.versions.windows(2).any(|pair| pair[0].removed && pair[1].removed) {
            return Err(refused("a file was removed twice"));
        }
        versions += file.versions.len();
        for version in &file.versions {
            check_version(version)?;
            if !version.removed {
                within(Limit::FileBytes, limits.file_bytes_max, version.bytes)?;
            }
            bytes = bytes.saturating_add(version.bytes);
        }
    }
    if versions > VERSIONS_MAX {
        return Err(refused("it has too many versions"));
    }
    within(Limit::TransferBytes, bytes_max(limits), bytes)
}

fn check_version(listed: &ListedVersion) -> Result<(), WorkspaceError> {
    let author = &listed.author;
    let words = [Some(&author.principal), author.run.as_ref(), author.node.as_ref(), author.reason.as_ref()];
    let is_word = |word: &String| word.len() <= WORDS_BYTES_MAX && !word.contains('\0');
    if !words.into_iter().flatten().chain([&listed.content_type]).all(is_word) {
        return Err(refused("a content type or an author is longer than it may be"));
    }
    if listed.version < 1 || listed.bytes < 0 || !is_digest(listed.sha256.as_bytes()) {
        return Err(refused("a version has a number or a hash that is none"));
    }
    let is_empty = listed.bytes == 0 && listed.content_type.is_empty() && listed.sha256 == empty_digest();
    if listed.removed && !is_empty {
        return Err(refused("a version that removed its file has a content"));
    }
    Ok(())
}

fn empty_digest() -> String {
    hex::encode(Sha256::digest(b""))
}

/// Every content that the list names, and no other, each with the length and hash that the list says.
fn read_bodies(
    zip: &mut Zip<'_>,
    manifest: &Manifest,
) -> Result<HashMap<String, Arc<Vec<u8>>>, WorkspaceError> {
    let versions =
        || manifest.files.iter().flat_map(|file| &file.versions).filter(|version| !version.removed);
    let needed: BTreeSet<&str> = versions().map(|version| version.sha256.as_str()).collect();
    if zip.len() != needed.len() + 1 {
        return Err(refused("its contents are not those that its list names"));
    }
    let mut bodies: HashMap<String, Arc<Vec<u8>>> = HashMap::with_capacity(needed.len());
    for version in versions() {
        let length = match bodies.get(&version.sha256) {
            Some(body) => body.len(),
            None => {
                let body = inflate(zip, &format!("{BODIES}{}", version.sha256), version.bytes)?;
                if hex::encode(Sha256::digest(&body)) != version.sha256 {
                    return Err(refused("a content does not have the hash that it is listed with"));
                }
                bodies.entry(version.sha256.clone()).insert_entry(Arc::new(body)).get().len()
            }
        };
        if i64::try_from(length) != Ok(version.bytes) {
            return Err(refused("a content does not have the length that it is listed with"));
        }
    }
    Ok(bodies)
}

/// What of a file can be written: the versions that stay readable, from the first one with a content on.
fn parcel_file(
    listed: ListedFile,
    bodies: &mut HashMap<String, Arc<Vec<u8>>>,
    limits: &Limits,
    writer: &Writer,
) -> Result<Option<ParcelFile>, WorkspaceError> {
    let kept = usize::try_from(limits.versions_max).unwrap_or(usize::MAX).max(1);
    let older = listed.versions.len().saturating_sub(kept);
    let path = listed.path;
    let mut versions = Vec::with_capacity(listed.versions.len() - older);
    for version in listed.versions.into_iter().skip(older).skip_while(|version| version.removed) {
        let mut content = None;
        let mut sha256 = <[u8; 32]>::from(Sha256::digest(b""));
        if !version.removed {
            let body = bodies.get(&version.sha256).ok_or_else(|| refused("a content is missing"))?;
            let kept = match writer.redact(&path, body)? {
                std::borrow::Cow::Borrowed(_) => Arc::clone(body),
                std::borrow::Cow::Owned(kept) => Arc::new(kept),
            };
            sha256 = Sha256::digest(&*kept).into();
            content = Some(kept);
        }
        let reason = writer.redactions.redact(&said_of(&version)).into_owned();
        versions.push(ParcelVersion { content, content_type: version.content_type, sha256, reason });
    }
    Ok((!versions.is_empty()).then_some(ParcelFile { path, versions }))
}

/// Who wrote a version, as its new history says it: the new author is whoever imports.
fn said_of(version: &ListedVersion) -> String {
    let author = &version.author;
    let run = author.run.as_ref().map(|run| format!(" in run {run}")).unwrap_or_default();
    let reason = author.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let text = format!("imported, written by {}{run} at {}{reason}", author.principal, version.updated_at);
    text.chars().take(REASON_CHARACTERS_MAX).collect()
}

fn refused(why: impl Into<String>) -> WorkspaceError {
    WorkspaceError::NotAnExport(why.into())
}
