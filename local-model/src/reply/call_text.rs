//! A call as the grammar writes it, read character by character into the parts that a client is sent.
//!
//! The grammar has fixed every letter around names and arguments, so this reader only has to find their ends. It must
//! not be fed with text that no grammar has held.

use crate::grammar::CALL_CLOSING;

const BEFORE_NAME: &str = "{\"name\": \"";
const BEFORE_ARGUMENTS: &str = "\", \"arguments\": ";

/// A part of a call, in the order in which they come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CallPart {
    /// A call begins; the tool is known.
    Named(String),
    /// More of the text of the arguments.
    Arguments(String),
    /// The arguments are whole.
    Complete,
    /// The call is written to its last letter.
    Closed,
}

/// Reads one call, beginning behind its opening mark.
pub(crate) struct CallText {
    place: Place,
    /// Text of the current place that is not told yet.
    buffer: String,
}

enum Place {
    Head,
    Arguments { depth: usize, string: Quoted },
    Tail,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Quoted {
    Outside,
    Inside,
    AfterBackslash,
}

impl CallText {
    pub(crate) fn new() -> Self {
        Self { place: Place::Head, buffer: String::new() }
    }

    /// Reads on, and gives back what became known.
    pub(crate) fn read(&mut self, text: &str) -> Vec<CallPart> {
        let mut parts = Vec::new();
        for character in text.chars() {
            self.buffer.push(character);
            match &mut self.place {
                Place::Head => {
                    if let Some(name) = named(&self.buffer) {
                        parts.push(CallPart::Named(name));
                        self.go_to(Place::Arguments { depth: 0, string: Quoted::Outside });
                    }
                }
                Place::Arguments { depth, string } => {
                    if closes(depth, string, character) {
                        parts.push(CallPart::Arguments(std::mem::take(&mut self.buffer)));
                        parts.push(CallPart::Complete);
                        self.go_to(Place::Tail);
                    }
                }
                Place::Tail => {
                    if self.buffer.ends_with(CALL_CLOSING) {
                        parts.push(CallPart::Closed);
                        self.buffer.clear();
                    }
                }
            }
        }
        if matches!(self.place, Place::Arguments { .. }) && !self.buffer.is_empty() {
            parts.push(CallPart::Arguments(std::mem::take(&mut self.buffer)));
        }
        parts
    }

    fn go_to(&mut self, place: Place) {
        self.place = place;
        self.buffer.clear();
    }
}

fn named(head: &str) -> Option<String> {
    head.strip_prefix(BEFORE_NAME)?.strip_suffix(BEFORE_ARGUMENTS).map(str::to_owned)
}

/// Follows one character of JSON, and says whether it closes the outermost object.
fn closes(depth: &mut usize, string: &mut Quoted, character: char) -> bool {
    match (*string, character) {
        (Quoted::AfterBackslash, _) => *string = Quoted::Inside,
        (Quoted::Inside, '\\') => *string = Quoted::AfterBackslash,
        (Quoted::Inside, '"') => *string = Quoted::Outside,
        (Quoted::Outside, '"') => *string = Quoted::Inside,
        (Quoted::Outside, '{' | '[') => *depth += 1,
        (Quoted::Outside, '}' | ']') => {
            *depth = depth.saturating_sub(1);
            return *depth == 0;
        }
        _ => {}
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: &str = "{\"name\": \"a.b\", \"arguments\": {\"x\": \"}\\\"]\", \"y\": [{}]}}\n</tool_call>";

    /// The parts with neighbouring arguments joined, as a client would join them.
    fn joined(pieces: impl Iterator<Item = String>) -> Vec<CallPart> {
        let mut reader = CallText::new();
        let mut all: Vec<CallPart> = Vec::new();
        for part in pieces.flat_map(|piece| reader.read(&piece)) {
            match (all.last_mut(), part) {
                (Some(CallPart::Arguments(before)), CallPart::Arguments(more)) => before.push_str(&more),
                (_, part) => all.push(part),
            }
        }
        all
    }

    #[test]
    fn pieces_of_every_size_give_the_same_call() {
        let expected = vec![
            CallPart::Named("a.b".to_owned()),
            CallPart::Arguments("{\"x\": \"}\\\"]\", \"y\": [{}]}".to_owned()),
            CallPart::Complete,
            CallPart::Closed,
        ];
        for size in 1..=CALL.len() {
            let pieces = CALL.as_bytes().chunks(size).map(|piece| String::from_utf8(piece.to_vec()).unwrap());
            assert_eq!(joined(pieces), expected, "pieces of {size}");
        }
    }

    #[test]
    fn arguments_are_told_before_they_are_whole() {
        let mut reader = CallText::new();
        reader.read("{\"name\": \"a\", \"arguments\": ");
        assert_eq!(reader.read("{\"x\": 1"), vec![CallPart::Arguments("{\"x\": 1".to_owned())]);
    }
}
