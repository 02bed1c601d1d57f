//! What a store says about its keys and about apps that it took back, and which of two such lists is the older one.
//!
//! The published forms have no order of their own. Ours may carry a number (`serial`) and the moment it was made
//! (`issuedAt`); without them a list counts as older when it has forgotten what the one before it knew.

use super::{
    public_key::{PublicKey, moment},
    strict_json,
};
use jiff::Timestamp;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Largest list of keys.
pub const KEY_LIST_BYTES_MAX: u64 = 64 << 10;
/// Largest list of apps that were taken back.
pub const REVOCATIONS_BYTES_MAX: u64 = 1 << 20;
const KEYS_MAX: usize = 64;

/// Where a list stands in the order of lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edition {
    /// Counts up with every list.
    pub serial: Option<u64>,
    /// When it was made.
    pub issued_at: Option<Timestamp>,
}

/// The keys of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyList {
    /// Its place among the lists of this store.
    pub edition: Edition,
    /// The keys, each id once.
    pub keys: Vec<PublicKey>,
}

/// Apps that a store took back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revocations {
    /// Its place among the lists of this store.
    pub edition: Edition,
    /// Ids, each with the moment it was taken back where that is said. Versions do not matter.
    pub apps: BTreeMap<String, Option<Timestamp>>,
}

/// Why a list is not taken in place of the one before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OlderList(pub String);

impl KeyList {
    /// Reads a list: one key as published, or several as `{"keys": […], "serial": 3, "issuedAt": "…"}`.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        Self::read(&strict_json::object(within(bytes, KEY_LIST_BYTES_MAX)?)?)
    }

    pub(super) fn read(json: &Map<String, Value>) -> Result<Self, String> {
        let keys = match json.get("keys") {
            None => vec![PublicKey::read(json)?],
            Some(_) if json.contains_key("publicKey") => {
                return Err("it is one key and a list of keys".to_owned());
            }
            Some(keys) => {
                let keys = keys.as_array().filter(|keys| keys.len() <= KEYS_MAX);
                let keys = keys.ok_or_else(|| format!("`keys` is not a list of at most {KEYS_MAX}"))?;
                let read = |key: &Value| PublicKey::read(key.as_object().ok_or("a key is not an object")?);
                keys.iter().map(read).collect::<Result<Vec<_>, String>>()?
            }
        };
        let ids: BTreeSet<_> = keys.iter().map(|key| &key.id).collect();
        if ids.len() != keys.len() {
            return Err("two keys have one id".to_owned());
        }
        Ok(Self { edition: Edition::read(json)?, keys })
    }

    /// Refuses a list that is older than the one that is known.
    pub fn must_follow(&self, known: &Self) -> Result<(), OlderList> {
        let step = self.edition.must_follow(&known.edition, self.keys == known.keys)?;
        for before in &known.keys {
            let now = self.keys.iter().find(|key| key.id == before.id);
            match now {
                Some(now) if now.key != before.key => {
                    return Err(OlderList(format!("key {} is another key now", before.id)));
                }
                Some(now) if before.revoked_at.is_some() && now.revoked_at.is_none() => {
                    return Err(OlderList(format!("key {} was revoked and is not any more", before.id)));
                }
                // A key that is not listed cannot be used, so it may go. A new list may drop a revoked one.
                _ => {}
            }
        }
        match step {
            Step::Unordered if known.keys.iter().any(|key| key.revoked_at.is_some() && !self.has(key)) => {
                Err(OlderList("a revoked key is not named any more".to_owned()))
            }
            _ => Ok(()),
        }
    }

    fn has(&self, key: &PublicKey) -> bool {
        self.keys.iter().any(|known| known.id == key.id)
    }
}

impl Revocations {
    /// Reads a list: `revocations` or `revoked`, of objects with an `id` or of ids.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        Self::read(&strict_json::object(within(bytes, REVOCATIONS_BYTES_MAX)?)?)
    }

    pub(super) fn read(json: &Map<String, Value>) -> Result<Self, String> {
        let list = match (json.get("revocations"), json.get("revoked")) {
            (Some(_), Some(_)) => return Err("`revocations` and `revoked` are the same".to_owned()),
            (Some(list), None) | (None, Some(list)) => list,
            (None, None) => return Err("missing required fields: revocations".to_owned()),
        };
        let list = list.as_array().ok_or("`revocations` is not a list")?;
        let mut apps = BTreeMap::new();
        for entry in list {
            let (id, at) = match entry {
                Value::String(id) => (id.as_str(), None),
                Value::Object(entry) => {
                    let id = entry.get("id").and_then(Value::as_str).ok_or("a revocation names no app")?;
                    (id, moment(entry, "revoked_at")?)
                }
                _ => return Err("a revocation is neither an id nor an object".to_owned()),
            };
            if id.is_empty() {
                return Err("a revocation names no app".to_owned());
            }
            // The same app may be named once for every version.
            apps.insert(id.to_lowercase(), at);
        }
        Ok(Self { edition: Edition::read(json)?, apps })
    }

    /// True when the app was taken back. Case does not matter: it does not on every file system.
    #[must_use]
    pub fn names(&self, id: &str) -> bool {
        self.apps.contains_key(&id.to_lowercase())
    }

    /// Refuses a list that is older than the one that is known.
    pub fn must_follow(&self, known: &Self) -> Result<(), OlderList> {
        let step = self.edition.must_follow(&known.edition, self.apps == known.apps)?;
        let forgotten = known.apps.keys().find(|id| !self.apps.contains_key(*id));
        match (step, forgotten) {
            (Step::Unordered, Some(id)) => {
                Err(OlderList(format!("`{}` was revoked and is not any more", strict_json::shown(id))))
            }
            _ => Ok(()),
        }
    }
}

/// What the editions of two lists say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The second is newer.
    Newer,
    /// They have no order, or are the same.
    Unordered,
}

impl Edition {
    fn read(json: &Map<String, Value>) -> Result<Self, String> {
        let serial = match json.get("serial") {
            None | Some(Value::Null) => None,
            Some(value) => Some(value.as_u64().ok_or("`serial` is no number")?),
        };
        Ok(Self { serial, issued_at: moment(json, "issuedAt")? })
    }

    fn must_follow(&self, known: &Self, is_same: bool) -> Result<Step, OlderList> {
        let older = |what: &str| Err(OlderList(what.to_owned()));
        let mut step = Step::Unordered;
        match (known.serial, self.serial) {
            (Some(_), None) => return older("it has no serial, and the one before it had"),
            (Some(before), Some(now)) if now < before => return older("its serial is smaller than one seen"),
            (Some(before), Some(now)) if now == before && !is_same => {
                return older("it differs from the list of the same serial");
            }
            (Some(before), Some(now)) if now > before => step = Step::Newer,
            _ => {}
        }
        match (known.issued_at, self.issued_at) {
            (Some(_), None) => older("it does not say when it was made, and the one before it did"),
            (Some(before), Some(now)) if now < before => older("it was made before one that was seen"),
            (Some(before), Some(now)) if now > before => Ok(Step::Newer),
            _ => Ok(step),
        }
    }
}

fn within(bytes: &[u8], max: u64) -> Result<&[u8], String> {
    if bytes.len() as u64 > max { Err(format!("it has more than {max} bytes")) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests;
