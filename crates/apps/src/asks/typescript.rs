//! What TypeScript or JavaScript shows about the rights it needs, from its words.
//!
//! The converter that knows the language belongs to the runtime. Here a list of words is enough: what is looked for
//! (`process.env.KEY`, `fetch`, addresses, paths) is written the same way nearly everywhere.

mod words; // text into words
mod constants; // names that stand for a text or a folder
mod tables; // modules and functions by what they do

use super::{Found, findings::Findings, network_libraries, urls::is_read_only_key};
use constants::{Constants, TEXT_BYTES_MAX};
use words::{Kind, Word, words};

/// How far to look for the end of an object or of arguments.
const LOOK_AHEAD_MAX: usize = 60;

/// Everything the text shows.
pub(super) fn in_text(text: &str) -> Found {
    let words = words(text);
    let constants = Constants::of(&words);
    let uses_network = (0..words.len()).any(|index| {
        imported(&words, index).is_some_and(|name| network_libraries::of_typescript(name).is_some())
    });
    let mut search = Search { words: &words, constants, findings: Findings::default(), uses_network };
    for (index, word) in words.iter().enumerate() {
        match &word.kind {
            Kind::Name(name) => search.name(index, name),
            Kind::Text { .. } => search.text(index),
            _ => {}
        }
    }
    let line_ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
    let line_of = |at| u32::try_from(line_ends.partition_point(|end| *end < at) + 1).unwrap_or(u32::MAX);
    search.findings.conclude(line_of)
}

struct Search<'w> {
    words: &'w [Word<'w>],
    constants: Constants<'w>,
    findings: Findings,
    uses_network: bool,
}

impl<'w> Search<'w> {
    fn name(&mut self, index: usize, name: &str) {
        let at = self.words[index].at;
        match name {
            "process" | "Bun" if self.is_member(index, "env") => self.environment(index),
            "Deno" if self.is_member(index, "env") => {
                if let Some(name) = self.argument(index + 4).filter(|_| self.sign(index + 5) == Some('(')) {
                    self.findings.environment(at, name);
                }
            }
            "Deno" if ["Command", "run"].iter().any(|member| self.is_member(index, member)) => {
                self.findings.right(at, "subprocess");
            }
            "Bun" if ["spawn", "spawnSync", "$"].iter().any(|member| self.is_member(index, member)) => {
                self.findings.right(at, "subprocess");
            }
            "Deno" if ["connect", "connectTls"].iter().any(|member| self.is_member(index, member)) => {
                self.findings.network_library(at, None);
            }
            "fetch" if self.is_global_call(index) => self.findings.network_library(at, None),
            "WebSocket" | "EventSource" | "XMLHttpRequest"
                if self.word(index.wrapping_sub(1)) == Some("new") =>
            {
                self.findings.network_library(at, None);
            }
            "callModel" if self.word(index.wrapping_sub(1)) != Some("function") => {
                self.findings.right(at, "model")
            }
            "homedir" if self.sign(index + 1) == Some('(') && self.sign(index + 2) == Some(')') => {
                self.below_home(at, index + 3);
            }
            "host" | "hostname" => self.host(index),
            "connect" | "createConnection" => self.connection(index),
            "write" if self.sign(index + 1) == Some(':') && self.word(index + 2) == Some("true") => {
                self.findings.writes();
            }
            _ if self.constants.is_home(name) && self.sign(index + 1) != Some('=') => {
                self.named_home(at, index + 1);
            }
            _ => self.function(index, name),
        }
    }

    /// `process.env`, at its first word.
    fn environment(&mut self, index: usize) {
        let at = self.words[index].at;
        let mut next = index + 3;
        if self.sign(next) == Some('.') && self.sign(next + 1) == Some('[') {
            next += 1;
        }
        let variable = match self.sign(next) {
            Some('.') => self.word(next + 1).map(|name| (name.to_owned(), next + 2)),
            Some('[') => self.value(next + 1).map(|name| (name.to_owned(), next + 3)),
            _ => None,
        };
        match variable {
            Some((name, after)) => {
                let is_assigned =
                    self.sign(after) == Some('=') && !matches!(self.sign(after + 1), Some('=' | '>'));
                if !is_assigned {
                    self.findings.environment(at, &name);
                }
                if name == "HOME" {
                    self.below_home(at, after);
                }
            }
            None => self.unpacked(index),
        }
    }

