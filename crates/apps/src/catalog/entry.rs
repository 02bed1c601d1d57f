//! One app as a catalog describes it. Everything it says is kept as it was written; what is used is checked.
//!
//! More lenient than the submission gate: what is in a catalog already may have a dash in its id, any category, and no
//! publisher. What would decide where bytes come from or go to is never guessed.

use super::{
    part::{Part, PartKind, digest_of},
    search::Words,
};
use roost_protocol::{Digest, Failure, Reason};
use serde::Serialize;
use serde_json::{Map, Value, value::RawValue};
use std::collections::BTreeMap;

/// Longest id and publisher.
const NAME_BYTES_MAX: usize = 100;

/// Longest text that is shown in a list; the entry itself keeps all of it.
const SHOWN_CHARACTERS_MAX: usize = 4000;

/// Most versions and tags that are looked at.
const LIST_MAX: usize = 1000;

/// Longest address.
const ADDRESS_BYTES_MAX: usize = 2048;

/// Who may fetch the files of an app.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// Everybody.
    Public,
    /// Whoever may read a private repository.
    Private,
}

/// What an entry lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryKind {
    /// An app, in a catalog.
    App,
    /// A single agent file, in a registry.
    Agent,
}

/// Another repository that an entry's files are in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FederationSource {
    /// `owner/repository`.
    pub repo: String,
    /// Branch, tag or commit.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Folder in it, empty for its top.
    pub path: String,
    /// The commit that the catalog vouches for.
    pub commit_sha: Option<String>,
}

/// A version besides the current one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AvailableVersion {
    /// The version.
    pub version: String,
    /// Digests of its files, where the catalog has them.
    pub sha256: BTreeMap<PartKind, Digest>,
}

/// One app in a catalog.
#[derive(Debug, Clone)]
pub struct Entry {
    /// What it lists.
    pub kind: EntryKind,
    /// Its id.
    pub id: String,
    /// Who publishes it, with the `@`.
    pub publisher: Option<String>,
    /// What people call it.
    pub name: String,
    /// The current version.
    pub version: String,
    /// Other versions that can be asked for.
    pub available_versions: Vec<AvailableVersion>,
    /// What it does.
    pub summary: String,
    /// The same in a few words.
    pub tagline: String,
    /// Its category.
    pub category: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// Its licence.
    pub license: String,
    /// How far it is trusted, in the catalog's words.
    pub quality_tier: String,
    /// Who may fetch its files.
    pub access: Access,
    /// The private repository its files are in.
    pub private_repo: Option<String>,
    /// How to sign in for it, in its publisher's words.
    pub auth_hint: Option<String>,
    /// Who may use it, in its publisher's words.
    pub access_note: Option<String>,
    /// Another repository its files are in.
    pub source: Option<FederationSource>,
    /// Its files.
    pub parts: Vec<Part>,
    document: Box<RawValue>,
    pub(super) words: Words,
}

impl Entry {
    /// Reads one entry. What is wrong comes with the id, where that could be read.
    pub(super) fn parse(raw: &RawValue) -> Result<Self, (Option<String>, String)> {
        let fields: Map<String, Value> =
            serde_json::from_str(raw.get()).map_err(|error| (None, format!("not an object: {error}")))?;
        let id = fields.get("id").and_then(Value::as_str).map(shown);
        Self::of_fields(&fields, raw, EntryKind::App).map_err(|message| (id, message))
    }

    /// Reads an entry that was made here.
    pub fn of_document(fields: &Map<String, Value>) -> Result<Self, Failure> {
        let wrong = |message: String| Failure::new(Reason::EntryInvalid, message);
        let raw = serde_json::value::to_raw_value(fields).map_err(|error| wrong(error.to_string()))?;
        Self::of_fields(fields, &raw, EntryKind::App).map_err(wrong)
    }

