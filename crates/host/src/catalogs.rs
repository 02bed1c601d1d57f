//! Catalogs of a home, for those who show them: finding apps and fetching them with this host's client, settings and
//! vault. What a catalog is and how it is read stands in `apps`; installing is not done here.

mod store_place; // where a store takes submissions
mod listing; // catalogs and entries as every surface shows them
mod senses; // senses that are in the home
mod secret_name; // what the vault calls a token for a private repository

pub use self::{
    listing::{CatalogListing, FoundEntry, SearchAnswer, ShownEntry, ShownFile},
    secret_name::{gated_secret, gated_secret_label},
    senses::InstalledSense,
    store_place::StorePlace,
};
pub use crate::settings::CatalogSettings;
pub use roost_apps::catalog::{
    Access, CatalogSource, Entry, EntryKind, EntryName, FetchOrigin, FetchedApp, FetchedFile, Fetcher,
    Filters, Freshness, JoinedCatalogs, Offer, Part, PartKind, Places, Position, RepositoryAddress,
    SenseOffer, SourceState, Token,
};

use crate::{
    host::Host,
    settings::HostSettings,
    vault::{Keychain, Vault},
};
use roost_apps::catalog::{Catalogs, FetchedSense, NamedSources, TokenSources, Web, WebLimits};
use roost_chat::ProxySettings;
use roost_protocol::{Failure, Reason};
use std::{sync::Arc, time::Duration};
use tokio::sync::OnceCell;

/// How old a catalog may be before a search brings it up to date.
pub const CATALOG_AGE_MAX: Duration = Duration::from_secs(24 * 3600);

/// The catalogs of one home. Opening it reads nothing and asks nobody.
#[derive(Debug)]
pub struct HostCatalogs {
    catalogs: Arc<Catalogs>,
    places: Places,
    settings: Arc<TokenSettings>,
    proxy: Option<ProxySettings>,
    /// Made at the first use: reading this computer's certificates takes some milliseconds.
    web: OnceCell<Web>,
}

/// Where tokens are looked for.
#[derive(Debug)]
struct TokenSettings {
    host: HostSettings,
    vault: Vault,
}

impl Host {
    /// The catalogs of this home. A wrong address in the settings stops these, and nothing else.
    pub fn catalogs(&self) -> Result<&HostCatalogs, Failure> {
        self.inner.catalogs.as_ref().map_err(Clone::clone)
    }
}

impl HostCatalogs {
    /// The catalogs of a home, also without a host.
    pub fn open(settings: &HostSettings) -> Result<Self, Failure> {
        let written = &settings.catalogs;
        let places = Places::new(written.raw.as_deref(), written.commits.as_deref())?;
        let named = NamedSources {
            official: written.official.as_deref(),
            agents: written.agents.as_deref(),
            senses: written.senses.as_deref(),
        };
        let catalogs = Catalogs::new(settings.home.catalogs(), places.clone(), named)?;
        let vault = Vault::open(&settings.home, Keychain::of(settings));
        Ok(Self {
            catalogs: Arc::new(catalogs),
            places,
            settings: Arc::new(TokenSettings { host: settings.clone(), vault }),
            proxy: settings.models.proxy.clone(),
            web: OnceCell::new(),
        })
    }

    /// Every source and how it stands. Fetches nothing.
    pub async fn list(&self) -> Result<Vec<CatalogListing>, Failure> {
        let joined = self.joined(Freshness::Kept).await?;
        Ok(joined.sources.iter().map(CatalogListing::new).collect())
    }

    /// Adds a source and fetches it. One that cannot be fetched is not added.
    pub async fn add(
        &self,
        address: &str,
        name: Option<&str>,
        position: Position,
    ) -> Result<CatalogListing, Failure> {
        let source = self.catalogs.add(address, name, position)?;
        let fetched = match self.web().await {
            Ok(web) => self.catalogs.fetch(web, &source).await,
            Err(failure) => Err(failure),
        };
        let listed = match fetched {
            Ok(()) => self.list().await?.into_iter().find(|listed| listed.id == source.id),
            Err(failure) => return Err(self.not_added(&source, failure)),
        };
        match listed {
            Some(CatalogListing { state: SourceState::Failed, reason: Some(failure), .. }) => {
                Err(self.not_added(&source, failure))
            }
            Some(listed) => Ok(listed),
            None => Err(Failure::new(Reason::UnknownCatalog, format!("{} was removed meanwhile", source.id))),
        }
    }

    /// Forgets a source and what was kept of it.
    pub fn remove(&self, id: &str) -> Result<(), Failure> {
        self.catalogs.remove(id)
    }

    /// Fetches every source, or one, and says how each stands now. A source that fails keeps what it had.
    pub async fn refresh(&self, only: Option<&str>) -> Result<Vec<CatalogListing>, Failure> {
        let mut sources = self.catalogs.outdated(Freshness::Now)?;
        if let Some(id) = only {
            if !self.catalogs.sources()?.iter().any(|source| source.id == id) {
                return Err(Failure::new(Reason::UnknownCatalog, format!("there is no catalog `{id}`")));
            }
            sources.retain(|source| source.id == id);
        }
        self.fetch_all(&sources).await?;
        let mut listed = self.list().await?;
        listed.retain(|listed| only.is_none_or(|id| id == listed.id));
        Ok(listed)
    }

