//! Whose files they are: the names that a credential carries.
//!
//! Only the form is checked here. Whether a workspace exists, and who may use it, is decided by others.

use roost_protocol::{Tenant, is_id_text};
use std::fmt;

/// The name of one workspace of a tenant: a letter or digit, then up to 63 letters, digits, `.`, `_` or `-`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkspaceName(String);

/// The text is not the name of a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a workspace name is a letter or digit, then up to 63 letters, digits, `.`, `_` or `-`")]
pub struct InvalidWorkspaceName;

impl WorkspaceName {
    /// Checks the form.
    pub fn parse(text: &str) -> Result<Self, InvalidWorkspaceName> {
        if is_id_text(text) { Ok(Self(text.to_owned())) } else { Err(InvalidWorkspaceName) }
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for WorkspaceName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Whose files: both parts come from the credential, and both are needed to find anything.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner {
    /// The tenant.
    pub tenant: Tenant,
    /// One of its workspaces.
    pub workspace: WorkspaceName,
}

impl Owner {
    /// What is told when one of its files changed.
    #[must_use]
    pub fn topic(&self) -> String {
        format!("workspace/{}", self.workspace)
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.tenant, self.workspace)
    }
}

#[cfg(test)]
mod tests {
    use super::{InvalidWorkspaceName, WorkspaceName, is_id_text};

    #[test]
    fn a_workspace_name_keeps_its_text() {
        for text in ["a", "0", "default", "team-7_x.y", "A..", &"w".repeat(64)] {
            assert_eq!(WorkspaceName::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn other_texts_are_no_workspace_name() {
        for text in ["", ".a", "-a", "_a", "a/b", "a b", "a\n", "é", "a\0", "..", &"w".repeat(65)] {
            assert_eq!(WorkspaceName::parse(text), Err(InvalidWorkspaceName), "{text:?}");
            assert!(!is_id_text(text));
        }
    }
}
