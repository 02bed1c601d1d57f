//! Where an app is installed from, as a person writes it, and bringing it from there.

use crate::{
    catalogs::{EntryName, RepositoryAddress},
    host::Host,
};
use roost_apps::{
    AgentFile, Arrival, Bundle, ContainerLimits, Submission,
    library::{AppOrigin, Egg, Package, package_refused},
    look_at,
    native::{NativeArrival, NativeError, NativeId, NativePackage, look_for_native},
    read_zip,
};
use roost_protocol::{Failure, Reason};
use std::path::{Path, PathBuf};

/// Endings that only files have: a text with one of them is a path, not the id of an app.
const FILE_ENDINGS: [&str; 6] = [".py", ".ts", ".js", ".zip", ".egg", ".napp"];

/// Where an app is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstallSource {
    /// A file, a folder or a zip of this machine, absolute.
    Path(PathBuf),
    /// An app of a catalog, or an agent of a registry where no catalog has an app of this id.
    Entry(EntryName),
    /// An agent of a registry.
    Agent(EntryName),
    /// A repository.
    Repository(RepositoryAddress),
    /// One agent file, or the package of a native app, at an address.
    File(String),
    /// A native app of a store that this home believes.
    Store(StoreApp),
}

/// A native app of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreApp {
    /// Its id.
    pub id: String,
    /// One version; the newest where none is named.
    pub version: Option<String>,
    /// Which store; the first that has it where none is named.
    pub store: Option<String>,
}

impl InstallSource {
    /// Reads what a person wrote. Paths must be absolute by now.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let text = text.trim();
        if text.contains("://") {
            return match RepositoryAddress::is_meant(text) {
                true => RepositoryAddress::parse(text).map(Self::Repository),
                false => Ok(Self::File(text.to_owned())),
            };
        }
        if text.starts_with('/') {
            return Ok(Self::Path(PathBuf::from(text)));
        }
        if Self::is_path(text) {
            let message = format!("`{}` is not an absolute path", text.escape_debug());
            return Err(Failure::new(Reason::WrongUse, message));
        }
        // Ids in catalogs have no dots, and those of native apps do by convention.
        let (id, version) = text.split_once('@').map_or((text, None), |(id, version)| (id, Some(version)));
        if id.contains('.') && NativeId::parse(id).is_some() {
            let (id, version) = (id.to_owned(), version.map(str::to_owned));
            return Ok(Self::Store(StoreApp { id, version, store: None }));
        }
        EntryName::parse(text).map(Self::Entry)
    }

    /// The package of a native app at this address; nothing where the address is none of a package.
    pub(super) fn package_at(url: &str) -> Option<Self> {
        (url.contains("://") && is_package(url)).then(|| Self::File(url.to_owned()))
    }

    /// True for a text that can only be a path.
    #[must_use]
    pub fn is_path(text: &str) -> bool {
        let has_ending = FILE_ENDINGS.iter().any(|ending| text.ends_with(ending));
        let is_address = text.contains("://");
        let is_name = text.starts_with('@') && text.matches('/').count() == 1;
        !is_address && (text.starts_with(['.', '/', '~']) || (text.contains('/') && !is_name) || has_ending)
    }
}

/// An app that was brought, and the state that came with it.
#[derive(Debug, Clone)]
pub(crate) struct Brought {
    pub(crate) package: Package,
    pub(crate) state: Vec<(String, Vec<u8>)>,
}

impl From<Package> for Brought {
    fn from(package: Package) -> Self {
        Self { package, state: Vec::new() }
    }
}

/// Brings an app. Nothing is written.
pub(crate) async fn bring(host: &Host, source: &InstallSource) -> Result<Brought, Failure> {
    match source {
        InstallSource::Path(path) => {
            let path = path.clone();
            let read = tokio::task::spawn_blocking(move || of_path(&path)).await;
            match read.map_err(|error| Failure::new(Reason::Internal, error.to_string()))?? {
                Found::App(brought) => Ok(*brought),
                Found::Program(package, origin) => {
                    let verified = host.library().believe(*package).await?;
                    Package::from_verified(&verified, origin).map(Brought::from)
                }
            }
        }
        InstallSource::Store(wanted) => host.library().fetch_from_store(wanted).await.map(Brought::from),
        InstallSource::File(url) if is_package(url) => {
            let origin = AppOrigin::File { url: url.clone() };
            host.library().fetch_from_address(url, origin).await.map(Brought::from)
        }
        InstallSource::Entry(name) => {
            Package::from_fetched(host.catalogs()?.fetch(name).await?).map(Brought::from)
        }
        InstallSource::Agent(name) => {
            Package::from_fetched(host.catalogs()?.fetch_agent(name).await?).map(Brought::from)
        }
        InstallSource::Repository(address) => {
            let fetched = host.catalogs()?.fetcher().await?.fetch_repository(address).await?;
            Package::from_fetched(fetched).map(Brought::from)
        }
        InstallSource::File(url) => {
            let fetched = host.catalogs()?.fetcher().await?.fetch_file(url).await?;
            Package::from_fetched(fetched).map(Brought::from)
        }
    }
}

