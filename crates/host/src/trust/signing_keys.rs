//! Keys to sign packages with: one file each in `keys/signing/`, for its owner only.

use super::{HostTrust, checked_name, invalid, unknown, unusable};
use crate::{
    gate::Disk,
    vault::guarded_file::{self, Refused},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use roost_apps::native::{Covered, KeyId, PublicKey, SigningKey};
use roost_protocol::{Failure, Reason};
use serde::{Deserialize, Serialize};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// A key file above this is not one.
const KEY_BYTES_MAX: u64 = 4096;
/// Most keys of a home.
const KEYS_MAX: usize = 100;

/// A key to sign with, as it is shown: never the key itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SigningKeyListing {
    /// What it is called in signatures.
    pub id: KeyId,
    /// Whose it is.
    pub name: String,
    /// When it was made.
    pub created: Timestamp,
    /// What others need to verify what it signed.
    pub public: PublicKey,
}

/// The file of a key.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyFile {
    name: String,
    created: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_after: Option<Timestamp>,
    /// 32 bytes in base64.
    secret: String,
}

impl HostTrust {
    /// Makes a key. This home believes it from then on.
    pub async fn new_signing_key(
        &self,
        name: &str,
        not_after: Option<Timestamp>,
    ) -> Result<SigningKeyListing, Failure> {
        let name = checked_name(name)?;
        if self.signing_keys()?.len() >= KEYS_MAX {
            return Err(Failure::new(Reason::WrongUse, format!("more than {KEYS_MAX} keys are not kept")));
        }
        let mut secret = [0; 32];
        let folder = self.signing_folder();
        getrandom::fill(&mut secret)
            .map_err(|error| unusable(&folder, &Refused::Unreadable(io::Error::other(error.to_string()))))?;
        let file = KeyFile { name, created: Timestamp::now(), not_after, secret: STANDARD.encode(secret) };
        let listed = listing(&SigningKey::from_bytes(&secret), &file);
        let bytes = serde_json::to_vec_pretty(&file)
            .map_err(|error| unusable(&folder, &Refused::Unreadable(io::Error::other(error))))?;
        for folder in [&self.folder, &folder] {
            guarded_file::own_folder(folder).map_err(|why| unusable(folder, &why))?;
        }
        let path = folder.join(format!("{}.json", listed.id));
        Disk::default().replace(&path, &bytes).map_err(|error| unusable(&path, &error.into()))?;
        // A key that nobody believes is of no use, so the file does not stay without the trust.
        if let Err(failure) = self.trust_publisher(&listed.name, listed.public.clone()).await {
            fs::remove_file(&path).ok();
            return Err(failure);
        }
        Ok(listed)
    }

    /// Every key to sign with.
    pub fn signing_keys(&self) -> Result<Vec<SigningKeyListing>, Failure> {
        let folder = self.signing_folder();
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(unusable(&folder, &error.into())),
        };
        let mut keys = Vec::new();
        for entry in entries.take(KEYS_MAX * 2) {
            let path = entry.map_err(|error| unusable(&folder, &error.into()))?.path();
            if path.extension().is_some_and(|ending| ending == "json") {
                let (key, file) = read(&path)?;
                keys.push(listing(&key, &file));
            }
        }
        keys.sort_by(|one, other| one.created.cmp(&other.created).then_with(|| one.id.cmp(&other.id)));
        Ok(keys)
    }

    /// The key of this id; without one the only key that counts now.
    pub fn signing_key(&self, id: Option<&str>) -> Result<SigningKey, Failure> {
        let keys = self.signing_keys()?;
        let now = Timestamp::now();
        let chosen = match id {
            Some(id) => {
                keys.into_iter().find(|key| key.id.as_str() == id).ok_or_else(|| unknown("key", id))?
            }
            None => {
                let mut counting = keys.into_iter().filter(|key| key.public.is_valid_at(now));
                match (counting.next(), counting.next()) {
                    (Some(only), None) => only,
                    (None, _) => {
                        let failure = Failure::new(Reason::UnknownTrust, "there is no key to sign with");
                        return Err(failure.with_next("make one with `roost keys signing new`"));
                    }
                    (Some(_), Some(_)) => {
                        let failure = Failure::new(Reason::WrongUse, "there is more than one key");
                        return Err(failure.with_next("name one with --key; see `roost keys signing list`"));
                    }
                }
            }
        };
        if !chosen.public.is_valid_at(now) {
            let message = format!("the key {} does not count any more", chosen.id);
            return Err(Failure::new(Reason::KeyNotValid, message));
        }
        read(&self.signing_folder().join(format!("{}.json", chosen.id))).map(|(key, _)| key)
    }

    /// What others need to verify what this key of the home signed.
    pub fn public_key(&self, key: &SigningKey) -> Result<PublicKey, Failure> {
        let id = KeyId::of(&key.verifying_key());
        let found = self.signing_keys()?.into_iter().find(|known| known.id == id);
        found.map(|known| known.public).ok_or_else(|| unknown("key", id.as_str()))
    }

    fn signing_folder(&self) -> PathBuf {
        self.folder.join("signing")
    }
}

fn read(path: &Path) -> Result<(SigningKey, KeyFile), Failure> {
    let bytes = guarded_file::read(path, KEY_BYTES_MAX).map_err(|why| unusable(path, &why))?;
    let bytes = bytes.ok_or_else(|| unknown("key", &path.display().to_string()))?;
    let shown = path.display().to_string();
    let file: KeyFile =
        serde_json::from_slice(&bytes).map_err(|error| invalid(&shown, &error.to_string()))?;
    let secret = STANDARD.decode(&file.secret).ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
    let key = SigningKey::from_bytes(&secret.ok_or_else(|| invalid(&shown, "it holds no key"))?);
    let id = KeyId::of(&key.verifying_key());
    // A key under another's name would sign as somebody else.
    if path.file_stem().and_then(|name| name.to_str()) != Some(id.as_str()) {
        return Err(invalid(&shown, &format!("it holds the key {id}")));
    }
    Ok((key, file))
}

fn listing(key: &SigningKey, file: &KeyFile) -> SigningKeyListing {
    let public = key.verifying_key();
    let id = KeyId::of(&public);
    SigningKeyListing {
        id: id.clone(),
        name: file.name.clone(),
        created: file.created,
        public: PublicKey {
            id,
            key: public,
            not_before: None,
            not_after: file.not_after,
            revoked_at: None,
            covers: Covered::Tree,
        },
    }
}
