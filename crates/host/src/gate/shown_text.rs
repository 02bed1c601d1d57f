//! Text that came from outside, made safe to show: one line, nothing hidden, nothing that turns the order around.

use roost_protocol::is_hidden;

/// The text with every character that has no shape of its own written as `\u{…}`, cut after `characters_max`.
pub(crate) fn shown(text: &str, characters_max: usize) -> String {
    let mut kept = String::with_capacity(text.len().min(characters_max));
    for (count, character) in text.chars().enumerate() {
        if count == characters_max {
            kept.push('…');
            break;
        }
        if is_hidden(character) {
            kept.extend(character.escape_unicode());
        } else {
            kept.push(character);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn what_hides_is_written_out_and_what_is_long_is_cut() {
        assert_eq!(shown("a\nb\u{202e}c\u{1b}[31m", 300), "a\\u{a}b\\u{202e}c\\u{1b}[31m");
        assert_eq!(shown("äöü", 3), "äöü");
        assert_eq!(shown("äöüß", 3), "äöü…");
    }
}
