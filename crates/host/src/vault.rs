//! The vault: values that agents were granted to see or to use, sealed in `keys/vault.json` of the home.
//!
//! Shared by every process of the home: read again when the file changed, changed under a lock. Who gets a value is
//! decided by the gate. A vault that cannot be read gives nothing and is never written over.

mod value; // a value that does not show itself
mod sealed; // the file and how values are sealed in it
mod keychain; // the keychain of the session
pub(crate) mod guarded_file; // files for their owner only
mod uses; // who was granted what is kept here

pub(crate) use self::{keychain::Keychain, uses::secret_of};
pub use self::{
    sealed::KeyPlace,
    uses::{SecretListing, SecretUser, Secrets},
    value::{InvalidSecretValue, SecretValue},
};

use self::{
    guarded_file::{Refused, Stamp},
    sealed::{Key, Opened, SealedFile},
};
use crate::{gate::Disk, settings::Home};
use jiff::Timestamp;
use roost_apps::LockFile;
use roost_protocol::{Failure, Reason, VariableName};
use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher as _},
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// A vault above this is not one we wrote: as many values as it takes, each of the largest size, stay below it.
const VAULT_BYTES_MAX: u64 = 32 << 20;

/// A key file above this is not one.
const KEY_BYTES_MAX: u64 = 1024;

/// How long another process may hold the lock: longer than it may wait for a person to unlock the keychain, twice.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(75);

/// The vault of one home.
#[derive(Debug)]
pub struct Vault {
    folder: PathBuf,
    path: PathBuf,
    key_path: PathBuf,
    lock_path: PathBuf,
    keychain: Keychain,
    disk: Mutex<Disk>,
    seen: Mutex<Seen>,
}

/// A value, and the name that rights know it by.
#[derive(Debug, Clone)]
pub(crate) struct ResolvedSecret {
    pub(crate) name: VariableName,
    pub(crate) value: SecretValue,
}

/// What the vault has of some names at one moment.
#[derive(Debug, Default)]
pub(crate) struct Resolved {
    pub(crate) secrets: Vec<ResolvedSecret>,
    pub(crate) state: VaultState,
}

/// Tells one state of some names from another: it changes with every change of their values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct VaultState(u64);

/// What was found when the files were last looked at.
#[derive(Debug, Default)]
struct Seen {
    stamps: Option<(Stamp, Stamp)>,
    found: Option<Result<Found, Failure>>,
    /// The key that the keychain gave, and the vault it belongs to.
    key: Option<(String, Arc<Key>)>,
}

#[derive(Debug, Clone)]
enum Found {
    /// There is no vault.
    Nothing,
    /// The keychain has to be asked first.
    Locked(Arc<SealedFile>),
    Open(Arc<SealedFile>, Arc<Opened>),
}

impl Vault {
    /// The vault of this home. Nothing is read yet: one that cannot be used is told at each use.
    pub(crate) fn open(home: &Home, keychain: Keychain) -> Self {
        Self::on(home, keychain, Disk::default())
    }

    /// What the host seals for native apps: a vault of its own, so that no agent can be granted anything of it.
    pub(crate) fn of_native_apps(home: &Home, keychain: Keychain) -> Self {
        Self::named(home, "native", keychain, Disk::default())
    }

    fn on(home: &Home, keychain: Keychain, disk: Disk) -> Self {
        Self::named(home, "vault", keychain, disk)
    }

    fn named(home: &Home, name: &str, keychain: Keychain, disk: Disk) -> Self {
        let folder = home.keys();
        let file = |ending: &str| folder.join(format!("{name}.{ending}"));
        let (path, key_path, lock_path) = (file("json"), file("key"), file("lock"));
        let (disk, seen) = (Mutex::new(disk), Mutex::default());
        Self { folder, path, key_path, lock_path, keychain, disk, seen }
    }

    /// The value of this name.
    pub async fn get(&self, name: &VariableName) -> Result<Option<SecretValue>, Failure> {
        Ok(self.opened().await?.and_then(|(_, opened)| Some(opened.get(name)?.value.clone())))
    }

    /// Keeps a value under this name; true when it takes the place of another. On disk when this returns.
    pub async fn set(&self, name: &VariableName, value: &SecretValue) -> Result<bool, Failure> {
        self.change(|file, key| {
            file.put(name, value, key, Timestamp::now()).map_err(|error| {
                Failure::new(Reason::VaultUnusable, error.to_string()).with_next(REMOVE_SOME)
            })
        })
        .await
    }

    /// Changes a value by what it is now, under the lock; nothing takes it away.
    pub(crate) async fn update<T>(
        &self,
        name: &VariableName,
        change: impl FnOnce(Option<&SecretValue>) -> Result<(Option<SecretValue>, T), Failure>,
    ) -> Result<T, Failure> {
        self.change(|file, key| {
            let opened = file.open(key).map_err(|why| self.unusable(&why))?;
            let (value, result) = change(opened.get(name).map(|secret| &secret.value))?;
            match value {
                Some(value) => file
                    .put(name, &value, key, Timestamp::now())
                    .map_err(|error| Failure::new(Reason::VaultUnusable, error.to_string()))
                    .map(drop)?,
                None => drop(file.take(name)),
            }
            Ok(result)
        })
        .await
    }

