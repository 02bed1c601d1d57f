//! Files with history: written whole, never lost, and readable as they were at any moment that somebody still needs.
//!
//! Knows no apps and no chat. Whose files they are and who writes is told by the caller, who has checked it.

mod path; // what a file may be called
mod owner; // whose files they are
mod etag; // which version a writer has seen
mod edit; // changes of some lines
mod diff; // what changed between two versions
mod search; // where something stands
mod redact; // secrets that must not be kept
mod clock; // what time it is
mod limits; // how much there may be
mod error; // why something was not done
mod file; // files and versions as they are shown
mod tables; // where all of it is kept
mod writer; // who writes
mod answers; // requests that may be sent twice
mod events; // what happened
mod write; // one write
mod rules; // what agents may do
mod proposals; // what agents would like to do
mod together; // many plain writes in one statement
mod put; // writes of one request
mod read; // looking at files
mod snapshot; // files as they were
mod purge; // forgetting what was removed
mod transfer; // to another place and back
mod workspaces; // all of it together

pub use self::{
    answers::{Answered, Once, find_answer, keep_answer},
    diff::{Diff, Side, unified_diff},
    edit::{EDITS_MAX, Edit, EditError, apply},
    error::{Limit, WorkspaceError},
    etag::{Condition, Etag, IfMatch, IfNoneMatch, InvalidEtag, InvalidTagList},
    events::{Event, EventPage},
    file::{Author, CONTENT_TYPE, File, FileInfo, Revision},
    limits::Limits,
    owner::{InvalidWorkspaceName, Owner, WorkspaceName},
    path::{FilePath, PathError, Prefix, decode_once},
    proposals::{Proposal, Verdict},
    put::{BatchError, Content, Done, Write},
    read::{Listing, Usage},
    redact::Redactions,
    rules::{PrefixRule, Rule},
    search::{Case, InvalidPattern, Match, OutOfTime, Pattern},
    snapshot::SnapshotEntry,
    tables::MIGRATIONS,
    transfer::{Existing, Extent, ImportPlan},
    workspaces::{Findings, Found, Workspaces},
    writer::{Role, Writer},
};
