//! The catalogs of a home, in their order: `sources.json` in the folder of catalogs.
//!
//! A home begins with the official catalog. `RAPPSTORE_URL` puts another address in its place for as long as it is set.
//! The registry of agents and the catalog of senses come last; their addresses are settings.

use super::{
    entry::shown,
    places::Places,
    repository_address::RepositoryAddress,
    web_address::{self, Reach},
};
use crate::atomic_file;
use roost_protocol::{Digest, Failure, Reason};
use serde::{Deserialize, Serialize, Serializer};
use std::{
    fmt,
    fs::{File, OpenOptions},
    io,
    path::{Path, PathBuf},
};

/// More sources than anybody reads through.
const SOURCES_MAX: usize = 64;

/// A list above this is not one we wrote.
const LIST_BYTES_MAX: u64 = 1 << 20;

/// Name of the source that everybody begins with.
const OFFICIAL: &str = "official";

/// Name of the registry of agents.
pub const AGENT_REGISTRY: &str = "rar";

/// Name of the catalog of senses.
pub const SENSE_REGISTRY: &str = "senses";

/// Where a catalog is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CatalogAddress {
    /// The address of an `index.json`.
    Url(String),
    /// A folder with an `index.json` in it.
    Folder(PathBuf),
}

impl CatalogAddress {
    /// Reads an address as a person writes it: of an `index.json`, of the folder it is in, of a repository, or a path.
    pub fn parse(text: &str, places: &Places) -> Result<Self, Failure> {
        let text = text.trim();
        if !text.contains("://") {
            let path = std::path::absolute(text)
                .map_err(|error| Failure::new(Reason::AddressRefused, format!("{}: {error}", shown(text))))?;
            let path = if path.ends_with("index.json") {
                path.parent().map(Path::to_owned).unwrap_or(path)
            } else {
                path
            };
            return Ok(Self::Folder(path));
        }
        if RepositoryAddress::is_meant(text) {
            let RepositoryAddress { repo, reference, path } = RepositoryAddress::parse(text)?;
            let folder = if path.is_empty() || path.ends_with(".json") { path } else { format!("{path}/") };
            let file = if folder.ends_with(".json") { folder } else { format!("{folder}index.json") };
            return Ok(Self::Url(places.raw_file(&repo, &reference, &file)));
        }
        let url = web_address::parse(text, Reach::Anywhere)?;
        if url.query().is_some() || url.fragment().is_some() {
            let message = format!("the address of a catalog has no query: {}", web_address::shown(&url));
            return Err(Failure::new(Reason::AddressRefused, message));
        }
        let text = url.as_str();
        let is_file = url.path().ends_with(".json");
        Ok(Self::Url(if is_file {
            text.to_owned()
        } else {
            format!("{}/index.json", text.trim_end_matches('/'))
        }))
    }

    /// Which computers its entries may name.
    pub(super) fn reach(&self) -> Reach {
        let is_elsewhere = match self {
            Self::Folder(_) => false,
            Self::Url(url) => {
                !web_address::parse(url, Reach::Anywhere).is_ok_and(|url| web_address::is_loopback(&url))
            }
        };
        if is_elsewhere { Reach::Elsewhere } else { Reach::Anywhere }
    }

    /// Tells what was kept of one address from what was kept of another.
    pub(super) fn mark(&self) -> String {
        Digest::of(self.to_string().as_bytes()).short()
    }
}

impl fmt::Display for CatalogAddress {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(url) => to.write_str(url),
            Self::Folder(path) => write!(to, "{}", path.display()),
        }
    }
}

impl Serialize for CatalogAddress {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A catalog and what it is called here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CatalogSource {
    /// Its name here.
    pub id: String,
    /// Where it is.
    pub address: CatalogAddress,
}

/// Addresses that somebody named in place of the published ones.
#[derive(Debug, Clone, Copy, Default)]
pub struct NamedSources<'a> {
    /// The catalog that everybody begins with.
    pub official: Option<&'a str>,
    /// The registry of agents; an empty text means none.
    pub agents: Option<&'a str>,
    /// The catalog of senses; an empty text means none.
    pub senses: Option<&'a str>,
}

/// Where a new source goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// Before all others, so that its ids count.
    First,
    /// After all others.
    Last,
}

/// The file.
#[derive(Debug, Serialize, Deserialize)]
struct Written {
    sources: Vec<WrittenSource>,
}

