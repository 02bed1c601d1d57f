//! Which workspace holds the history of an agent's folder.

use crate::store::local_owner;
use roost_workspace::{Owner, WorkspaceName};
use sha2::{Digest as _, Sha256};

/// Between what is left of a name and its digest.
const BEFORE_DIGEST: &str = "--";

/// Hexadecimal digits of the digest: nobody finds two names that share them by accident.
const DIGEST_DIGITS: usize = 16;

/// Characters of a name that stay readable before a digest.
const READABLE_MAX: usize = 40;

/// Whose files those of a folder are. Two folders never share a workspace: a name that a workspace cannot have, or that
/// looks like one made here, is told apart by its digest.
pub(crate) fn owner_of(own_name: &str) -> Owner {
    let plain = WorkspaceName::parse(&format!("app.{own_name}")).ok();
    let workspace = plain.filter(|_| !ends_with_digest(own_name)).unwrap_or_else(|| with_digest(own_name));
    Owner { workspace, ..local_owner() }
}

fn ends_with_digest(name: &str) -> bool {
    name.rsplit_once(BEFORE_DIGEST).is_some_and(|(_, end)| {
        end.len() == DIGEST_DIGITS && end.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

fn with_digest(name: &str) -> WorkspaceName {
    let fits = |character: char| character.is_ascii_alphanumeric() || matches!(character, '.' | '_' | '-');
    let readable: String = name
        .chars()
        .take(READABLE_MAX)
        .map(|character| if fits(character) { character } else { '_' })
        .collect();
    let digest = hex::encode(Sha256::digest(name.as_bytes()));
    let text = format!("app.{readable}{BEFORE_DIGEST}{}", &digest[..DIGEST_DIGITS]);
    WorkspaceName::parse(&text)
        .expect("it begins with a letter, has such characters only, and is short enough")
}

#[cfg(test)]
mod tests {
    use super::owner_of;
    use std::collections::BTreeSet;

    #[test]
    fn every_folder_has_a_workspace_of_its_own() {
        let long = "x".repeat(200);
        let taken = owner_of("a b").workspace.as_str().trim_start_matches("app.").to_owned();
        let names = ["a b", "a_b", "a/b", "é", "", "A_B", &long, &long[1..], &taken, "weather_agent.src1"];
        let workspaces: BTreeSet<_> = names.iter().map(|name| owner_of(name).workspace).collect();
        assert_eq!(workspaces.len(), names.len(), "{workspaces:?}");
        assert_eq!(owner_of("weather_agent").to_string(), "local/app.weather_agent");
    }
}