    /// All catalogs as one, as new as asked. A source that cannot be brought up to date is there as it was.
    pub async fn joined(&self, freshness: Freshness) -> Result<JoinedCatalogs, Failure> {
        let catalogs = Arc::clone(&self.catalogs);
        // Reads and parses files of megabytes.
        let blocking = |error: tokio::task::JoinError| Failure::new(Reason::Internal, error.to_string());
        let outdated =
            tokio::task::spawn_blocking(move || catalogs.outdated(freshness)).await.map_err(blocking)??;
        self.fetch_all(&outdated).await?;
        let catalogs = Arc::clone(&self.catalogs);
        tokio::task::spawn_blocking(move || catalogs.joined()).await.map_err(blocking)?
    }

    /// The entries that fit, the best first, at most `limit`.
    pub async fn search(
        &self,
        query: &str,
        filters: &Filters,
        limit: usize,
        freshness: Freshness,
    ) -> Result<SearchAnswer, Failure> {
        Ok(SearchAnswer::new(&self.joined(freshness).await?, query, filters, limit))
    }

    /// Everything about one app.
    pub async fn show(&self, name: &EntryName, freshness: Freshness) -> Result<ShownEntry, Failure> {
        let joined = self.joined(freshness).await?;
        ShownEntry::new(&joined, joined.find(name)?, name)
    }

    /// Finds an app and fetches its files, with a token where they are private.
    pub async fn fetch(&self, name: &EntryName) -> Result<FetchedApp, Failure> {
        let joined = self.joined(Freshness::AtMost(CATALOG_AGE_MAX)).await?;
        let offer = joined.find(name)?;
        let tokens = self.tokens(&offer.entry).await;
        self.fetcher().await?.fetch_entry(offer, name.version.as_deref(), tokens).await
    }

    /// Finds an agent of a registry and fetches its file.
    pub async fn fetch_agent(&self, name: &EntryName) -> Result<FetchedApp, Failure> {
        let joined = self.joined(Freshness::AtMost(CATALOG_AGE_MAX)).await?;
        let offer = joined.find_agent(name)?;
        self.fetcher().await?.fetch_entry(offer, name.version.as_deref(), TokenSources::default()).await
    }

    /// Finds a sense and fetches its file.
    pub(crate) async fn fetch_sense(&self, name: &EntryName) -> Result<FetchedSense, Failure> {
        let joined = self.joined(Freshness::AtMost(CATALOG_AGE_MAX)).await?;
        let offer = joined.find_sense(name)?;
        self.fetcher().await?.fetch_sense(offer).await
    }

    /// What fetches apps from repositories and addresses, and probes gated ones.
    pub async fn fetcher(&self) -> Result<Fetcher, Failure> {
        Ok(Fetcher::new(self.web().await?.clone(), self.places.clone()))
    }

    /// Where a token for this entry may be; nothing is looked at for a public one.
    async fn tokens(&self, entry: &Entry) -> TokenSources {
        let Some(repository) = entry.private_repo.as_deref().filter(|_| entry.access == Access::Private)
        else {
            return TokenSources::default();
        };
        let TokenSettings { host, vault } = self.settings.as_ref();
        let kept = match gated_secret(repository) {
            Some(name) => vault.get(&name).await,
            None => Ok(None),
        };
        TokenSources {
            gh_hosts: host.catalogs.gh_hosts.clone(),
            github_token: host.variables.get("GITHUB_TOKEN").and_then(|token| Token::parse(token)),
            netrc: host.catalogs.netrc.clone(),
            vault: kept.map(|value| value.and_then(|value| Token::parse(value.expose()))),
        }
    }

    async fn fetch_all(&self, sources: &[CatalogSource]) -> Result<(), Failure> {
        if sources.is_empty() {
            return Ok(());
        }
        let web = self.web().await?;
        let fetches = sources.iter().map(|source| self.catalogs.fetch(web, source));
        for (source, fetched) in sources.iter().zip(futures::future::join_all(fetches).await) {
            if let Err(failure) = fetched {
                // Told to whoever asked, beside the source.
                tracing::info!(%failure, source = source.id, "a catalog could not be fetched");
            }
        }
        Ok(())
    }

    async fn web(&self) -> Result<&Web, Failure> {
        let make = || async {
            let client = roost_chat::web_client(self.proxy.as_ref()).await?;
            Ok(Web::new(client, WebLimits::default()))
        };
        self.web.get_or_try_init(make).await
    }

    fn not_added(&self, source: &CatalogSource, failure: Failure) -> Failure {
        if let Err(error) = self.catalogs.remove(&source.id) {
            tracing::warn!(%error, source = source.id, "forget a catalog that cannot be read");
        }
        failure
    }
}