    /// Reads the keys of an entry; `raw` is what stands in the catalog.
    pub(super) fn of_fields(
        fields: &Map<String, Value>,
        raw: &RawValue,
        kind: EntryKind,
    ) -> Result<Self, String> {
        let id = text_of(fields, "id")?.filter(|id| is_id(id)).ok_or("`id` is missing or not an id")?;
        let publisher = publisher_of(fields)?;
        let version = text_of(fields, "version")?.filter(|version| is_version(version));
        let version = version.ok_or("`version` is missing or not MAJOR.MINOR.PATCH")?.to_owned();
        let access = match fields.get("access") {
            None | Some(Value::Null) => Access::Public,
            Some(Value::String(access)) if access == "public" => Access::Public,
            Some(Value::String(access)) if access == "private" => Access::Private,
            // Taken for public, a private one would be asked for without its token.
            Some(_) => return Err("`access` is neither `public` nor `private`".to_owned()),
        };
        let private_repo = text_of(fields, "private_repo")?.map(str::to_owned);
        if private_repo.as_deref().is_some_and(|repository| !is_repository(repository)) {
            return Err("`private_repo` is not OWNER/REPOSITORY".to_owned());
        }
        let parts =
            PartKind::IN_CATALOGS.into_iter().filter_map(|kind| Part::of_entry(fields, kind).transpose());
        let parts: Vec<Part> = parts.collect::<Result<_, _>>()?;
        if let Some(part) = parts.iter().find(|part| !is_address_text(&part.url)) {
            return Err(format!("`{}_url` is not an address", part.kind.key()));
        }
        let text = |key: &str| fields.get(key).and_then(Value::as_str).map(shown).unwrap_or_default();
        let note = |key: &str| Some(text(key)).filter(|text| !text.is_empty());
        let tags = fields.get("tags").and_then(Value::as_array).into_iter().flatten().take(LIST_MAX);
        let tags: Vec<String> = tags.filter_map(Value::as_str).map(shown).collect();
        let mut entry = Self {
            kind,
            id: id.to_owned(),
            publisher,
            name: Some(text("name")).filter(|name| !name.is_empty()).unwrap_or_else(|| id.to_owned()),
            version,
            available_versions: available_versions(fields)?,
            summary: text("summary"),
            tagline: text("tagline"),
            category: text("category"),
            tags,
            license: text("license"),
            quality_tier: text("quality_tier"),
            access,
            private_repo,
            auth_hint: note("auth_hint"),
            access_note: note("access_note"),
            source: federation_source(fields)?,
            parts,
            document: raw.to_owned(),
            words: Words::default(),
        };
        entry.words = Words::of(&entry);
        Ok(entry)
    }

    /// `@publisher/id`, or the id alone where nobody is named.
    #[must_use]
    pub fn full_name(&self) -> String {
        match &self.publisher {
            Some(publisher) => format!("{publisher}/{}", self.id),
            None => self.id.clone(),
        }
    }

    /// The entry as it stands in the catalog, every field of it.
    #[must_use]
    pub fn document(&self) -> &RawValue {
        &self.document
    }

    /// The file of this kind.
    #[must_use]
    pub fn part(&self, kind: PartKind) -> Option<&Part> {
        self.parts.iter().find(|part| part.kind == kind)
    }

    /// The version that is meant, the current one when none is named.
    pub fn resolve_version(&self, version: Option<&str>) -> Result<&str, Failure> {
        let Some(version) = version else { return Ok(&self.version) };
        self.versions().into_iter().find(|known| *known == version).ok_or_else(|| {
            let message =
                format!("{} is there in {}, not in {version}", self.full_name(), self.versions().join(", "));
            Failure::new(Reason::UnknownVersion, message)
        })
    }

    /// Every version that can be asked for, the current one first.
    #[must_use]
    pub fn versions(&self) -> Vec<&str> {
        let others = self.available_versions.iter().map(|other| other.version.as_str());
        std::iter::once(self.version.as_str()).chain(others.filter(|other| *other != self.version)).collect()
    }
}

/// The text of a key; nothing for one that is absent, null or empty.
pub(super) fn text_of<'a>(fields: &'a Map<String, Value>, key: &str) -> Result<Option<&'a str>, String> {
    match fields.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str()).filter(|text| !text.is_empty())),
        Some(_) => Err(format!("`{key}` is not text")),
    }
}

/// The publisher that an entry names, or that stands in its longer name.
fn publisher_of(fields: &Map<String, Value>) -> Result<Option<String>, String> {
    if let Some(publisher) = text_of(fields, "publisher")? {
        let fits = is_publisher(publisher).then(|| publisher.to_owned());
        return fits.map(Some).ok_or_else(|| "`publisher` is not @NAME".to_owned());
    }
    let longer = fields.get("manifest_name").and_then(Value::as_str).and_then(|name| name.split_once('/'));
    Ok(longer.map(|(publisher, _)| publisher).filter(|name| is_publisher(name)).map(str::to_owned))
}

