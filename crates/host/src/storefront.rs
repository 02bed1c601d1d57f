//! A catalog that this machine runs, for those who serve it: submissions with what must be fetched for them, reviews with
//! the sandbox, and approvals. The rules and the files stand in `apps`.

mod review; // everything a maintainer looks at

pub use self::review::{ChangedFile, Review, RightsChange};
pub use roost_apps::storefront::{
    Approval, Finding as ScanFinding, Indexed, IssueText, MadeStoreToken, Mode, NativeShelf, Payload,
    PendingItem, Promoted, Received, Scan, ServedFile, ShelvedApp, StoreError, StoreFacts, StoreTokenListing,
    Storefront, Submitter, write_issue,
};
pub use roost_apps::{BundleError, Code, native::slug as native_slug};

use crate::{
    catalogs::{HostCatalogs, RepositoryAddress},
    settings::HostSettings,
};
use jiff::Timestamp;
use roost_apps::{
    catalog::DeclaredFiles,
    storefront::{Examined, IssueWish},
};
use roost_protocol::{Failure, Reason};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// One store. Clones are the same store.
#[derive(Debug, Clone)]
pub struct HostStorefront {
    store: Storefront,
    catalogs: Arc<HostCatalogs>,
}

impl HostStorefront {
    /// Opens a store. Nothing is fetched before something must be.
    pub fn open(folder: &Path, settings: &HostSettings) -> Result<Self, Failure> {
        let catalogs = Arc::new(HostCatalogs::open(settings)?);
        Ok(Self { store: Storefront::open(folder)?, catalogs })
    }

    /// The store itself.
    #[must_use]
    pub fn store(&self) -> &Storefront {
        &self.store
    }

    /// Takes in a zip.
    pub async fn submit_zip(
        &self,
        zip: Vec<u8>,
        submitter: Submitter,
        payload: Payload,
    ) -> Result<Received, StoreError> {
        let examined = self.apart(move |store| store.examine_zip(&zip, submitter, &payload)).await?;
        self.stage(examined).await
    }

    /// Takes in a folder of this machine.
    pub async fn submit_folder(&self, folder: PathBuf, submitter: Submitter) -> Result<Received, StoreError> {
        let examined = self.apart(move |store| store.examine_folder(&folder, submitter)).await?;
        self.stage(examined).await
    }

    /// Takes in a repository, at the commit that it has now.
    pub async fn submit_repository(
        &self,
        address: RepositoryAddress,
        submitter: Submitter,
        payload: Payload,
    ) -> Result<Received, StoreError> {
        let declared = self.declared(&address).await?;
        let examined = self
            .apart(move |store| store.examine_repository(&address, declared, submitter, &payload))
            .await?;
        self.stage(examined).await
    }

    /// Takes in what an issue asks for.
    pub async fn receive(
        &self,
        number: u64,
        title: String,
        author: String,
        body: Vec<u8>,
    ) -> Result<Received, StoreError> {
        let wish = self
            .apart(move |store| {
                store.read_issue(&IssueText { number, title: &title, author: &author, body: &body })
            })
            .await?;
        match wish {
            IssueWish::Bundle(examined) => self.stage(*examined).await,
            IssueWish::Repository { address, payload, submitter } => {
                self.submit_repository(address, submitter, payload).await
            }
        }
    }

    /// Publishes a submission, after everything about it was looked at once more.
    pub async fn approve(&self, name: &str, approval: Approval) -> Result<Promoted, StoreError> {
        let item = self.item(name).await?;
        let examined = self.reexamined(&item).await?;
        self.probe(&examined).await?;
        self.apart(move |store| store.promote(&item, &examined, &approval, Timestamp::now())).await
    }

    /// Takes a submission away.
    pub async fn reject(&self, name: &str) -> Result<PendingItem, StoreError> {
        let item = self.item(name).await?;
        self.apart(move |store| store.reject(&item).map(|()| item)).await
    }

    /// A file that everybody may read.
    pub async fn served(&self, path: String) -> Result<Option<ServedFile>, Failure> {
        self.apart(move |store| Ok(store.served(&path)?)).await.map_err(plain)
    }

    /// What the store says about native apps.
    pub async fn native_shelf(&self) -> Result<NativeShelf, Failure> {
        self.apart(|store| Ok(store.native_shelf()?)).await.map_err(plain)
    }

    /// The package of a native app; nothing where there is none.
    pub async fn native_package(
        &self,
        id: String,
        version: Option<String>,
    ) -> Result<Option<Vec<u8>>, Failure> {
        self.apart(move |store| Ok(store.native_package(&id, version.as_deref())?)).await.map_err(plain)
    }

    /// Who shows this token.
    pub async fn submitter_of(&self, token: String) -> Result<Submitter, StoreError> {
        let account = self.apart(move |store| Ok(store.account_of_token(&token, Timestamp::now())?)).await?;
        Submitter::account(&account)
    }

    async fn item(&self, name: &str) -> Result<PendingItem, StoreError> {
        let name = name.to_owned();
        self.apart(move |store| store.pending_item(&name)).await
    }

    /// A submission as it is now: its staged files, or its repository at the commit that was looked at.
    async fn reexamined(&self, item: &PendingItem) -> Result<Examined, StoreError> {
        let item = item.clone();
        match item.mode()? {
            Mode::Bundle => self.apart(move |store| store.reexamine_staged(&item)).await,
            Mode::Federation => {
                let address = self.store.pending_repository(&item)?;
                let declared = self.declared(&address).await?;
                self.apart(move |store| store.reexamine_fetched(&item, declared)).await
            }
        }
    }

    async fn stage(&self, examined: Examined) -> Result<Received, StoreError> {
        self.probe(&examined).await?;
        self.apart(move |store| store.stage(&examined, Timestamp::now())).await
    }

    /// A gated bundle is listed only when nobody gets its files without a token.
    async fn probe(&self, examined: &Examined) -> Result<(), StoreError> {
        let addresses = examined.bundle().gated_addresses();
        if addresses.is_empty() {
            return Ok(());
        }
        let fetcher = self.catalogs.fetcher().await?;
        for (key, address) in addresses {
            match fetcher.probe_address(&format!("`{key}`"), address).await {
                Err(failure) if failure.reason == Reason::GatedOpen => {
                    return Err(refused(Code::GateOpen, failure.message));
                }
                probed => probed?,
            }
        }
        Ok(())
    }

    async fn declared(&self, address: &RepositoryAddress) -> Result<DeclaredFiles, StoreError> {
        let fetched = self.catalogs.fetcher().await?.fetch_declared(address).await;
        fetched.map_err(|failure| match failure.reason {
            Reason::FetchMissing | Reason::FetchGarbled | Reason::FetchTooLarge => {
                refused(Code::FetchManifest, failure.message)
            }
            Reason::CommitUnknown => refused(Code::CommitUnknown, failure.message),
            _ => failure.into(),
        })
    }

    /// Reads and writes files, and parses what is in them: not on a thread that others wait for.
    async fn apart<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Storefront) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let store = self.store.clone();
        let done = tokio::task::spawn_blocking(move || work(&store)).await;
        done.map_err(|error| Failure::new(Reason::Internal, error.to_string()))?
    }
}

/// What reading a store cannot be refused for is its own failure.
fn plain(error: StoreError) -> Failure {
    match error {
        StoreError::Failed(failure) => failure,
        StoreError::Refused(_) => Failure::new(Reason::Internal, error.to_string()),
    }
}

fn refused(code: Code, message: String) -> StoreError {
    StoreError::Refused(vec![BundleError { code, message, path: None }])
}
