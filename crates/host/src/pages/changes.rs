//! Making, changing, removing and carrying pages. Every change is one step of the workspace: all files of it or none.
//!
//! What results is judged before anything is written. Grants are bound to contents and never travel with files.

use super::{
    PageContent, PageId, Pages, app_of, invalid,
    place::{self, APPS},
    session::EndOfPage,
    shelf,
};
use crate::store::local_owner;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use roost_apps::{DATA_FOLDER, MANIFEST_FILE, PageProblem, page_from_zip};
use roost_protocol::{Failure, Reason, media_type};
use roost_workspace::{Condition, Content, FilePath, Workspaces, Write, Writer};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A file as it is given: text, or bytes in base64.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PageFile {
    /// Text.
    Text(String),
    /// Bytes.
    Bytes {
        /// In base64.
        base64: String,
    },
}

impl PageFile {
    fn bytes(self, path: &str) -> Result<Vec<u8>, Failure> {
        match self {
            Self::Text(text) => Ok(text.into_bytes()),
            Self::Bytes { base64 } => STANDARD.decode(base64).map_err(|_| {
                Failure::new(Reason::BadRequest, format!("`{}` is not base64", path.escape_debug()))
            }),
        }
    }
}

/// What is to become of a page.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageChanges {
    /// Its whole manifest; as it is when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<Map<String, Value>>,
    /// Files by their path from its folder; nothing removes one.
    #[serde(default)]
    pub files: BTreeMap<String, Option<PageFile>>,
}

/// Files by their path from a page's folder.
type Contents = BTreeMap<String, Vec<u8>>;

impl Pages<'_> {
    /// Makes a page. An id that is there already is refused.
    pub async fn create(
        self,
        manifest: Map<String, Value>,
        files: BTreeMap<String, PageFile>,
        writer: &Writer,
    ) -> Result<PageId, Failure> {
        let page = drafted(manifest, files)?;
        let id = page.manifest().id.clone();
        self.write_new(&page, writer).await?;
        Ok(id)
    }

    /// Changes files of a page, or its manifest. Its id stays.
    pub async fn update(self, id: &str, changes: PageChanges, writer: &Writer) -> Result<(), Failure> {
        let (infos, _) = self.host.inner.page_found(id).await?;
        let workspaces = self.host.workspaces().await?;
        let top = format!("{APPS}{id}/");
        let mut contents = Contents::new();
        let mut conditions = BTreeMap::new();
        for info in infos.iter().filter(|info| !info.path.as_str()[top.len()..].starts_with(DATA_FOLDER)) {
            let file = workspaces.get(&local_owner(), &info.path, None).await.map_err(place::failure)?;
            let path = info.path.as_str()[top.len()..].to_owned();
            conditions.insert(path.clone(), Condition::unchanged(&file.info.etag));
            contents.insert(path, file.content);
        }
        let before = contents.clone();
        apply(&mut contents, changes)?;
        PageContent::from_contents(id, contents.clone()).map_err(|problems| invalid(id, &problems))?;
        let writes = differences(&top, &before, &contents, &conditions)?;
        write(&workspaces, writer, writes).await
    }

    /// Removes a page with its data, its grants and what it keeps. History has the files still.
    pub async fn delete(self, id: &str, writer: &Writer) -> Result<(), Failure> {
        let (infos, _) = self.host.inner.page_found(id).await?;
        let id = PageId::parse(id).map_err(|_| super::unknown(id))?;
        let removal = |path: FilePath| Write { path, condition: Condition::default(), content: None };
        let writes = infos.into_iter().map(|info| removal(info.path)).collect();
        let workspaces = self.host.workspaces().await?;
        write(&workspaces, &writer.because("removed the page"), writes).await?;
        let inner = &self.host.inner;
        inner.gate.revoke(&app_of(&id), None)?;
        for session in inner.pages.sessions.of_app(&app_of(&id)) {
            inner.end_session(&session, EndOfPage::Changed).await;
        }
        inner.forget_label(id.as_str()).await
    }

    /// A page as a zip, without its data.
    pub async fn export(self, id: &str) -> Result<Vec<u8>, Failure> {
        Ok(self.host.inner.page(id).await?.to_zip())
    }

    /// Takes a page from a zip. One that is there already is replaced only when that was asked for.
    pub async fn import(
        self,
        zip: &[u8],
        existing: ExistingPage,
        writer: &Writer,
    ) -> Result<PageId, Failure> {
        let page = page_from_zip(zip).map_err(|problems| invalid("the archive", &problems))?;
        let id = page.manifest().id.clone();
        let writer = writer.because("imported the page");
        match self.write_new(&page, &writer).await {
            Err(failure) if failure.reason == Reason::AlreadyExists && existing == ExistingPage::Replace => {
                self.replace(&page, &writer).await?;
            }
            written => written?,
        }
        Ok(id)
    }

    async fn write_new(self, page: &PageContent, writer: &Writer) -> Result<(), Failure> {
        let id = &page.manifest().id;
        let top = format!("{APPS}{id}/");
        let workspaces = self.host.workspaces().await?;
        let taken = || {
            Failure::new(Reason::AlreadyExists, format!("there is already something at apps/{id}/"))
                .with_next("choose another id, or remove what is there")
        };
        if !shelf::list(&workspaces, &top).await?.is_empty() {
            return Err(taken());
        }
        let after = page.files().iter().map(|(path, content)| (path.to_owned(), content.to_vec())).collect();
        let writes = differences(&top, &Contents::new(), &after, &BTreeMap::new())?;
        write(&workspaces, writer, writes).await.map_err(|failure| match failure.reason {
            // Somebody was faster.
            Reason::FileChanged => taken(),
            _ => failure,
        })
    }

    async fn replace(self, page: &PageContent, writer: &Writer) -> Result<(), Failure> {
        let id = page.manifest().id.as_str();
        let top = format!("{APPS}{id}/");
        let workspaces = self.host.workspaces().await?;
        let mut writes = Vec::new();
        for info in shelf::list(&workspaces, &top).await? {
            let path = &info.path.as_str()[top.len()..];
            if !path.starts_with(DATA_FOLDER) && page.files().get(path).is_none() {
                writes.push(Write { path: info.path, condition: Condition::default(), content: None });
            }
        }
        for (path, content) in page.files().iter() {
            writes.push(content_write(&top, path, content, Condition::default())?);
        }
        write(&workspaces, writer, writes).await
    }
}