fn available_versions(fields: &Map<String, Value>) -> Result<Vec<AvailableVersion>, String> {
    let listed = match fields.get("available_versions") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(listed)) => listed,
        Some(_) => return Err("`available_versions` is not a list".to_owned()),
    };
    let mut versions = Vec::new();
    for listed in listed.iter().take(LIST_MAX) {
        let (version, own) = match listed {
            Value::String(version) => (Some(version.as_str()), None),
            Value::Object(own) => (own.get("version").and_then(Value::as_str), Some(own)),
            _ => (None, None),
        };
        let version = version.filter(|version| is_version(version));
        let version = version.ok_or("`available_versions` names something that is not a version")?;
        let mut sha256 = BTreeMap::new();
        for (own, kind) in own.iter().flat_map(|own| PartKind::IN_CATALOGS.map(|kind| (own, kind))) {
            if let Some(digest) = digest_of(own, kind)? {
                sha256.insert(kind, digest);
            }
        }
        versions.push(AvailableVersion { version: version.to_owned(), sha256 });
    }
    Ok(versions)
}

fn federation_source(fields: &Map<String, Value>) -> Result<Option<FederationSource>, String> {
    let source = match fields.get("source") {
        Some(Value::Object(source)) if source.get("type").and_then(Value::as_str) == Some("federation") => {
            source
        }
        // Some entries say in words where they come from.
        _ => return Ok(None),
    };
    let repo = text_of(source, "repo")?
        .filter(|repo| is_repository(repo))
        .ok_or("`source.repo` is not OWNER/REPOSITORY")?;
    let reference = text_of(source, "ref")?.unwrap_or("main");
    if !is_reference(reference) {
        return Err("`source.ref` is not a branch, tag or commit".to_owned());
    }
    let path = text_of(source, "path")?.unwrap_or_default().trim_matches('/');
    if !path.is_empty() && !is_inner_path(path) {
        return Err("`source.path` is not a folder in a repository".to_owned());
    }
    let commit_sha = text_of(source, "commit_sha")?;
    if commit_sha.is_some_and(|commit| !is_commit(commit)) {
        return Err("`source.commit_sha` is not a commit".to_owned());
    }
    Ok(Some(FederationSource {
        repo: repo.to_owned(),
        reference: reference.to_owned(),
        path: path.to_owned(),
        commit_sha: commit_sha.map(str::to_ascii_lowercase),
    }))
}

/// Wider than for new apps: existing ids may have dashes.
pub(super) fn is_id(text: &str) -> bool {
    let is_fine =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-');
    text.len() <= NAME_BYTES_MAX
        && text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.bytes().all(is_fine)
}

pub(super) fn is_publisher(text: &str) -> bool {
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    text.strip_prefix('@').is_some_and(|name| {
        (1..=NAME_BYTES_MAX).contains(&name.len()) && !name.starts_with('-') && name.bytes().all(is_fine)
    })
}

pub(super) fn is_version(text: &str) -> bool {
    let is_number =
        |part: &str| (1..=9).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = text.split('.').collect();
    parts.len() == 3 && parts.into_iter().all(is_number)
}

/// `owner/repository`, each one plain component.
pub(crate) fn is_repository(text: &str) -> bool {
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    let is_part = |part: &str| {
        (1..=NAME_BYTES_MAX).contains(&part.len()) && part != "." && part != ".." && part.bytes().all(is_fine)
    };
    text.split_once('/').is_some_and(|(owner, name)| is_part(owner) && is_part(name))
}

/// A branch or tag of one component, or a commit.
pub(crate) fn is_reference(text: &str) -> bool {
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b'/');
    (1..=255).contains(&text.len()) && text.bytes().all(is_fine) && is_inner_path(text)
}

pub(crate) fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A path that stays below where it begins, as it stands and however it is decoded.
pub(crate) fn is_inner_path(text: &str) -> bool {
    let is_fine = |part: &str| {
        let hidden = part.starts_with('.') || part.is_empty();
        !hidden
            && part.chars().all(|character| {
                !character.is_control() && !matches!(character, '\\' | ':' | '%' | '?' | '#')
            })
    };
    text.len() <= ADDRESS_BYTES_MAX && text.split('/').all(is_fine)
}

pub(super) fn is_address_text(text: &str) -> bool {
    text.len() <= ADDRESS_BYTES_MAX && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Text of a stranger as it may stand in a terminal: no control characters, nothing that turns it around.
pub(crate) fn shown(text: &str) -> String {
    let clean = |character: char| if character.is_control() { ' ' } else { character };
    text.chars().filter(|character| !is_invisible(*character)).map(clean).take(SHOWN_CHARACTERS_MAX).collect()
}

/// Characters that are not seen, and change how others are.
pub(super) fn is_invisible(character: char) -> bool {
    matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}
