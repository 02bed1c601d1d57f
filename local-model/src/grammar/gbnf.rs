//! Reads grammars for tests: makes texts of them, and says whether they take a text.
//!
//! Written from the description of GBNF and not from our printer, so that the two check each other. Knows what our
//! grammars use: literals, classes of characters, groups, alternatives, names, and repetitions.

use std::collections::HashMap;

pub(crate) struct Gbnf {
    rules: HashMap<String, Node>,
}

#[derive(Debug, Clone)]
enum Node {
    Literal(Vec<char>),
    Class { ranges: Vec<(char, char)>, negated: bool },
    Name(String),
    Sequence(Vec<Node>),
    Alternatives(Vec<Node>),
    Repeated { node: Box<Node>, minimum: usize, maximum: Option<usize> },
}

/// How often an unbounded repetition is repeated at most when a text is made.
const REPEATED_MAX: usize = 4;
/// Rules within rules after which alternatives that end soonest are taken.
const DEPTH_MAX: usize = 24;

impl Gbnf {
    pub(crate) fn read(text: &str) -> Self {
        let mut rules = HashMap::new();
        for line in text.lines() {
            let (name, body) = line.split_once(" ::= ").expect("every line is a rule");
            let characters: Vec<char> = body.chars().collect();
            let mut reader = Reader { characters: &characters, at: 0 };
            let node = reader.alternatives();
            assert_eq!(reader.at, characters.len(), "rest of {line}");
            assert!(rules.insert(name.to_owned(), node).is_none(), "{name} has two bodies");
        }
        Self { rules }
    }

    /// A text of the grammar. `choose` is asked for a number below another whenever there is a choice.
    pub(crate) fn make(&self, choose: &mut dyn FnMut(usize) -> usize) -> String {
        let mut text = String::new();
        self.write(&self.rules["root"], 0, choose, &mut text);
        text
    }

    pub(crate) fn takes(&self, text: &str) -> bool {
        let characters: Vec<char> = text.chars().collect();
        self.ends(&self.rules["root"], &characters, 0).contains(&characters.len())
    }

    fn write(&self, node: &Node, depth: usize, choose: &mut dyn FnMut(usize) -> usize, text: &mut String) {
        match node {
            Node::Literal(characters) => text.extend(characters),
            Node::Class { ranges, negated: false } => {
                let (low, high) = ranges[choose(ranges.len())];
                let width = u32::from(high) - u32::from(low) + 1;
                let offset = u32::try_from(choose(width as usize)).unwrap();
                text.push(char::from_u32(u32::from(low) + offset).unwrap());
            }
            Node::Class { ranges, negated: true } => {
                let candidates = ['a', 'Z', ' ', '}', '<', 'é', '語', '🙂', '\u{80}', ':', ','];
                let allowed: Vec<_> = candidates
                    .into_iter()
                    .filter(|c| !ranges.iter().any(|(l, h)| l <= c && c <= h))
                    .collect();
                text.push(allowed[choose(allowed.len())]);
            }
            Node::Name(name) => self.write(&self.rules[name], depth + 1, choose, text),
            Node::Sequence(nodes) => nodes.iter().for_each(|node| self.write(node, depth, choose, text)),
            Node::Alternatives(nodes) => {
                // Deep inside, the first alternative: our grammars put what ends at once in front.
                let at = if depth > DEPTH_MAX { 0 } else { choose(nodes.len()) };
                self.write(&nodes[at], depth, choose, text);
            }
            Node::Repeated { node, minimum, maximum } => {
                let most = maximum.unwrap_or(minimum + REPEATED_MAX).min(minimum + REPEATED_MAX);
                let times = if depth > DEPTH_MAX { *minimum } else { minimum + choose(most - minimum + 1) };
                (0..times).for_each(|_| self.write(node, depth, choose, text));
            }
        }
    }

