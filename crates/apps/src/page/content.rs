//! The files of a page: its manifest and everything beside it, judged together.

use super::manifest::{PageManifest, PageProblem};
use crate::container::{ContainerLimits, Files, read_zip};
use roost_protocol::Digest;

/// The file in which a page says what it is.
pub const MANIFEST_FILE: &str = "manifest.json";

/// What a page writes below this folder of its own is data: neither part of its content nor served to a browser.
pub const DATA_FOLDER: &str = "data/";

/// What a page may take. Every file of a workspace has its own limit besides.
pub const PAGE_LIMITS: ContainerLimits =
    ContainerLimits { archive_bytes_max: 8 << 20, entries_max: 256, content_bytes_max: 16 << 20 };

/// What the page of a native app may take: it is held in memory while it is mounted.
pub const NATIVE_PAGE_LIMITS: ContainerLimits =
    ContainerLimits { archive_bytes_max: 0, entries_max: 2048, content_bytes_max: 64 << 20 };

/// More than text packs to: what grows like this was made to fill memory.
const RATIO_MAX: u64 = 100;

/// Below this nobody is hurt, however well it was packed.
const RATIO_FREE_BYTES: u64 = 1 << 20;

/// A page whose manifest and files are as they must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageContent {
    manifest: PageManifest,
    files: Files,
    digest: Digest,
}

impl PageContent {
    /// Checks files, by their paths from the page's folder, whose name is `folder`.
    pub fn from_contents(
        folder: &str,
        contents: impl IntoIterator<Item = (String, Vec<u8>)>,
    ) -> Result<Self, Vec<PageProblem>> {
        let kept = contents.into_iter().filter(|(path, _)| !path.starts_with(DATA_FOLDER));
        let files = Files::from_contents(kept).map_err(|refused| {
            refused
                .into_iter()
                .map(|refused| PageProblem::new("files", refused.to_string()))
                .collect::<Vec<_>>()
        })?;
        Self::from_files(folder, files)
    }

    fn from_files(folder: &str, files: Files) -> Result<Self, Vec<PageProblem>> {
        let manifest = files
            .get(MANIFEST_FILE)
            .ok_or_else(|| vec![PageProblem::new(MANIFEST_FILE, "is not there")])
            .and_then(|bytes| PageManifest::read(bytes, folder))?;
        Self::checked(manifest, files)
    }

