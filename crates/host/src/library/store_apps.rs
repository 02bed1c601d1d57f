//! Native apps from stores that this home believes, and packages at an address. What arrives is believed for its
//! signatures alone, wherever it came from.

use super::{
    AppLibrary, LibraryState,
    source::{StoreApp, program_refused},
};
use roost_apps::{
    library::{AppOrigin, AppRecord, Package},
    native::{NativeId, NativePackage, compare_versions},
};
use roost_protocol::{Failure, Reason};
use serde::Deserialize;

/// What a store says of an app.
#[derive(Debug, Deserialize)]
pub(super) struct StoreDetail {
    pub(super) version: String,
}

/// Some stores put it into a field of its own.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum DetailAnswer {
    Inside { app: StoreDetail },
    Plain(StoreDetail),
}

impl AppLibrary {
    /// A native app from the first store that has it.
    pub(super) async fn fetch_from_store(&self, wanted: &StoreApp) -> Result<Package, Failure> {
        if NativeId::parse(&wanted.id).is_none() {
            return Err(Failure::new(Reason::WrongUse, "this is not the id of a native app"));
        }
        let trust = &self.inner().library.trust;
        trust.check_not_revoked(&wanted.id)?;
        let known: Vec<String> = trust.list()?.stores.into_iter().map(|store| store.url).collect();
        let asked: Vec<String> = match &wanted.store {
            // One that is not believed any more vouches for nothing, so nothing is fetched from it.
            Some(url) => known.into_iter().filter(|known| known == url).collect(),
            None => known,
        };
        if asked.is_empty() {
            let message = format!("no store that this home believes could have {}", wanted.id);
            return Err(Failure::new(Reason::UnknownEntry, message)
                .with_next("believe a store with `roost keys store add URL`"));
        }
        let mut refused = None;
        for url in asked {
            match self.fetch_from_one(&url, wanted).await {
                Ok(package) => return Ok(package),
                // That one of them does not have it says nothing; everything else is worth telling.
                Err(failure) if failure.reason == Reason::FetchMissing && refused.is_some() => {}
                Err(failure) => refused = Some(failure),
            }
        }
        Err(refused.unwrap_or_else(|| Failure::plain(Reason::UnknownEntry)))
    }

    /// The package at an address.
    pub(super) async fn fetch_from_address(&self, url: &str, origin: AppOrigin) -> Result<Package, Failure> {
        let bytes = self.inner().library.trust.fetch_package(url).await?;
        let read = tokio::task::spawn_blocking(move || NativePackage::from_napp(&bytes)).await;
        let read = read.map_err(|error| Failure::new(Reason::Internal, error.to_string()))?;
        let package = read.map_err(|errors| program_refused(url, &errors))?;
        Package::from_verified(&self.believe(package).await?, origin)
    }

    /// The newest version in the store an app came from, when that is a later one.
    pub(super) async fn newer_in_store(
        &self,
        app: &AppRecord,
        url: &str,
    ) -> Result<Option<Package>, Failure> {
        let detail = self.detail(url, &app.id).await?;
        if !compare_versions(&detail.version, app.current.shown_version()).is_gt() {
            return Ok(None);
        }
        let wanted =
            StoreApp { id: app.id.clone(), version: Some(detail.version), store: Some(url.to_owned()) };
        self.fetch_from_store(&wanted).await.map(Some)
    }

    async fn fetch_from_one(&self, url: &str, wanted: &StoreApp) -> Result<Package, Failure> {
        let version = match &wanted.version {
            Some(version) => version.clone(),
            None => self.detail(url, &wanted.id).await?.version,
        };
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-+".contains(&byte);
        if !version.bytes().all(is_plain) {
            return Err(Failure::new(Reason::EntryInvalid, format!("{url} names a version that is none")));
        }
        let version = version.replace('+', "%2B");
        let address = format!("{url}/api/v1/apps/{}/download?version={version}", wanted.id);
        let package = self.fetch_from_address(&address, AppOrigin::Store { url: url.to_owned() }).await?;
        if package.id != wanted.id {
            let message = format!("{url} has {} where {} should be", package.id, wanted.id);
            return Err(Failure::new(Reason::EntryInvalid, message));
        }
        Ok(package)
    }

    async fn detail(&self, url: &str, id: &str) -> Result<StoreDetail, Failure> {
        let bytes = self.inner().library.trust.fetch_detail(url, id).await?;
        let answer: DetailAnswer = serde_json::from_slice(&bytes).map_err(|error| {
            Failure::new(Reason::EntryInvalid, format!("what {url} says of {id}: {error}"))
        })?;
        Ok(match answer {
            DetailAnswer::Inside { app } | DetailAnswer::Plain(app) => app,
        })
    }
}

impl LibraryState {
    /// True when this home believes a store.
    pub(crate) fn has_stores(&self) -> bool {
        self.trust.list().is_ok_and(|trust| !trust.stores.is_empty())
    }
}