    /// `const { KEY, OTHER: other } = process.env`, or `"KEY" in process.env`, from the words before it.
    fn unpacked(&mut self, index: usize) {
        let at = self.words[index].at;
        if self.word(index.wrapping_sub(1)) == Some("in") {
            if let Some(name) = self.text_at(index.wrapping_sub(2)) {
                self.findings.environment(at, name);
            }
            return;
        }
        if self.sign(index.wrapping_sub(1)) != Some('=') || self.sign(index.wrapping_sub(2)) != Some('}') {
            return;
        }
        let first = index.saturating_sub(2 + LOOK_AHEAD_MAX);
        let Some(start) = (first..index - 2).rev().find(|index| self.sign(*index) == Some('{')) else {
            return;
        };
        for index in start + 1..index - 2 {
            if matches!(self.sign(index - 1), Some('{' | ','))
                && let Some(name) = self.word(index)
            {
                self.findings.environment(at, name);
            }
        }
    }

    /// What follows a word for the home folder: `, "notes"`, `+ "/notes"`, or nothing that is known.
    fn below_home(&mut self, at: usize, next: usize) {
        if !self.named_home(at, next) {
            self.findings.place(at, "~");
        }
    }

    /// Notes the folder below home, when one is named; tells whether one is.
    fn named_home(&mut self, at: usize, mut next: usize) -> bool {
        // `process.env.HOME!` and `process.env.HOME || ""`.
        while self.sign(next) == Some('!') || self.sign(next) == Some(')') && self.sign(next + 1) == Some(',')
        {
            next += 1;
        }
        if matches!((self.sign(next), self.sign(next + 1)), (Some('|'), Some('|')) | (Some('?'), Some('?'))) {
            next += 3;
        }
        let below = self.value(next + 1).filter(|_| matches!(self.sign(next), Some(',' | '+')));
        let Some(place) = below.map(|below| format!("~/{below}")) else { return false };
        self.findings.place(at, &place);
        true
    }

    /// `host: "db.example.com"`, with the port that stands in the same object.
    fn host(&mut self, index: usize) {
        let Some(host) = self.value(index + 2).filter(|_| self.sign(index + 1) == Some(':')) else { return };
        if !self.uses_network || !(host.contains(['.', ':']) || host == "localhost") {
            return;
        }
        let in_object = |sign: Option<char>| !matches!(sign, Some('{' | '}'));
        let last = self.words.len().min(index + LOOK_AHEAD_MAX);
        let before = (index.saturating_sub(LOOK_AHEAD_MAX)..index)
            .rev()
            .take_while(|index| in_object(self.sign(*index)));
        let after = (index..last).take_while(|index| in_object(self.sign(*index)));
        let port = before.chain(after).find(|index| self.word(*index) == Some("port"));
        let number = port.map(|port| self.number(port + 2));
        match number {
            None => self.findings.host(self.words[index].at, host, None),
            Some(Some(port)) => self.findings.host(self.words[index].at, host, Some(port)),
            // A port that is not known cannot be asked for.
            Some(None) => {}
        }
    }

    /// `connect(443, "db.example.com")`.
    fn connection(&mut self, index: usize) {
        if self.sign(index + 1) == Some('(')
            && let (Some(port), Some(host)) = (self.number(index + 2), self.value(index + 4))
        {
            self.findings.host(self.words[index].at, host, Some(port));
        }
    }

    fn function(&mut self, index: usize, name: &str) {
        if self.sign(index + 1) != Some('(') {
            return;
        }
        let at = self.words[index].at;
        if name == "call" && self.value(index + 2) == Some("model.complete") {
            self.findings.right(at, "model");
        }
        if tables::writes_files(name) {
            self.findings.writes();
        }
        if !tables::takes_path(name) {
            return;
        }
        for argument in [index + 2, index + 4] {
            if let Some(path) = self.value(argument).filter(|path| path.starts_with('/')) {
                self.findings.place(at, path);
            }
        }
        let mode = self.text_at(index + 4).filter(|_| matches!(name, "open" | "openSync"));
        if mode.is_some_and(|mode| mode.contains(['w', 'a', '+'])) {
            self.findings.writes();
        }
        if tables::lists_folder(name) && self.is_own_folder(index + 2) {
            self.findings.agents(at);
        }
    }

    /// True when the arguments from here on are the folder of the file itself.
    fn is_own_folder(&self, start: usize) -> bool {
        let end = self.words.len().min(start + LOOK_AHEAD_MAX);
        let arguments = (start..end).take_while(|index| !matches!(self.sign(*index), Some(';' | '{')));
        arguments.filter_map(|index| self.word(index)).any(|name| self.constants.is_own_folder(name))
    }

