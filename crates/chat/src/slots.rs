//! What a reply says aloud and to the twin: parts of one text, each behind a fixed delimiter.
//!
//! The delimiters and their order-free splitting are part of the frozen wire. A part that is absent is empty.

/// What introduces the spoken part.
pub(crate) const VOICE_DELIMITER: &str = "|||VOICE|||";

/// What introduces the part for the twin.
pub(crate) const TWIN_DELIMITER: &str = "|||TWIN|||";

const DELIMITERS: [&str; 2] = [VOICE_DELIMITER, TWIN_DELIMITER];

/// The parts of one reply.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Slots {
    /// What is read.
    pub main: String,
    /// What is spoken.
    pub voice: String,
    /// What the twin gets.
    pub twin: String,
}

/// Splits a reply into its parts. A delimiter that stands twice continues its part.
#[must_use]
pub fn split_slots(reply: &str) -> Slots {
    let mut slots = Slots::default();
    let mut rest = reply;
    let mut current = None;
    loop {
        let next = DELIMITERS
            .iter()
            .filter_map(|delimiter| Some((rest.find(delimiter)?, *delimiter)))
            .min_by_key(|(position, _)| *position);
        let (part, after) = match next {
            Some((position, delimiter)) => {
                (&rest[..position], Some((delimiter, &rest[position + delimiter.len()..])))
            }
            None => (rest, None),
        };
        let (slot, tag) = match current {
            None => (&mut slots.main, "main"),
            Some(VOICE_DELIMITER) => (&mut slots.voice, "voice"),
            Some(_) => (&mut slots.twin, "twin"),
        };
        append(slot, unwrapped(part, tag));
        let Some((delimiter, after)) = after else { return slots };
        current = Some(delimiter);
        rest = after;
    }
}

fn append(slot: &mut String, part: &str) {
    if !slot.is_empty() && !part.is_empty() {
        slot.push('\n');
    }
    slot.push_str(part);
}

/// The part without white space around it and without a tag of the slot's name that wraps all of it.
fn unwrapped<'a>(part: &'a str, tag: &str) -> &'a str {
    let part = part.trim();
    let inner = part
        .strip_prefix('<')
        .and_then(|rest| rest.strip_prefix(tag)?.strip_prefix('>'))
        .and_then(|rest| rest.strip_suffix('>')?.strip_suffix(tag)?.strip_suffix("</"));
    inner.map_or(part, str::trim)
}

/// Lets through only the main part of a reply that arrives in pieces.
#[derive(Debug, Default)]
pub(crate) struct MainPart {
    /// The end of what arrived that may still become a delimiter.
    held: String,
    is_over: bool,
}

impl MainPart {
    /// What of this piece belongs to the main part, as far as that can be known yet.
    pub(crate) fn pass(&mut self, piece: &str) -> String {
        if self.is_over {
            return String::new();
        }
        self.held.push_str(piece);
        let first = DELIMITERS.iter().filter_map(|delimiter| self.held.find(delimiter)).min();
        if let Some(position) = first {
            self.is_over = true;
            self.held.truncate(position);
            return std::mem::take(&mut self.held);
        }
        let keep_from = self.beginning_of_a_delimiter();
        let held = self.held.split_off(keep_from);
        std::mem::replace(&mut self.held, held)
    }

    /// What was held back and turned out to be no delimiter.
    pub(crate) fn finish(&mut self) -> String {
        std::mem::take(&mut self.held)
    }

    fn beginning_of_a_delimiter(&self) -> usize {
        let text = &self.held;
        let longest = DELIMITERS.iter().map(|delimiter| delimiter.len() - 1).max().unwrap_or_default();
        let from = text.len().saturating_sub(longest);
        (from..text.len())
            .filter(|position| text.is_char_boundary(*position))
            .find(|position| DELIMITERS.iter().any(|delimiter| delimiter.starts_with(&text[*position..])))
            .unwrap_or(text.len())
    }
}

#[cfg(test)]
mod tests {
    use super::{MainPart, split_slots};
    use proptest::prelude::*;

    fn parts(reply: &str) -> [String; 3] {
        let slots = split_slots(reply);
        [slots.main, slots.voice, slots.twin]
    }

    #[test]
    fn parts_come_in_any_order_and_absent_ones_are_empty() {
        for (reply, expected) in [
            ("Hello", ["Hello", "", ""]),
            ("", ["", "", ""]),
            ("Hello |||VOICE||| Hi!", ["Hello", "Hi!", ""]),
            ("Hello\n|||TWIN|||\n<probe/>\n|||VOICE|||\nHi", ["Hello", "Hi", "<probe/>"]),
            ("Hello|||VOICE|||Hi|||TWIN|||t", ["Hello", "Hi", "t"]),
            ("|||VOICE|||only voice", ["", "only voice", ""]),
            ("a|||VOICE|||b|||VOICE|||c", ["a", "b\nc", ""]),
            ("a ||VOICE|| b", ["a ||VOICE|| b", "", ""]),
        ] {
            assert_eq!(parts(reply), expected, "{reply}");
        }
    }

    #[test]
    fn a_tag_of_the_slots_name_around_the_whole_part_is_removed() {
        for (reply, expected) in [
            (
                "<main>Hello</main>|||VOICE|||<voice> Hi </voice>|||TWIN|||<twin>t</twin>",
                ["Hello", "Hi", "t"],
            ),
            ("<main>Hello</main> and more", ["<main>Hello</main> and more", "", ""]),
            ("a|||VOICE|||<main>x</main>", ["a", "<main>x</main>", ""]),
            ("<main></main>", ["", "", ""]),
        ] {
            assert_eq!(parts(reply), expected, "{reply}");
        }
    }

    proptest! {
        /// Whatever the pieces, exactly the text before the first delimiter goes through.
        #[test]
        fn pieces_of_a_reply_show_its_main_part_and_nothing_else(
            text in "([a|é ]|\\|\\|\\|VOICE\\|\\|\\||\\|\\|\\|TWIN\\|\\|\\|){0,12}",
            cuts in proptest::collection::vec(0usize..8, 0..20),
        ) {
            let mut part = MainPart::default();
            let mut shown = String::new();
            let mut rest: &str = &text;
            for cut in cuts {
                let end = rest.char_indices().nth(cut).map_or(rest.len(), |(position, _)| position);
                shown.push_str(&part.pass(&rest[..end]));
                rest = &rest[end..];
            }
            shown.push_str(&part.pass(rest));
            shown.push_str(&part.finish());
            let first = ["|||VOICE|||", "|||TWIN|||"].iter().filter_map(|d| text.find(d)).min();
            prop_assert_eq!(shown, &text[..first.unwrap_or(text.len())]);
        }
    }
}
