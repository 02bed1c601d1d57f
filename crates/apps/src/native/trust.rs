//! Whom a home believes, and the one decision whether a package may be installed or started.
//!
//! Decides from what it is told: lists that were fetched, and the moment it is. Whatever is missing, too old, older than
//! what was seen or from the future is not believed, and what is not believed vouches for nothing.

use super::{
    lists::{KeyList, OlderList, Revocations},
    package::NativePackage,
    public_key::PublicKey,
    signatures::{Covered, KeyId},
};
use jiff::{SignedDuration, Timestamp};
use roost_protocol::{Failure, Reason};

/// How old the keys of a store may be. They change rarely.
pub const KEY_LIST_AGE_MAX: SignedDuration = SignedDuration::from_hours(7 * 24);
/// How old a store's revocations may be: so long can an app run on that was taken back.
pub const REVOCATIONS_AGE_MAX: SignedDuration = SignedDuration::from_hours(24);
/// How far clocks of two machines may be apart.
pub const CLOCK_TOLERANCE: SignedDuration = SignedDuration::from_mins(5);

/// A list, and when it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched<T> {
    /// The list.
    pub list: T,
    /// When it came.
    pub at: Timestamp,
}

/// A publisher whom a person trusts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedPublisher {
    /// What the person calls them.
    pub name: String,
    /// Their key.
    pub key: PublicKey,
}

/// A store whose keys and revocations are believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedStore {
    /// Where it is.
    pub url: String,
    /// Its keys, as they last came.
    pub keys: Option<Fetched<KeyList>>,
    /// What it took back, as it last came.
    pub revocations: Option<Fetched<Revocations>>,
}

/// Everything that a home believes about signatures.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrustList {
    /// Publishers, each with a key.
    pub publishers: Vec<TrustedPublisher>,
    /// Stores, by address.
    pub stores: Vec<TrustedStore>,
    /// The latest moment that was ever seen: no later look may be before it.
    pub latest: Option<Timestamp>,
}

/// A package that somebody vouches for whom this home believes: what installing and starting take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedPackage {
    package: NativePackage,
    /// Which key.
    pub key_id: KeyId,
    /// Whose key it is: a publisher's name, or a store's address.
    pub vouched_by: String,
    /// For how much of it.
    pub covers: Covered,
}

impl VerifiedPackage {
    /// The package.
    #[must_use]
    pub fn package(&self) -> &NativePackage {
        &self.package
    }

    /// The package alone.
    #[must_use]
    pub fn into_package(self) -> NativePackage {
        self.package
    }
}

/// A key of the right name, and whose it is.
struct Candidate<'a> {
    key: &'a PublicKey,
    owner: &'a str,
    store: Option<&'a TrustedStore>,
}

impl TrustList {
    /// Whether somebody whom this home believes vouches for the package at this moment.
    pub fn verify(&self, package: NativePackage, now: Timestamp) -> Result<VerifiedPackage, Failure> {
        self.check_clock(now)?;
        self.check_revocations(package.manifest().id.as_str())?;
        let key_id = package.signatures().map(|signatures| signatures.key_id.clone());
        let key_id =
            key_id.ok_or_else(|| Failure::new(Reason::SignatureMissing, "missing signatures.json"))?;
        let mut refused = self.unknown_key(&key_id, now);
        for candidate in self.candidates(&key_id) {
            match candidate.vouches(&package, now) {
                Ok(covers) => {
                    let (key_id, vouched_by) = (key_id.clone(), candidate.owner.to_owned());
                    return Ok(VerifiedPackage { package, key_id, vouched_by, covers });
                }
                Err(failure) => refused = failure,
            }
        }
        Err(refused)
    }

    /// Refuses an app that any store took back. A list that is too old still says what it says.
    pub fn check_revocations(&self, id: &str) -> Result<(), Failure> {
        let lists = self.stores.iter().filter_map(|store| Some((store, &store.revocations.as_ref()?.list)));
        for (store, list) in lists {
            if list.names(id) {
                let message = format!("{} took {id} back", store.url);
                return Err(Failure::new(Reason::AppRevoked, message));
            }
        }
        Ok(())
    }

    /// Takes a store's keys that came just now.
    pub fn take_keys(&mut self, url: &str, list: KeyList, now: Timestamp) -> Result<(), Failure> {
        self.check_clock(now)?;
        check_issued(list.edition.issued_at, now)?;
        let store = self.store(url)?;
        if let Some(known) = &store.keys {
            list.must_follow(&known.list).map_err(|older| rolled_back(url, "keys", &older))?;
        }
        store.keys = Some(Fetched { list, at: now });
        self.saw(now);
        Ok(())
    }

    /// Takes a store's revocations that came just now.
    pub fn take_revocations(&mut self, url: &str, list: Revocations, now: Timestamp) -> Result<(), Failure> {
        self.check_clock(now)?;
        check_issued(list.edition.issued_at, now)?;
        let store = self.store(url)?;
        if let Some(known) = &store.revocations {
            list.must_follow(&known.list).map_err(|older| rolled_back(url, "revocations", &older))?;
        }
        store.revocations = Some(Fetched { list, at: now });
        self.saw(now);
        Ok(())
    }

