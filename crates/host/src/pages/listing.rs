//! Pages as every surface shows them: what works and what does not, and why.

use super::{PageContent, PageDisplay, PageManifest, PageProblem, Pages, app_of, shelf::Found, standing_of};
use crate::rights::{RightState, State};
use roost_protocol::{Access, AppId, Digest, Direction, Failure, Reason, Right};
use roost_workspace::FileInfo;
use serde::Serialize;
use std::sync::Arc;

/// One page.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PageListing {
    /// The name of its folder; the id of a page that is as it must be.
    pub id: String,
    /// Whether it can be mounted.
    pub state: PageState,
    /// Why it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Failure>,
    /// Everything that is wrong with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<PageProblem>,
    /// What it says of itself.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub said: Option<Said>,
    /// What the gate calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app: Option<AppId>,
    /// Its content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// What it asks for and has, widest reach first.
    pub rights: Vec<RightState>,
    /// Whether it may be mounted when the host page opens: it asks for that, and a person agreed for this content.
    pub mounts_itself: bool,
    /// How many files its folder has.
    pub files: usize,
    /// Their bytes.
    pub bytes: i64,
    /// When one of them last changed, in milliseconds since 1970.
    pub changed: i64,
    /// How often it is mounted now.
    pub mounted: usize,
}

/// Whether a page can be mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PageState {
    /// It can.
    Ready,
    /// Something is wrong with it.
    Invalid,
}

/// What a page says of itself, without its id.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Said {
    /// What people call it.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The file it begins with.
    pub entry: String,
    /// What it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Who made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// A picture among its files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icon: Option<String>,
    /// The agent behind it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// How it would like to be shown.
    pub display: PageDisplay,
    /// Keys of its manifest that mean nothing here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown_keys: Vec<String>,
}

impl From<&PageManifest> for Said {
    fn from(manifest: &PageManifest) -> Self {
        Self {
            name: manifest.name.clone(),
            version: manifest.version.clone(),
            entry: manifest.entry.clone(),
            description: manifest.description.clone(),
            author: manifest.author.clone(),
            icon: manifest.icon.clone(),
            agent: manifest.agent.as_ref().map(ToString::to_string),
            display: manifest.display.clone(),
            unknown_keys: manifest.unknown_keys.clone(),
        }
    }
}

impl Pages<'_> {
    /// Every page, also those that cannot be mounted.
    pub async fn discover(self) -> Result<Vec<PageListing>, Failure> {
        let found = self.host.inner.find_pages().await?;
        found.into_iter().map(|(folder, files, found)| self.listed(&folder, &files, &found)).collect()
    }

    /// One page.
    pub async fn get(self, id: &str) -> Result<PageListing, Failure> {
        let (files, found) = self.host.inner.page_found(id).await?;
        self.listed(id, &files, &found)
    }

    /// One file of a page, for those who show its icon or its source.
    pub async fn file(self, id: &str, path: &str) -> Result<(Arc<PageContent>, Vec<u8>), Failure> {
        let page = self.host.inner.page(id).await?;
        let content = page.files().get(path).map(<[u8]>::to_vec);
        let content = content.ok_or_else(|| Failure::plain(Reason::UnknownFile))?;
        Ok((page, content))
    }

    fn listed(self, folder: &str, files: &[FileInfo], found: &Found) -> Result<PageListing, Failure> {
        let mut listing = PageListing {
            id: folder.to_owned(),
            state: PageState::Invalid,
            reason: None,
            problems: Vec::new(),
            said: None,
            app: None,
            digest: None,
            rights: Vec::new(),
            mounts_itself: false,
            files: files.len(),
            bytes: files.iter().map(|info| info.bytes).sum(),
            changed: files.iter().map(|info| info.updated_at).max().unwrap_or_default(),
            mounted: 0,
        };
        match found {
            Ok(page) => {
                let rights = self.rights_of(page)?;
                listing.mounts_itself = page.manifest().auto_mount
                    && rights.iter().any(|right| right.right == Right::Schedule && holds(right.state));
                listing.state = PageState::Ready;
                listing.said = Some(page.manifest().into());
                listing.app = Some(app_of(&page.manifest().id));
                listing.digest = Some(page.digest());
                listing.rights = rights;
                listing.mounted = self.host.inner.pages.sessions.of_app(&app_of(&page.manifest().id)).len();
            }
            Err(problems) => {
                listing.reason = Some(super::invalid(folder, problems));
                listing.problems = problems.to_vec();
            }
        }
        Ok(listing)
    }

    /// What a page asks for and has, widest reach first.
    pub(super) fn rights_of(self, page: &PageContent) -> Result<Vec<RightState>, Failure> {
        let mut rights = self.host.rights_of(&standing_of(page))?.rights;
        sort_by_reach(&mut rights);
        Ok(rights)
    }
}

/// True for a right that works.
pub(super) fn holds(state: State) -> bool {
    matches!(state, State::GrantedOnce | State::GrantedVersion | State::GrantedAlways | State::Policy)
}

/// The widest reach first, as a person should read them.
pub(super) fn sort_by_reach(rights: &mut [RightState]) {
    rights.sort_by_cached_key(|state| (reach(&state.right), state.right.clone()));
}

fn reach(right: &Right) -> u8 {
    match right {
        Right::Workspace { pattern, .. } if matches!(pattern.as_str(), "*" | "/*") => 0,
        Right::AnyNetwork => 1,
        Right::Workspace { access: Access::Read, pattern } if pattern.as_str().starts_with("/.") => 2,
        Right::Events { direction: Direction::Watch, pattern } if pattern.matches("agent:history") => 3,
        Right::Network(_) => 4,
        Right::Workspace { access: Access::Write, .. } => 5,
        Right::Workspace { access: Access::Read, .. } => 6,
        Right::Agents(_) | Right::Model | Right::Schedule => 7,
        _ => 8,
    }
}
