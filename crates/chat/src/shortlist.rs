//! The tools that fit into one request to a model.
//!
//! Small rosters go as they are. Of large ones the pinned and the used go first, then the best ranked: the foremost in
//! full, the next in a compact form, the rest in brief, so that as many as possible are known to the model. The output
//! is in roster order, because providers keep what they have read only as long as its beginning does not change.

mod forms; // a tool in fewer words

use crate::{
    ranking::Ranked,
    tool_definition::ToolDefinition,
    tool_list::{ToolList, Written},
};
use forms::Form;
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

/// Tools of one request: OpenAI's interface refuses more.
pub const TOOLS_MAX: usize = 128;

/// Bytes of one request's tools: about eight thousand tokens, which every round pays for again.
pub const TOOLS_BYTES_MAX: usize = 32_768;

/// Kept free, for providers' own wrapping around the list.
const MARGIN_BYTES: usize = 512;

/// What the list may use, its brackets included.
const BUDGET_BYTES: usize = TOOLS_BYTES_MAX - MARGIN_BYTES;

/// Best ranked tools that are sent in full: the right one is mostly among so many, and its details are what the model
/// needs for the arguments.
const FULL_COUNT: usize = 6;

/// What those may use together, so that a few talkative ones do not push out a hundred others.
const FULL_BYTES: usize = BUDGET_BYTES * 3 / 10;

/// Best ranked tools that are sent at least in the compact form.
const COMPACT_COUNT: usize = 20;

/// What full and compact ones may use together.
const COMPACT_BYTES: usize = BUDGET_BYTES / 2;

/// Less room than this holds no tool with a description, and trying every one left would take most of the time.
const ROOM_BYTES_MIN: usize = 128;

/// What a request needs first.
#[derive(Debug, Clone, Copy, Default)]
pub struct Priorities<'a> {
    /// All tools by relevance, best first.
    pub order: &'a [Ranked],
    /// Names that are always in: what a person pinned.
    pub pinned: &'a [&'a str],
    /// Names that the conversation uses or mentions; without them the model cannot go on with what it began.
    pub used: &'a [&'a str],
}

/// The tools of one request.
#[derive(Debug, Clone, PartialEq)]
pub struct Shortlist {
    /// In the form of OpenAI's functions, in roster order.
    pub tools: ToolList,
    /// How many of the roster are not among them.
    pub left_out: usize,
}

/// The tools of one roster in all their forms, written once for all requests.
#[derive(Debug)]
pub struct ToolForms {
    tools: Vec<FormsOfOne>,
    places: HashMap<String, usize>,
    /// All of them as they are, when they fit into every request.
    everything: Option<ToolList>,
}

#[derive(Debug)]
struct FormsOfOne {
    /// By [`Form`]; none where even that form is too large.
    forms: [Option<Arc<Written>>; 3],
}

impl ToolForms {
    /// Writes every form of every tool.
    #[must_use]
    pub fn of(tools: &[ToolDefinition]) -> Self {
        let written = |tool, form: Form| form.of(tool).map(|value| Arc::new(Written::new(value)));
        let forms = |tool| FormsOfOne { forms: Form::ALL.map(|form| written(tool, form)) };
        let places = tools.iter().enumerate().rev().map(|(index, tool)| (tool.name.clone(), index)).collect();
        Self { tools: tools.iter().map(forms).collect(), places, everything: everything(tools) }
    }

    /// True when no request needs a choice.
    #[must_use]
    pub fn all_fit(&self) -> bool {
        self.everything.is_some()
    }

    /// Chooses the tools of one request: at most [`TOOLS_MAX`], below [`TOOLS_BYTES_MAX`] as JSON.
    #[must_use]
    pub fn shortlist(&self, priorities: Priorities<'_>) -> Shortlist {
        match &self.everything {
            Some(all) => Shortlist { tools: all.clone(), left_out: 0 },
            None => self.chosen(priorities),
        }
    }

    fn chosen(&self, priorities: Priorities<'_>) -> Shortlist {
        let (wanted, ranked) = self.candidates(priorities);
        let mut choice = Choice::new(&self.tools);
        for index in &wanted {
            choice.offer(*index, Form::Brief, BUDGET_BYTES);
        }
        for index in ranked.iter().take(FULL_COUNT) {
            choice.offer(*index, Form::Full, FULL_BYTES);
        }
        for index in wanted.iter().chain(ranked.iter().take(COMPACT_COUNT)) {
            choice.offer(*index, Form::Compact, COMPACT_BYTES);
        }
        for index in &ranked {
            if choice.has_room() {
                choice.offer(*index, Form::Brief, BUDGET_BYTES);
            }
        }
        // What is left over goes to more detail for the best.
        for form in [Form::Compact, Form::Full] {
            for index in wanted.iter().chain(&ranked) {
                if choice.has(*index) && choice.has_room() {
                    choice.offer(*index, form, BUDGET_BYTES);
                }
            }
        }
        choice.into_shortlist()
    }

