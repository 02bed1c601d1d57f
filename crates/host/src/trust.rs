//! Keys to sign with and whom this home believes, for those who show and use them: files in `keys/` and what stores
//! say. The decision itself is made in `apps::native`; a file that cannot be read makes it a refusal.

mod signing_keys; // keys to sign with
mod listing; // the same as every surface shows it

pub use self::{
    listing::{StoreListing, TrustListing, VerifiedListing},
    signing_keys::SigningKeyListing,
};

use crate::{
    gate::Disk,
    library::StoreQuery,
    settings::{Home, HostSettings},
    vault::guarded_file::{self, Refused},
};
use jiff::{SignedDuration, Timestamp};
use roost_apps::{
    ContainerLimits, LockFile,
    catalog::{Web, WebLimits},
    native::{
        KEY_LIST_BYTES_MAX, KeyList, NativePackage, PublicKey, REVOCATIONS_BYTES_MAX, Revocations, TrustList,
        TrustedPublisher, TrustedStore, VerifiedPackage,
    },
};
use roost_chat::ProxySettings;
use roost_protocol::{Failure, Reason};
use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::sync::OnceCell;

/// Larger is not a file of ours: a hundred stores with the largest lists stay below it.
const TRUST_BYTES_MAX: u64 = 128 << 20;
/// How long another process may hold the lock; it only writes a file.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(10);
/// How long a store may take to answer.
const STORE_WAIT_MAX: Duration = Duration::from_secs(5);
/// How long a package may take to arrive: 600 MiB over a slow line.
const PACKAGE_WAIT_MAX: Duration = Duration::from_secs(5 * 60);
/// Largest description of one app in a store.
const DETAIL_BYTES_MAX: usize = 1 << 20;
/// Longest text that a store is asked for.
const QUERY_BYTES_MAX: usize = 200;
/// How often it is noted how late it is, so that a clock that is set back is noticed.
const NOTED_EVERY: SignedDuration = SignedDuration::from_hours(1);
/// Most stores and publishers.
const TRUSTED_MAX: usize = 100;
/// Longest name of a publisher or a key.
const NAME_CHARACTERS_MAX: usize = 120;

/// What a home signs with and whom it believes. Opening it reads nothing and asks nobody.
#[derive(Debug)]
pub struct HostTrust {
    folder: PathBuf,
    proxy: Option<ProxySettings>,
    web: OnceCell<Web>,
}

impl HostTrust {
    /// That of a home, also without a host.
    #[must_use]
    pub fn open(settings: &HostSettings) -> Self {
        Self::of(&settings.home, settings.models.proxy.clone())
    }

    fn of(home: &Home, proxy: Option<ProxySettings>) -> Self {
        Self { folder: home.keys(), proxy, web: OnceCell::new() }
    }

    /// Whether somebody whom this home believes vouches for the package now.
    pub async fn verify(&self, package: NativePackage) -> Result<VerifiedPackage, Failure> {
        let now = Timestamp::now();
        let trust = self.read()?;
        let verified = trust.verify(package, now)?;
        if trust.latest.is_none_or(|latest| now.duration_since(latest) > NOTED_EVERY) {
            self.change(|trust| {
                trust.saw(now);
                Ok(())
            })
            .await?;
        }
        Ok(verified)
    }

    /// Refuses an app that a store took back, before anything of it is fetched.
    pub(crate) fn check_not_revoked(&self, id: &str) -> Result<(), Failure> {
        self.read()?.check_revocations(id)
    }

    /// Everything that is believed, and the keys to sign with.
    pub fn list(&self) -> Result<TrustListing, Failure> {
        Ok(TrustListing::new(&self.read()?, self.signing_keys()?, Timestamp::now()))
    }

    /// Believes a publisher's key from now on. One that is believed already gets the new name.
    pub async fn trust_publisher(&self, name: &str, key: PublicKey) -> Result<(), Failure> {
        let name = checked_name(name)?;
        self.change(|trust| {
            trust.publishers.retain(|known| known.key.key != key.key);
            if let Some(known) = trust.publishers.iter().find(|known| known.key.id == key.id) {
                let message = format!("{} has another key of the id {}", known.name, key.id);
                return Err(Failure::new(Reason::TrustInvalid, message));
            }
            if trust.publishers.len() >= TRUSTED_MAX {
                let message = format!("more than {TRUSTED_MAX} publishers are not kept");
                return Err(Failure::new(Reason::TrustInvalid, message).with_next("remove some first"));
            }
            trust.publishers.push(TrustedPublisher { name, key });
            Ok(())
        })
        .await
    }

