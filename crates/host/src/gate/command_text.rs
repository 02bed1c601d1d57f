//! The command that grants what was denied, written so that a person can paste it into a shell as it is.

use roost_protocol::{AppId, Right, is_hidden};
use std::fmt::Write as _;

/// `roost grant APP RIGHT`.
pub(crate) fn grant_command(app: &AppId, right: &Right) -> String {
    // A file's name may begin with a dash; the shell's quotes would not keep it from being read as an option.
    let dashes = if app.as_str().starts_with('-') { "-- " } else { "" };
    format!("roost grant {dashes}{} {}", word(app.as_str()), word(&right.to_string()))
}

/// `roost revoke APP RIGHT…`.
pub(crate) fn revoke_command(app: &AppId, rights: &[&Right]) -> String {
    let dashes = if app.as_str().starts_with('-') { "-- " } else { "" };
    let rights: Vec<String> = rights.iter().map(|right| word(&right.to_string())).collect();
    format!("roost revoke {dashes}{} {}", word(app.as_str()), rights.join(" "))
}

/// One word of a shell's command. `~` and `*` are quoted too: the shell would put paths in their place.
fn word(text: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "_@%+=:,./-".contains(character);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    if !text.chars().any(is_hidden) {
        return format!("'{}'", text.replace('\'', r"'\''"));
    }
    let mut quoted = String::from("$'");
    for character in text.chars() {
        match character {
            '\'' | '\\' => quoted.extend(['\\', character]),
            hidden if is_hidden(hidden) => {
                // Eight digits, so that a digit which follows is not taken for a part of it.
                write!(quoted, "\\U{:08x}", u32::from(hidden)).expect("text takes everything");
            }
            other => quoted.push(other),
        }
    }
    quoted.push('\'');
    quoted
}

#[cfg(test)]
mod tests {
    use super::grant_command;
    use roost_protocol::AppId;

    fn check(app: &str, right: &str, expected: &str) {
        assert_eq!(grant_command(&AppId::new(app), &right.parse().unwrap()), expected);
    }

    #[test]
    fn the_command_can_be_pasted_into_a_shell() {
        check(
            "weather_agent.py",
            "network:api.example.com",
            "roost grant weather_agent.py network:api.example.com",
        );
        check("/my files/it's.py", "model", r"roost grant '/my files/it'\''s.py' model");
        check("a.py", "network:*", "roost grant a.py 'network:*'");
        check("a.py", "files:read:~/notes", "roost grant a.py 'files:read:~/notes'");
        check("-rf", "model", "roost grant -- -rf model");
        check("a\nb'\\.py", "model", r"roost grant $'a\U0000000ab\'\\.py' model");
        check("a$(id).py", "model", "roost grant 'a$(id).py' model");
        check("", "model", "roost grant '' model");
    }
}
