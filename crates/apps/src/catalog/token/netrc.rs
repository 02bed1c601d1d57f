//! A netrc file: the password of one computer. The entry `default` is for any computer, and is not taken.

use super::Token;

/// The password of this computer.
pub(super) fn token(text: &str, machine: &str) -> Option<Token> {
    let mut words = words(text).into_iter();
    let mut is_meant = false;
    while let Some(word) = words.next() {
        match word {
            "machine" => is_meant = words.next().is_some_and(|name| name.eq_ignore_ascii_case(machine)),
            "default" => is_meant = false,
            "password" if is_meant => return Token::parse(words.next()?),
            "password" | "login" | "account" => {
                words.next();
            }
            _ => {}
        }
    }
    None
}

/// Words without comments, quotes and macros; a macro ends with an empty line.
fn words(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut in_macro = false;
    for line in text.lines() {
        if in_macro {
            in_macro = !line.trim().is_empty();
            continue;
        }
        for word in line.split_whitespace() {
            if word.starts_with('#') && found.last() != Some(&"password") {
                break;
            }
            if word == "macdef" {
                in_macro = true;
                break;
            }
            found.push(word.strip_prefix('"').and_then(|word| word.strip_suffix('"')).unwrap_or(word));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::token;

    #[test]
    fn only_the_named_computers_password_is_taken() {
        let machine = "raw.githubusercontent.com";
        for (text, expect) in [
            ("machine raw.githubusercontent.com login x password abc\n", Some("abc")),
            ("machine raw.githubusercontent.com\n  login x\n  password #abc\n", Some("#abc")),
            (
                "machine other login password password no\nmachine raw.githubusercontent.com password \"abc\"",
                Some("abc"),
            ),
            ("# machine raw.githubusercontent.com password no\n", None),
            ("machine github.com login x password no\ndefault login y password no\n", None),
            ("macdef init\nmachine raw.githubusercontent.com password no\n\nmachine x password y", None),
            ("machine raw.githubusercontent.com login x\nmachine other password no", None),
            ("machine", None),
            ("", None),
        ] {
            let found =
                token(text, machine).map(|token| token.bearer().unwrap().to_str().unwrap().to_owned());
            assert_eq!(found, expect.map(|expect| format!("Bearer {expect}")), "{text}");
        }
    }
}