    fn text(&mut self, index: usize) {
        let Word { at, kind: Kind::Text { value, head } } = &self.words[index] else { return };
        if let Some(name) = imported(self.words, index) {
            self.import(*at, name);
        } else if let Some(head) = head
            && self.constants.words_are_home(&self.words[head.clone()])
        {
            let rest = value.split_once('}').map_or("", |(_, rest)| rest);
            self.findings.place(*at, &format!("~/{}", rest.trim_start_matches('/')));
        } else if value.starts_with("~/") {
            self.findings.place(*at, value);
        }
        if value.contains("://") && !self.is_for_readers(index) {
            self.findings.text(*at, &self.constants.filled_in(&self.sum(index)));
        }
    }

    fn import(&mut self, at: usize, name: &str) {
        let name = name.strip_prefix("node:").unwrap_or(name);
        if tables::starts_programs(name) {
            self.findings.right(at, "subprocess");
        } else if tables::is_other_agent(name) {
            self.findings.right(at, "agents:read");
        } else if let Some(host) = network_libraries::of_typescript(name) {
            self.findings.network_library(at, host);
        }
    }

    /// The text with what is added to it by `+`.
    fn sum(&self, index: usize) -> String {
        let mut text = self.text_at(index).unwrap_or_default().to_owned();
        let mut next = index + 1;
        while self.sign(next) == Some('+') && next < index + LOOK_AHEAD_MAX && text.len() <= TEXT_BYTES_MAX {
            match self.value(next + 1) {
                Some(part) => text.push_str(part),
                None => {
                    text.push_str("{}");
                    break;
                }
            }
            next += 2;
        }
        text
    }

    /// True for `description: "…"` and its like, also for the later parts of a sum.
    fn is_for_readers(&self, index: usize) -> bool {
        let mut first = index;
        while first > 2
            && index - first < LOOK_AHEAD_MAX
            && self.sign(first - 1) == Some('+')
            && self.text_at(first - 2).is_some()
        {
            first -= 2;
        }
        let key = first.checked_sub(2).and_then(|key| self.word(key).or_else(|| self.text_at(key)));
        self.sign(first.wrapping_sub(1)) == Some(':') && key.is_some_and(is_read_only_key)
    }

    fn is_member(&self, index: usize, member: &str) -> bool {
        self.sign(index + 1) == Some('.') && self.word(index + 2) == Some(member)
    }

    /// A call of the global function of this name, not of a method and not its definition.
    fn is_global_call(&self, index: usize) -> bool {
        let before = index.wrapping_sub(1);
        let is_method = self.sign(before) == Some('.')
            && !matches!(self.word(index.wrapping_sub(2)), Some("globalThis" | "window" | "self"));
        let is_definition = matches!(self.word(before), Some("function" | "async"));
        self.sign(index + 1) == Some('(') && !is_method && !is_definition
    }

    /// The text of the first argument, when these are the words `name ( text`.
    fn argument(&self, name: usize) -> Option<&'w str> {
        self.word(name).filter(|name| matches!(*name, "get" | "has")).and_then(|_| self.value(name + 2))
    }

    /// A text, or the text a name stands for.
    fn value(&self, index: usize) -> Option<&'w str> {
        self.text_at(index).or_else(|| self.constants.text(self.word(index)?))
    }

    fn word(&self, index: usize) -> Option<&'w str> {
        match self.words.get(index)?.kind {
            Kind::Name(name) => Some(name),
            _ => None,
        }
    }

    fn sign(&self, index: usize) -> Option<char> {
        match self.words.get(index)?.kind {
            Kind::Sign(sign) => Some(sign),
            _ => None,
        }
    }

    fn text_at(&self, index: usize) -> Option<&'w str> {
        match &self.words.get(index)?.kind {
            Kind::Text { value, .. } => Some(value),
            _ => None,
        }
    }

    fn number(&self, index: usize) -> Option<u16> {
        match self.words.get(index)?.kind {
            Kind::Number(digits) => digits.parse().ok(),
            _ => None,
        }
    }
}

/// The name of the module, when the text at this index is one in `import … from "x"`, `import "x"` or `require("x")`.
fn imported<'w>(words: &'w [Word<'w>], index: usize) -> Option<&'w str> {
    let Kind::Text { value, .. } = &words.get(index)?.kind else { return None };
    let name = |index: usize| match words.get(index)?.kind {
        Kind::Name(name) => Some(name),
        _ => None,
    };
    let before = index.checked_sub(1)?;
    let is_import = match words.get(before)?.kind {
        Kind::Name("from" | "import") => true,
        Kind::Sign('(') => matches!(before.checked_sub(1).and_then(name), Some("require" | "import")),
        _ => false,
    };
    is_import.then_some(value)
}
