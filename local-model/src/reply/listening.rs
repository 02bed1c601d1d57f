//! Free text in which a call of a tool may begin: tells the text at once, and holds back only what may become a call.
//!
//! Models are taught one mark and often write another: a block of JSON in a fence, or other tags around it. Whatever
//! names one of the tools the way a call does is one; from there on the grammar decides.

use std::str::Chars;

const MARK: &str = "<tool_call>";
const FENCE: &str = "```";
const NAME_KEY: &str = "\"name\"";

/// Tags that models write in place of the mark are short words. Longer ones are the user's HTML.
const TAG_CHARACTERS_MAX: usize = 16;

/// What was heard in a piece.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// Text to tell, perhaps none yet.
    Text(String),
    /// The last text to tell, and the place in the whole answer at which a call begins.
    Call { text: String, at: usize },
}

/// Listens to one answer.
pub(crate) struct Listening {
    names: Vec<String>,
    whole: String,
    told: usize,
}

#[derive(PartialEq, Eq, Debug, Clone, Copy)]
enum Verdict {
    Call,
    PerhapsCall,
    Text,
}

impl Listening {
    /// `names` are those of the tools. Without any, everything is text.
    pub(crate) fn new(names: Vec<String>) -> Self {
        Self { names, whole: String::new(), told: 0 }
    }

    /// Length of the answer so far, in bytes.
    pub(crate) fn len(&self) -> usize {
        self.whole.len()
    }

    /// The part of the answer from `start` to `end`.
    pub(crate) fn part(&self, start: usize, end: usize) -> &str {
        self.whole.get(start..end).unwrap_or_default()
    }

    /// Takes the next piece of the answer.
    pub(crate) fn hear(&mut self, piece: &str) -> Heard {
        self.whole.push_str(piece);
        if self.names.is_empty() {
            return Heard::Text(self.tell(self.whole.len()));
        }
        for (at, character) in self.whole[self.told..].char_indices().map(|(at, char)| (at + self.told, char))
        {
            if !self.may_begin(at, character) {
                continue;
            }
            match verdict(&self.whole[at..], &self.names) {
                Verdict::Text => {}
                Verdict::PerhapsCall => {
                    return Heard::Text(self.tell(self.whole[..at].trim_end().len()));
                }
                Verdict::Call => {
                    let text = self.tell(self.whole[..at].trim_end().len());
                    return Heard::Call { text, at };
                }
            }
        }
        // White space is held back too: in front of a call it is nobody's.
        Heard::Text(self.tell(self.whole.trim_end().len()))
    }

    /// What was held back, when no call came of it.
    pub(crate) fn rest(&mut self) -> String {
        self.tell(self.whole.len())
    }

    fn tell(&mut self, end: usize) -> String {
        let text = self.whole[self.told..end.max(self.told)].to_owned();
        self.told = end.max(self.told);
        text
    }

    fn may_begin(&self, at: usize, character: char) -> bool {
        let line_begins = || self.whole[..at].trim_end_matches([' ', '\t']).ends_with('\n');
        match character {
            '<' | '`' => true,
            '{' => self.whole[..at].trim().is_empty() || line_begins(),
            _ => false,
        }
    }
}

/// Whether a call begins at the start of `text`.
fn verdict(text: &str, names: &[String]) -> Verdict {
    if text.starts_with(MARK) {
        return Verdict::Call;
    }
    let mut cursor = Cursor { rest: text };
    match cursor.wrapping().and_then(|()| cursor.call_head(names)) {
        Ok(()) => Verdict::Call,
        Err(verdict) => verdict,
    }
}

/// Reads the beginning of a call. An error is the verdict: not one, or not enough to say.
struct Cursor<'t> {
    rest: &'t str,
}