    /// Forgets the value of this name.
    pub async fn remove(&self, name: &VariableName) -> Result<(), Failure> {
        let unknown = || {
            Failure::new(Reason::UnknownSecret, format!("there is no secret of the name {}", name.as_str()))
        };
        if self.opened().await?.is_none_or(|(_, opened)| !opened.contains_key(name)) {
            return Err(unknown());
        }
        self.change(|file, _| if file.take(name) { Ok(()) } else { Err(unknown()) }).await
    }

    /// Every name with the time it was set, and where the key is; nothing when there is no vault.
    pub async fn list(&self) -> Result<Option<(KeyPlace, Vec<(VariableName, Timestamp)>)>, Failure> {
        let listed = |(file, opened): (Arc<SealedFile>, Arc<Opened>)| {
            (file.key, opened.iter().map(|(name, secret)| (name.clone(), secret.set_at)).collect())
        };
        Ok(self.opened().await?.map(listed))
    }

    /// Those of the names that have a value here, all at one moment.
    pub(crate) async fn resolve(&self, names: &[VariableName]) -> Result<Resolved, Failure> {
        if names.is_empty() {
            return Ok(Resolved::default());
        }
        let found = self.opened().await?;
        let file = found.as_ref().map(|(file, _)| &**file);
        let state = VaultState::of(names, file);
        let opened = found.as_ref().map(|(_, opened)| opened);
        let resolved = names.iter().filter_map(|name| {
            Some(ResolvedSecret { name: name.clone(), value: opened?.get(name)?.value.clone() })
        });
        Ok(Resolved { secrets: resolved.collect(), state })
    }

    /// The state of these names now. Only looks at stamps while nobody changes the files, and asks no keychain.
    pub(crate) fn state(&self, names: &[VariableName]) -> VaultState {
        if names.is_empty() {
            return VaultState::default();
        }
        match self.look() {
            Ok(Found::Nothing) => VaultState::of(names, None),
            Ok(Found::Locked(file) | Found::Open(file, _)) => VaultState::of(names, Some(&file)),
            // What cannot be used is a state of its own.
            Err(failure) => VaultState::of_hashed(&failure.message),
        }
    }

    /// Another one after every change of the files.
    pub(crate) fn generation(&self) -> VaultState {
        match self.stamps() {
            Ok(stamps) => VaultState::of_hashed(&stamps),
            Err(failure) => VaultState::of_hashed(&failure.message),
        }
    }

    /// Everything, opened; nothing when there is no vault.
    async fn opened(&self) -> Result<Option<(Arc<SealedFile>, Arc<Opened>)>, Failure> {
        let mut found = self.look()?;
        if let Found::Locked(file) = &found {
            let key = self.key_in_keychain(&file.id).await?;
            self.seen().key = Some((file.id.clone(), Arc::new(key)));
            found = self.look()?;
        }
        match found {
            Found::Nothing => Ok(None),
            Found::Open(file, opened) => Ok(Some((file, opened))),
            Found::Locked(_) => Err(self.unusable("it was replaced by another one just now")),
        }
    }

    /// What the files hold now.
    fn look(&self) -> Result<Found, Failure> {
        // The stamps are older than what is read: a change in between is seen the next time.
        let stamps = self.stamps()?;
        let mut seen = self.seen();
        let is_current = seen.stamps == Some(stamps) && !matches!(seen.found, Some(Ok(Found::Locked(_))));
        if let Some(found) = seen.found.as_ref().filter(|_| is_current) {
            return found.clone();
        }
        let found = self.read_and_open(&seen);
        seen.stamps = Some(stamps).filter(|(file, key)| file.is_settled() && key.is_settled());
        seen.found = Some(found.clone());
        found
    }

    fn read_and_open(&self, seen: &Seen) -> Result<Found, Failure> {
        let Some(file) = self.read()? else { return Ok(Found::Nothing) };
        let key = match file.key {
            KeyPlace::File => Some(Arc::new(self.key_in_file()?.ok_or_else(|| self.without_key())?)),
            KeyPlace::Keychain => {
                seen.key.as_ref().filter(|(id, _)| *id == file.id).map(|(_, key)| Arc::clone(key))
            }
        };
        let Some(key) = key else { return Ok(Found::Locked(Arc::new(file))) };
        let opened = file.open(&key).map_err(|why| self.unusable(&why))?;
        Ok(Found::Open(Arc::new(file), Arc::new(opened)))
    }

