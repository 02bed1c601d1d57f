//! Files with history, for those who serve them: the shapes of the layer below.

pub use crate::folders::{AgentFolder, FileRequest, OpenedFolder};
pub use roost_storage::Notice;
pub use roost_workspace::{
    Answered, Author, BatchError, CONTENT_TYPE, Case, Condition, Content, Diff, Done, Edit, EditError, Etag,
    Event, EventPage, Existing, Extent, File, FileInfo, FilePath, Findings, Found, IfMatch, IfNoneMatch,
    ImportPlan, InvalidPattern, InvalidTagList, InvalidWorkspaceName, Limit, Limits, Listing, Match, Once,
    Owner, PathError, Pattern, Prefix, PrefixRule, Proposal, Revision, Role, Rule, Side, SnapshotEntry,
    Usage, Verdict, WorkspaceError, WorkspaceName, Workspaces, Write, Writer, decode_once, unified_diff,
};
