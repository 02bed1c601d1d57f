//! Rules of a grammar: names for expressions, each expression once, printed as GBNF.
//!
//! Knows nothing of JSON. The same text gets the same rule, so that ten tools with a `path` share one.

use crate::limits::GRAMMAR_RULES_MAX;
use std::collections::HashMap;
use std::fmt::Write;

/// Named expressions in the order in which they were first needed.
#[derive(Default)]
pub(crate) struct Rules {
    bodies: Vec<(String, String)>,
    names_of_bodies: HashMap<String, String>,
    taken: HashMap<String, usize>,
    overflowed: bool,
}

impl Rules {
    /// Gives `body` a name that begins with `stem`, or the name that it has already.
    pub(crate) fn add(&mut self, stem: &str, body: String) -> String {
        if let Some(name) = self.names_of_bodies.get(&body) {
            return name.clone();
        }
        let name = self.reserve(stem);
        self.names_of_bodies.insert(body.clone(), name.clone());
        self.bodies.push((name.clone(), body));
        name
    }

    /// A name for a body that is not known yet, which a recursive schema needs. [`Rules::define`] must follow.
    pub(crate) fn reserve(&mut self, stem: &str) -> String {
        let number = self.taken.entry(stem.to_owned()).or_default();
        *number += 1;
        format!("{stem}-{number}")
    }

    /// The body of a reserved name.
    pub(crate) fn define(&mut self, name: String, body: String) {
        self.bodies.push((name, body));
    }

    /// Whether there is no room for another rule. Whoever makes rules stops then and takes what is there.
    pub(crate) fn full(&mut self) -> bool {
        self.overflowed |= self.bodies.len() >= GRAMMAR_RULES_MAX;
        self.overflowed
    }

    /// Whether the grammar was cut short and must not be used.
    pub(crate) fn overflowed(&self) -> bool {
        self.overflowed
    }

    /// The grammar as text, with `root` as what is matched.
    pub(crate) fn print(&self, root: &str) -> String {
        let mut text = format!("root ::= {root}\n");
        for (name, body) in &self.bodies {
            writeln!(text, "{name} ::= {body}").expect("writing into a string does not end");
        }
        text
    }
}

/// Text that must stand as it is.
pub(crate) fn literal(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            control if u32::from(control) < 0x20 || control == '\x7f' => {
                write!(quoted, "\\x{:02X}", u32::from(control)).expect("writing into a string does not end");
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
