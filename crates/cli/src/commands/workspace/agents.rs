//! What agents may do with files, and what they would like to do.

use super::{
    desk::{Desk, address},
    table::{aligned, rows, size, time, word},
    versions::difference,
};
use crate::{
    args::{ProposalsVerb, RuleWord, RulesVerb},
    partner::Method,
};
use roost_protocol::Failure;
use serde_json::{Value, json};

pub(super) async fn rules(desk: &Desk, verb: Option<RulesVerb>) -> Result<(), Failure> {
    match verb {
        None => {
            let answer = desk.get("rules", &[]).await?;
            desk.say(&answer, |answer| {
                let row = |row: &Value| vec![word(&row["rule"]), format!("{}*", word(&row["prefix"]))];
                let mut lines = aligned(&rows(&answer["rules"]).iter().map(row).collect::<Vec<_>>());
                lines.push("All other files: agents may write.".to_owned());
                lines
            });
        }
        Some(RulesVerb::Set { prefix, rule }) => {
            let rule = match rule {
                RuleWord::Read => "read",
                RuleWord::Propose => "propose",
                RuleWord::Write => "write",
            };
            let body = json!({ "prefix": prefix, "rule": rule });
            desk.tell(Method::Put, &address("rules", &[]), &[], &body).await?;
            desk.say(&body, |_| vec![format!("{prefix}*: agents may {rule}")]);
        }
        Some(RulesVerb::Unset { prefix }) => {
            let address = address("rules", &[("prefix", &prefix)]);
            desk.send(Method::Delete, &address, &[], Vec::new()).await.map_err(|failure| {
                failure.with_next(
                    "see the rules with `roost workspace rules`; the usual ones are changed with set",
                )
            })?;
            desk.say(&json!({ "removed": prefix }), |_| vec![format!("the rule for {prefix}* is gone")]);
        }
    }
    Ok(())
}

pub(super) async fn proposals(desk: &Desk, verb: Option<ProposalsVerb>) -> Result<(), Failure> {
    let unknown =
        |failure: Failure| failure.with_next("see those that wait with `roost workspace proposals`");
    match verb {
        None => {
            let answer = desk.get("proposals", &[]).await?;
            desk.say(&answer, list);
        }
        Some(ProposalsVerb::Show { id }) => {
            let answer = desk.get(&format!("proposals/{id}"), &[]).await.map_err(unknown)?;
            desk.say(&answer, |answer| {
                let mut lines = list(&json!({ "proposals": [answer] }));
                lines.extend(difference(&answer["difference"]));
                if answer["current"] == false {
                    lines.push("The file was changed since; this can no longer be approved.".to_owned());
                }
                lines
            });
        }
        Some(ProposalsVerb::Approve { id }) => {
            let answer = desk.post(&format!("proposals/{id}/approve"), &json!({})).await.map_err(unknown)?;
            let file = answer["file"].clone();
            desk.say(&answer, |_| vec![format!("{} is version {}", word(&file["path"]), file["version"])]);
        }
        Some(ProposalsVerb::Reject { id }) => {
            let answer = desk.post(&format!("proposals/{id}/reject"), &json!({})).await.map_err(unknown)?;
            desk.say(&answer, |_| vec![format!("proposal {id} is dropped")]);
        }
    }
    Ok(())
}

fn list(answer: &Value) -> Vec<String> {
    let proposals = rows(&answer["proposals"]);
    if proposals.is_empty() {
        return vec!["No agent proposes anything.".to_owned()];
    }
    let row = |row: &Value| {
        let author = &row["author"];
        let bytes = if row["removes"] == true {
            "remove".to_owned()
        } else {
            size(row["bytes"].as_i64().unwrap_or_default())
        };
        let by = [&author["principal"], &author["node"]].map(word).join(" ");
        vec![
            word(&row["id"]),
            word(&row["path"]),
            bytes,
            time(&row["proposedAt"]),
            by,
            word(&author["reason"]),
        ]
    };
    aligned(&proposals.iter().map(row).collect::<Vec<_>>())
}