    /// Does not believe the publisher with this key any more.
    pub async fn remove_publisher(&self, id: &str) -> Result<(), Failure> {
        self.change(|trust| {
            let before = trust.publishers.len();
            trust.publishers.retain(|known| known.key.id.as_str() != id);
            if trust.publishers.len() < before { Ok(()) } else { Err(unknown("publisher with the key", id)) }
        })
        .await
    }

    /// Believes a store from now on. One that does not answer with both lists is not added.
    pub async fn add_store(&self, url: &str) -> Result<StoreListing, Failure> {
        let url = url.trim_end_matches('/');
        let lists = self.fetch(url).await?;
        let now = Timestamp::now();
        self.change(|trust| {
            let is_new = trust.stores.iter().all(|store| store.url != url);
            if is_new && trust.stores.len() >= TRUSTED_MAX {
                let message = format!("more than {TRUSTED_MAX} stores are not kept");
                return Err(Failure::new(Reason::TrustInvalid, message).with_next("remove some first"));
            }
            if is_new {
                trust.stores.push(TrustedStore { url: url.to_owned(), keys: None, revocations: None });
            }
            take(trust, url, lists, now)?;
            trust
                .stores
                .iter()
                .find(|store| store.url == url)
                .map(|store| StoreListing::new(store, now))
                .ok_or_else(|| unknown("store", url))
        })
        .await
    }

    /// Asks every store again, or one. A store that fails keeps what it had.
    pub async fn refresh(&self, only: Option<&str>) -> Result<Vec<StoreListing>, Failure> {
        let only = only.map(|url| url.trim_end_matches('/'));
        let known = self.read()?.stores;
        let asked: Vec<String> = known.into_iter().map(|store| store.url).collect();
        let asked: Vec<String> =
            asked.into_iter().filter(|url| only.is_none_or(|only| only == url)).collect();
        if let Some(url) = only.filter(|_| asked.is_empty()) {
            return Err(unknown("store", url));
        }
        let fetched = futures::future::join_all(asked.iter().map(|url| self.fetch(url))).await;
        let mut listed = Vec::new();
        for (url, lists) in asked.iter().zip(fetched) {
            let now = Timestamp::now();
            let taken = match lists {
                Ok(lists) => self.change(|trust| take(trust, url, lists, now)).await,
                Err(failure) => Err(failure),
            };
            let trust = self.read()?;
            let store = trust.stores.iter().find(|store| store.url == *url);
            let store = store.ok_or_else(|| unknown("store", url))?;
            listed.push(StoreListing { reason: taken.err(), ..StoreListing::new(store, now) });
        }
        Ok(listed)
    }

    /// Does not believe the store any more.
    pub async fn remove_store(&self, url: &str) -> Result<(), Failure> {
        let url = url.trim_end_matches('/');
        self.change(|trust| {
            let before = trust.stores.len();
            trust.stores.retain(|store| store.url != url);
            if trust.stores.len() < before { Ok(()) } else { Err(unknown("store", url)) }
        })
        .await
    }

    /// Both lists of a store: one without the other is not taken.
    async fn fetch(&self, url: &str) -> Result<Lists, Failure> {
        let web = self.web().await?;
        let what = format!("the keys of {url}");
        let address = format!("{url}/api/v1/apps/signing-key");
        let keys = web.document(&what, &address, bytes(KEY_LIST_BYTES_MAX)).await?;
        let keys = KeyList::parse(&keys).map_err(|why| invalid(&what, &why))?;
        let what = format!("the revocations of {url}");
        let address = format!("{url}/api/v1/apps/revocations");
        let revocations = web.document(&what, &address, bytes(REVOCATIONS_BYTES_MAX)).await?;
        let revocations = Revocations::parse(&revocations).map_err(|why| invalid(&what, &why))?;
        Ok(Lists { keys, revocations })
    }

    /// What a store says of one app.
    pub(crate) async fn fetch_detail(&self, url: &str, id: &str) -> Result<Vec<u8>, Failure> {
        let what = format!("{id} of {url}");
        let address = format!("{url}/api/v1/apps/{id}");
        self.web().await?.document(&what, &address, DETAIL_BYTES_MAX).await
    }

