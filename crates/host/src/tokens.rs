//! Tokens that let a program use one workspace.
//!
//! Only a hash is kept: who reads the database cannot use what it holds. What a token may do is fixed when it is made.

mod rate; // how often a token may be used
mod records; // tokens in the database

use crate::{
    host::Host,
    store::{Store, local_owner, of_host},
};
pub use rate::TooOften;
use rate::{Buckets, FAILURES_PER_SECOND};
use records::{Create, Find, List, Revoke};
use roost_protocol::{Failure, Reason, is_id_text};
use roost_storage::StorageError;
use roost_workspace::Owner;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};
use subtle::ConstantTimeEq as _;

/// Nobody guesses so many random bytes.
const TOKEN_BYTES: usize = 32;

/// What tokens begin with, so that people and scanners know what they found.
const MARK: &str = "roost_";

/// How histories call the owner of the host. The ids of tokens begin differently.
const OWNER: &str = "owner";

/// How long a token is believed without a look at the database: another node may have revoked it.
const BELIEVED_FOR: Duration = Duration::from_secs(1);

/// Tokens that are remembered at once.
const REMEMBERED_MAX: usize = 4096;

/// How often a token may be used unless its maker says otherwise.
const REQUESTS_PER_SECOND: i64 = 1000;

/// What a token may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// See files.
    WorkspaceRead,
    /// Change files.
    WorkspaceWrite,
    /// See runs.
    RunsRead,
    /// Start, stop and fork runs.
    RunsWrite,
}

impl Scope {
    /// Every scope.
    pub const ALL: [Self; 4] = [Self::WorkspaceRead, Self::WorkspaceWrite, Self::RunsRead, Self::RunsWrite];

    /// As it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::WorkspaceRead => "workspace:read",
            Self::WorkspaceWrite => "workspace:write",
            Self::RunsRead => "runs:read",
            Self::RunsWrite => "runs:write",
        }
    }

    /// Reads the written form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == text)
    }
}

impl Serialize for Scope {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Who sends a request, as its token says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    /// Whose files and runs.
    pub owner: Owner,
    /// As histories show it: the id of a token, or `owner`.
    pub principal: String,
    /// What it may do.
    pub scopes: Vec<Scope>,
}

impl Credential {
    /// True for the owner of the host, whose principal no token has.
    #[must_use]
    pub fn is_host_owner(&self) -> bool {
        self.principal == OWNER
    }
}

/// Why a request has no credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoCredential {
    /// Nothing was shown, or nothing that is a token.
    Unknown,
    /// The token's time is over.
    Expired,
    /// The token was taken back.
    Revoked,
    /// Too many requests.
    TooOften(TooOften),
    /// It cannot be known now.
    Unavailable(Failure),
}

/// A token as lists show it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenListing {
    /// Its name.
    pub id: String,
    /// Whose files.
    pub tenant: String,
    /// Which of them.
    pub workspace: String,
    /// What it may do.
    pub scopes: Vec<Scope>,
    /// What it is for.
    pub note: String,
    /// How often it may be used.
    pub requests_per_second: i64,
    /// When it was made.
    pub created: jiff::Timestamp,
    /// When its time is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<jiff::Timestamp>,
    /// When it was taken back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revoked: Option<jiff::Timestamp>,
}

/// A token that is to be made.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// Whose files.
    pub owner: Owner,
    /// What it may do; at least one.
    pub scopes: Vec<Scope>,
    /// When its time is over.
    pub expires: Option<jiff::Timestamp>,
    /// What it is for.
    pub note: String,
    /// How often it may be used in a second; as usual when absent, without a limit when 0.
    pub requests_per_second: Option<i64>,
}

/// A token that was just made: the only time it can be seen.
#[derive(Clone, Serialize)]
pub struct MadeToken {
    /// Its name.
    pub id: String,
    /// The token itself.
    pub token: String,
    /// Whose files.
    pub tenant: String,
    /// Which of them.
    pub workspace: String,
    /// What it may do.
    pub scopes: Vec<Scope>,
    /// When its time is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<jiff::Timestamp>,
}

impl fmt::Debug for MadeToken {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("MadeToken").field("id", &self.id).finish_non_exhaustive()
    }
}

/// A token as it is kept.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    hash: Vec<u8>,
    listing: TokenListing,
    owner: Owner,
}

/// Tokens by their hash, and when they were looked up.
type Known = HashMap<[u8; 32], (Instant, Arc<Record>)>;

/// The tokens of a host.
pub(crate) struct Tokens {
    known: Mutex<Known>,
    buckets: Buckets,
}

impl Tokens {
    pub(crate) fn new() -> Self {
        Self { known: Mutex::default(), buckets: Buckets::default() }
    }

