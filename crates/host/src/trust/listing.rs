//! What is believed and what was verified, as every surface shows it.

use super::signing_keys::SigningKeyListing;
use jiff::{SignedDuration, Timestamp};
use roost_apps::native::{
    Covered, KEY_LIST_AGE_MAX, KeyId, NativeId, PublicKey, REVOCATIONS_AGE_MAX, TrustList, TrustedStore,
    VerifiedPackage,
};
use roost_protocol::{Digest, Failure};
use serde::Serialize;

/// Everything that a home signs with and believes.
#[derive(Debug, Clone, Serialize)]
pub struct TrustListing {
    /// Keys to sign with.
    pub signing: Vec<SigningKeyListing>,
    /// Publishers whose keys are believed.
    pub publishers: Vec<PublisherListing>,
    /// Stores that are believed.
    pub stores: Vec<StoreListing>,
}

/// A publisher.
#[derive(Debug, Clone, Serialize)]
pub struct PublisherListing {
    /// What the person who trusts them calls them.
    pub name: String,
    /// Their key.
    pub key: PublicKey,
}

/// A store, and how long what it said is believed.
#[derive(Debug, Clone, Serialize)]
pub struct StoreListing {
    /// Where it is.
    pub url: String,
    /// Its keys.
    pub keys: Vec<PublicKey>,
    /// Until when they are believed; absent when they are not.
    pub keys_until: Option<Timestamp>,
    /// How many apps it took back.
    pub revoked: usize,
    /// Until when that is believed to be all; absent when it is not.
    pub revocations_until: Option<Timestamp>,
    /// Why it could not be asked just now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Failure>,
}

/// A package that is believed.
#[derive(Debug, Clone, Serialize)]
pub struct VerifiedListing {
    /// Always true; a package that is not believed is a failure.
    pub ok: bool,
    /// The app.
    pub id: NativeId,
    /// Its version.
    pub version: String,
    /// One digest of all files.
    pub digest: Digest,
    /// Which key.
    pub key_id: KeyId,
    /// Whose key.
    pub vouched_by: String,
    /// For how much of it.
    pub covers: Covered,
}

impl TrustListing {
    pub(super) fn new(trust: &TrustList, signing: Vec<SigningKeyListing>, now: Timestamp) -> Self {
        let publishers = trust
            .publishers
            .iter()
            .map(|known| PublisherListing { name: known.name.clone(), key: known.key.clone() });
        let stores = trust.stores.iter().map(|store| StoreListing::new(store, now));
        Self { signing, publishers: publishers.collect(), stores: stores.collect() }
    }
}

impl StoreListing {
    pub(super) fn new(store: &TrustedStore, now: Timestamp) -> Self {
        let until = |at: Option<Timestamp>, age: SignedDuration| {
            at.and_then(|at| at.checked_add(age).ok()).filter(|until| now <= *until)
        };
        Self {
            url: store.url.clone(),
            keys: store.keys.as_ref().map(|fetched| fetched.list.keys.clone()).unwrap_or_default(),
            keys_until: until(store.keys.as_ref().map(|fetched| fetched.at), KEY_LIST_AGE_MAX),
            revoked: store.revocations.as_ref().map_or(0, |fetched| fetched.list.apps.len()),
            revocations_until: until(
                store.revocations.as_ref().map(|fetched| fetched.at),
                REVOCATIONS_AGE_MAX,
            ),
            reason: None,
        }
    }
}

impl VerifiedListing {
    /// What was verified.
    #[must_use]
    pub fn new(verified: &VerifiedPackage) -> Self {
        let manifest = verified.package().manifest();
        Self {
            ok: true,
            id: manifest.id.clone(),
            version: manifest.version.clone(),
            digest: verified.package().digest(),
            key_id: verified.key_id.clone(),
            vouched_by: verified.vouched_by.clone(),
            covers: verified.covers,
        }
    }
}