#[derive(Debug, Serialize, Deserialize)]
struct WrittenSource {
    id: String,
    /// Absent for the official one, whose address comes from the settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    address: Option<String>,
}

/// The list of one home.
#[derive(Debug, Clone)]
pub(super) struct SourceList {
    folder: PathBuf,
    places: Places,
    official: CatalogAddress,
    /// A person named the official one for this run: then it is there, also if it was removed.
    is_overridden: bool,
    registries: Vec<Registry>,
}

/// A source that comes from the settings and stands in no list.
#[derive(Debug, Clone)]
struct Registry {
    source: CatalogSource,
    /// What it is called in the settings.
    setting: &'static str,
    is_named: bool,
}

impl SourceList {
    pub(super) fn new(folder: PathBuf, places: Places, named: NamedSources<'_>) -> Result<Self, Failure> {
        let address = |text: Option<&str>, variable: &str, published: String| match text {
            Some(text) => CatalogAddress::parse(text, &places).map_err(|failure| Failure {
                message: format!("{variable}: {}", failure.message),
                ..failure
            }),
            None => Ok(CatalogAddress::Url(published)),
        };
        let official = address(named.official, "RAPPSTORE_URL", places.official_catalog())?;
        let mut registries = Vec::new();
        for (id, setting, variable, text, published) in [
            (AGENT_REGISTRY, "agents", "RAR_URL", named.agents, places.agent_registry()),
            (SENSE_REGISTRY, "senses", "SENSESTORE_URL", named.senses, places.sense_registry()),
        ] {
            if text.is_some_and(|text| text.trim().is_empty()) {
                continue;
            }
            let source = CatalogSource { id: id.to_owned(), address: address(text, variable, published)? };
            registries.push(Registry { source, setting, is_named: text.is_some() });
        }
        Ok(Self { folder, places, official, is_overridden: named.official.is_some(), registries })
    }

    /// Every source in its order.
    pub(super) fn read(&self) -> Result<Vec<CatalogSource>, Failure> {
        let mut sources = Vec::new();
        for WrittenSource { id, address } in self.written()?.sources {
            let address = match address {
                None => self.official.clone(),
                Some(text) => CatalogAddress::parse(&text, &self.places)?,
            };
            sources.push(CatalogSource { id, address });
        }
        if self.is_overridden && !sources.iter().any(|source| source.id == OFFICIAL) {
            sources.insert(0, CatalogSource { id: OFFICIAL.to_owned(), address: self.official.clone() });
        }
        // Whoever does without the published catalog, or has another in its place, asks nothing of what belongs to it.
        let is_published = !self.is_overridden && sources.iter().any(|source| source.id == OFFICIAL);
        for Registry { source, is_named, .. } in &self.registries {
            let is_known =
                sources.iter().any(|known| known.id == source.id || known.address == source.address);
            if (*is_named || is_published) && !is_known {
                sources.push(source.clone());
            }
        }
        Ok(sources)
    }

    /// Adds a source. The same address is not added twice.
    pub(super) fn add(
        &self,
        address: CatalogAddress,
        name: Option<&str>,
        position: Position,
    ) -> Result<CatalogSource, Failure> {
        let _lock = self.lock()?;
        let known = self.read()?;
        let exists = |message: String| Failure::new(Reason::AlreadyExists, message);
        if let Some(same) = known.iter().find(|source| source.address == address) {
            let message = format!("the catalog is already there as {}", same.id);
            return Err(exists(message).with_next(format!("roost store refresh {}", same.id)));
        }
        if known.len() >= SOURCES_MAX {
            return Err(Failure::new(Reason::WrongUse, format!("a home has at most {SOURCES_MAX} catalogs")));
        }
        let id = match name {
            Some(name) if is_source_id(name) => name.to_owned(),
            Some(name) => {
                let message = format!("`{}` cannot be the name of a catalog", shown(name));
                return Err(Failure::new(Reason::WrongUse, message)
                    .with_next("use lower-case letters, digits and dashes, at most 32"));
            }
            None => free_name(&address, &known),
        };
        if known.iter().any(|source| source.id == id) {
            return Err(exists(format!("there is already a catalog of the name {id}"))
                .with_next("choose another with --name"));
        }
        let mut written = self.written()?;
        let added = WrittenSource { id: id.clone(), address: Some(address.to_string()) };
        match position {
            Position::First => written.sources.insert(0, added),
            Position::Last => written.sources.push(added),
        }
        self.write(&written)?;
        Ok(CatalogSource { id, address })
    }