    /// A page of what a store offers.
    pub(crate) async fn fetch_list(
        &self,
        url: &str,
        query: &StoreQuery,
        page: usize,
        size: usize,
    ) -> Result<Vec<u8>, Failure> {
        let encoded = |text: &Option<String>| {
            let text = text.as_deref().unwrap_or_default();
            text.bytes().take(QUERY_BYTES_MAX).fold(String::new(), |mut to, byte| {
                match byte.is_ascii_alphanumeric() {
                    true => to.push(byte.into()),
                    false => to.push_str(&format!("%{byte:02X}")),
                }
                to
            })
        };
        let (words, category) = (encoded(&query.words), encoded(&query.category));
        let address = format!("{url}/api/v1/apps?q={words}&category={category}&page={page}&pageSize={size}");
        self.web().await?.document(&format!("the apps of {url}"), &address, DETAIL_BYTES_MAX).await
    }

    /// The package at an address. Whether anybody vouches for it is another question.
    pub(crate) async fn fetch_package(&self, url: &str) -> Result<Vec<u8>, Failure> {
        let client = roost_chat::web_client(self.proxy.as_ref()).await?;
        let web = Web::new(client, WebLimits { total: PACKAGE_WAIT_MAX, ..WebLimits::default() });
        web.archive("the package", url, bytes(ContainerLimits::NATIVE.archive_bytes_max)).await
    }

    async fn web(&self) -> Result<&Web, Failure> {
        let make = || async {
            let client = roost_chat::web_client(self.proxy.as_ref()).await?;
            Ok(Web::new(client, WebLimits { total: STORE_WAIT_MAX, ..WebLimits::default() }))
        };
        self.web.get_or_try_init(make).await
    }

    fn read(&self) -> Result<TrustList, Failure> {
        let path = self.path();
        match guarded_file::read(&path, TRUST_BYTES_MAX).map_err(|why| unusable(&path, &why))? {
            None => Ok(TrustList::default()),
            Some(bytes) => TrustList::parse(&bytes)
                .map_err(|why| unusable(&path, &Refused::Unreadable(io::Error::other(why)))),
        }
    }

    /// Changes the file: reads it again under the lock, so that no other process's change is lost.
    async fn change<T>(
        &self,
        change: impl FnOnce(&mut TrustList) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        guarded_file::own_folder(&self.folder).map_err(|why| unusable(&self.folder, &why))?;
        let lock = self.folder.join("trust.lock");
        let taken = tokio::task::spawn_blocking({
            let lock = lock.clone();
            move || LockFile::take(&lock, LOCK_WAIT_MAX)
        });
        let taken = taken.await.map_err(io::Error::other).flatten();
        let _lock = taken.map_err(|error| unusable(&lock, &error.into()))?;
        let mut trust = self.read()?;
        let result = change(&mut trust)?;
        let path = self.path();
        Disk::default().replace(&path, &trust.to_bytes()).map_err(|error| unusable(&path, &error.into()))?;
        Ok(result)
    }

    fn path(&self) -> PathBuf {
        self.folder.join("trust.json")
    }
}

/// What a store says.
struct Lists {
    keys: KeyList,
    revocations: Revocations,
}

fn take(trust: &mut TrustList, url: &str, lists: Lists, now: Timestamp) -> Result<(), Failure> {
    trust.take_keys(url, lists.keys, now)?;
    trust.take_revocations(url, lists.revocations, now)
}

fn checked_name(name: &str) -> Result<String, Failure> {
    let fits = !name.trim().is_empty()
        && name.chars().count() <= NAME_CHARACTERS_MAX
        && !name.chars().any(|character| character.is_control() || roost_protocol::is_hidden(character));
    if fits {
        Ok(name.to_owned())
    } else {
        Err(Failure::new(Reason::WrongUse, "a name is one line of visible characters"))
    }
}

fn bytes(max: u64) -> usize {
    usize::try_from(max).unwrap_or(usize::MAX)
}

fn invalid(what: &str, why: &str) -> Failure {
    Failure::new(Reason::TrustInvalid, format!("{what}: {why}"))
}

fn unknown(what: &str, name: &str) -> Failure {
    Failure::new(Reason::UnknownTrust, format!("there is no {what} {name}"))
}

/// Why a file of the folder cannot be used.
fn unusable(path: &Path, why: &Refused) -> Failure {
    let failure = Failure::new(Reason::TrustUnusable, format!("{}: {why}", path.display()));
    match why {
        Refused::Exposed(_) => {
            failure.with_next(format!("take it from the others: `chmod -R go= {}`", path.display()))
        }
        Refused::Unreadable(_) => failure,
    }
}

#[cfg(test)]
mod tests;
