//! How tables come to be: numbered steps per owner, forwards only, each applied once.

use crate::error::StorageError;
use std::collections::BTreeMap;

/// One step of one owner's tables. Numbers of an owner begin at 1 and have no gaps.
///
/// On PostgreSQL every table whose name does not begin with `shared_` has a column `tenant` and row-level security that
/// its owner cannot get around either; a database in which one has not is refused.
#[derive(Debug, Clone, Copy)]
pub struct Migration {
    /// Whose tables.
    pub owner: &'static str,
    /// Which step.
    pub number: i64,
    /// What it does on SQLite.
    pub sqlite: &'static str,
    /// What it does on PostgreSQL.
    pub postgres: &'static str,
}

/// The list of what was applied, the same on both engines.
pub(crate) const LIST: &str = "CREATE TABLE IF NOT EXISTS shared_migrations (
    owner TEXT NOT NULL, number BIGINT NOT NULL, PRIMARY KEY (owner, number)
)";
pub(crate) const APPLIED: &str = "SELECT owner, max(number) FROM shared_migrations GROUP BY owner";
pub(crate) const NOTE: &str = "INSERT INTO shared_migrations (owner, number) VALUES ($1, $2)";

/// What is still to be done, in order. A database that is ahead of this program is refused.
pub(crate) fn missing<'a>(
    known: &'a [Migration],
    applied: &BTreeMap<String, i64>,
) -> Result<Vec<&'a Migration>, StorageError> {
    for (owner, found) in applied {
        let of_owner = known.iter().filter(|migration| migration.owner == owner);
        let newest = of_owner.map(|migration| migration.number).max().unwrap_or(0);
        if *found > newest {
            return Err(StorageError::Newer { owner: owner.clone(), found: *found, known: newest });
        }
    }
    let is_missing =
        |migration: &&Migration| applied.get(migration.owner).is_none_or(|number| migration.number > *number);
    Ok(known.iter().filter(is_missing).collect())
}

#[cfg(test)]
mod tests {
    use super::{Migration, missing};
    use crate::error::StorageError;
    use std::collections::BTreeMap;

    #[test]
    fn only_what_is_missing_is_applied_and_a_newer_database_is_refused() {
        let step = |owner, number| Migration { owner, number, sqlite: "", postgres: "" };
        let known = [step("files", 1), step("files", 2), step("runs", 1)];
        let applied = |owners: &[(&str, i64)]| -> BTreeMap<String, i64> {
            owners.iter().map(|(owner, number)| ((*owner).to_owned(), *number)).collect()
        };
        let left = |owners: &[(&str, i64)]| {
            let missing = missing(&known, &applied(owners)).unwrap();
            missing.iter().map(|step| format!("{}{}", step.owner, step.number)).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(left(&[]), "files1 files2 runs1");
        assert_eq!(left(&[("files", 1)]), "files2 runs1");
        assert_eq!(left(&[("files", 2), ("runs", 1)]), "");
        for newer in [("files", 3), ("pages", 1)] {
            let refused = missing(&known, &applied(&[newer]));
            assert!(matches!(refused, Err(StorageError::Newer { .. })), "{newer:?}");
        }
    }
}