/// What a path holds.
enum Found {
    App(Box<Brought>),
    Program(Box<NativePackage>, AppOrigin),
}

fn of_path(path: &Path) -> Result<Found, Failure> {
    let shown = path.display().to_string();
    let origin = AppOrigin::Path { path: shown.clone() };
    if let Some(arrival) = look_for_native(path)? {
        let package = match arrival {
            NativeArrival::Napp(bytes) => NativePackage::from_napp(&bytes),
            NativeArrival::Folder => NativePackage::from_folder(path),
        };
        let package = package.map_err(|errors| program_refused(&shown, &errors))?;
        return Ok(Found::Program(Box::new(package), origin));
    }
    let brought = match look_at(path)? {
        Arrival::File => Package::from_file(&AgentFile::read(path)?).map(Brought::from),
        Arrival::Folder => {
            let bundle = Bundle::from_folder(path, &Submission::default());
            let bundle = bundle.map_err(|errors| package_refused(&shown, &errors))?;
            Package::from_bundle(&bundle, origin).map(Brought::from)
        }
        Arrival::Zip(bytes) => of_zip(&bytes, &shown, origin),
    };
    brought.map(|brought| Found::App(Box::new(brought)))
}

/// True for an address whose file is called as packages are.
fn is_package(url: &str) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    path.to_ascii_lowercase().ends_with(".napp")
}

/// The refusal of a package, with every code.
pub(super) fn program_refused(name: &str, errors: &[NativeError]) -> Failure {
    let told: Vec<String> =
        errors.iter().take(5).map(|error| format!("{}: {}", error.code.as_str(), error.message)).collect();
    let more = errors.len().saturating_sub(told.len());
    let more = if more == 0 { String::new() } else { format!("; and {more} more") };
    Failure::new(Reason::PackageInvalid, format!("{name}: {}{more}", told.join("; ")))
}

/// A zip: what a host exported, or a bundle that passes the whole gate.
pub(crate) fn of_zip(bytes: &[u8], shown: &str, origin: AppOrigin) -> Result<Brought, Failure> {
    if let Ok(files) = read_zip(bytes, &ContainerLimits::BUNDLE)
        && let Some(Egg { package, state }) = Egg::from_files(&files, origin.clone())?
    {
        return Ok(Brought { package, state });
    }
    let bundle = Bundle::from_zip(bytes, &Submission::default());
    let bundle = bundle.map_err(|errors| package_refused(shown, &errors))?;
    Package::from_bundle(&bundle, origin).map(Brought::from)
}

#[cfg(test)]
mod tests {
    use super::InstallSource;

    #[test]
    fn what_a_person_writes_is_one_of_five_things() {
        let kind = |text: &str| match InstallSource::parse(text) {
            Ok(InstallSource::Path(_)) => "path",
            Ok(InstallSource::Entry(_) | InstallSource::Agent(_)) => "entry",
            Ok(InstallSource::Repository(_)) => "repository",
            Ok(InstallSource::File(_)) => "file",
            Ok(InstallSource::Store(_)) => "store",
            Err(_) => "refused",
        };
        for (text, expected) in [
            ("/a/tea_agent.py", "path"),
            ("tea", "entry"),
            ("@ada/tea", "entry"),
            ("tea@1.0.0", "entry"),
            ("@ada/tea@1.0.0", "entry"),
            ("https://github.com/ada/tea", "repository"),
            ("https://github.com/ada/tea/tree/main/apps/tea", "repository"),
            ("https://example.org/tea_agent.py", "file"),
            ("com.example.tea", "store"),
            ("com.example.tea@1.0.0", "store"),
            ("/a/com.example.tea-1.0.0.napp", "path"),
            ("tea.napp", "refused"),
            ("com.example..tea", "refused"),
            ("./tea", "refused"),
            ("tea.zip", "refused"),
            ("a/b", "refused"),
            ("../tea", "refused"),
            ("https://github.com/..", "refused"),
            ("", "refused"),
            ("Tea", "refused"),
        ] {
            assert_eq!(kind(text), expected, "{text}");
        }
    }
}
