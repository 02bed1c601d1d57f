//! TypeScript text as a list of words: names, texts, numbers and signs, without comments and patterns.
//!
//! Not a parser: it knows just enough to tell a text from a comment and a division from a pattern. Malformed text
//! gives some list of words, never a failure.

use std::ops::Range;

/// Longest pattern that is looked for. Without a limit a line full of `/[` would be read once for each of them.
const PATTERN_BYTES_MAX: usize = 500;

/// One word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word<'a> {
    /// Where it begins, in bytes.
    pub(super) at: usize,
    pub(super) kind: Kind<'a>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind<'a> {
    Name(&'a str),
    Number(&'a str),
    Sign(char),
    Text {
        /// The value. In a template `{}` stands for what is filled in, `{name}` where that is a single name.
        value: String,
        /// The words that a template begins with, when it begins with something filled in.
        head: Option<Range<usize>>,
    },
}

/// A template whose end has not been seen yet.
struct Template {
    /// Index of its word.
    word: usize,
    /// Braces that are open in the part being filled in.
    braces: usize,
    /// Index of the first word of that part.
    filled_from: usize,
}

/// The words of a text.
pub(super) fn words(text: &str) -> Vec<Word<'_>> {
    let mut reader = Reader { text, bytes: text.as_bytes(), at: 0, words: Vec::new(), templates: Vec::new() };
    while reader.at < reader.bytes.len() {
        reader.read_word();
    }
    reader.words
}

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    words: Vec<Word<'a>>,
    templates: Vec<Template>,
}

