//! Pages as they lie in the workspace, read again only when one of their files changed.

use super::{
    PageContent, PageId, PageProblem, invalid,
    place::{self, APPS},
    unknown,
};
use crate::{host::Inner, store::local_owner};
use roost_apps::{DATA_FOLDER, MANIFEST_FILE, PAGE_LIMITS};
use roost_protocol::Failure;
use roost_workspace::{FileInfo, Prefix, WorkspaceError, Workspaces};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

/// Contents that are remembered: more than a workspace can hold.
const KNOWN_MAX: usize = 512;

/// What was read of each page, and what its files were then.
#[derive(Default)]
pub(super) struct Shelf(Mutex<BTreeMap<String, (Files, Found)>>);

/// Paths and etags of a page's files.
type Files = Vec<(String, String)>;

/// A page, or what is wrong with it.
pub(super) type Found = Result<Arc<PageContent>, Arc<Vec<PageProblem>>>;

impl Inner {
    /// Every folder below `apps/` that says it is a page.
    pub(super) async fn find_pages(&self) -> Result<Vec<(String, Vec<FileInfo>, Found)>, Failure> {
        let workspaces = self.store.workspaces().await?;
        let mut folders: BTreeMap<String, Vec<FileInfo>> = BTreeMap::new();
        for info in list(&workspaces, APPS).await? {
            let below = info.path.as_str().strip_prefix(APPS).unwrap_or_default();
            if let Some((folder, _)) = below.split_once('/') {
                folders.entry(folder.to_owned()).or_default().push(info);
            }
        }
        let mut pages = Vec::new();
        for (folder, files) in folders {
            let manifest = format!("{APPS}{folder}/{MANIFEST_FILE}");
            if folder != "_sdk" && files.iter().any(|info| info.path.as_str() == manifest) {
                let found = self.read_page(&workspaces, &folder, &files).await?;
                pages.push((folder, files, found));
            }
        }
        Ok(pages)
    }

    /// One page that is as it must be.
    pub(super) async fn page(&self, id: &str) -> Result<Arc<PageContent>, Failure> {
        let (_, found) = self.page_found(id).await?;
        found.map_err(|problems| invalid(id, &problems))
    }

    /// One page, or what is wrong with it, and its files.
    pub(super) async fn page_found(&self, id: &str) -> Result<(Vec<FileInfo>, Found), Failure> {
        let id = PageId::parse(id).map_err(|_| unknown(id))?;
        let workspaces = self.store.workspaces().await?;
        let files = list(&workspaces, &format!("{APPS}{id}/")).await?;
        let manifest = format!("{APPS}{id}/{MANIFEST_FILE}");
        if !files.iter().any(|info| info.path.as_str() == manifest) {
            return Err(unknown(id.as_str()));
        }
        let found = self.read_page(&workspaces, id.as_str(), &files).await?;
        Ok((files, found))
    }

    async fn read_page(
        &self,
        workspaces: &Workspaces,
        folder: &str,
        files: &[FileInfo],
    ) -> Result<Found, Failure> {
        let top = format!("{APPS}{folder}/");
        let of_page = |info: &&FileInfo| !info.path.as_str()[top.len()..].starts_with(DATA_FOLDER);
        let files: Vec<&FileInfo> = files.iter().filter(of_page).collect();
        let state: Files =
            files.iter().map(|info| (info.path.to_string(), info.etag.as_str().to_owned())).collect();
        if let Some((known, found)) = self.pages.shelf.lock().get(folder)
            && *known == state
        {
            return Ok(found.clone());
        }
        let found = match too_much(&files) {
            Some(problem) => Err(Arc::new(vec![problem])),
            None => {
                let contents = read(workspaces, &top, &files).await?;
                PageContent::from_contents(folder, contents).map(Arc::new).map_err(Arc::new)
            }
        };
        let mut known = self.pages.shelf.lock();
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        known.insert(folder.to_owned(), (state, found.clone()));
        Ok(found)
    }
}

impl Shelf {
    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, (Files, Found)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Files whose name begins like this.
pub(super) async fn list(workspaces: &Workspaces, prefix: &str) -> Result<Vec<FileInfo>, Failure> {
    let Ok(prefix) = Prefix::parse(prefix) else { return Ok(Vec::new()) };
    Ok(workspaces.list(&local_owner(), &prefix).await.map_err(place::failure)?.files)
}

/// Judged by the list, before anything is read.
fn too_much(files: &[&FileInfo]) -> Option<PageProblem> {
    let bytes: i64 = files.iter().map(|info| info.bytes).sum();
    let is_too_much = files.len() > PAGE_LIMITS.entries_max
        || u64::try_from(bytes).unwrap_or(u64::MAX) > PAGE_LIMITS.content_bytes_max;
    is_too_much.then(|| PageProblem {
        field: "files".to_owned(),
        message: format!("{} files with {bytes} bytes are more than a page has", files.len()),
    })
}

async fn read(
    workspaces: &Workspaces,
    top: &str,
    files: &[&FileInfo],
) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let mut contents = Vec::with_capacity(files.len());
    for info in files {
        match workspaces.get(&local_owner(), &info.path, None).await {
            Ok(file) => contents.push((info.path.as_str()[top.len()..].to_owned(), file.content)),
            // It went meanwhile; the next look has another list.
            Err(WorkspaceError::NotFound) => {}
            Err(error) => return Err(place::failure(error)),
        }
    }
    Ok(contents)
}
