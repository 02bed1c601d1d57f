//! The text that a model continues: its own chat template, filled with the conversation and the tools.
//!
//! Where the template does not speak of tools in the form that `grammar` writes, `tools_in_words` tells them in
//! words of our own. Nothing in a message or a tool can end a turn or begin another: see `harmless`.

mod template; // the model's own template
mod tools_in_words; // tools for templates that know none
mod harmless; // text that cannot pretend to be the template's

use crate::request::{Ask, Choice};
use harmless::Harmless;
use template::Template;

pub(crate) use template::Source;

/// Why no prompt can be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The model's template cannot be read at all.
    #[error("read the chat template of the model")]
    Template(#[source] minijinja::Error),
    /// The template refuses this conversation, as some refuse two users in a row.
    #[error("the chat template of the model refuses this conversation: {0}")]
    Conversation(String),
}

/// Makes prompts for one model.
pub(crate) struct Prompts {
    template: Template,
    harmless: Harmless,
}

impl Prompts {
    /// Reads the template of a model. `control_texts` are the tokens that only the template may write.
    pub(crate) fn new(source: Source, control_texts: Vec<String>) -> Result<Self, Error> {
        Ok(Self { template: Template::new(source)?, harmless: Harmless::new(control_texts) })
    }

    /// The prompt of a request, ending where the model's answer begins.
    pub(crate) fn of(&self, ask: &Ask) -> Result<String, Error> {
        let mut messages = ask.messages.clone();
        let mut tools = match ask.choice {
            Choice::Never => Vec::new(),
            _ => ask.tools.clone(),
        };
        self.harmless.make_messages(&mut messages);
        self.harmless.make_tools(&mut tools);
        if self.template.speaks_of_tools() {
            return self.template.render(&messages, &tools);
        }
        let instructions = match ask.choice {
            Choice::Never => None,
            // A model so small that it has no tools in its template is only confused by those it must not call.
            Choice::Named(position) => Some(tools_in_words::of_one(&tools[position])),
            Choice::Auto | Choice::Required => Some(tools_in_words::of_all(&tools)),
        };
        self.template.render(&tools_in_words::retold(messages, instructions), &[])
    }
}

#[cfg(test)]
mod tests;