impl<'a> Reader<'a> {
    /// Reads one word or skips what is none. Always goes forward.
    fn read_word(&mut self) {
        let start = self.at;
        let rest = &self.bytes[start..];
        match rest[0] {
            b'/' if rest.starts_with(b"//") => self.at = self.find(start, b"\n"),
            b'/' if rest.starts_with(b"/*") => self.at = self.find(start + 2, b"*/") + 2,
            b'#' if start == 0 && rest.starts_with(b"#!") => self.at = self.find(start, b"\n"),
            b'/' if !self.follows_value() => match self.pattern_end() {
                Some(end) => {
                    self.at = end;
                    // A pattern is a value; as a word it is an empty text.
                    self.push_text(start, String::new());
                }
                None => self.push_sign('/'),
            },
            quote @ (b'"' | b'\'') => self.read_text(quote),
            b'`' => {
                let word = self.words.len();
                self.push_text(start, String::new());
                self.at = start + 1;
                self.read_template(Template { word, braces: 0, filled_from: 0 });
            }
            b'0'..=b'9' => {
                self.at =
                    self.end_of(start, |byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.');
                self.words.push(Word { at: start, kind: Kind::Number(&self.text[start..self.at]) });
            }
            byte if is_name(byte) => {
                self.at = self.end_of(start, is_name);
                self.words.push(Word { at: start, kind: Kind::Name(&self.text[start..self.at]) });
            }
            byte if byte.is_ascii_whitespace() => self.at = start + 1,
            // `a?.b` means `a.b` here.
            b'?' if rest.get(1) == Some(&b'.') => self.at = start + 1,
            b'}' if self.templates.last().is_some_and(|template| template.braces == 0) => {
                self.at = start + 1;
                self.end_filled();
            }
            byte => {
                if let Some(template) = self.templates.last_mut() {
                    match byte {
                        b'{' => template.braces += 1,
                        b'}' => template.braces -= 1,
                        _ => {}
                    }
                }
                self.push_sign(char::from(byte));
            }
        }
        self.at = self.at.clamp(start + 1, self.bytes.len());
    }

    fn read_text(&mut self, quote: u8) {
        let start = self.at;
        let mut value = String::new();
        let mut at = start + 1;
        while let Some(&byte) = self.bytes.get(at) {
            match byte {
                b'\n' => break,
                _ if byte == quote => {
                    at += 1;
                    break;
                }
                _ => at = self.read_character(at, &mut value),
            }
        }
        self.at = at;
        self.push_text(start, value);
    }

    /// Reads the literal part of a template up to its end or to what is filled in.
    fn read_template(&mut self, mut template: Template) {
        let mut value = match self.words.get_mut(template.word).map(|word| &mut word.kind) {
            Some(Kind::Text { value, .. }) => std::mem::take(value),
            _ => String::new(),
        };
        let mut is_open = false;
        while let Some(&byte) = self.bytes.get(self.at) {
            if byte == b'`' {
                self.at += 1;
                break;
            }
            if self.bytes[self.at..].starts_with(b"${") {
                self.at += 2;
                is_open = true;
                break;
            }
            self.at = self.read_character(self.at, &mut value);
        }
        if let Some(Kind::Text { value: kept, .. }) =
            self.words.get_mut(template.word).map(|word| &mut word.kind)
        {
            *kept = value;
        }
        if is_open {
            template.braces = 0;
            template.filled_from = self.words.len();
            self.templates.push(template);
        }
    }

    /// Goes on with the template after a part that is filled in.
    fn end_filled(&mut self) {
        let Some(template) = self.templates.pop() else { return };
        let filled = template.filled_from..self.words.len();
        let name = match &self.words[filled.clone()] {
            [Word { kind: Kind::Name(name), .. }] => *name,
            _ => "",
        };
        if let Some(Kind::Text { value, head }) = self.words.get_mut(template.word).map(|word| &mut word.kind)
        {
            if value.is_empty() {
                *head = Some(filled);
            }
            value.push('{');
            value.push_str(name);
            value.push('}');
        }
        self.read_template(template);
    }

    /// Reads one character of a text, which may be written with a backslash; gives where the next begins.
    fn read_character(&self, at: usize, value: &mut String) -> usize {
        let mut characters = self.text[at..].chars();
        let Some(first) = characters.next() else { return at + 1 };
        if first != '\\' {
            value.push(first);
            return at + first.len_utf8();
        }
        let Some(escaped) = characters.next() else { return at + 1 };
        match escaped {
            'n' | 'r' | 't' | 'v' | 'f' => value.push(' '),
            '\n' => {}
            other => value.push(other),
        }
        at + 1 + escaped.len_utf8()
    }

    /// True when a `/` here divides, because a value stands before it.
    fn follows_value(&self) -> bool {
        match self.words.last().map(|word| &word.kind) {
            Some(Kind::Name(name)) => !matches!(
                *name,
                "return"
                    | "typeof"
                    | "case"
                    | "in"
                    | "of"
                    | "delete"
                    | "void"
                    | "throw"
                    | "new"
                    | "else"
                    | "await"
            ),
            Some(Kind::Number(_) | Kind::Text { .. } | Kind::Sign(')' | ']')) => true,
            _ => false,
        }
    }

    /// The end of the pattern that begins here, when it ends on its line.
    fn pattern_end(&self) -> Option<usize> {
        let mut in_class = false;
        let mut at = self.at + 1;
        let furthest = self.bytes.len().min(self.at + PATTERN_BYTES_MAX);
        while at < furthest {
            match self.bytes[at] {
                b'\n' => return None,
                b'\\' => at += 1,
                b'[' => in_class = true,
                b']' => in_class = false,
                b'/' if !in_class => return Some(at + 1),
                _ => {}
            }
            at += 1;
        }
        None
    }

    fn push_sign(&mut self, sign: char) {
        self.words.push(Word { at: self.at, kind: Kind::Sign(sign) });
        self.at += 1;
    }

    fn push_text(&mut self, at: usize, value: String) {
        self.words.push(Word { at, kind: Kind::Text { value, head: None } });
    }

    fn find(&self, from: usize, what: &[u8]) -> usize {
        let from = from.min(self.bytes.len());
        let text = std::str::from_utf8(what).unwrap_or("\n");
        self.text[from..].find(text).map_or(self.bytes.len(), |at| from + at)
    }

    fn end_of(&self, start: usize, is_part: impl Fn(u8) -> bool) -> usize {
        let length = self.bytes[start..].iter().take_while(|byte| is_part(**byte)).count();
        start + length
    }
}

/// Bytes above ASCII are parts of names: what they are exactly never matters here.
fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}
