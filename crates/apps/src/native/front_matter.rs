//! The lines between `---` at the beginning of a text, as values.
//!
//! YAML without what makes it dangerous or ambiguous: no anchors, no aliases, no tags, no second document, each key
//! once. Whether `yes` is a word or a truth is left to whoever knows which of the two a key wants.

use saphyr_parser::{Event, Parser, ScalarStyle};

/// Most values in it; real ones have a few dozen.
const VALUES_MAX: usize = 2000;
/// Deepest nesting.
const DEPTH_MAX: usize = 8;

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Field {
    /// A text; plain when it stands without quotes, so that it may also be a number or nothing.
    Text {
        text: String,
        is_plain: bool,
    },
    List(Vec<Field>),
    /// In the order of the text.
    Map(Vec<(String, Field)>),
}

impl Field {
    /// True for what stands for no value.
    pub(super) fn is_nothing(&self) -> bool {
        matches!(self, Self::Text { text, is_plain: true } if matches!(text.as_str(), "" | "~" | "null"))
    }
}

/// Fields with their names, in the order of the text.
pub(super) type Fields = Vec<(String, Field)>;

/// The fields of the front matter, and the text after it.
pub(super) fn split(text: &str) -> Result<(Fields, &str), String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let begins = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n"));
    let rest = begins.ok_or("it does not begin with a line `---`")?;
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Ok((fields(&rest[..at])?, &rest[at + line.len()..]));
        }
        at += line.len();
    }
    Err("its first lines do not end with a line `---`".to_owned())
}

fn fields(yaml: &str) -> Result<Vec<(String, Field)>, String> {
    let mut reading = Reading { parser: Parser::new_from_str(yaml), values: 0 };
    loop {
        match reading.next()? {
            Event::StreamStart | Event::DocumentStart(_) | Event::Nothing => {}
            Event::StreamEnd => return Ok(Vec::new()),
            Event::MappingStart(anchor, tag) => {
                plain(anchor, tag.is_some())?;
                let map = reading.map(1)?;
                return match (reading.next()?, reading.next()?) {
                    (Event::DocumentEnd, Event::StreamEnd) => Ok(map),
                    _ => Err("there is more than one document".to_owned()),
                };
            }
            _ => return Err("its first lines are not `key: value`".to_owned()),
        }
    }
}

struct Reading<'a> {
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
    values: usize,
}

impl<'a> Reading<'a> {
    fn next(&mut self) -> Result<Event<'a>, String> {
        match self.parser.next_event() {
            Some(Ok((event, _))) => Ok(event),
            Some(Err(error)) => Err(error.to_string()),
            None => Err("it ends too early".to_owned()),
        }
    }

    fn value(&mut self, event: Event<'a>, depth: usize) -> Result<Field, String> {
        self.values += 1;
        if self.values > VALUES_MAX || depth > DEPTH_MAX {
            return Err("there is too much in it".to_owned());
        }
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                plain(anchor, tag.is_some())?;
                Ok(Field::Text { text: text.into_owned(), is_plain: style == ScalarStyle::Plain })
            }
            Event::SequenceStart(anchor, tag) => {
                plain(anchor, tag.is_some())?;
                let mut list = Vec::new();
                loop {
                    match self.next()? {
                        Event::SequenceEnd => return Ok(Field::List(list)),
                        event => list.push(self.value(event, depth + 1)?),
                    }
                }
            }
            Event::MappingStart(anchor, tag) => {
                plain(anchor, tag.is_some())?;
                self.map(depth + 1).map(Field::Map)
            }
            Event::Alias(_) => Err("aliases are not taken".to_owned()),
            _ => Err("it is not `key: value`".to_owned()),
        }
    }

    fn map(&mut self, depth: usize) -> Result<Vec<(String, Field)>, String> {
        let mut map: Vec<(String, Field)> = Vec::new();
        loop {
            let key = match self.next()? {
                Event::MappingEnd => return Ok(map),
                Event::Scalar(key, _, anchor, tag) => {
                    plain(anchor, tag.is_some())?;
                    key.into_owned()
                }
                _ => return Err("a key is not a text".to_owned()),
            };
            if map.iter().any(|(known, _)| *known == key) {
                return Err(format!("`{}` stands twice", super::strict_json::shown(&key)));
            }
            let event = self.next()?;
            let value = self.value(event, depth)?;
            map.push((key, value));
        }
    }
}

fn plain(anchor: usize, has_tag: bool) -> Result<(), String> {
    if anchor == 0 && !has_tag { Ok(()) } else { Err("anchors and tags are not taken".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::{Field, split};
    use proptest::prelude::*;

    #[test]
    fn what_stands_between_the_lines_is_read_and_the_rest_is_kept() {
        let (fields, rest) = split("---\na: one\nb: [x, 'y']\nc:\n  d: 2\n---\n# Title\n---\n").unwrap();
        assert_eq!(rest, "# Title\n---\n");
        assert_eq!(fields[0], ("a".to_owned(), Field::Text { text: "one".to_owned(), is_plain: true }));
        assert!(matches!(&fields[1].1, Field::List(list) if list.len() == 2));
        assert!(matches!(&fields[2].1, Field::Map(map) if map[0].0 == "d"));
        assert_eq!(split("---\r\na: 1\r\n---\r\nx").unwrap().1, "x");
        assert!(split("---\n---\n").unwrap().0.is_empty());
    }

    #[test]
    fn what_is_dangerous_or_ambiguous_is_refused() {
        let deep = format!("---\na: {}\n---\n", "[".repeat(200));
        let many = format!("---\na: [{}]\n---\n", "x, ".repeat(3000));
        for bad in [
            "",
            "# no front matter",
            "---\na: 1\n",
            "---\na: 1\na: 2\n---\n",
            "---\na: &x [1]\nb: *x\n---\n",
            "---\na: !!python/object 1\n---\n",
            "---\n- a\n---\n",
            "---\n? [a]\n: b\n---\n",
            "---\na: [\n---\n",
            &deep,
            &many,
        ] {
            assert!(split(bad).is_err(), "{}", &bad[..bad.len().min(40)]);
        }
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_reader(text in "[-a-z0-9:\\[\\]{}&*!|>'\"#\n ,?]{0,120}") {
            if let Ok((_, rest)) = split(&format!("---\n{text}\n---\nrest")) {
                prop_assert!(rest.ends_with("rest"));
            }
        }
    }
}
