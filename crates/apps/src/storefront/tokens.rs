//! Who may submit over the network: tokens, each for one account. Only hashes are kept, and they stay on this machine.

use super::{StoreError, Storefront, ground::PRIVATE};
use crate::{
    atomic_file,
    bundle::{Code, Publisher},
};
use jiff::Timestamp;
use roost_protocol::{Digest, Failure, Reason};
use serde::{Deserialize, Serialize};
use std::fmt;
use subtle::{Choice, ConstantTimeEq as _};

/// Nobody guesses so many random bytes.
const TOKEN_BYTES: usize = 32;

/// What tokens begin with, so that people and scanners know what they found.
const MARK: &str = "roost_store_";

const FILE: &str = ".store/tokens.json";
const FILE_BYTES_MAX: usize = 8 << 20;

/// More tokens than a store has accounts.
const TOKENS_MAX: usize = 10_000;

const NOTE_CHARACTERS_MAX: usize = 200;

/// A token as lists show it, and as it is kept beside its hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreTokenListing {
    /// Its name.
    pub id: String,
    /// The account that submits with it.
    pub publisher: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// When it was made.
    pub created: Timestamp,
    /// When its time is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
    /// When it was taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<Timestamp>,
}

/// A token that was just made: the only time it can be seen.
#[derive(Clone, Serialize)]
pub struct MadeStoreToken {
    /// The token itself.
    pub token: String,
    /// What is kept of it.
    #[serde(flatten)]
    pub listing: StoreTokenListing,
}

impl fmt::Debug for MadeStoreToken {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("MadeStoreToken").field("id", &self.listing.id).finish_non_exhaustive()
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    #[serde(flatten)]
    listing: StoreTokenListing,
    sha256: Digest,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct KeptTokens {
    tokens: Vec<Kept>,
}

impl Storefront {
    /// Makes a token for an account.
    pub fn create_token(
        &self,
        account: &str,
        expires: Option<Timestamp>,
        note: &str,
        now: Timestamp,
    ) -> Result<MadeStoreToken, StoreError> {
        let with_mark = if account.starts_with('@') { account.to_owned() } else { format!("@{account}") };
        let publisher = Publisher::parse(&with_mark).ok_or_else(|| {
            let message = format!("`{}` is not an account", crate::catalog::shown(account));
            StoreError::refused(Code::BadSubmitter, message)
        })?;
        let _lock = self.ground.lock()?;
        let mut kept = self.kept_tokens()?;
        if kept.tokens.len() >= TOKENS_MAX {
            let message = format!("a store has at most {TOKENS_MAX} tokens");
            return Err(Failure::new(Reason::WrongUse, message).into());
        }
        let (token, id) = (format!("{MARK}{}", random(TOKEN_BYTES)?), format!("t{}", random(4)?));
        let note = crate::catalog::shown(note).chars().take(NOTE_CHARACTERS_MAX).collect();
        let listing = StoreTokenListing {
            id,
            publisher: publisher.as_str().to_owned(),
            note,
            created: now,
            expires,
            revoked: None,
        };
        kept.tokens.push(Kept { listing: listing.clone(), sha256: Digest::of(token.as_bytes()) });
        self.keep_tokens(&kept)?;
        Ok(MadeStoreToken { token, listing })
    }

    /// Every token, also those that were taken back; never a token itself.
    pub fn tokens(&self) -> Result<Vec<StoreTokenListing>, Failure> {
        Ok(self.kept_tokens()?.tokens.into_iter().map(|kept| kept.listing).collect())
    }

    /// Takes a token back.
    pub fn revoke_token(&self, id: &str, now: Timestamp) -> Result<StoreTokenListing, Failure> {
        let _lock = self.ground.lock()?;
        let mut kept = self.kept_tokens()?;
        let Some(found) = kept.tokens.iter_mut().find(|kept| kept.listing.id == id) else {
            let message = format!("there is no token `{}`", crate::catalog::shown(id));
            return Err(Failure::new(Reason::UnknownToken, message).with_next("see `roost store token list`"));
        };
        found.listing.revoked.get_or_insert(now);
        let listing = found.listing.clone();
        self.keep_tokens(&kept)?;
        Ok(listing)
    }

    /// The account that a token belongs to.
    pub fn account_of_token(&self, token: &str, now: Timestamp) -> Result<String, Failure> {
        let shown = Digest::of(token.as_bytes()).to_bytes();
        // Every hash is compared, each in the same time, so that nobody learns how near a guess is.
        let mut found = None;
        for kept in self.kept_tokens()?.tokens {
            let is_it: Choice = kept.sha256.to_bytes()[..].ct_eq(&shown[..]);
            if bool::from(is_it) {
                found = Some(kept.listing);
            }
        }
        let refused = |why: &str| Failure::new(Reason::TokenRefused, why);
        match found {
            None => Err(refused("the token is not known")),
            Some(listing) if listing.revoked.is_some() => Err(refused("the token was taken back")),
            Some(listing) if listing.expires.is_some_and(|expires| expires <= now) => {
                Err(refused("the token's time is over"))
            }
            Some(listing) => Ok(listing.publisher),
        }
    }

    fn kept_tokens(&self) -> Result<KeptTokens, Failure> {
        let Some(bytes) = self.ground.read(FILE, FILE_BYTES_MAX)? else { return Ok(KeptTokens::default()) };
        serde_json::from_slice(&bytes)
            .map_err(|error| Failure::new(Reason::StoreUnusable, format!("{FILE}: {error}")))
    }

    fn keep_tokens(&self, kept: &KeptTokens) -> Result<(), Failure> {
        let bytes = serde_json::to_vec_pretty(kept)
            .map_err(|error| Failure::new(Reason::Internal, error.to_string()))?;
        let written = self.ground.place(FILE).and_then(|path| atomic_file::replace(&path, &bytes));
        written.map_err(|error| self.ground.failed(PRIVATE, &error))
    }
}

fn random(bytes: usize) -> Result<String, Failure> {
    let mut random = vec![0; bytes];
    getrandom::fill(&mut random).map_err(|error| Failure::new(Reason::Internal, error.to_string()))?;
    Ok(hex::encode(random))
}
