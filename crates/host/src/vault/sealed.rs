//! The file `vault.json`: its form, and how values are sealed in it.
//!
//! ChaCha20-Poly1305 with a new random nonce for every write. What a value belongs to is sealed with it, so that a
//! sealed text stands for nothing under another name, at another time or in another vault.

use super::value::SecretValue;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use roost_protocol::VariableName;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt, io};

/// The form this program reads and writes.
const VERSION: u64 = 1;

/// Values in one vault: more than a person can oversee, and still opened in a moment.
const SECRETS_MAX: usize = 256;

const KEY_BYTES: usize = 32;
const ID_BYTES: usize = 16;

/// The key that values are sealed with.
pub(super) struct Key {
    sealing: LessSafeKey,
    /// In hexadecimal digits, as it is kept.
    text: String,
}

impl Key {
    pub(super) fn new() -> io::Result<Self> {
        let text = hex::encode(random::<KEY_BYTES>()?);
        Self::parse(&text).ok_or_else(|| io::Error::other("a new key is not one"))
    }

    /// The key in its written form.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim_end();
        let bytes = hex::decode(text).ok().filter(|bytes| bytes.len() == KEY_BYTES)?;
        let sealing = LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, &bytes).ok()?);
        Some(Self { sealing, text: text.to_owned() })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    fn seal(&self, plain: &str, belongs_to: &[u8]) -> io::Result<String> {
        let nonce = random::<NONCE_LEN>()?;
        let mut sealed = plain.as_bytes().to_vec();
        self.sealing
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(belongs_to), &mut sealed)
            .map_err(|_| io::Error::other("the value cannot be sealed"))?;
        Ok(STANDARD.encode([&nonce[..], &sealed].concat()))
    }

    fn open(&self, sealed: &str, belongs_to: &[u8]) -> Option<Vec<u8>> {
        let bytes = STANDARD.decode(sealed).ok()?;
        let (nonce, sealed) = bytes.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut sealed = sealed.to_vec();
        self.sealing.open_in_place(nonce, Aad::from(belongs_to), &mut sealed).ok().map(|plain| plain.to_vec())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("Key(…)")
    }
}

/// Where the key of a vault is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyPlace {
    /// In the keychain of the person's session.
    Keychain,
    /// In `keys/vault.key` beside it.
    File,
}

/// The whole file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SealedFile {
    version: u64,
    /// Tells this vault from every other; the keychain knows its key by this.
    pub(super) id: String,
    pub(super) key: KeyPlace,
    /// Nothing, sealed: tells a wrong key from a damaged value, and is there when no value is.
    check: String,
    secrets: BTreeMap<String, SealedSecret>,
}

/// One value in the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SealedSecret {
    pub(super) set_at: Timestamp,
    sealed: String,
}

/// One value, opened.
#[derive(Debug, Clone)]
pub(super) struct OpenedSecret {
    pub(super) set_at: Timestamp,
    pub(super) value: SecretValue,
}

/// Everything in a vault, opened.
pub(super) type Opened = BTreeMap<VariableName, OpenedSecret>;

impl SealedFile {
    /// An id for a vault that is about to be made.
    pub(super) fn new_id() -> io::Result<String> {
        Ok(hex::encode(random::<ID_BYTES>()?))
    }

    /// A vault without any value.
    pub(super) fn empty(id: String, place: KeyPlace, key: &Key) -> io::Result<Self> {
        let check = key.seal("", &belonging(&id, "", ""))?;
        Ok(Self { version: VERSION, id, key: place, check, secrets: BTreeMap::new() })
    }

    /// Reads the form. Nothing is opened yet. An error says what is wrong with the text.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        /// Read first: a newer form may have fields that this program does not know.
        #[derive(Deserialize)]
        struct Form {
            version: u64,
        }
        let form: Form = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if form.version != VERSION {
            let message = format!("it is of form {}, and this Roost reads form {VERSION} only", form.version);
            return Err(message);
        }
        let file: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        let is_id = file.id.len() == ID_BYTES * 2 && file.id.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_id {
            return Err("its id is not one".to_owned());
        }
        Ok(file)
    }

    pub(super) fn to_bytes(&self) -> io::Result<Vec<u8>> {
        Ok(serde_json::to_vec_pretty(self)?)
    }

    /// The sealed text of a name: another one after every change, whatever the value is.
    pub(super) fn mark(&self, name: &VariableName) -> Option<&str> {
        self.secrets.get(name.as_str()).map(|secret| secret.sealed.as_str())
    }

    /// Opens everything, or says what cannot be opened.
    pub(super) fn open(&self, key: &Key) -> Result<Opened, String> {
        if key.open(&self.check, &belonging(&self.id, "", "")).is_none() {
            return Err("it was not sealed with this key".to_owned());
        }
        let open_one = |(name, secret): (&String, &SealedSecret)| {
            let wrong = || format!("the value under `{}` is not what was sealed there", name.escape_debug());
            let parsed = VariableName::parse(name).map_err(|_| wrong())?;
            let at = secret.set_at.to_string();
            let plain = key.open(&secret.sealed, &belonging(&self.id, name, &at)).ok_or_else(wrong)?;
            let value = SecretValue::parse(&plain).map_err(|_| wrong())?;
            Ok((parsed, OpenedSecret { set_at: secret.set_at, value }))
        };
        self.secrets.iter().map(open_one).collect()
    }

    /// Puts a value there; true when it takes the place of another.
    pub(super) fn put(
        &mut self,
        name: &VariableName,
        value: &SecretValue,
        key: &Key,
        set_at: Timestamp,
    ) -> io::Result<bool> {
        let is_known = self.secrets.contains_key(name.as_str());
        if !is_known && self.secrets.len() >= SECRETS_MAX {
            return Err(io::Error::other(format!("there are {SECRETS_MAX} secrets already")));
        }
        let sealed = key.seal(value.expose(), &belonging(&self.id, name.as_str(), &set_at.to_string()))?;
        self.secrets.insert(name.as_str().to_owned(), SealedSecret { set_at, sealed });
        Ok(is_known)
    }

    /// Takes a value away; false when there is none.
    pub(super) fn take(&mut self, name: &VariableName) -> bool {
        self.secrets.remove(name.as_str()).is_some()
    }
}

/// What a sealed text belongs to. None of the parts can hold the separator.
fn belonging(id: &str, name: &str, set_at: &str) -> Vec<u8> {
    format!("roost-vault-{VERSION}\n{id}\n{name}\n{set_at}").into_bytes()
}

fn random<const BYTES: usize>() -> io::Result<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes)
}
