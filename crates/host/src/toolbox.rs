//! The agents as tools of a model: definitions, relevance and contributions, made once for each state of the roster.

use crate::{
    native::{NativeTool, NativeTools},
    roster::{Callable, Roster},
};
use roost_chat::{Priorities, Ranking, Shortlist, ToolDefinition, ToolForms, names_in};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};

/// Everything a turn needs to know of the agents.
pub(crate) struct Toolbox {
    pub(crate) roster: Arc<Roster>,
    native: Arc<NativeTools>,
    pub(crate) definitions: Vec<ToolDefinition>,
    pub(crate) ranking: Ranking,
    /// Agents that add something to every system prompt.
    pub(crate) contributors: Vec<Callable>,
    /// Files that did not become agents.
    pub(crate) quarantined: Vec<String>,
    forms: ToolForms,
}

/// What was said before counts less than what is said now.
const EARLIER_WEIGHT: f32 = 0.3;

/// The toolbox of the current roster and the native apps that run, kept until one of them changes.
#[derive(Default)]
pub(crate) struct CurrentToolbox(Mutex<Option<Arc<Toolbox>>>);

impl CurrentToolbox {
    pub(crate) fn of(&self, roster: Arc<Roster>, native: Arc<NativeTools>) -> Arc<Toolbox> {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*current {
            Some(toolbox)
                if Arc::ptr_eq(&toolbox.roster, &roster) && Arc::ptr_eq(&toolbox.native, &native) =>
            {
                Arc::clone(toolbox)
            }
            _ => Arc::clone(current.insert(Arc::new(Toolbox::new(roster, native)))),
        }
    }
}

impl Toolbox {
    fn new(roster: Arc<Roster>, native: Arc<NativeTools>) -> Self {
        let callable = roster.callable();
        let mut definitions: Vec<ToolDefinition> =
            callable.iter().map(|one| definition(&roster, one)).collect();
        // An agent file that has the name keeps it.
        let free = native.iter().filter(|tool| roster.find(tool.name.as_str()).is_none());
        definitions.extend(free.map(|tool| native_definition(tool)));
        let ranking = Ranking::new(definitions.iter().map(ToolDefinition::described));
        let contributors =
            callable.iter().filter(|one| one.has_system_context).map(|one| (*one).clone()).collect();
        let mut quarantined: Vec<String> = roster
            .listings
            .iter()
            .filter(|listing| listing.serving.is_none())
            .map(|listing| listing.file.clone())
            .collect();
        quarantined.dedup();
        let forms = ToolForms::of(&definitions);
        Self { definitions, ranking, contributors, quarantined, roster, native, forms }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.roster.find(name).is_some() || self.native.find(name).is_some()
    }

    /// The tools for one turn: all of them, or those that fit this conversation best.
    pub(crate) fn for_turn(&self, input: &str, history: &[Value], pinned: &[String]) -> Shortlist {
        // All that fit are sent, whatever they are about.
        if self.forms.all_fit() {
            return self.forms.shortlist(Priorities::default());
        }
        let mut texts: Vec<(&str, f32)> = vec![(input, 1.0)];
        texts.extend(recent_words(history).into_iter().map(|text| (text, EARLIER_WEIGHT)));
        let order = self.ranking.rank(&texts);
        let called = names_called(history);
        let mut used: Vec<&str> = called.iter().map(String::as_str).collect();
        used.extend(names_in(&self.definitions, input));
        let pinned: Vec<&str> = pinned.iter().map(String::as_str).collect();
        self.forms.shortlist(Priorities { order: &order, pinned: &pinned, used: &used })
    }
}

/// The tool as the class wrote it, under the name the host calls it by.
fn definition(roster: &Roster, callable: &Callable) -> ToolDefinition {
    let listing = &roster.listings[callable.listing];
    let own = callable.tool.as_ref().map(|tool| &tool["function"]);
    let description =
        own.and_then(|function| function["description"].as_str()).unwrap_or(&listing.description).to_owned();
    let parameters = own
        .map(|function| &function["parameters"])
        .filter(|parameters| parameters.is_object())
        .unwrap_or(&listing.parameters)
        .clone();
    let parameters = if parameters.as_object().is_some_and(serde_json::Map::is_empty) {
        json!({ "type": "object", "properties": {} })
    } else {
        parameters
    };
    ToolDefinition { name: callable.name.as_str().to_owned(), description, parameters }
}

fn native_definition(tool: &NativeTool) -> ToolDefinition {
    ToolDefinition {
        name: tool.name.as_str().to_owned(),
        description: tool.description.clone(),
        parameters: tool.parameters.clone(),
    }
}

/// Agents that were called earlier in this conversation: the model may want them again.
fn names_called(history: &[Value]) -> Vec<String> {
    let calls = history.iter().filter_map(|message| message["tool_calls"].as_array()).flatten();
    let mut names: Vec<String> =
        calls.filter_map(|call| call["function"]["name"].as_str()).map(str::to_owned).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// What the person said last, for requests such as "and tomorrow?".
fn recent_words(history: &[Value]) -> Vec<&str> {
    const RECENT: usize = 3;
    let by_person = history.iter().rev().filter(|message| message["role"] == "user");
    by_person.take(RECENT).filter_map(|message| message["content"].as_str()).collect()
}
