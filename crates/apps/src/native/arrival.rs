//! Whether a path that a person names is a native app.

use crate::{bundle::read_at_most, container::ContainerLimits};
use roost_protocol::{Failure, Reason};
use serde_json::Value;
use std::{fs::File, io::Read as _, path::Path};

/// How a package begins: gzip.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// A manifest that is larger is not one of ours.
const MANIFEST_BYTES_MAX: u64 = 1 << 20;
/// Fields that only the manifest of a native app has.
const FIELDS: [&str; 5] = ["provides", "permissions", "protocol", "runtime", "startup_timeout"];

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NativeArrival {
    /// The bytes of a `.napp`.
    Napp(Vec<u8>),
    /// The folder of an app.
    Folder,
}

/// Looks at what is there; nothing when it is no native app.
pub fn look_for_native(path: &Path) -> Result<Option<NativeArrival>, Failure> {
    if path.is_dir() {
        return Ok(is_native_folder(path).then_some(NativeArrival::Folder));
    }
    if !path.metadata().is_ok_and(|known| known.is_file()) {
        return Ok(None);
    }
    let unreadable =
        |error: std::io::Error| Failure::new(Reason::Unreadable, format!("{}: {error}", path.display()));
    let mut beginning = Vec::new();
    File::open(path).and_then(|file| file.take(2).read_to_end(&mut beginning)).map_err(unreadable)?;
    let is_named_so = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("napp"));
    if !is_named_so && beginning != GZIP {
        return Ok(None);
    }
    let bytes = read_at_most(path, ContainerLimits::NATIVE.archive_bytes_max).map_err(unreadable)?;
    Ok(Some(NativeArrival::Napp(bytes)))
}

/// A program lies beside the manifest, or the manifest is of that kind. A rapplication names its schema.
fn is_native_folder(folder: &Path) -> bool {
    let manifest = read_at_most(&folder.join(super::manifest::PATH), MANIFEST_BYTES_MAX);
    let manifest: Option<Value> = manifest.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let has = |key: &str| manifest.as_ref().is_some_and(|manifest| manifest.get(key).is_some());
    !has("schema") && (FIELDS.iter().any(|key| has(key)) || super::find_binary(folder).is_some())
}
