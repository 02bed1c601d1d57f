//! What an app shares with people: its page, and the files of its workspace.

use super::{AppKind, AppLibrary, unknown};
use crate::{folders::FolderFiles, host::Inner};
use roost_apps::{BundlePage, Files, NATIVE_PAGE_LIMITS, native::Capability};
use roost_protocol::{AgentName, Failure, Reason};
use serde::Serialize;
use std::path::PathBuf;

/// Largest file of a workspace that is read or written as a whole.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Where the pages of a native app are among its files, and the one it begins with.
const NATIVE_PAGES: &str = "ui";
const NATIVE_ENTRY: &str = "index.html";

/// One file of an app's workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkspaceFile {
    /// Its name; names of files in folders have slashes.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// When it was changed, in seconds since 1970.
    pub mtime: i64,
}

impl Inner {
    /// The page of an installed app, from the files whose digest was pinned, with the agent that answers behind it.
    pub(crate) fn bundle_page(&self, id: &str) -> Result<BundlePage, Failure> {
        let library = &self.library.library;
        let contents = library.read()?;
        let Some(app) = contents.app(id) else { return self.sideloaded_page(id) };
        if app.kind == AppKind::Native {
            let files = library.files(app, &app.current)?.below(NATIVE_PAGES);
            let native = app.current.native.as_ref();
            let has_pages = native.is_some_and(|native| native.provides.iter().any(|one| one == "ui"));
            let version = app.current.shown_version();
            let about = NativeAbout { id, name: &app.name, version, summary: &app.summary };
            return native_page(&about, app.publisher.clone(), files, has_pages);
        }
        let none = || Failure::new(Reason::UnknownPage, format!("the app {id} has no page"));
        let page = app.current.page.as_ref().ok_or_else(none)?;
        let files = page_of(library.files(app, &app.current)?, &page.path);
        let roster = self.agents.roster();
        let answers = |file: &str| {
            let own = roster.listings.iter().filter(|listing| listing.source.is_none());
            own.filter(|listing| listing.file == file && listing.serving.is_some())
                .find_map(|listing| AgentName::parse(&listing.name).ok())
        };
        Ok(BundlePage {
            id: app.id.clone(),
            name: app.name.clone(),
            version: app.current.shown_version().to_owned(),
            summary: Some(app.summary.clone()).filter(|summary| !summary.is_empty()),
            publisher: app.publisher.clone(),
            entry: page.file_name.clone(),
            agent: app.current.agent.as_ref().and_then(|part| answers(&part.file_name)),
            native: false,
            files,
        })
    }

    /// Everything in the folder of a native app's pages.
    pub(crate) fn native_page_files(&self, id: &str) -> Result<Files, Failure> {
        let folder = self.native.known(id).ok_or_else(|| unknown(id))?;
        if !folder.manifest.provides.contains(&Capability::Ui) {
            return Err(Failure::new(Reason::UnknownPage, format!("the app {id} has no page")));
        }
        Files::read_folder(&folder.path.join(NATIVE_PAGES), &NATIVE_PAGE_LIMITS).map_err(|refused| {
            let told: Vec<String> = refused.iter().map(ToString::to_string).collect();
            Failure::new(Reason::UnknownPage, format!("the pages of {id}: {}", told.join("; ")))
        })
    }

    /// The page of an app that runs from the folder in which it is written.
    fn sideloaded_page(&self, id: &str) -> Result<BundlePage, Failure> {
        let folder = self.native.known(id).ok_or_else(|| unknown(id))?;
        let files = self.native_page_files(id)?;
        let manifest = &folder.manifest;
        let (name, version, summary) = (&manifest.name, &manifest.version, &manifest.description);
        native_page(&NativeAbout { id, name, version, summary }, None, files, true)
    }
}

/// What a native app says of itself.
struct NativeAbout<'a> {
    id: &'a str,
    name: &'a str,
    version: &'a str,
    summary: &'a str,
}

fn native_page(
    about: &NativeAbout<'_>,
    publisher: Option<String>,
    files: Files,
    has_pages: bool,
) -> Result<BundlePage, Failure> {
    let &NativeAbout { id, name, version, summary } = about;
    if !has_pages || files.get(NATIVE_ENTRY).is_none() {
        return Err(Failure::new(Reason::UnknownPage, format!("the app {id} has no page")));
    }
    Ok(BundlePage {
        id: id.to_owned(),
        name: name.to_owned(),
        version: version.to_owned(),
        summary: Some(summary.to_owned()).filter(|summary| !summary.is_empty()),
        publisher,
        entry: NATIVE_ENTRY.to_owned(),
        agent: None,
        native: true,
        files: files.iter().map(|(path, content)| (path.to_owned(), content.to_vec())).collect(),
    })
}

/// The files of the folder that a page is in; the page alone where it stands at the top, beside the app's code.
fn page_of(files: Files, page: &str) -> Vec<(String, Vec<u8>)> {
    let owned = |(path, content): (&str, &[u8])| (path.to_owned(), content.to_vec());
    match page.rsplit_once('/') {
        Some((folder, _)) => files.below(folder).iter().map(owned).collect(),
        None => files.iter().filter(|(path, _)| *path == page).map(owned).collect(),
    }
}

impl AppLibrary {
    /// The page of an app as something that can be mounted, after a look at what answers.
    pub async fn page(&self, id: &str) -> Result<BundlePage, Failure> {
        if self.record(id).is_ok() {
            self.show(id).await?;
        }
        self.inner().bundle_page(id)
    }

    /// One file of an app's page; the page itself where no path is named. Nothing where there is none.
    pub fn page_file(&self, id: &str, path: &str) -> Result<Option<Vec<u8>>, Failure> {
        self.disk().page_file(&self.record(id)?, path)
    }

    /// Where the workspace of an installed app is.
    pub fn workspace_path(&self, id: &str) -> Result<PathBuf, Failure> {
        self.record(id).map(|app| self.disk().places().workspace(&app.id))
    }

    /// The files of an app's workspace, by name.
    pub fn workspace_files(&self, id: &str) -> Result<Vec<WorkspaceFile>, Failure> {
        let folder = self.workspace(id)?;
        let found = folder.list()?.into_iter();
        Ok(found.map(|(name, size, mtime)| WorkspaceFile { name, size, mtime }).collect())
    }

    /// The content of one of them.
    pub fn read_workspace_file(&self, id: &str, name: &str) -> Result<Vec<u8>, Failure> {
        let read = self.workspace(id)?.read(name, FILE_BYTES_MAX)?;
        read.ok_or_else(|| unknown_file(id, name))
    }

    /// Puts a content there, whole. The history of the folder learns of it with the next call or look.
    pub fn write_workspace_file(&self, id: &str, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        if bytes.len() as u64 > FILE_BYTES_MAX {
            return Err(Failure::plain(Reason::WorkspaceFull));
        }
        self.workspace(id)?.write(name, bytes)
    }

    /// Removes one of them.
    pub fn remove_workspace_file(&self, id: &str, name: &str) -> Result<(), Failure> {
        if self.workspace(id)?.remove(name)? { Ok(()) } else { Err(unknown_file(id, name)) }
    }

    fn workspace(&self, id: &str) -> Result<FolderFiles, Failure> {
        FolderFiles::open(&self.workspace_path(id)?)
    }
}

fn unknown_file(id: &str, name: &str) -> Failure {
    let shown: String = name.escape_debug().take(100).collect();
    Failure::new(Reason::UnknownFile, format!("{id} has no file `{shown}` in its workspace"))
}
