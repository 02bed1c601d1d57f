//! Pages that came with installed apps: the same sessions, another name to the gate.
//!
//! An app and a page of the workspace may have the same id. Nothing is theirs in common: no grant, no host name, nothing
//! that they keep.

use super::{MARK, Mount, Mounting, PageContent, Pages, invalid, session::EndOfPage, standing_of};
use crate::{gate::Caller, host::Inner, knowledge::NoProgress, standing::Standing};
use roost_apps::BundlePage;
use roost_protocol::{AppId, Failure, Origin};
use std::sync::Arc;

/// What stands before the id of the app. No page of the workspace has a dot in its id.
const INSTALLED: &str = "installed.";

/// The installed app in the name of a page.
pub(super) fn app_in(name: &str) -> Option<&str> {
    name.strip_prefix(INSTALLED)
}

/// What the gate calls the page of an installed app.
fn gate_name(id: &str) -> AppId {
    AppId::new(format!("{MARK}{INSTALLED}{id}"))
}

fn content(bundle: BundlePage) -> Result<PageContent, Failure> {
    let id = bundle.id.clone();
    PageContent::of_bundle(bundle).map_err(|problems| invalid(&id, &problems))
}

/// Whatever was installed is another's work.
fn installed_standing_of(page: &PageContent) -> Standing {
    let standing = standing_of(page);
    let app = gate_name(page.manifest().id.as_str());
    Standing { caller: Caller { app, origin: Origin::Catalog, ..standing.caller }, ..standing }
}

impl Pages<'_> {
    /// Mounts the page of an installed app, whose files the library has.
    pub async fn mount_bundle(self, bundle: BundlePage, mount: Mount) -> Result<Mounting, Failure> {
        let page = content(bundle)?;
        let standing = installed_standing_of(&page);
        self.mount_content(Arc::new(page), standing, mount).await
    }
}

impl Inner {
    /// What the page of an installed app is to the gate.
    pub(super) async fn installed_standing(&self, id: &str) -> Result<Standing, Failure> {
        // The name of the agent behind it is known once its file was looked at.
        self.agents.refresh(&NoProgress).await?;
        Ok(installed_standing_of(&content(self.bundle_page(id)?)?))
    }

    /// Ends mounted pages of apps that have another page now, or none.
    pub(crate) async fn end_replaced_pages(&self) {
        for session in self.pages.sessions.all() {
            let Some(app) = app_in(session.own_id()) else { continue };
            let now = self.bundle_page(app).and_then(content);
            if !now.is_ok_and(|page| page.digest() == session.page.digest()) {
                self.end_session(&session, EndOfPage::Changed).await;
            }
        }
    }

    /// Forgets what a person gave to the page of an app that is gone, and where it was served.
    pub(crate) async fn forget_installed_page(&self, id: &str) -> Result<(), Failure> {
        self.gate.revoke(&gate_name(id), None)?;
        self.forget_label(&format!("{INSTALLED}{id}")).await
    }
}
