//! Rust source split into code and comments, so that a rule about one is not broken by the other.
//!
//! Not a parser: it knows comments, strings and character literals, which is all that is needed to leave out
//! words that are only quoted.

/// The two readings of a source. Both have the lines and columns of the original; what belongs to the other
/// reading, or to a literal, is blank.
pub(super) struct RustText {
    pub(super) code: String,
    pub(super) comments: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Code,
    Comment,
    Literal,
}

impl RustText {
    pub(super) fn split(text: &str) -> Self {
        let characters: Vec<char> = text.chars().collect();
        let (mut code, mut comments) = (String::with_capacity(text.len()), String::new());
        let mut position = 0;
        while position < characters.len() {
            let (part, length) = next_part(&characters[position..]);
            for &character in &characters[position..position + length] {
                let blank = if character == '\n' { '\n' } else { ' ' };
                code.push(if part == Part::Code { character } else { blank });
                comments.push(if part == Part::Comment { character } else { blank });
            }
            position += length;
        }
        Self { code, comments }
    }

    /// Index of the line at which the test module begins that ends the file; the number of lines without one.
    pub(super) fn test_module_line(&self) -> usize {
        let lines: Vec<&str> = self.code.lines().collect();
        let opens_module = |index: usize| {
            let item = lines[index + 1..].iter().find(|line| !line.is_empty() && !line.starts_with("#["));
            item.is_some_and(|line| line.starts_with("mod ") && line.trim_end().ends_with('{'))
        };
        let is_start = |index: &usize| lines[*index].trim_end() == "#[cfg(test)]" && opens_module(*index);
        (0..lines.len()).find(is_start).unwrap_or(lines.len())
    }
}

/// True when `word` stands in `line` and is not a piece of a longer identifier.
pub(super) fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = line[start + word.len()..].chars().next();
        !before.is_some_and(continues_identifier) && !after.is_some_and(continues_identifier)
    })
}

fn continues_identifier(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// What the text begins with, and how many characters of it. Never zero: the text is not empty.
fn next_part(text: &[char]) -> (Part, usize) {
    match text {
        ['/', '/', ..] => (Part::Comment, line_length(text)),
        ['/', '*', ..] => (Part::Comment, block_comment_length(text)),
        ['"', ..] => (Part::Literal, string_length(text)),
        ['\'', '\\', ..] => (Part::Literal, through(text, 3, &['\''])),
        ['\'', _, '\'', ..] => (Part::Literal, 3),
        [first, ..] if continues_identifier(*first) => match raw_string_length(text) {
            Some(length) => (Part::Literal, length),
            None => (Part::Code, text.iter().take_while(|&&c| continues_identifier(c)).count()),
        },
        _ => (Part::Code, 1),
    }
}

fn line_length(text: &[char]) -> usize {
    text.iter().position(|&character| character == '\n').unwrap_or(text.len())
}

fn block_comment_length(text: &[char]) -> usize {
    let (mut depth, mut position) = (0_usize, 0);
    while position < text.len() {
        match text[position..] {
            ['/', '*', ..] => (depth, position) = (depth + 1, position + 2),
            ['*', '/', ..] => (depth, position) = (depth - 1, position + 2),
            _ => position += 1,
        }
        if depth == 0 {
            break;
        }
    }
    position
}

fn string_length(text: &[char]) -> usize {
    let mut position = 1;
    while position < text.len() {
        match text[position] {
            '\\' => position += 2,
            '"' => return position + 1,
            _ => position += 1,
        }
    }
    text.len()
}

/// Length of a raw string, if one begins here.
fn raw_string_length(text: &[char]) -> Option<usize> {
    let prefix = match text {
        ['r', ..] => 1,
        ['b' | 'c', 'r', ..] => 2,
        _ => return None,
    };
    let hashes = text[prefix..].iter().take_while(|&&character| character == '#').count();
    if text.get(prefix + hashes) != Some(&'"') {
        return None;
    }
    let ending: Vec<char> = ['"'].into_iter().chain(std::iter::repeat_n('#', hashes)).collect();
    Some(through(text, prefix + hashes + 1, &ending))
}

/// Number of characters up to and with the first `ending` at or after `start`.
fn through(text: &[char], start: usize, ending: &[char]) -> usize {
    let found = (start..text.len()).find(|&position| text[position..].starts_with(ending));
    found.map_or(text.len(), |position| position + ending.len())
}

#[cfg(test)]
mod tests {
    use super::{RustText, has_word};

    #[track_caller]
    fn check(text: &str, code: &str, comments: &str) {
        let split = RustText::split(text);
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!((words(&split.code).as_str(), words(&split.comments).as_str()), (code, comments));
        assert_eq!(split.code.lines().count(), text.lines().count());
    }

    #[test]
    fn literals_are_blank_and_comments_are_apart() {
        check("let a = 1; // why", "let a = 1;", "// why");
        check("a /* b /* c */ d */ e", "a e", "/* b /* c */ d */");
        check(r#"f("// \" no"); g()"#, "f( ); g()", "");
        check("f(r#\"a \" // b\"#, br\"c\", b\"d\") // e", "f( , , b )", "// e");
        check("'\"' + '\\'' + 'x: &'static str", "+ + 'x: &'static str", "");
        check("f(\"two\n lines\")\ng", "f( ) g", "");
        check("\"no end", "", "");
    }

    #[test]
    fn only_a_module_of_tests_ends_the_code() {
        let line = |text: &str| RustText::split(text).test_module_line();
        assert_eq!(line("fn a() {}\n\n#[cfg(test)]\nmod tests {\n}\n"), 2);
        assert_eq!(line("fn a() {}\n#[cfg(test)]\n#[expect(x)]\nmod tests {\n}\n"), 1);
        assert_eq!(line("#[cfg(test)]\nmod tests;\nfn a() {}\n"), 3);
        assert_eq!(line("#[cfg(test)]\nfn fake() {}\nfn a() {}\n"), 3);
        assert_eq!(line("let a = \"\n#[cfg(test)]\nmod tests {\";\n"), 3);
    }

    #[test]
    fn a_word_is_not_a_piece_of_an_identifier() {
        assert!(has_word("unsafe {", "unsafe"));
        assert!(has_word("unsafe_code unsafe", "unsafe"));
        assert!(!has_word("unsafe_code", "unsafe"));
    }
}
