//! Text that came from outside, made safe to show: one line, nothing hidden, nothing that turns the order around.

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

/// True for control characters, characters without a shape, and those that change the direction of the text.
pub(crate) fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e0fff}'
        )
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
