//! `signatures.json`: who vouches for a package, and for how much of it.
//!
//! The published form signs the manifest and the program and leaves pages and `SKILL.md` open; it also lets the manifest
//! of one version stand beside the program of another. Ours adds one signature over every path, size and digest, in a
//! key that published readers pass over. Both are made by one key over the same files.

use super::strict_json::{self, shown};
use crate::container::Files;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use roost_protocol::{Digest, is_id_text};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value, json};
use std::fmt::{self, Write as _};

/// Where they are in a package.
pub(super) const PATH: &str = "signatures.json";

/// The only algorithm there is.
pub(super) const ALGORITHM: &str = "ed25519";

/// Begins what is signed, so that a signature over something else is never one over a tree.
const TREE_HEADING: &str = "roost native package 1";

/// Names a key: 1 to 64 letters, digits, `.`, `_` or `-`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(String);

impl KeyId {
    /// Checks the form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        is_id_text(text).then(|| Self(text.to_owned()))
    }

    /// What a key made here is called: the first eight bytes of its digest.
    #[must_use]
    pub fn of(key: &VerifyingKey) -> Self {
        Self(Digest::of(key.as_bytes()).to_string()[..16].to_owned())
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Serialize for KeyId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// How much of a package somebody vouches for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Covered {
    /// The manifest and the program; nothing is said about pages and `SKILL.md`.
    ManifestAndBinary,
    /// Every file.
    Tree,
}

/// What `signatures.json` says, in one of its spellings. Nothing is verified yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signatures {
    /// Which key made them.
    pub key_id: KeyId,
    binary_sha256: Digest,
    binary: Signature,
    manifest: Signature,
    tree: Option<Signature>,
}

impl Signatures {
    /// Reads the file. Both spellings of a name are known, but not both at once.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let json = strict_json::object(bytes)?;
        let algorithm = field(&json, ["algorithm", "algorithm"])?;
        if algorithm.is_some_and(|algorithm| algorithm != ALGORITHM) {
            let named = shown(algorithm.unwrap_or_default());
            return Err(format!("unsupported signature algorithm: `{named}`"));
        }
        let required = |names: [&'static str; 2]| {
            field(&json, names)?.ok_or_else(|| format!("missing required fields: {}", names[0]))
        };
        required(["algorithm", "algorithm"])?;
        let key_id = required(["key_id", "keyId"])?;
        let sha256 = required(["binary_sha256", "binarySha256"])?;
        let binary = required(["binary_signature", "binarySignature"])?;
        let manifest = required(["manifest_signature", "manifestSignature"])?;
        let tree = field(&json, ["tree_signature", "treeSignature"])?;
        Ok(Self {
            key_id: KeyId::parse(key_id).ok_or_else(|| format!("`{}` is no key's id", shown(key_id)))?,
            binary_sha256: Digest::parse(sha256)
                .map_err(|_| "binary_sha256 is not 64 hexadecimal digits".to_owned())?,
            binary: signature("binary_signature", binary)?,
            manifest: signature("manifest_signature", manifest)?,
            tree: tree.map(|tree| signature("tree_signature", tree)).transpose()?,
        })
    }

    /// How much these signatures would vouch for.
    #[must_use]
    pub fn covered(&self) -> Covered {
        if self.tree.is_some() { Covered::Tree } else { Covered::ManifestAndBinary }
    }

    /// Checks every signature that is there against the files.
    pub(super) fn verify(&self, signed: &Signed<'_>, key: &VerifyingKey) -> Result<Covered, String> {
        // Strictly: there is one signature of a message by a key, and no key that fits every message.
        let fits = |message: &[u8], signature: &Signature| key.verify_strict(message, signature).is_ok();
        if !fits(signed.manifest, &self.manifest) {
            return Err("manifest signature verification failed".to_owned());
        }
        if Digest::of(signed.binary) != self.binary_sha256 {
            return Err("SHA256 mismatch: the binary is not the one that was signed".to_owned());
        }
        if !fits(signed.binary, &self.binary) {
            return Err("binary signature verification failed".to_owned());
        }
        match &self.tree {
            Some(tree) if !fits(signed.statement().as_bytes(), tree) => {
                Err("tree signature verification failed: a file was changed, added or removed".to_owned())
            }
            _ => Ok(self.covered()),
        }
    }
}

/// What is signed: all files but the signatures themselves.
#[derive(Debug, Clone, Copy)]
pub(super) struct Signed<'a> {
    pub(super) id: &'a str,
    pub(super) version: &'a str,
    pub(super) manifest: &'a [u8],
    pub(super) binary: &'a [u8],
    pub(super) files: &'a Files,
}

impl Signed<'_> {
    /// One line for the app, one for each file. No path has a line break, so no two packages have one statement.
    fn statement(&self) -> String {
        let mut statement = format!("{TREE_HEADING}\n{} {}\n", self.id, self.version);
        for (path, content) in self.files.iter().filter(|(path, _)| *path != PATH) {
            // Writing to a text does not fail.
            writeln!(statement, "{} {} {path}", Digest::of(content), content.len()).ok();
        }
        statement
    }

    /// `signatures.json` by this key, in the published form with the signature of the tree beside it.
    pub(super) fn sign(&self, key: &SigningKey) -> Vec<u8> {
        let text = |message: &[u8]| STANDARD.encode(key.sign(message).to_bytes());
        let json = json!({
            "key_id": KeyId::of(&key.verifying_key()),
            "algorithm": ALGORITHM,
            "binary_sha256": Digest::of(self.binary),
            "binary_signature": text(self.binary),
            "manifest_signature": text(self.manifest),
            "tree_signature": text(self.statement().as_bytes()),
        });
        format!("{json:#}\n").into_bytes()
    }
}

fn field<'a>(json: &'a Map<String, Value>, names: [&'static str; 2]) -> Result<Option<&'a str>, String> {
    let [first, second] = names.map(|name| json.get(name));
    if names[0] != names[1] && first.is_some() && second.is_some() {
        return Err(format!("`{}` and `{}` are the same", names[0], names[1]));
    }
    match first.or(second) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.is_empty() => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("`{}` is not a text", names[0])),
    }
}

fn signature(name: &str, text: &str) -> Result<Signature, String> {
    let bytes = STANDARD.decode(text).ok().and_then(|bytes| <[u8; 64]>::try_from(bytes).ok());
    bytes
        .map(|bytes| Signature::from_bytes(&bytes))
        .ok_or_else(|| format!("`{name}` is not 64 bytes in base64"))
}