    /// Everywhere that a match from `at` on can end.
    fn ends(&self, node: &Node, text: &[char], at: usize) -> Vec<usize> {
        match node {
            Node::Literal(characters) => {
                if text[at..].starts_with(characters) {
                    vec![at + characters.len()]
                } else {
                    Vec::new()
                }
            }
            Node::Class { ranges, negated } => match text.get(at) {
                Some(c) if ranges.iter().any(|(low, high)| low <= c && c <= high) != *negated => vec![at + 1],
                _ => Vec::new(),
            },
            Node::Name(name) => self.ends(&self.rules[name], text, at),
            Node::Sequence(nodes) => nodes.iter().fold(vec![at], |starts, node| {
                unique(starts.into_iter().flat_map(|start| self.ends(node, text, start)).collect())
            }),
            Node::Alternatives(nodes) => {
                unique(nodes.iter().flat_map(|node| self.ends(node, text, at)).collect())
            }
            Node::Repeated { node, minimum, maximum } => {
                let mut now = vec![at];
                let mut all = if *minimum == 0 { vec![at] } else { Vec::new() };
                for time in 1..=maximum.unwrap_or(text.len() + 1) {
                    now = unique(now.into_iter().flat_map(|start| self.ends(node, text, start)).collect());
                    if now.is_empty() {
                        break;
                    }
                    if time >= *minimum {
                        all.extend(&now);
                    }
                }
                unique(all)
            }
        }
    }
}

fn unique(mut ends: Vec<usize>) -> Vec<usize> {
    ends.sort_unstable();
    ends.dedup();
    ends
}

struct Reader<'t> {
    characters: &'t [char],
    at: usize,
}

impl Reader<'_> {
    fn alternatives(&mut self) -> Node {
        let mut all = vec![self.sequence()];
        while self.peek() == Some('|') {
            self.at += 1;
            all.push(self.sequence());
        }
        if all.len() == 1 { all.remove(0) } else { Node::Alternatives(all) }
    }

    fn sequence(&mut self) -> Node {
        let mut nodes = Vec::new();
        while let Some(character) = self.peek().filter(|character| !matches!(character, '|' | ')')) {
            let node = match character {
                '"' => self.literal(),
                '[' => self.class(),
                '(' => {
                    self.at += 1;
                    let inner = self.alternatives();
                    assert_eq!(self.peek(), Some(')'));
                    self.at += 1;
                    inner
                }
                _ => self.name(),
            };
            nodes.push(self.repeated(node));
        }
        assert!(!nodes.is_empty(), "an empty alternative");
        Node::Sequence(nodes)
    }

    fn repeated(&mut self, node: Node) -> Node {
        let (minimum, maximum) = match self.characters.get(self.at) {
            Some('*') => (0, None),
            Some('?') => (0, Some(1)),
            Some('{') => {
                let end = self.characters[self.at..].iter().position(|c| *c == '}').unwrap() + self.at;
                let inside: String = self.characters[self.at + 1..end].iter().collect();
                self.at = end;
                match inside.split_once(',') {
                    Some((low, "")) => (low.parse().unwrap(), None),
                    Some((low, high)) => (low.parse().unwrap(), Some(high.parse().unwrap())),
                    None => (inside.parse().unwrap(), Some(inside.parse().unwrap())),
                }
            }
            _ => return node,
        };
        self.at += 1;
        Node::Repeated { node: Box::new(node), minimum, maximum }
    }

    fn literal(&mut self) -> Node {
        self.at += 1;
        let mut characters = Vec::new();
        while self.characters[self.at] != '"' {
            characters.push(self.character());
        }
        self.at += 1;
        Node::Literal(characters)
    }

    fn class(&mut self) -> Node {
        self.at += 1;
        let negated = self.characters[self.at] == '^';
        self.at += usize::from(negated);
        let mut ranges = Vec::new();
        while self.characters[self.at] != ']' {
            let low = self.character();
            let mut high = low;
            if self.characters[self.at] == '-' && self.characters[self.at + 1] != ']' {
                self.at += 1;
                high = self.character();
            }
            ranges.push((low, high));
        }
        self.at += 1;
        Node::Class { ranges, negated }
    }

    fn character(&mut self) -> char {
        let character = self.characters[self.at];
        self.at += 1;
        if character != '\\' {
            return character;
        }
        let escaped = self.characters[self.at];
        self.at += 1;
        match escaped {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'x' => {
                let digits: String = self.characters[self.at..self.at + 2].iter().collect();
                self.at += 2;
                char::from(u8::from_str_radix(&digits, 16).unwrap())
            }
            other => other,
        }
    }

    fn name(&mut self) -> Node {
        let rest = &self.characters[self.at..];
        let length = rest.iter().take_while(|c| c.is_ascii_alphanumeric() || **c == '-').count();
        assert!(length > 0, "no name at {}", self.at);
        self.at += length;
        Node::Name(rest[..length].iter().collect())
    }

    fn peek(&mut self) -> Option<char> {
        while self.characters.get(self.at) == Some(&' ') {
            self.at += 1;
        }
        self.characters.get(self.at).copied()
    }
}
