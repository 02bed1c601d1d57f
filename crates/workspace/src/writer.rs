//! Who writes, and what must not be kept of it.

use crate::{Author, FilePath, Redactions, WorkspaceError};
use std::{borrow::Cow, sync::Arc};

/// Whether rules for agents apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    /// A person, or a program with a person's token.
    #[default]
    Person,
    /// An agent: some files it may only read, or propose changes to.
    Agent,
}

/// Who writes. Secrets that are known for the tenant are taken out of everything that is written.
#[derive(Debug, Clone, Default)]
pub struct Writer {
    /// As the history shows it.
    pub author: Author,
    /// Whether rules for agents apply.
    pub role: Role,
    /// Secrets that must not be kept.
    pub redactions: Arc<Redactions>,
}

impl Writer {
    /// A person by this name.
    #[must_use]
    pub fn person(principal: &str) -> Self {
        Self { author: Author { principal: principal.to_owned(), ..Author::default() }, ..Self::default() }
    }

    /// The same writer with a reason.
    #[must_use]
    pub fn because(&self, reason: &str) -> Self {
        let author = Author { reason: Some(reason.to_owned()), ..self.author.clone() };
        Self { author, ..self.clone() }
    }

    /// What is kept of a content. A name cannot be changed, so one that holds a secret is refused.
    pub(crate) fn redact<'a>(
        &self,
        path: &FilePath,
        content: &'a [u8],
    ) -> Result<Cow<'a, [u8]>, WorkspaceError> {
        if self.redactions.contains(path.as_str()) {
            return Err(WorkspaceError::SecretInPath);
        }
        Ok(self.redactions.redact_bytes(content))
    }
}
