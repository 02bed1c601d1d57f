//! Native apps of a store: packages that it signs itself, the keys it signs with, and what it took back.
//!
//! `native/shelf.json` says all of it; packages lie beside it. Lists that homes fetch carry a number that counts up with
//! every change, so that none of them can be held back unnoticed.

use super::Storefront;
use crate::native::{NativeId, NativePackage, PublicKey, SigningKey, compare_versions, slug};
use jiff::Timestamp;
use roost_protocol::{Digest, Failure, Reason};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const FILE: &str = "native/shelf.json";
const FILE_BYTES_MAX: usize = 16 << 20;
const SCHEMA: &str = "roost-native-shelf/1";

/// Largest package that is kept.
const PACKAGE_BYTES_MAX: usize = 600 << 20;

/// Most keys: more than a home takes from a store is of no use.
const KEYS_MAX: usize = 64;

/// Everything that a store says about native apps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NativeShelf {
    schema: String,
    /// Counts up with every change of the keys.
    pub keys_serial: u64,
    /// When they last changed.
    pub keys_at: Timestamp,
    /// The keys, in the form they are served.
    pub keys: Vec<Value>,
    /// Counts up with every app that is taken back.
    pub revocations_serial: u64,
    /// When the last one was.
    pub revocations_at: Timestamp,
    /// Apps that were taken back.
    pub revocations: Vec<RevokedNative>,
    /// Apps that can be installed.
    pub apps: Vec<ShelvedApp>,
}

/// An app that was taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevokedNative {
    /// Its id.
    pub id: String,
    /// What people called it.
    pub name: String,
    /// The same as part of a tool's name.
    pub slug: String,
    /// The last version that there was. Every version is meant.
    pub version: String,
    /// When.
    pub revoked_at: Timestamp,
}

/// An app on the shelf.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShelvedApp {
    /// Its id.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// What it does.
    pub description: String,
    /// What it offers.
    pub provides: Vec<String>,
    /// What it asks for.
    pub permissions: Vec<String>,
    /// Every version, oldest first.
    pub versions: Vec<ShelvedVersion>,
}

/// One version of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShelvedVersion {
    /// The version.
    pub version: String,
    /// Digest of the package as it is served.
    pub sha256: Digest,
    /// Its size.
    pub bytes: usize,
    /// Which key signed it.
    pub key_id: String,
    /// When it was put there.
    pub published_at: Timestamp,
}

impl ShelvedApp {
    /// The newest version.
    #[must_use]
    pub fn newest(&self) -> Option<&ShelvedVersion> {
        self.versions.last()
    }

    /// Where the package of a version lies.
    fn path(&self, version: &ShelvedVersion) -> String {
        format!("native/{}/{}.napp", self.id, version.version)
    }
}

impl NativeShelf {
    fn new(now: Timestamp) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            keys_serial: 0,
            keys_at: now,
            keys: Vec::new(),
            revocations_serial: 0,
            revocations_at: now,
            revocations: Vec::new(),
            apps: Vec::new(),
        }
    }

    /// One app that can be installed.
    #[must_use]
    pub fn app(&self, id: &str) -> Option<&ShelvedApp> {
        self.apps.iter().find(|app| app.id == id)
    }

    /// The keys as homes fetch them: one in the published form, several as a list.
    #[must_use]
    pub fn signing_key(&self) -> Value {
        let mut answer = match self.keys.as_slice() {
            [only] => only.clone(),
            several => json!({ "keys": several }),
        };
        answer["serial"] = json!(self.keys_serial);
        answer["issuedAt"] = json!(self.keys_at);
        answer
    }

    /// What was taken back, as homes fetch it.
    #[must_use]
    pub fn revoked(&self) -> Value {
        json!({
            "serial": self.revocations_serial, "issuedAt": self.revocations_at, "revocations": self.revocations,
        })
    }

    fn key(&self, id: &str) -> Option<&Value> {
        self.keys.iter().find(|key| key["keyId"] == id)
    }

    fn put_key(&mut self, key: &PublicKey, now: Timestamp) -> Result<(), Failure> {
        let shown = serde_json::to_value(key).map_err(|error| internal(&error))?;
        if self.key(key.id.as_str()) == Some(&shown) {
            return Ok(());
        }
        if self.keys.len() >= KEYS_MAX {
            return Err(Failure::new(Reason::WrongUse, format!("a store has at most {KEYS_MAX} keys")));
        }
        self.keys.retain(|known| known["keyId"] != key.id.as_str());
        self.keys.push(shown);
        self.keys_serial += 1;
        self.keys_at = now;
        Ok(())
    }
}

