//! What everybody may read of a store: the catalog, the published apps and the static API. Nothing that waits, and
//! nothing hidden.

use super::{Storefront, document};
use crate::catalog::{CATALOG_BYTES_MAX, is_inner_path};
use roost_protocol::{Digest, Failure, media_type};

/// Largest file that a bundle can bring.
const FILE_BYTES_MAX: usize = 20 << 20;

/// A file as it is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedFile {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What it is.
    pub content_type: &'static str,
    /// What tells this content from another.
    pub digest: Digest,
}

impl Storefront {
    /// A file by its path from the top of the store; nothing for whatever is not published.
    pub fn served(&self, path: &str) -> Result<Option<ServedFile>, Failure> {
        let is_published = path == document::FILE || path.starts_with("apps/") || path.starts_with("api/v1/");
        if !is_published || !is_inner_path(path) {
            return Ok(None);
        }
        let bytes_max = if path == document::FILE { CATALOG_BYTES_MAX } else { FILE_BYTES_MAX };
        // A folder, a link and a file that is not there are the same to a stranger.
        let Ok(Some(bytes)) = self.ground.read(path, bytes_max) else { return Ok(None) };
        Ok(Some(ServedFile { digest: Digest::of(&bytes), content_type: media_type(path), bytes }))
    }
}
