//! Text that a person sees before granting something must be what it looks like.

/// False for control characters, for characters without a shape, and for those that turn the order of the text
/// around.
pub(super) fn shows_what_it_is(text: &str) -> bool {
    !text.chars().any(is_hidden)
}

/// True for control characters, characters without a shape, and those that change the direction of the text.
#[must_use]
pub fn is_hidden(character: char) -> bool {
    let has_no_shape = matches!(
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
    );
    has_no_shape || character.is_control()
}