impl Storefront {
    /// What the store says about native apps.
    pub fn native_shelf(&self) -> Result<NativeShelf, Failure> {
        let Some(bytes) = self.ground.read(FILE, FILE_BYTES_MAX)? else {
            return Ok(NativeShelf::new(Timestamp::UNIX_EPOCH));
        };
        let unusable = |why: String| Failure::new(Reason::StoreUnusable, format!("{FILE}: {why}"));
        let shelf: NativeShelf =
            serde_json::from_slice(&bytes).map_err(|error| unusable(error.to_string()))?;
        let is_sound = |app: &ShelvedApp| {
            NativeId::parse(&app.id).is_some()
                && app.versions.iter().all(|version| crate::native::is_version(&version.version))
        };
        match shelf.schema == SCHEMA && shelf.apps.iter().all(is_sound) {
            true => Ok(shelf),
            false => Err(unusable("it has names that cannot be, or another schema".to_owned())),
        }
    }

    /// Signs a package with this key and puts it on the shelf. What the package was signed with before does not matter.
    pub fn add_native(
        &self,
        package: NativePackage,
        key: &SigningKey,
        public: &PublicKey,
        now: Timestamp,
    ) -> Result<ShelvedApp, Failure> {
        let mut draft = self.draft()?;
        let mut shelf = self.native_shelf()?;
        let manifest = package.manifest().clone();
        let (id, version) = (manifest.id.as_str(), manifest.version.as_str());
        if shelf.revocations.iter().any(|revoked| revoked.id.eq_ignore_ascii_case(id)) {
            return Err(Failure::new(Reason::AppRevoked, format!("this store took {id} back")));
        }
        let differs = |app: &&ShelvedApp| app.id.eq_ignore_ascii_case(id) && app.id != id;
        if let Some(app) = shelf.apps.iter().find(differs) {
            return Err(Failure::new(Reason::IdTaken, format!("{} differs in case only", app.id)));
        }
        let before = shelf.app(id).and_then(ShelvedApp::newest);
        if let Some(before) = before.filter(|before| !compare_versions(version, &before.version).is_gt()) {
            let message = format!("{} is published, and {version} is not newer", before.version);
            return Err(Failure::new(Reason::VersionNotNewer, message)
                .with_next("give it a greater version and sign it again"));
        }
        shelf.put_key(public, now)?;
        let signed = package.sign(key).map_err(|errors| {
            let what = errors.first().map(ToString::to_string).unwrap_or_default();
            Failure::new(Reason::PackageInvalid, what)
        })?;
        let bytes = signed.to_napp().map_err(|error| internal(&error))?;
        let shelved = ShelvedVersion {
            version: version.to_owned(),
            sha256: Digest::of(&bytes),
            bytes: bytes.len(),
            key_id: public.id.to_string(),
            published_at: now,
        };
        let mut versions = shelf.app(id).map(|app| app.versions.clone()).unwrap_or_default();
        versions.push(shelved.clone());
        let app = ShelvedApp {
            id: id.to_owned(),
            name: manifest.name.clone(),
            description: manifest.description.clone(),
            provides: manifest.provides.iter().map(ToString::to_string).collect(),
            permissions: manifest.permissions.iter().map(roost_protocol::to_native).collect(),
            versions,
        };
        shelf.apps.retain(|known| known.id != id);
        shelf.apps.push(app.clone());
        shelf.apps.sort_by(|one, other| one.id.cmp(&other.id));
        draft.file(&app.path(&shelved), &bytes)?;
        draft.file(FILE, &written(&shelf)?)?;
        draft.commit()?;
        Ok(app)
    }