    /// Changes the file: reads it again under the lock, so that no other process's change is lost.
    async fn change<T>(
        &self,
        change: impl FnOnce(&mut SealedFile, &Key) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        guarded_file::own_folder(&self.folder).map_err(|why| refused(&self.folder, why))?;
        let _lock = self.lock().await?;
        let (mut file, key) = match self.read()? {
            Some(file) => {
                let key = match file.key {
                    KeyPlace::File => self.key_in_file()?.ok_or_else(|| self.without_key())?,
                    KeyPlace::Keychain => self.key_in_keychain(&file.id).await?,
                };
                // One that cannot be opened whole is not written over.
                file.open(&key).map_err(|why| self.unusable(&why))?;
                (file, key)
            }
            None => self.begin().await?,
        };
        let result = change(&mut file, &key)?;
        let bytes = file.to_bytes().map_err(|error| self.unusable(&error.to_string()))?;
        self.replace(&self.path, &bytes)?;
        self.seen().stamps = None;
        Ok(result)
    }

    /// A vault without values, not on disk yet, whose key is kept.
    async fn begin(&self) -> Result<(SealedFile, Key), Failure> {
        let unusable = |error: io::Error| self.unusable(&error.to_string());
        let id = SealedFile::new_id().map_err(unusable)?;
        let (place, key) = match self.key_in_file()? {
            // A first write that was cut off left it, or the vault was moved aside.
            Some(key) => (KeyPlace::File, key),
            None => {
                let key = Key::new().map_err(unusable)?;
                if self.keychain.keep(&id, &key).await {
                    (KeyPlace::Keychain, key)
                } else {
                    self.replace(&self.key_path, key.text().as_bytes())?;
                    (KeyPlace::File, key)
                }
            }
        };
        Ok((SealedFile::empty(id, place, &key).map_err(unusable)?, key))
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
        let mut disk = self.disk.lock().unwrap_or_else(PoisonError::into_inner);
        disk.replace(path, bytes).map_err(|error| refused(path, error.into()))
    }

    fn read(&self) -> Result<Option<SealedFile>, Failure> {
        let bytes =
            guarded_file::read(&self.path, VAULT_BYTES_MAX).map_err(|why| refused(&self.path, why))?;
        bytes.map(|bytes| SealedFile::parse(&bytes).map_err(|why| self.unusable(&why))).transpose()
    }

    fn key_in_file(&self) -> Result<Option<Key>, Failure> {
        let bytes =
            guarded_file::read(&self.key_path, KEY_BYTES_MAX).map_err(|why| refused(&self.key_path, why))?;
        let Some(bytes) = bytes else { return Ok(None) };
        let key = std::str::from_utf8(&bytes).ok().and_then(Key::parse);
        key.map(Some).ok_or_else(|| refused(&self.key_path, io::Error::other("it holds no key").into()))
    }

    async fn key_in_keychain(&self, id: &str) -> Result<Key, Failure> {
        let found = self.keychain.find(id).await?;
        found.ok_or_else(|| {
            let message = format!("{}: the keychain does not give its key", self.path.display());
            Failure::new(Reason::VaultUnusable, message).with_next(format!(
                "unlock the keychain, and start Roost in the session it belongs to; the entry is `roost`, `{id}`"
            ))
        })
    }

    async fn lock(&self) -> Result<LockFile, Failure> {
        let path = self.lock_path.clone();
        let taken = tokio::task::spawn_blocking({
            let path = path.clone();
            move || LockFile::take(&path, LOCK_WAIT_MAX)
        });
        let taken = taken.await.map_err(io::Error::other).flatten();
        taken.map_err(|error| refused(&path, error.into()))
    }

    fn stamps(&self) -> Result<(Stamp, Stamp), Failure> {
        let stamp = |path: &Path| Stamp::of(path).map_err(|error| refused(path, error.into()));
        Ok((stamp(&self.path)?, stamp(&self.key_path)?))
    }

    fn without_key(&self) -> Failure {
        self.unusable(&format!("its key {} is gone", self.key_path.display()))
    }

    fn unusable(&self, why: &str) -> Failure {
        refused(&self.path, io::Error::other(why.to_owned()).into())
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl VaultState {
    fn of(names: &[VariableName], file: Option<&SealedFile>) -> Self {
        let marks: BTreeMap<&str, Option<&str>> =
            names.iter().map(|name| (name.as_str(), file.and_then(|file| file.mark(name)))).collect();
        Self::of_hashed(&marks)
    }

    fn of_hashed(what: &impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        what.hash(&mut hasher);
        Self(hasher.finish())
    }
}

const REMOVE_SOME: &str = "remove what is not used; `roost secrets list` shows who uses what";

/// Why a file of the vault cannot be used, and what to do about it.
fn refused(path: &Path, why: Refused) -> Failure {
    let next = match &why {
        Refused::Exposed(_) => format!(
            "take it from the others: `chmod -R go= {}`; if they could have read it, change what was in it",
            path.display()
        ),
        Refused::Unreadable(_) => format!(
            "restore {} from a copy, or move it aside and set the secrets again; it was left as it is",
            path.display()
        ),
    };
    Failure::new(Reason::VaultUnusable, format!("{}: {why}", path.display())).with_next(next)
}

#[cfg(test)]
mod tests;
