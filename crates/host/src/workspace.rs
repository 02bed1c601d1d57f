//! Files with history, for those who serve them: the shapes of the layer below.

pub use roost_storage::Notice;
pub use roost_workspace::{
    Answered, Author, CONTENT_TYPE, Case, Condition, Content, Diff, Done, Edit, EditError, Etag, Event,
    EventPage, File, FileInfo, FilePath, Findings, Found, IfMatch, IfNoneMatch, InvalidPattern,
    InvalidTagList, Limit, Limits, Listing, Match, Once, Owner, PathError, Pattern, Prefix, PrefixRule,
    Proposal, Revision, Role, Rule, SnapshotEntry, Usage, Verdict, WorkspaceError, WorkspaceName, Workspaces,
    Write, Writer, decode_once,
};