    /// Forgets a source.
    pub(super) fn remove(&self, id: &str) -> Result<(), Failure> {
        let _lock = self.lock()?;
        let mut written = self.written()?;
        let before = written.sources.len();
        written.sources.retain(|source| source.id != id);
        if written.sources.len() == before {
            let registry = self.registries.iter().find(|registry| registry.source.id == id);
            if let Some(Registry { setting, .. }) = registry {
                let message = format!("{id} comes from the settings, and is in no list");
                return Err(Failure::new(Reason::WrongUse, message)
                    .with_next(format!("write `{setting} = \"\"` into [store] of roost.toml")));
            }
            return Err(Failure::new(Reason::UnknownCatalog, format!("there is no catalog `{}`", shown(id))));
        }
        self.write(&written)
    }

    fn path(&self) -> PathBuf {
        self.folder.join("sources.json")
    }

    fn written(&self) -> Result<Written, Failure> {
        let path = self.path();
        let unusable = |why: String| {
            Failure::new(Reason::CatalogUnavailable, format!("{}: {why}", path.display())).with_next(format!(
                "restore {}, or remove it to begin with the official catalog",
                path.display()
            ))
        };
        let text = match read_small(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Written {
                    sources: vec![WrittenSource { id: OFFICIAL.to_owned(), address: None }],
                });
            }
            Err(error) => return Err(unusable(error.to_string())),
        };
        let written: Written = serde_json::from_str(&text).map_err(|error| unusable(error.to_string()))?;
        if written.sources.len() > SOURCES_MAX
            || !written.sources.iter().all(|source| is_source_id(&source.id))
        {
            return Err(unusable("it does not hold a list of catalogs".to_owned()));
        }
        Ok(written)
    }

    fn write(&self, written: &Written) -> Result<(), Failure> {
        let bytes = serde_json::to_vec_pretty(written).map_err(io::Error::other);
        bytes
            .and_then(|bytes| atomic_file::replace(&self.path(), &bytes))
            .map_err(|error| self.unwritable(&error))
    }

    /// One change at a time, across processes; the kernel gives the lock back when its holder dies.
    fn lock(&self) -> Result<File, Failure> {
        let take = || {
            std::fs::create_dir_all(&self.folder)?;
            let file =
                OpenOptions::new().create(true).truncate(false).write(true).open(self.folder.join("lock"))?;
            file.lock().map(|()| file)
        };
        take().map_err(|error| self.unwritable(&error))
    }

    fn unwritable(&self, error: &io::Error) -> Failure {
        Failure::new(Reason::HomeUnusable, format!("{}: {error}", self.folder.display()))
    }
}

fn read_small(path: &Path) -> io::Result<String> {
    use io::Read as _;
    let mut text = String::new();
    File::open(path)?.take(LIST_BYTES_MAX).read_to_string(&mut text)?;
    Ok(text)
}

/// One safe name of a file.
pub(super) fn is_source_id(text: &str) -> bool {
    let is_fine = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=32).contains(&text.len()) && !text.starts_with('-') && text.bytes().all(is_fine)
}

/// A name from the address that nobody has yet.
fn free_name(address: &CatalogAddress, known: &[CatalogSource]) -> String {
    let text = address.to_string();
    let text = text.trim_end_matches("/index.json");
    let text = text.split_once("://").map_or(text, |(_, rest)| rest);
    let last = text.rsplit('/').find(|part| !matches!(*part, "" | "main" | "master")).unwrap_or_default();
    let slug: String = last
        .chars()
        .map(|character| if character.is_ascii_alphanumeric() { character.to_ascii_lowercase() } else { '-' })
        .take(24)
        .collect();
    let slug = Some(slug.trim_matches('-').to_owned())
        .filter(|slug| !slug.is_empty())
        .unwrap_or("catalog".to_owned());
    let is_free = |name: &String| !known.iter().any(|source| source.id == *name);
    let numbered = (2..=SOURCES_MAX + 2).map(|number| format!("{slug}-{number}"));
    std::iter::once(slug.clone()).chain(numbered).find(is_free).unwrap_or(slug)
}
