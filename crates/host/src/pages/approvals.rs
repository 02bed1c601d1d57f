//! What a model wants to do with pages and apps waits here for a person: always, whatever else is allowed, and over
//! restarts.

use super::{
    PageId, Pages,
    changes::{PageChanges, PageFile, drafted},
    place,
};
use crate::{
    host::Inner,
    library::{Choice, InstallSource},
    native::APP_TOOL,
};
use roost_protocol::{Digest, Failure, Reason};
use roost_workspace::{
    Author, Condition, Content, FilePath, Prefix, WorkspaceError, Workspaces, Write, Writer,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Approvals that may wait; a person reads each of them.
const WAITING_MAX: usize = 32;

const FOLDER: &str = "approvals/";

/// Something that waits for a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// Its name.
    pub id: String,
    /// Which page, or which app.
    pub page: String,
    /// What is to be done.
    #[serde(flatten)]
    pub wish: PageWish,
    /// What it would ask for, in words.
    #[serde(default)]
    pub asks: Vec<String>,
    /// Milliseconds since 1970.
    pub asked_at: i64,
    /// The run in which a model asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

/// What a model wants to do with a page or an app.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "lowercase")]
pub enum PageWish {
    /// Make it.
    Create {
        /// Its manifest.
        manifest: Map<String, Value>,
        /// Its files.
        files: BTreeMap<String, PageFile>,
    },
    /// Change it.
    Update {
        /// How.
        changes: PageChanges,
    },
    /// Remove it.
    Delete,
    /// Install an app: exactly what was looked at then.
    Install {
        /// Where it is, as a person would write it.
        source: String,
        /// The digest of all of its files.
        digest: Digest,
    },
    /// Remove an app.
    Uninstall,
}

impl PageWish {
    /// The tool that asks for it.
    pub(super) fn tool(&self) -> &'static str {
        match self {
            Self::Create { .. } => "CreateApp",
            Self::Update { .. } => "UpdateApp",
            Self::Delete => "DeleteApp",
            Self::Install { .. } | Self::Uninstall => APP_TOOL,
        }
    }
}

impl Inner {
    /// Checks a wish and lets it wait. Nothing of the page is written.
    pub(super) async fn ask_approval(
        &self,
        page: &str,
        wish: PageWish,
        run: Option<&str>,
    ) -> Result<Approval, Failure> {
        let asks = match &wish {
            PageWish::Create { manifest, files } => {
                let draft = drafted(manifest.clone(), files.clone())?;
                if self.page_found(draft.manifest().id.as_str()).await.is_ok() {
                    let message = format!("there is already a page `{page}`");
                    return Err(Failure::new(Reason::AlreadyExists, message).with_next("use UpdateApp"));
                }
                draft.manifest().asks.asks.iter().map(|ask| ask.right.sentence()).collect()
            }
            PageWish::Update { .. } | PageWish::Delete => {
                // It must be there; that something is wrong with it is a reason to change it.
                let (_files, _found) = self.page_found(page).await?;
                Vec::new()
            }
            // Whoever asks for these has looked at what they mean.
            PageWish::Install { .. } | PageWish::Uninstall => Vec::new(),
        };
        self.let_wait(page, wish, asks, run).await
    }

    /// Lets a wish that was looked at wait for a person.
    pub(crate) async fn let_wait(
        &self,
        page: &str,
        wish: PageWish,
        asks: Vec<String>,
        run: Option<&str>,
    ) -> Result<Approval, Failure> {
        let workspaces = self.store.workspaces().await?;
        if waiting(&workspaces).await?.len() >= WAITING_MAX {
            let message = format!("{WAITING_MAX} approvals wait already");
            return Err(Failure::new(Reason::Busy, message).with_next("let a person decide those first"));
        }
        let id = format!("apr_{}", uuid::Uuid::now_v7().simple());
        let asked_at = jiff::Timestamp::now().as_millisecond();
        let run = run.map(str::to_owned);
        let approval = Approval { id, page: page.to_owned(), wish, asks, asked_at, run };
        let bytes = serde_json::to_vec(&approval)
            .map_err(|error| Failure::new(Reason::Internal, error.to_string()))?;
        let content = Some(Content { bytes, content_type: "application/json".to_owned() });
        let write = Write { path: path_of(&approval.id)?, condition: Condition::create_only(), content };
        let writer = Writer { redactions: self.resolved.redactions(), ..Writer::person("host") };
        workspaces.write_one(&place::notes(), &writer, write, None).await.map_err(place::failure)?;
        Ok(approval)
    }
}

