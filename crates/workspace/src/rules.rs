//! What agents may do with files, by the beginning of their names.

use crate::{Owner, Prefix, WorkspaceError};
use roost_storage::{Change, Parameter, StorageError, Transaction};
use serde::{Deserialize, Serialize};

/// What an agent may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Read and write.
    Write,
    /// Read, and propose changes that a person approves.
    Propose,
    /// Only read.
    Read,
}

impl Rule {
    fn as_str(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Propose => "propose",
            Self::Read => "read",
        }
    }

    fn parse(text: &str) -> Result<Self, StorageError> {
        [Self::Write, Self::Propose, Self::Read]
            .into_iter()
            .find(|rule| rule.as_str() == text)
            .ok_or_else(|| StorageError::Corrupt { message: "a rule is not one".to_owned() })
    }
}

/// A rule and what it is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrefixRule {
    /// The beginning of names.
    pub prefix: String,
    /// What agents may do.
    pub rule: Rule,
}

/// Who an agent is and what it is told to do are a person's to say, unless that person says otherwise.
const USUAL: [&str; 2] = ["DIRECTIVES.md", "IDENTITY.md"];

const RULES: &str = "SELECT prefix, rule FROM rules WHERE tenant = $1 AND workspace = $2 ORDER BY prefix";

/// All rules of a workspace, the usual ones included.
pub(crate) async fn rules(
    transaction: &mut Transaction,
    owner: &Owner,
) -> Result<Vec<PrefixRule>, StorageError> {
    let parameters = [owner.tenant.as_str().into(), owner.workspace.as_str().into()];
    let mut rules = Vec::new();
    for row in transaction.rows(RULES, &parameters).await? {
        rules.push(PrefixRule { prefix: row.text(0)?.to_owned(), rule: Rule::parse(row.text(1)?)? });
    }
    for usual in USUAL {
        if !rules.iter().any(|rule| rule.prefix == usual) {
            rules.push(PrefixRule { prefix: usual.to_owned(), rule: Rule::Propose });
        }
    }
    rules.sort_by(|left, right| left.prefix.cmp(&right.prefix));
    Ok(rules)
}

/// The rule with the longest beginning decides.
pub(crate) fn rule_for(rules: &[PrefixRule], path: &str) -> Rule {
    let fitting = rules.iter().filter(|rule| path.starts_with(&rule.prefix));
    fitting.max_by_key(|rule| rule.prefix.len()).map_or(Rule::Write, |rule| rule.rule)
}

pub(crate) struct ReadRules {
    pub(crate) owner: Owner,
}

impl Change for ReadRules {
    type Output = Vec<PrefixRule>;
    type Error = WorkspaceError;

    async fn apply(&self, transaction: &mut Transaction) -> Result<Vec<PrefixRule>, WorkspaceError> {
        Ok(rules(transaction, &self.owner).await?)
    }
}

/// Sets a rule, or takes one back.
pub(crate) struct SetRule {
    pub(crate) owner: Owner,
    pub(crate) prefix: Prefix,
    pub(crate) rule: Option<Rule>,
}

const SET: &str = "INSERT INTO rules (tenant, workspace, prefix, rule) VALUES ($1, $2, $3, $4)
    ON CONFLICT (tenant, workspace, prefix) DO UPDATE SET rule = excluded.rule";
const UNSET: &str = "DELETE FROM rules WHERE tenant = $1 AND workspace = $2 AND prefix = $3";

impl Change for SetRule {
    type Output = ();
    type Error = WorkspaceError;

    fn lane(&self) -> &str {
        self.owner.workspace.as_str()
    }

    async fn apply(&self, transaction: &mut Transaction) -> Result<(), WorkspaceError> {
        let [tenant, workspace] =
            [self.owner.tenant.as_str(), self.owner.workspace.as_str()].map(Parameter::from);
        let prefix = Parameter::from(self.prefix.as_str());
        match self.rule {
            Some(rule) => {
                transaction.execute(SET, &[tenant, workspace, prefix, rule.as_str().into()]).await?;
            }
            None if transaction.execute(UNSET, &[tenant, workspace, prefix]).await? == 0 => {
                return Err(WorkspaceError::NotFound);
            }
            None => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{PrefixRule, Rule, rule_for};

    #[test]
    fn the_longest_beginning_decides() {
        let rule = |prefix: &str, rule| PrefixRule { prefix: prefix.to_owned(), rule };
        let rules = [rule("", Rule::Read), rule("notes/", Rule::Write), rule("notes/fixed", Rule::Propose)];
        for (path, expected) in
            [("a.md", Rule::Read), ("notes/b.md", Rule::Write), ("notes/fixed.md", Rule::Propose)]
        {
            assert_eq!(rule_for(&rules, path), expected, "{path}");
        }
        assert_eq!(rule_for(&[], "a.md"), Rule::Write);
    }
}
