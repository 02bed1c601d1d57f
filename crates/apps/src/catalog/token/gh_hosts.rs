//! `hosts.yml` of the GitHub CLI, as far as it holds a token. Where the CLI keeps the token in the keychain of the
//! session, the file has none, and the next place is looked at.

use super::Token;

/// The computer whose token opens repositories.
const HOST: &str = "github.com";

/// The token of the account that is in use.
pub(super) fn token(text: &str) -> Option<Token> {
    let mut in_host = false;
    let mut path: Vec<(usize, &str)> = Vec::new();
    let mut active = None;
    let (mut own, mut of_users) = (None, Vec::new());
    for line in text.lines() {
        let content = line.trim_start_matches(' ');
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let indent = line.len() - content.len();
        let Some((key, value)) = content.split_once(':') else { continue };
        let (key, value) = (unquoted(key), unquoted(value));
        if indent == 0 {
            in_host = key == HOST;
            path.clear();
            continue;
        }
        if !in_host {
            continue;
        }
        while path.last().is_some_and(|(above, _)| *above >= indent) {
            path.pop();
        }
        let above: Vec<&str> = path.iter().map(|(_, key)| *key).collect();
        match (above.as_slice(), key) {
            ([], "user") => active = Some(value),
            ([], "oauth_token") => own = Some(value),
            (["users", user], "oauth_token") => of_users.push((*user, value)),
            _ => {}
        }
        path.push((indent, key));
    }
    let of_active = of_users.into_iter().find(|(user, _)| Some(*user) == active).map(|(_, token)| token);
    Token::parse(own.filter(|token| !token.is_empty()).or(of_active)?)
}

fn unquoted(text: &str) -> &str {
    let text = text.trim();
    let quoted = ['"', '\''].iter().find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote));
    quoted.unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::token;

    #[test]
    fn the_token_of_the_account_in_use_is_found() {
        for (text, expect) in [
            ("github.com:\n    oauth_token: gho_1\n    user: ada\n", Some("gho_1")),
            ("github.com:\n  oauth_token: \"gho_1\"\n", Some("gho_1")),
            (
                "github.com:\n    users:\n        bob:\n            oauth_token: gho_b\n        ada:\n            oauth_token: gho_a\n    user: ada\n",
                Some("gho_a"),
            ),
            ("other.example:\n    oauth_token: gho_x\ngithub.com:\n    user: ada\n", None),
            ("github.com:\n    user: ada\nother.example:\n    oauth_token: gho_x\n", None),
            ("github.com:\n    users:\n        bob:\n            oauth_token: gho_b\n    user: ada\n", None),
            ("github.com:\n    oauth_token:\n", None),
            ("# nothing\n", None),
            ("", None),
            ("::::\n  -", None),
        ] {
            let found = token(text).map(|token| token.bearer().unwrap().to_str().unwrap().to_owned());
            assert_eq!(found, expect.map(|expect| format!("Bearer {expect}")), "{text}");
        }
    }
}