    /// What must be in, pinned ones first; and the order of all tools, in which those that were not ranked come last.
    fn candidates(&self, priorities: Priorities<'_>) -> (Vec<usize>, Vec<usize>) {
        let mut seen = vec![false; self.tools.len()];
        let mut first_time =
            |index: &usize| seen.get_mut(*index).is_some_and(|seen| !std::mem::replace(seen, true));
        let names = priorities.pinned.iter().chain(priorities.used);
        let wanted = names
            .filter_map(|name| self.places.get(*name).copied())
            .filter(|index| first_time(index))
            .collect();

        let mut seen = vec![false; self.tools.len()];
        let ranked = priorities.order.iter().map(|entry| entry.index).chain(0..self.tools.len());
        let ranked = ranked
            .filter(|index| seen.get_mut(*index).is_some_and(|seen| !std::mem::replace(seen, true)))
            .collect();
        (wanted, ranked)
    }
}

/// Names of tools that stand in a text as whole words, whatever their case.
#[must_use]
pub fn names_in<'a>(tools: &'a [ToolDefinition], text: &str) -> Vec<&'a str> {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    let words: HashSet<String> = text.split(|character| !is_part(character)).map(str::to_lowercase).collect();
    let lower = text.to_lowercase();
    let mentioned = |name: &str| {
        let name = name.to_lowercase();
        // A name of several words is rare, and then the text is searched as a whole.
        if name.chars().all(is_part) { words.contains(&name) } else { lower.contains(&name) }
    };
    tools.iter().map(|tool| tool.name.as_str()).filter(|name| !name.is_empty() && mentioned(name)).collect()
}

/// The whole roster as it is, when it fits.
fn everything(tools: &[ToolDefinition]) -> Option<ToolList> {
    if tools.len() > TOOLS_MAX {
        return None;
    }
    let mut left = BUDGET_BYTES - 2;
    let mut all = Vec::with_capacity(tools.len());
    for tool in tools {
        let function = Written::new(tool.function());
        left = left.checked_sub(function.text.len() + 1)?;
        all.push(Arc::new(function));
    }
    Some(ToolList::of(all))
}

/// What has been chosen so far, and what it costs.
struct Choice<'a> {
    tools: &'a [FormsOfOne],
    /// For every tool the form chosen, if any, with its size.
    chosen: Vec<Option<Chosen<'a>>>,
    count: usize,
    /// Brackets, commas and functions.
    bytes: usize,
}

struct Chosen<'a> {
    form: Form,
    written: &'a Arc<Written>,
}

impl<'a> Choice<'a> {
    fn new(tools: &'a [FormsOfOne]) -> Self {
        Self { tools, chosen: tools.iter().map(|_| None).collect(), count: 0, bytes: 2 }
    }

    /// Takes a tool in, or a better form of one that is in, when the whole stays within `bytes_max`.
    fn offer(&mut self, index: usize, form: Form, bytes_max: usize) {
        let before = match &self.chosen[index] {
            Some(chosen) if chosen.form >= form => return,
            Some(chosen) => chosen.written.text.len() + 1,
            None if self.count == TOOLS_MAX => return,
            None => 0,
        };
        let Some(written) = &self.tools[index].forms[form as usize] else { return };
        // One more for the comma.
        let needed = written.text.len() + 1;
        if self.bytes - before + needed > bytes_max {
            return;
        }
        self.bytes = self.bytes - before + needed;
        self.count += usize::from(before == 0);
        self.chosen[index] = Some(Chosen { form, written });
    }

    fn has(&self, index: usize) -> bool {
        self.chosen[index].is_some()
    }

    fn has_room(&self) -> bool {
        self.bytes + ROOM_BYTES_MIN <= BUDGET_BYTES
    }

    fn into_shortlist(self) -> Shortlist {
        let left_out = self.tools.len() - self.count;
        let tools = self.chosen.into_iter().flatten().map(|chosen| Arc::clone(chosen.written)).collect();
        Shortlist { tools: ToolList::of(tools), left_out }
    }
}

#[cfg(test)]
mod tests;