impl Pages<'_> {
    /// What waits for a person, oldest first.
    pub async fn approvals(self) -> Result<Vec<Approval>, Failure> {
        let workspaces = self.host.workspaces().await?;
        let mut approvals = Vec::new();
        for path in waiting(&workspaces).await? {
            match workspaces.get(&place::notes(), &path, None).await {
                Ok(file) => approvals.extend(serde_json::from_slice::<Approval>(&file.content).ok()),
                Err(WorkspaceError::NotFound) => {}
                Err(error) => return Err(place::failure(error)),
            }
        }
        Ok(approvals)
    }

    /// Does what was waited for, and forgets that it was.
    pub async fn approve(self, id: &str) -> Result<Approval, Failure> {
        let approval = self.take_off(id).await?;
        let author = Author {
            principal: "owner".to_owned(),
            run: approval.run.clone(),
            node: Some(approval.wish.tool().to_owned()),
            reason: Some("approved by the owner".to_owned()),
        };
        let redactions = self.host.inner.resolved.redactions();
        let writer = Writer { author, redactions, ..Writer::default() };
        match approval.wish.clone() {
            PageWish::Create { manifest, files } => {
                self.create(manifest, files, &writer).await?;
            }
            PageWish::Update { changes } => self.update(&approval.page, changes, &writer).await?,
            PageWish::Delete => self.delete(&approval.page, &writer).await?,
            PageWish::Install { source, digest } => {
                let source = InstallSource::parse(&source)?;
                self.host.library().install(&source, Some(digest), &Choice::Policy, "the owner").await?;
            }
            PageWish::Uninstall => {
                self.host.library().remove(&approval.page).await?;
            }
        }
        Ok(approval)
    }

    /// Forgets what was waited for; nothing of it was done.
    pub async fn deny(self, id: &str) -> Result<Approval, Failure> {
        self.take_off(id).await
    }

    /// Whoever takes it off decides it: two persons cannot both.
    async fn take_off(self, id: &str) -> Result<Approval, Failure> {
        let unknown = || Failure::plain(Reason::UnknownApproval);
        let path = path_of(id).map_err(|_| unknown())?;
        let workspaces = self.host.workspaces().await?;
        let file = workspaces.get(&place::notes(), &path, None).await.map_err(|error| match error {
            WorkspaceError::NotFound => unknown(),
            error => place::failure(error),
        })?;
        let approval: Approval = serde_json::from_slice(&file.content).map_err(|_| unknown())?;
        let removal = Write { path, condition: Condition::unchanged(&file.info.etag), content: None };
        let taken = workspaces.write_one(&place::notes(), &Writer::person("owner"), removal, None).await;
        taken.map_err(|error| match error {
            WorkspaceError::NotFound | WorkspaceError::Conflict { .. } => unknown(),
            error => place::failure(error),
        })?;
        Ok(approval)
    }
}

async fn waiting(workspaces: &Workspaces) -> Result<Vec<FilePath>, Failure> {
    let prefix = Prefix::parse(FOLDER).map_err(|error| Failure::new(Reason::Internal, error.to_string()))?;
    let listed = workspaces.list(&place::notes(), &prefix).await.map_err(place::failure)?;
    Ok(listed.files.into_iter().map(|info| info.path).collect())
}

fn path_of(id: &str) -> Result<FilePath, Failure> {
    FilePath::parse(&format!("{FOLDER}{id}.json")).map_err(|_| Failure::plain(Reason::UnknownApproval))
}

/// The id in a manifest, or the one that is named.
pub(super) fn page_in(arguments: &Map<String, Value>) -> Result<String, Failure> {
    let in_manifest = arguments.get("manifest").and_then(|manifest| manifest["id"].as_str());
    let id = arguments.get("id").and_then(Value::as_str).or(in_manifest).unwrap_or_default();
    PageId::parse(id)
        .map(|id| id.to_string())
        .map_err(|error| Failure::new(Reason::BadArguments, format!("id: {error}")))
}