    pub(crate) async fn create(&self, store: &Store, new: NewToken) -> Result<MadeToken, Failure> {
        if new.scopes.is_empty() {
            return Err(Failure::new(Reason::BadRequest, "a token needs at least one scope"));
        }
        if new.owner.tenant == of_host() {
            return Err(Failure::new(Reason::BadRequest, "this tenant is the host itself"));
        }
        // As exact as it is kept.
        let to_milliseconds =
            |time: jiff::Timestamp| jiff::Timestamp::from_millisecond(time.as_millisecond());
        let expires = new.expires.and_then(|time| to_milliseconds(time).ok());
        let mut bytes = [0; TOKEN_BYTES];
        let mut id = [0; 8];
        let unusable = |error: getrandom::Error| Failure::new(Reason::Internal, error.to_string());
        getrandom::fill(&mut bytes).map_err(unusable)?;
        getrandom::fill(&mut id).map_err(unusable)?;
        let token = format!("{MARK}{}", hex::encode(bytes));
        let id = format!("tok_{}", hex::encode(id));
        let Owner { tenant, workspace } = &new.owner;
        let made = MadeToken {
            id: id.clone(),
            token: token.clone(),
            tenant: tenant.as_str().to_owned(),
            workspace: workspace.as_str().to_owned(),
            scopes: new.scopes.clone(),
            expires,
        };
        let listing = TokenListing {
            id,
            tenant: made.tenant.clone(),
            workspace: made.workspace.clone(),
            scopes: new.scopes,
            note: new.note,
            requests_per_second: new.requests_per_second.unwrap_or(REQUESTS_PER_SECOND).max(0),
            created: jiff::Timestamp::now(),
            expires,
            revoked: None,
        };
        let record = Record { hash: hash(&token).to_vec(), listing, owner: new.owner };
        store.database().await?.write(&of_host(), Create(record)).await?;
        Ok(made)
    }

    pub(crate) async fn list(&self, store: &Store) -> Result<Vec<TokenListing>, Failure> {
        let records = store.database().await?.read(&of_host(), List).await?;
        Ok(records.into_iter().map(|record| record.listing).collect())
    }

    /// Takes a token back. True when there was one that worked.
    pub(crate) async fn revoke(&self, store: &Store, id: &str) -> Result<(), Failure> {
        if !is_id_text(id) {
            return Err(Failure::plain(Reason::UnknownToken));
        }
        let revoke = Revoke { id: id.to_owned(), at: jiff::Timestamp::now() };
        let was_there = store.database().await?.write(&of_host(), revoke).await?;
        self.lock().clear();
        if was_there { Ok(()) } else { Err(Failure::plain(Reason::UnknownToken)) }
    }

    /// Who shows this token. Requests are counted before anything else is looked at.
    pub(crate) async fn who(&self, store: &Store, shown: Option<&str>) -> Result<Credential, NoCredential> {
        let Some(shown) = shown.filter(|shown| shown.starts_with(MARK)) else {
            return Err(self.failed(NoCredential::Unknown));
        };
        let hash = hash(shown);
        let Some(record) = self.record(store, hash).await? else {
            return Err(self.failed(NoCredential::Unknown));
        };
        let listing = &record.listing;
        self.buckets.take(&listing.id, listing.requests_per_second).map_err(NoCredential::TooOften)?;
        // The index found it by its hash; comparing again in constant time leaves nothing to the index's timing.
        if !bool::from(record.hash[..].ct_eq(&hash)) {
            return Err(self.failed(NoCredential::Unknown));
        }
        if listing.revoked.is_some() {
            return Err(NoCredential::Revoked);
        }
        if listing.expires.is_some_and(|end| end <= jiff::Timestamp::now()) {
            return Err(NoCredential::Expired);
        }
        Ok(Credential {
            owner: record.owner.clone(),
            principal: listing.id.clone(),
            scopes: listing.scopes.clone(),
        })
    }

    /// Guessing is slow.
    fn failed(&self, why: NoCredential) -> NoCredential {
        match self.buckets.take("", FAILURES_PER_SECOND) {
            Ok(()) => why,
            Err(too_often) => NoCredential::TooOften(too_often),
        }
    }

    async fn record(&self, store: &Store, hash: [u8; 32]) -> Result<Option<Arc<Record>>, NoCredential> {
        if let Some((seen, record)) = self.lock().get(&hash)
            && seen.elapsed() < BELIEVED_FOR
        {
            return Ok(Some(Arc::clone(record)));
        }
        let unavailable = |error: StorageError| NoCredential::Unavailable(error.into());
        let database = store.database().await.map_err(NoCredential::Unavailable)?;
        let Some(record) = database.read(&of_host(), Find(hash)).await.map_err(unavailable)? else {
            return Ok(None);
        };
        let record = Arc::new(record);
        let mut known = self.lock();
        if known.len() >= REMEMBERED_MAX {
            known.clear();
        }
        known.insert(hash, (Instant::now(), Arc::clone(&record)));
        Ok(Some(record))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The owner of the host may do everything with the files of this machine.
fn of_owner() -> Credential {
    Credential { owner: local_owner(), principal: OWNER.to_owned(), scopes: Scope::ALL.to_vec() }
}

fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

impl Host {
    /// Who shows this token.
    pub async fn credential(&self, shown: Option<&str>) -> Result<Credential, NoCredential> {
        if let Some(shown) = shown
            && self.is_owner(shown)
        {
            return Ok(of_owner());
        }
        self.inner.tokens.who(&self.inner.store, shown).await
    }

    /// Makes a token for one workspace.
    pub async fn create_token(&self, new: NewToken) -> Result<MadeToken, Failure> {
        self.inner.tokens.create(&self.inner.store, new).await
    }

    /// Every token, without the tokens themselves.
    pub async fn tokens(&self) -> Result<Vec<TokenListing>, Failure> {
        self.inner.tokens.list(&self.inner.store).await
    }

    /// Takes a token back.
    pub async fn revoke_token(&self, id: &str) -> Result<(), Failure> {
        self.inner.tokens.revoke(&self.inner.store, id).await
    }
}