/// What becomes of a page that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExistingPage {
    /// It stays, and the new one is refused.
    Keep,
    /// It gives way, except for its data.
    Replace,
}

/// The page that these would be.
pub(super) fn drafted(
    manifest: Map<String, Value>,
    files: BTreeMap<String, PageFile>,
) -> Result<PageContent, Failure> {
    let id = manifest.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut contents = Contents::new();
    let changes = PageChanges {
        manifest: Some(manifest),
        files: files.into_iter().map(|(path, file)| (path, Some(file))).collect(),
    };
    apply(&mut contents, changes)?;
    PageContent::from_contents(&id, contents).map_err(|problems| invalid("the page", &problems))
}

fn apply(contents: &mut Contents, changes: PageChanges) -> Result<(), Failure> {
    for (path, file) in changes.files {
        if path == MANIFEST_FILE || path.starts_with(DATA_FOLDER) {
            let message = format!("`{path}` is not given among the files");
            return Err(Failure::new(Reason::PageInvalid, message)
                .with_next("give the manifest as `manifest`; the page itself writes its data"));
        }
        match file {
            Some(file) => drop(contents.insert(path.clone(), file.bytes(&path)?)),
            None => drop(contents.remove(&path)),
        }
    }
    if let Some(manifest) = changes.manifest {
        let text = serde_json::to_vec_pretty(&manifest)
            .map_err(|error| Failure::new(Reason::PageInvalid, error.to_string()))?;
        contents.insert(MANIFEST_FILE.to_owned(), text);
    }
    Ok(())
}

/// The writes that make one of the other. A file that was not known must not be there.
fn differences(
    top: &str,
    before: &Contents,
    after: &Contents,
    conditions: &BTreeMap<String, Condition>,
) -> Result<Vec<Write>, Failure> {
    let condition = |path: &String| conditions.get(path).cloned().unwrap_or_else(Condition::create_only);
    let mut writes = Vec::new();
    for path in before.keys().filter(|path| !after.contains_key(*path)) {
        writes.push(Write { path: file_path(top, path)?, condition: condition(path), content: None });
    }
    for (path, content) in after.iter().filter(|(path, content)| before.get(*path) != Some(content)) {
        writes.push(content_write(top, path, content, condition(path))?);
    }
    Ok(writes)
}

fn content_write(top: &str, path: &str, content: &[u8], condition: Condition) -> Result<Write, Failure> {
    let content = Content { bytes: content.to_vec(), content_type: media_type(path).to_owned() };
    Ok(Write { path: file_path(top, path)?, condition, content: Some(content) })
}

fn file_path(top: &str, path: &str) -> Result<FilePath, Failure> {
    FilePath::of_folder(&format!("{top}{path}")).map_err(|error| {
        let problem = PageProblem { field: "files".to_owned(), message: error.to_string() };
        invalid("the page", &[problem])
    })
}

async fn write(workspaces: &Workspaces, writer: &Writer, writes: Vec<Write>) -> Result<(), Failure> {
    if writes.is_empty() {
        return Ok(());
    }
    match workspaces.write_batch(&local_owner(), writer, writes, None).await {
        Ok(_) => Ok(()),
        Err(refused) => Err(place::failure(refused.error)),
    }
}