    /// Remembers that it was this late once.
    pub fn saw(&mut self, now: Timestamp) {
        self.latest = self.latest.max(Some(now));
    }

    /// A clock that was set back would make an expired key and an old list good again.
    pub fn check_clock(&self, now: Timestamp) -> Result<(), Failure> {
        match self.latest {
            Some(latest) if now.saturating_add(CLOCK_TOLERANCE).is_ok_and(|now| now < latest) => {
                Err(Failure::new(Reason::ClockWentBack, format!("it is {now}, and {latest} was seen before")))
            }
            _ => Ok(()),
        }
    }

    fn store(&mut self, url: &str) -> Result<&mut TrustedStore, Failure> {
        let found = self.stores.iter_mut().find(|store| store.url == url);
        found.ok_or_else(|| {
            Failure::new(Reason::UnknownTrust, format!("{url} is not a store that is trusted"))
        })
    }

    fn candidates<'a>(&'a self, id: &'a KeyId) -> impl Iterator<Item = Candidate<'a>> {
        let publishers = self
            .publishers
            .iter()
            .filter(move |publisher| publisher.key.id == *id)
            .map(|publisher| Candidate { key: &publisher.key, owner: &publisher.name, store: None });
        let stores = self.stores.iter().filter_map(move |store| {
            let keys = &store.keys.as_ref()?.list.keys;
            let key = keys.iter().find(|key| key.id == *id)?;
            Some(Candidate { key, owner: &store.url, store: Some(store) })
        });
        publishers.chain(stores)
    }

    /// What is said when nobody has such a key. A list that is too old may be why.
    fn unknown_key(&self, id: &KeyId, now: Timestamp) -> Failure {
        let stale = self.stores.iter().find_map(|store| fresh_keys(store, now).err());
        stale.unwrap_or_else(|| {
            let message = format!("key ID mismatch: nobody who is trusted has the key {id}");
            Failure::new(Reason::UnknownKey, message)
        })
    }
}

impl Candidate<'_> {
    fn vouches(&self, package: &NativePackage, now: Timestamp) -> Result<Covered, Failure> {
        let (id, owner) = (&self.key.id, self.owner);
        if let Some(store) = self.store {
            fresh_keys(store, now)?;
            fresh_revocations(store, now)?;
        }
        if let Some(at) = self.key.revoked_at {
            return Err(Failure::new(Reason::KeyRevoked, format!("{owner} took the key {id} back at {at}")));
        }
        if !self.key.is_valid_at(now) {
            let message = format!("the key {id} of {owner} does not count at {now}");
            return Err(Failure::new(Reason::KeyNotValid, message));
        }
        let covers =
            package.verify(&self.key.key).map_err(|why| Failure::new(Reason::SignatureInvalid, why))?;
        if self.key.covers == Covered::Tree && covers != Covered::Tree {
            let message =
                format!("{owner} signs every file with the key {id}, and that signature is missing");
            return Err(Failure::new(Reason::SignatureMissing, message));
        }
        Ok(covers)
    }
}

fn fresh_keys(store: &TrustedStore, now: Timestamp) -> Result<(), Failure> {
    fresh(store, "keys", store.keys.as_ref().map(|fetched| fetched.at), KEY_LIST_AGE_MAX, now)
}

fn fresh_revocations(store: &TrustedStore, now: Timestamp) -> Result<(), Failure> {
    let at = store.revocations.as_ref().map(|fetched| fetched.at);
    fresh(store, "revocations", at, REVOCATIONS_AGE_MAX, now)
}

fn fresh(
    store: &TrustedStore,
    what: &str,
    at: Option<Timestamp>,
    age_max: SignedDuration,
    now: Timestamp,
) -> Result<(), Failure> {
    let stale = |why: String| Failure::new(Reason::TrustStale, format!("the {what} of {}: {why}", store.url));
    let at = at.ok_or_else(|| stale("never fetched".to_owned()))?;
    let age = now.duration_since(at);
    if age > age_max || age < -CLOCK_TOLERANCE {
        return Err(stale(format!("fetched at {at}, believed for {} hours", age_max.as_hours())));
    }
    Ok(())
}

fn check_issued(issued_at: Option<Timestamp>, now: Timestamp) -> Result<(), Failure> {
    match issued_at {
        Some(issued) if now.saturating_add(CLOCK_TOLERANCE).is_ok_and(|now| now < issued) => {
            Err(Failure::new(Reason::ClockWentBack, format!("it is {now}, and the list is from {issued}")))
        }
        _ => Ok(()),
    }
}

fn rolled_back(url: &str, what: &str, older: &OlderList) -> Failure {
    Failure::new(
        Reason::TrustRolledBack,
        format!("the {what} of {url} are older than those seen: {}", older.0),
    )
}
