//! Good native packages, manifests, skills, signatures and lists, to be changed.

use anyhow::{Result, anyhow};
use roost_apps::native::{NativePackage, SigningKey};
use std::{fs, os::unix::fs::PermissionsExt as _};

const MANIFEST: &str = r#"{"id":"com.example.a","name":"A","version":"1.0.0","provides":["tool:a","hooks"],
"permissions":["network:example.com","hook:*"],"overrides":["tool.pre_execute"],"startup_timeout":5,
"oauth":[{"provider":"google","scopes":["mail"]}]}"#;
const SKILL: &str =
    "---\nname: a\ndescription: >\n  b\ntriggers: [x, 'y']\nmetadata:\n  k: {v: 1}\n---\ntext\n";
const KEYS: &str = r#"{"serial":3,"issuedAt":"2026-01-01T00:00:00Z","keys":[{"algorithm":"ed25519","keyId":"k",
"publicKey":"d5g+hXnL7RMFSf1GQmS7WlQ0xvLq3DGgZgF6vYAwAGw=","covers":"tree","notAfter":"2027-01-01T00:00:00Z"}]}"#;
const REVOCATIONS: &str =
    r#"{"serial":1,"revocations":[{"id":"com.bad","revoked_at":"2026-01-01T00:00:00Z"}]}"#;

/// One of each kind.
pub(crate) fn seeds() -> Result<Vec<Vec<u8>>> {
    let folder = tempfile::tempdir()?;
    for (path, content) in [("manifest.json", MANIFEST), ("SKILL.md", SKILL), ("binary", "\x7fELF")] {
        fs::write(folder.path().join(path), content)?;
    }
    fs::set_permissions(folder.path().join("binary"), fs::Permissions::from_mode(0o700))?;
    let package = NativePackage::from_folder(folder.path()).map_err(|errors| anyhow!("{errors:?}"))?;
    let package = package.sign(&SigningKey::from_bytes(&[7; 32])).map_err(|errors| anyhow!("{errors:?}"))?;
    let signatures = package.signature_file().map(|(_, bytes)| bytes.to_vec()).unwrap_or_default();
    let texts = [MANIFEST, SKILL, KEYS, REVOCATIONS].map(|text| text.as_bytes().to_vec());
    Ok([vec![package.to_napp()?, signatures], texts.to_vec()].concat())
}
