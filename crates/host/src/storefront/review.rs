//! Everything a maintainer looks at before saying yes: what changed, which rights are new, what the scan found, and
//! whether the agent answers in its sandbox.

use super::{HostStorefront, PendingItem, Scan, StoreError};
use crate::{
    contract::{ContractResult, bundle_tests},
    host::Host,
    workspace::{Diff, Side, unified_diff},
};
use roost_apps::{Bundle, PythonVersion, asks, storefront::scan};
use roost_protocol::{Failure, Language};
use serde::Serialize;
use std::collections::BTreeSet;

const CONTEXT_LINES: usize = 3;

/// Most bytes of all differences together: more is read in an editor.
const DIFF_BYTES_MAX: usize = 256 << 10;

/// Everything about one submission.
#[derive(Debug, Serialize)]
pub struct Review {
    /// The submission as it waits.
    pub submission: PendingItem,
    /// The version that is published now.
    pub live_version: Option<String>,
    /// Files that are new, gone or changed against that.
    pub files: Vec<ChangedFile>,
    /// Rights that its source asks for.
    pub rights: RightsChange,
    /// What the security scan found.
    pub scan: Scan,
    /// The contract tests in the sandbox; absent where they were not wanted, or the files are private.
    pub tests: Option<ContractResult>,
    /// Why there are no tests, where they were wanted.
    pub untested: Option<Failure>,
}

/// A file that is not as it is published.
#[derive(Debug, Serialize)]
pub struct ChangedFile {
    /// Its path in the bundle.
    pub path: String,
    /// `added`, `removed` or `changed`.
    pub change: &'static str,
    /// The difference, where it can be shown.
    pub diff: Option<String>,
}

/// The rights that the source asks for, against those of the published version.
#[derive(Debug, Serialize)]
pub struct RightsChange {
    /// All of them.
    pub asked: BTreeSet<String>,
    /// Those that are new.
    pub added: BTreeSet<String>,
    /// Those that are not asked for any more.
    pub removed: BTreeSet<String>,
}

impl HostStorefront {
    /// Looks at a submission; with a host, its agent is also run in the sandbox.
    pub async fn review(&self, name: &str, host: Option<&Host>) -> Result<Review, StoreError> {
        let item = self.item(name).await?;
        let examined = self.reexamined(&item).await?;
        let bundle = examined.bundle();
        let id = item.id.clone();
        let live = self.apart(move |store| Ok(store.published(&id)?)).await?;
        let (tests, untested) = match host {
            Some(host) if bundle.agent().is_some() => match bundle_tests(host, bundle).await {
                Ok(tests) => (Some(tests), None),
                Err(failure) => (None, Some(failure)),
            },
            _ => (None, None),
        };
        Ok(Review {
            live_version: live.as_ref().map(|live| live.version().to_string()),
            files: changed_files(live.as_ref(), bundle),
            rights: rights(live.as_ref(), bundle),
            scan: scan(bundle),
            tests,
            untested,
            submission: item,
        })
    }
}

fn changed_files(live: Option<&Bundle>, new: &Bundle) -> Vec<ChangedFile> {
    let old = |path: &str| live.and_then(|live| live.files().get(path));
    let mut paths: BTreeSet<&str> = new.files().iter().map(|(path, _)| path).collect();
    paths.extend(live.into_iter().flat_map(|live| live.files().iter().map(|(path, _)| path)));
    let mut left = DIFF_BYTES_MAX;
    let mut changed = Vec::new();
    for path in paths {
        let (before, after) = (old(path), new.files().get(path));
        let change = match (before, after) {
            (None, Some(_)) => "added",
            (Some(_), None) => "removed",
            (before, after) if before == after => continue,
            _ => "changed",
        };
        let side = |prefix: &str, content: Option<&[u8]>| match content {
            Some(_) => format!("{prefix}/{path}"),
            None => "/dev/null".to_owned(),
        };
        let (old_name, new_name) = (side("a", before), side("b", after));
        let diff = unified_diff(
            Side { name: &old_name, content: before.unwrap_or_default() },
            Side { name: &new_name, content: after.unwrap_or_default() },
            CONTEXT_LINES,
        );
        // Of an app that is new everything is new; it is read in its folder.
        let diff = match diff {
            Diff::Unified(text) if live.is_some() && text.len() <= left => {
                left -= text.len();
                Some(text)
            }
            _ => None,
        };
        changed.push(ChangedFile { path: path.to_owned(), change, diff });
    }
    changed
}

fn rights(live: Option<&Bundle>, new: &Bundle) -> RightsChange {
    let asked = asked_by(new);
    let before = live.map(asked_by).unwrap_or_default();
    RightsChange {
        added: asked.difference(&before).cloned().collect(),
        removed: before.difference(&asked).cloned().collect(),
        asked,
    }
}

/// What the agent and the service ask for, as text.
fn asked_by(bundle: &Bundle) -> BTreeSet<String> {
    let files = [bundle.agent(), bundle.http_module()].into_iter().flatten();
    let asked = files.filter_map(|(_, bytes)| asks(Language::Python, bytes, PythonVersion::NEWEST).ok());
    asked.flat_map(|asks| asks.asks).map(|ask| ask.right.to_string()).collect()
}
