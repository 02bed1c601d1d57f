//! Where the host keeps what is about pages: workspaces of the local tenant that no page is shown.

use crate::store::local_owner;
use roost_protocol::{Digest, Failure, Reason};
use roost_workspace::{Owner, WorkspaceError, WorkspaceName};

/// The folder of the local workspace that holds pages.
pub(super) const APPS: &str = "apps/";

/// What the host itself notes about pages: names of origins, and what waits for a person.
pub(super) fn notes() -> Owner {
    named("roost.pages")
}

/// What a page keeps for itself through the host.
pub(super) fn storage_of(page: &str) -> Owner {
    // A digest, because a name alone may be longer than that of a workspace.
    let digest = Digest::of(page.as_bytes()).short();
    named(&format!("roost.page-storage.{digest}"))
}

fn named(name: &str) -> Owner {
    let workspace = WorkspaceName::parse(name).expect("the name is well formed");
    Owner { workspace, ..local_owner() }
}

/// A failure of the workspace, for somebody who asked for a page.
pub(super) fn failure(error: WorkspaceError) -> Failure {
    match error {
        WorkspaceError::Storage(error) => error.into(),
        WorkspaceError::Conflict { .. } => Failure::plain(Reason::FileChanged),
        WorkspaceError::TooLarge { .. } => Failure::new(Reason::WorkspaceFull, error.to_string()),
        WorkspaceError::NotFound => Failure::plain(Reason::UnknownFile),
        other => Failure::new(Reason::BadRequest, other.to_string()),
    }
}
