//! Requests that may be sent twice: the first answer is kept for a day and given again.

use crate::{Owner, WorkspaceError};
use roost_storage::{Parameter, Transaction};
use sha2::{Digest as _, Sha256};

/// How long an answer is kept, in milliseconds.
const KEPT_MS: i64 = 24 * 60 * 60 * 1000;

/// What makes a request the same as another one: the key of its sender, and what it asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Once {
    /// The sender's key.
    pub key: String,
    /// SHA-256 of everything the request asks for.
    pub digest: [u8; 32],
}

impl Once {
    /// What tells a request apart: all parts of what it asks for, in order. None of them can be taken for another.
    #[must_use]
    pub fn new(key: &str, parts: &[&[u8]]) -> Self {
        let mut digest = Sha256::new();
        for part in parts {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
        Self { key: key.to_owned(), digest: digest.finalize().into() }
    }
}

/// A result, and whether it is one from before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered<T> {
    /// What was asked for.
    pub value: T,
    /// True when the request had been answered already.
    pub replayed: bool,
}

impl<T> Answered<T> {
    /// An answer that is given for the first time.
    pub fn new(value: T) -> Self {
        Self { value, replayed: false }
    }
}

const FIND: &str = "SELECT digest, outcome, at FROM answers
    WHERE tenant = $1 AND workspace = $2 AND operation = $3 AND key = $4";
const FORGET: &str = "DELETE FROM answers WHERE at < $1";
const KEEP: &str = "INSERT INTO answers (tenant, workspace, operation, key, digest, outcome, at)
    VALUES ($1, $2, $3, $4, $5, $6, $7)
    ON CONFLICT (tenant, workspace, operation, key)
    DO UPDATE SET digest = excluded.digest, outcome = excluded.outcome, at = excluded.at";

/// What was answered before, in the words of whoever kept it.
pub async fn find_answer(
    transaction: &mut Transaction,
    owner: &Owner,
    operation: &str,
    once: &Once,
    now: i64,
) -> Result<Option<String>, WorkspaceError> {
    let parameters =
        [owner.tenant.as_str(), owner.workspace.as_str(), operation, &once.key].map(Parameter::from);
    let Some(mut row) = transaction.row(FIND, &parameters).await? else { return Ok(None) };
    if row.int(2)? < now - KEPT_MS {
        return Ok(None);
    }
    if row.take_bytes(0)? != once.digest {
        return Err(WorkspaceError::KeyMismatch);
    }
    Ok(Some(row.text(1)?.to_owned()))
}

/// Keeps an answer, and forgets those that are too old.
pub async fn keep_answer(
    transaction: &mut Transaction,
    owner: &Owner,
    operation: &str,
    once: &Once,
    outcome: &str,
    now: i64,
) -> Result<(), WorkspaceError> {
    transaction.execute(FORGET, &[(now - KEPT_MS).into()]).await?;
    let parameters = [
        owner.tenant.as_str().into(),
        owner.workspace.as_str().into(),
        operation.into(),
        Parameter::from(&once.key),
        once.digest[..].into(),
        outcome.into(),
        now.into(),
    ];
    transaction.execute(KEEP, &parameters).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Once;

    #[test]
    fn requests_that_ask_for_something_else_have_another_digest() {
        let digest = |parts: &[&[u8]]| Once::new("key", parts).digest;
        assert_eq!(digest(&[b"ab", b"c"]), digest(&[b"ab", b"c"]));
        assert_ne!(digest(&[b"ab", b"c"]), digest(&[b"a", b"bc"]));
        assert_ne!(digest(&[b"ab"]), digest(&[b"ab", b""]));
    }
}