    /// Checks that a manifest and files fit together.
    pub(super) fn checked(manifest: PageManifest, files: Files) -> Result<Self, Vec<PageProblem>> {
        let mut problems = Vec::new();
        let bytes: u64 = files.iter().map(|(_, content)| content.len() as u64).sum();
        let limits = if manifest.native { &NATIVE_PAGE_LIMITS } else { &PAGE_LIMITS };
        if files.len() > limits.entries_max || bytes > limits.content_bytes_max {
            let message = format!(
                "{} files with {bytes} bytes; at most {} with {}",
                files.len(),
                limits.entries_max,
                limits.content_bytes_max
            );
            problems.push(PageProblem::new("files", message));
        }
        for (field, path) in [("entry", Some(&manifest.entry)), ("icon", manifest.icon.as_ref())] {
            if path.is_some_and(|path| files.get(path).is_none()) {
                problems.push(PageProblem::new(field, "names a file that is not there"));
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let digest = files.digest();
        Ok(Self { manifest, files, digest })
    }

    /// What it says of itself.
    #[must_use]
    pub fn manifest(&self) -> &PageManifest {
        &self.manifest
    }

    /// Its files, without data.
    #[must_use]
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// Tells one content from another: over the path and bytes of every file but data.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The page as a zip with one folder.
    #[must_use]
    pub fn to_zip(&self) -> Vec<u8> {
        self.files.to_zip(self.manifest.id.as_str())
    }
}

/// Reads a page that arrives as a zip: below one folder of its id, or right at the top.
pub fn from_zip(bytes: &[u8]) -> Result<PageContent, Vec<PageProblem>> {
    let of_archive = |message: String| PageProblem::new("archive", message);
    let files = read_zip(bytes, &PAGE_LIMITS).map_err(|refused| {
        refused.into_iter().map(|refused| of_archive(refused.to_string())).collect::<Vec<_>>()
    })?;
    let content: u64 = files.iter().map(|(_, content)| content.len() as u64).sum();
    if content > RATIO_FREE_BYTES && content / RATIO_MAX > bytes.len() as u64 {
        return Err(vec![of_archive(format!(
            "{} bytes become {content}: no page packs that well",
            bytes.len()
        ))]);
    }
    let (folder, files) = match files.get(MANIFEST_FILE) {
        Some(manifest) => (id_in(manifest), files),
        None => {
            let root = files.only_root().map_err(|refused| vec![of_archive(refused.to_string())])?.to_owned();
            let files = files.below(&root);
            (files.get(MANIFEST_FILE).and_then(id_in), files)
        }
    };
    // The folder it travelled in is not the one it will lie in: that one has the id's name.
    PageContent::from_contents(
        &folder.unwrap_or_default(),
        files.iter().map(|(path, content)| (path.to_owned(), content.to_vec())),
    )
}

fn id_in(manifest: &[u8]) -> Option<String> {
    let value: serde_json::Value = serde_json::from_slice(manifest).ok()?;
    value["id"].as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::{PageContent, from_zip};
    use crate::container::Files;
    use serde_json::json;

    fn manifest(entry: &str) -> Vec<u8> {
        json!({"id": "notes", "name": "Notes", "version": "1.0.0", "entry": entry}).to_string().into_bytes()
    }

    fn files(extra: &[(&str, &[u8])]) -> Vec<(String, Vec<u8>)> {
        let mut files = vec![
            ("manifest.json".to_owned(), manifest("index.html")),
            ("index.html".to_owned(), b"<h1>hi</h1>".to_vec()),
        ];
        files.extend(extra.iter().map(|(path, content)| ((*path).to_owned(), content.to_vec())));
        files
    }

    fn zip_of(contents: Vec<(String, Vec<u8>)>) -> Vec<u8> {
        Files::from_contents(contents).unwrap().to_zip("anything")
    }

    #[test]
    fn data_is_no_part_of_the_content_and_everything_else_is() {
        let page = PageContent::from_contents("notes", files(&[])).unwrap();
        let with_data = PageContent::from_contents("notes", files(&[("data/a.json", b"1")])).unwrap();
        assert_eq!(page.digest(), with_data.digest());
        assert_eq!(with_data.files().get("data/a.json"), None);
        let with_code = PageContent::from_contents("notes", files(&[("b.js", b"1")])).unwrap();
        assert_ne!(page.digest(), with_code.digest());
    }

    #[test]
    fn a_page_without_its_entry_is_none() {
        let fields = |contents| -> Vec<String> {
            let problems = PageContent::from_contents("notes", contents).unwrap_err();
            problems.into_iter().map(|problem| problem.field).collect()
        };
        assert_eq!(fields(vec![("manifest.json".to_owned(), manifest("main.html"))]), ["entry"]);
        assert_eq!(fields(vec![("index.html".to_owned(), Vec::new())]), ["manifest.json"]);
        assert_eq!(fields(files(&[("A.js", b""), ("a.js", b"")])), ["files"]);
        assert_eq!(fields(files(&[("../a.js", b"")])), ["files"]);
    }

    #[test]
    fn a_page_travels_as_a_zip_and_back() {
        let page = PageContent::from_contents("notes", files(&[("a/b.js", b"let a;")])).unwrap();
        assert_eq!(from_zip(&page.to_zip()).unwrap(), page);
    }

    #[test]
    fn a_zip_that_grows_a_thousandfold_is_refused() {
        let zeros = vec![0; 4 << 20];
        let problems = from_zip(&zip_of(files(&[("zeros.bin", &zeros)]))).unwrap_err();
        assert_eq!(problems[0].field, "archive", "{problems:?}");
        assert!(from_zip(b"PK").is_err() && from_zip(b"").is_err());
        assert!(from_zip(&zip_of(vec![("x.html".to_owned(), Vec::new())])).is_err());
    }
}
