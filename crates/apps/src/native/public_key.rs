//! A key that may vouch for packages: its form on the wire and in files, and when it counts.

use super::{
    signatures::{ALGORITHM, Covered, KeyId},
    strict_json::{self, shown},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use ed25519_dalek::VerifyingKey;
use jiff::Timestamp;
use serde::{Serialize, Serializer, ser::SerializeMap as _};
use serde_json::{Map, Value};

/// A public key, and what is said about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey {
    /// What it is called.
    pub id: KeyId,
    /// The key itself.
    pub key: VerifyingKey,
    /// Before this moment it does not count.
    pub not_before: Option<Timestamp>,
    /// After this moment it does not count any more.
    pub not_after: Option<Timestamp>,
    /// Since when nobody should believe it.
    pub revoked_at: Option<Timestamp>,
    /// How much its signatures must vouch for; less is not believed, so nothing can be taken off unnoticed.
    pub covers: Covered,
}

impl PublicKey {
    /// Reads one key: the published form, with more that published readers pass over.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        Self::read(&strict_json::object(bytes)?)
    }

    pub(super) fn read(json: &Map<String, Value>) -> Result<Self, String> {
        let algorithm = text(json, "algorithm")?.unwrap_or_default();
        if algorithm != ALGORITHM {
            return Err(format!("unsupported signature algorithm: `{}`", shown(algorithm)));
        }
        let id = text(json, "keyId")?.ok_or("missing required fields: keyId")?;
        let id = KeyId::parse(id).ok_or_else(|| format!("`{}` is no key's id", shown(id)))?;
        let key = text(json, "publicKey")?.ok_or("missing required fields: publicKey")?;
        let key = STANDARD.decode(key).ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        let key = key.and_then(|bytes| VerifyingKey::from_bytes(&bytes).ok());
        // A weak key accepts signatures that nobody made.
        let key =
            key.filter(|key| !key.is_weak()).ok_or("publicKey is not 32 bytes of a sound key in base64")?;
        let covers = match text(json, "covers")? {
            None | Some("manifest_and_binary") => Covered::ManifestAndBinary,
            Some("tree") => Covered::Tree,
            Some(other) => return Err(format!("`covers` is `{}`", shown(other))),
        };
        Ok(Self {
            id,
            key,
            not_before: moment(json, "notBefore")?,
            not_after: moment(json, "notAfter")?,
            revoked_at: moment(json, "revokedAt")?,
            covers,
        })
    }

    /// True when the key counts at this moment, as far as its dates say.
    #[must_use]
    pub fn is_valid_at(&self, now: Timestamp) -> bool {
        self.not_before.is_none_or(|start| start <= now) && self.not_after.is_none_or(|end| now <= end)
    }
}

impl Serialize for PublicKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("algorithm", ALGORITHM)?;
        map.serialize_entry("keyId", &self.id)?;
        map.serialize_entry("publicKey", &STANDARD.encode(self.key.as_bytes()))?;
        map.serialize_entry("covers", &self.covers)?;
        for (name, moment) in
            [("notBefore", self.not_before), ("notAfter", self.not_after), ("revokedAt", self.revoked_at)]
        {
            if let Some(moment) = moment {
                map.serialize_entry(name, &moment)?;
            }
        }
        map.end()
    }
}

/// The text of a field; nothing where there is none.
pub(super) fn text<'a>(json: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>, String> {
    match json.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("`{name}` is not a text")),
    }
}

/// The moment of a field. One that cannot be read is an error: a date that is passed over is a date that never ends.
pub(super) fn moment(json: &Map<String, Value>, name: &str) -> Result<Option<Timestamp>, String> {
    match text(json, name)? {
        None | Some("") => Ok(None),
        Some(text) => text.parse().map(Some).map_err(|_| format!("`{name}` is no moment: `{}`", shown(text))),
    }
}