impl Cursor<'_> {
    /// A fence with the name of a language, or a tag, or nothing.
    fn wrapping(&mut self) -> Result<(), Verdict> {
        if self.rest.starts_with('`') {
            self.expect(FENCE)?;
            self.rest = self.rest.trim_start_matches(|character: char| character.is_ascii_alphanumeric());
        } else if self.rest.starts_with('<') {
            let inside = self.rest[1..].chars().take(TAG_CHARACTERS_MAX + 1);
            let word = |character: &char| character.is_ascii_alphabetic() || *character == '_';
            let length = inside.take_while(word).count();
            let behind = self.rest[1 + length..].chars().next();
            match behind {
                None if length <= TAG_CHARACTERS_MAX => return Err(Verdict::PerhapsCall),
                Some('>') if length > 0 && length <= TAG_CHARACTERS_MAX => {
                    self.rest = &self.rest[length + 2..]
                }
                _ => return Err(Verdict::Text),
            }
        }
        Ok(())
    }

    /// `{"name": "` and the whole name of a tool. One more brace is a mistake that some templates teach.
    fn call_head(&mut self, names: &[String]) -> Result<(), Verdict> {
        self.skip_space();
        self.expect("{")?;
        self.skip_space();
        if self.rest.starts_with('{') {
            self.expect("{")?;
            self.skip_space();
        }
        self.expect(NAME_KEY)?;
        self.skip_space();
        self.expect(":")?;
        self.skip_space();
        self.expect("\"")?;
        match self.rest.split_once('"') {
            Some((name, _)) if names.iter().any(|known| known == name) => Ok(()),
            None if names.iter().any(|known| known.starts_with(self.rest)) => Err(Verdict::PerhapsCall),
            _ => Err(Verdict::Text),
        }
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn expect(&mut self, wanted: &str) -> Result<(), Verdict> {
        let mut rest: Chars<'_> = self.rest.chars();
        for character in wanted.chars() {
            match rest.next() {
                Some(found) if found == character => {}
                Some(_) => return Err(Verdict::Text),
                None => return Err(Verdict::PerhapsCall),
            }
        }
        self.rest = &self.rest[wanted.len()..];
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hears the answer letter by letter: the text that is told, and from where on a call is read.
    fn check(answer: &str) -> (String, Option<&str>) {
        let mut listening = Listening::new(vec!["weather".to_owned(), "weather_later".to_owned()]);
        let mut told = String::new();
        for character in answer.chars() {
            match listening.hear(&character.to_string()) {
                Heard::Text(text) => told.push_str(&text),
                Heard::Call { text, at } => {
                    told.push_str(&text);
                    return (told, Some(&answer[at..]));
                }
            }
        }
        told.push_str(&listening.rest());
        (told, None)
    }

    #[test]
    fn text_stays_as_it_is() {
        for text in [
            "Hello, 1 < 2 and `code`.\n\n```json\n{\"name\": \"Anna\"}\n```\n",
            "<b>bold</b> {\"name\": \"weather\"} in the middle of a line",
            "{\"name\": \"weathe\"}",
            "`",
            "<tool",
            "  \n",
            "",
        ] {
            assert_eq!(check(text), (text.to_owned(), None));
        }
    }

    #[test]
    fn the_mark_begins_a_call_wherever_it_stands() {
        assert_eq!(check("<tool_call>").1, Some("<tool_call>"));
        assert_eq!(check("Let me see.\n<tool_call>\n{"), ("Let me see.".to_owned(), Some("<tool_call>\n{")));
    }

    #[test]
    fn calls_in_other_clothes_are_calls() {
        for call in [
            "{\"name\": \"weather\"",
            "{\"name\":\"weather_later\"",
            "{{\"name\": \"weather\"",
            "```json\n{\n  \"name\": \"weather\"",
            "```\n{\"name\": \"weather\"",
            "<tools>\n{\"name\": \"weather\"",
        ] {
            assert!(check(call).1.is_some(), "{call}");
            let behind = format!("Sure:\n{call}, \"arguments\": {{}}}}");
            assert_eq!(check(&behind).0, "Sure:", "{behind}");
        }
    }

    #[test]
    fn without_tools_nothing_is_held_back() {
        let mut listening = Listening::new(Vec::new());
        assert_eq!(listening.hear("<tool_call> "), Heard::Text("<tool_call> ".to_owned()));
    }
}