    /// Takes an app back: nobody gets it any more, and homes that have it take its program away.
    pub fn revoke_native(&self, id: &str, now: Timestamp) -> Result<RevokedNative, Failure> {
        let mut draft = self.draft()?;
        let mut shelf = self.native_shelf()?;
        let Some(app) = shelf.app(id).cloned() else {
            return Err(Failure::new(Reason::UnknownEntry, format!("{id} is not published here")));
        };
        let version = app.newest().map(|newest| newest.version.clone()).unwrap_or_default();
        let revoked = RevokedNative {
            id: app.id.clone(),
            slug: slug(&app.name),
            name: app.name,
            version,
            revoked_at: now,
        };
        shelf.apps.retain(|known| known.id != app.id);
        shelf.revocations.push(revoked.clone());
        shelf.revocations_serial += 1;
        shelf.revocations_at = now;
        draft.file(FILE, &written(&shelf)?)?;
        draft.remove(&format!("native/{}", app.id));
        draft.commit()?;
        Ok(revoked)
    }

    /// Lets homes believe a key of this store besides those they believe already.
    pub fn add_native_key(&self, key: &PublicKey, now: Timestamp) -> Result<NativeShelf, Failure> {
        self.change_keys(|shelf| shelf.put_key(key, now))
    }

    /// Tells homes not to believe a key any more. What it signed must be signed again with another one.
    pub fn revoke_native_key(&self, id: &str, now: Timestamp) -> Result<NativeShelf, Failure> {
        self.change_keys(|shelf| {
            let Some(key) = shelf.keys.iter_mut().find(|key| key["keyId"] == id) else {
                return Err(Failure::new(Reason::UnknownTrust, format!("the store has no key {id}")));
            };
            if key.get("revokedAt").is_none() {
                key["revokedAt"] = json!(now);
                shelf.keys_serial += 1;
                shelf.keys_at = now;
            }
            Ok(())
        })
    }

    /// The package of a version, the newest where none is named; nothing where there is none.
    pub fn native_package(&self, id: &str, version: Option<&str>) -> Result<Option<Vec<u8>>, Failure> {
        let shelf = self.native_shelf()?;
        let Some(app) = shelf.app(id) else { return Ok(None) };
        let found = match version {
            Some(version) => app.versions.iter().find(|known| known.version == version),
            None => app.newest(),
        };
        let Some(found) = found else { return Ok(None) };
        let bytes = self.ground.read(&app.path(found), PACKAGE_BYTES_MAX)?;
        match bytes {
            Some(bytes) if Digest::of(&bytes) == found.sha256 => Ok(Some(bytes)),
            _ => {
                let message = format!("{} is not what was published", app.path(found));
                Err(Failure::new(Reason::StoreUnusable, message))
            }
        }
    }

    fn change_keys(
        &self,
        change: impl FnOnce(&mut NativeShelf) -> Result<(), Failure>,
    ) -> Result<NativeShelf, Failure> {
        let mut draft = self.draft()?;
        let mut shelf = self.native_shelf()?;
        change(&mut shelf)?;
        draft.file(FILE, &written(&shelf)?)?;
        draft.commit()?;
        Ok(shelf)
    }
}

fn written(shelf: &NativeShelf) -> Result<Vec<u8>, Failure> {
    let mut bytes = serde_json::to_vec_pretty(shelf).map_err(|error| internal(&error))?;
    bytes.push(b'\n');
    Ok(bytes)
}

fn internal(error: &dyn std::error::Error) -> Failure {
    Failure::new(Reason::Internal, error.to_string())
}
