//! Page apps: HTML of the workspace that a person mounts beside the host's own page.
//!
//! A page's files lie below `apps/{id}/` of the local workspace, with history. What was hashed at its mounting is what
//! is served; what it asks for is decided by the gate. Serves no HTTP and knows no browser.

mod place; // where the host keeps what is about pages
mod shelf; // pages as they lie in the workspace
mod listing; // pages as every surface shows them
mod changes; // making, changing, removing, carrying
mod starter; // what a new page begins with
mod vfs_path; // paths as pages write them
mod outbox; // what waits to be told to a page
pub mod sdk; // scripts that the host gives to pages
mod session; // one mounted page
mod sessions; // mounting and unmounting
mod installed; // pages that came with installed apps
mod events; // what happens, as pages hear it
mod bridge; // what a mounted page can ask for
mod egress; // what the host fetches for a page
mod cartridge; // pages with an agent behind them
mod approvals; // what a model wants to do with pages
mod tools; // pages as a model can make them

pub use self::{
    approvals::{Approval, PageWish},
    bridge::BridgeError,
    changes::{ExistingPage, PageChanges, PageFile},
    listing::{PageListing, PageState, Said},
    outbox::PageEvent,
    session::{EndOfPage, PageMode, PageSession},
    sessions::{ConsentAnswer, Mount, Mounting},
    starter::{packed, starter_page},
};
pub use roost_apps::{
    BundlePage, PAGE_LIMITS, PageContent, PageDisplay, PageId, PageManifest, PageProblem, StrictPage,
};

pub(crate) use self::tools::{is_page_tool, with_page_tools};

use self::{egress::Egress, sessions::Sessions, shelf::Shelf};
use crate::{
    gate::Caller,
    host::{Host, Inner},
    standing::Standing,
};
use roost_protocol::{AppId, Failure, Origin, Reason};

/// What the gate calls a page; no agent file can have such a name.
const MARK: &str = "page:";

/// What this host knows of pages besides their files.
#[derive(Default)]
pub(crate) struct PageMemory {
    shelf: Shelf,
    sessions: Sessions,
    egress: Egress,
}

/// The page in the name of an app, as the gate and the command line write it.
pub(crate) fn page_named(app: &str) -> Option<&str> {
    app.strip_prefix(MARK)
}

fn app_of(id: &PageId) -> AppId {
    AppId::new(format!("{MARK}{id}"))
}

/// What a page of the workspace is to the gate.
fn standing_of(page: &PageContent) -> Standing {
    let app = app_of(&page.manifest().id);
    let caller = Caller { app, digest: page.digest(), origin: Origin::Page };
    Standing { caller, asks: page.manifest().asks.clone() }
}

/// The pages of a home.
#[derive(Clone, Copy)]
pub struct Pages<'a> {
    host: &'a Host,
}

impl Host {
    /// The pages of this home.
    #[must_use]
    pub fn pages(&self) -> Pages<'_> {
        Pages { host: self }
    }
}

impl Inner {
    /// What a page is to the gate.
    pub(crate) async fn page_standing(&self, name: &str) -> Result<Standing, Failure> {
        match installed::app_in(name) {
            Some(app) => self.installed_standing(app).await,
            None => Ok(standing_of(&*self.page(name).await?)),
        }
    }
}

fn unknown(id: &str) -> Failure {
    let id: String = id.chars().take(80).flat_map(char::escape_default).collect();
    Failure::new(Reason::UnknownPage, format!("there is no page `{id}`"))
}

fn invalid(id: &str, problems: &[PageProblem]) -> Failure {
    let told: Vec<String> =
        problems.iter().map(|problem| format!("{} {}", problem.field, problem.message)).collect();
    Failure::new(Reason::PageInvalid, format!("{id}: {}", told.join("; ")))
}
