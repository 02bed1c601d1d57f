//! The chat template from the model's file, rendered as the libraries do that the model was trained with.
//!
//! The template comes from a downloaded file: it sees the conversation and the tools, has a limit of steps, and can
//! reach nothing else.

use super::Error;
use crate::json_text::spaced;
use crate::limits::TEMPLATE_FUEL;
use crate::request::{Message, Role, Tool};
use minijinja::value::Kwargs;
use minijinja::{Environment, ErrorKind, Value, context};
use serde_json::json;

/// What a model's file says about its prompts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Source {
    /// Absent in some files. ChatML is used then.
    pub(crate) template: Option<String>,
    pub(crate) bos: String,
    pub(crate) eos: String,
}

/// The form that most small models know, for files without a template.
const CHATML: &str = "{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' + message.content + \
                      '<|im_end|>\n' }}{% endfor %}{{ '<|im_start|>assistant\n' }}";

const NAME: &str = "chat";

pub(crate) struct Template {
    environment: Environment<'static>,
    bos: String,
    eos: String,
    speaks_of_tools: bool,
}

impl Template {
    pub(crate) fn new(source: Source) -> Result<Self, Error> {
        let text = source.template.unwrap_or_else(|| CHATML.to_owned());
        let mut environment = Environment::new();
        environment.set_trim_blocks(true);
        environment.set_lstrip_blocks(true);
        environment.set_fuel(Some(TEMPLATE_FUEL));
        environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.add_filter("tojson", tojson);
        environment.add_function("raise_exception", raise_exception);
        environment.add_function("strftime_now", strftime_now);
        // The Hermes form is the only one that our grammars write. Other marks (`<function=…>`, `[TOOL_CALLS]`)
        // would teach the model one form and hold it to another.
        let hermes =
            text.contains("<tool_call>") && text.contains("arguments") && !text.contains("<function=");
        environment.add_template_owned(NAME, text).map_err(Error::Template)?;
        let template = environment.get_template(NAME).map_err(Error::Template)?;
        let speaks_of_tools = hermes && template.undeclared_variables(false).contains("tools");
        Ok(Self { environment, bos: source.bos, eos: source.eos, speaks_of_tools })
    }

    /// Whether the template itself tells the model about tools, in the form that our grammars write.
    pub(crate) fn speaks_of_tools(&self) -> bool {
        self.speaks_of_tools
    }

    pub(crate) fn render(&self, messages: &[Message], tools: &[Tool]) -> Result<String, Error> {
        let messages: Vec<_> = messages.iter().map(message_value).collect();
        let tools: Vec<_> = tools.iter().map(tool_value).collect();
        let template = self.environment.get_template(NAME).map_err(Error::Template)?;
        let tools = if tools.is_empty() { Value::from(()) } else { Value::from_serialize(&tools) };
        template
            .render(context! {
                messages => Value::from_serialize(&messages),
                tools => tools,
                add_generation_prompt => true,
                // Long thinking is minutes on the machines that this is for. Templates without it pass this over.
                enable_thinking => false,
                bos_token => self.bos,
                eos_token => self.eos,
            })
            .map_err(|error| {
                Error::Conversation(error.detail().unwrap_or("it cannot be rendered").to_owned())
            })
    }
}

fn message_value(message: &Message) -> serde_json::Value {
    let role = match message.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    let mut value = json!({"role": role, "content": message.content});
    if !message.calls.is_empty() {
        let calls = message.calls.iter().map(
            |call| json!({"type": "function", "function": {"name": call.name, "arguments": call.arguments}}),
        );
        value["tool_calls"] = calls.collect();
    }
    value
}

/// A tool as prompts have it.
pub(crate) fn tool_value(tool: &Tool) -> serde_json::Value {
    json!({"type": "function", "function": {
        "name": tool.name, "description": tool.description, "parameters": tool.parameters,
    }})
}

/// As Python prints it. The engine's own filter would write `<` as an escape, which no model was trained on.
fn tojson(value: &Value, arguments: Kwargs) -> Result<Value, minijinja::Error> {
    let value = serde_json::to_value(value)
        .map_err(|error| minijinja::Error::new(ErrorKind::BadSerialization, error.to_string()))?;
    let indented = arguments.get::<Option<u64>>("indent")?.is_some();
    let text = if indented { format!("{value:#}") } else { spaced(&value) };
    Ok(Value::from_safe_string(text))
}

fn raise_exception(message: String) -> Result<Value, minijinja::Error> {
    Err(minijinja::Error::new(ErrorKind::InvalidOperation, message))
}

/// Templates that ask for the date get none: it would make every day's prompt differ in its first tokens, and the
/// host tells the date where it matters.
fn strftime_now(_format: String) -> String {
    String::new()
}
