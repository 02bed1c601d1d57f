//! The conversation so far, and the lines a person types.

use crate::{
    args::ChatArguments,
    output::Output,
    partner::{Method, Partner},
};
use roost_host::{Conversations, SessionId};
use roost_protocol::{Failure, Reason, UserGuid};
use rustyline::{DefaultEditor, error::ReadlineError};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Lines of earlier sessions that the arrow keys bring back.
const HISTORY_LINES_MAX: usize = 1000;

const HELP: &str = "\
/Agent key=value   call an agent directly, with or without a model
/agents            what there is
/new               begin a new conversation
/model NAME        use another model in this conversation (`auto`: the one that `roost models` marks)
/session           the id of this conversation; `roost chat --session ID` continues it
/quit              leave (Ctrl-D does too)
A line that ends with \\ goes on in the next one; so does everything between two lines of \"\"\".
Ctrl-C stops an answer.";

/// A conversation with its settings.
pub(super) struct Session {
    conversations: Conversations,
    id: SessionId,
    history: Vec<Value>,
    user: Option<UserGuid>,
    model: Option<String>,
}

/// What a typed line means.
pub(super) enum Line {
    Message(String),
    Show(String),
    Nothing,
    Leave,
}

impl Session {
    pub(super) fn open(conversations: Conversations, arguments: &ChatArguments) -> Result<Self, Failure> {
        let user = match &arguments.user {
            None => None,
            Some(text) => Some(
                UserGuid::parse(text).map_err(|error| Failure::new(Reason::WrongUse, error.to_string()))?,
            ),
        };
        let id = match (&arguments.session, arguments.resume) {
            (Some(id), _) => Some(SessionId::parse(id)?),
            (None, true) => {
                conversations.list().first().and_then(|one| SessionId::parse(&one.session_id).ok())
            }
            (None, false) => None,
        };
        let history = match &id {
            Some(id) => conversations.messages(id)?,
            None => Vec::new(),
        };
        let model = arguments.model.clone();
        Ok(Self { conversations, id: id.unwrap_or_default(), history, user, model })
    }

    /// The body of the next request.
    pub(super) fn request(&self, message: &str) -> Value {
        json!({
            "user_input": message,
            "conversation_history": self.history,
            "session_id": self.id.as_str(),
            "user_guid": self.user.as_ref().map(UserGuid::as_str),
            "model": self.model,
        })
    }

    /// Keeps what was said, here and on disk.
    pub(super) fn said(&mut self, message: &str, answer: &Value) -> Result<(), Failure> {
        let turn = [
            json!({ "role": "user", "content": message }),
            json!({ "role": "assistant", "content": answer["response"] }),
        ];
        self.conversations.append(&self.id, &turn)?;
        self.history.extend(turn);
        Ok(())
    }

    pub(super) async fn greet(&self, partner: &Partner, output: &Output) -> Result<(), Failure> {
        let health = partner.ask(Method::Get, "/health", None).await?;
        let agents = health["agents"].as_array().map_or(0, Vec::len);
        let model = match health["model"].as_str() {
            Some(model) => format!("model {model}"),
            None => "no model: sentences get offers, `/Agent key=value` works; `roost models` tells how to add one".to_owned(),
        };
        output.note(&format!("{agents} agents, {model}. /help for help."));
        if !self.history.is_empty() {
            output.note(&format!("continuing a conversation of {} messages", self.history.len()));
        }
        Ok(())
    }

    pub(super) fn farewell(&self, output: &Output) {
        if !self.history.is_empty() {
            output.note(&format!("continue with: roost chat --session {}", self.id.as_str()));
        }
    }

    pub(super) fn understand(&mut self, read: Option<String>) -> Line {
        let Some(text) = read else { return Line::Leave };
        let text = text.trim();
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        match word {
            "" => Line::Nothing,
            "/quit" | "/exit" => Line::Leave,
            "/help" => Line::Show(HELP.to_owned()),
            "/session" => Line::Show(self.id.as_str().to_owned()),
            "/new" => {
                self.id = SessionId::new();
                self.history.clear();
                Line::Show("a new conversation".to_owned())
            }
            "/model" => {
                self.model = Some(rest.trim().to_owned()).filter(|name| !name.is_empty() && name != "auto");
                Line::Show(format!("model: {}", self.model.as_deref().unwrap_or("auto")))
            }
            _ => Line::Message(text.to_owned()),
        }
    }
}

/// Reads what a person types, with editing and history. Owned by one reader at a time.
pub(super) struct Lines {
    editor: Box<DefaultEditor>,
    history_file: PathBuf,
}

impl Lines {
    pub(super) fn open(history_file: &Path) -> Result<Self, Failure> {
        use rustyline::config::Configurer as _;
        let mut editor = DefaultEditor::new().map_err(|error| unusable(&error))?;
        editor.set_max_history_size(HISTORY_LINES_MAX).map_err(|error| unusable(&error))?;
        // There is none the first time.
        editor.load_history(history_file).ok();
        Ok(Self { editor: Box::new(editor), history_file: history_file.to_owned() })
    }

    /// One message, over several lines where they say so; none at the end of the input.
    pub(super) async fn read(mut self) -> Result<(Option<String>, Self), Failure> {
        let read = tokio::task::spawn_blocking(move || {
            let message = self.message();
            (message, self)
        });
        let (message, lines) = read.await.map_err(|error| unusable(&error))?;
        message.map(|message| (message, lines))
    }

    fn message(&mut self) -> Result<Option<String>, Failure> {
        let Some(first) = self.line("you> ")? else { return Ok(None) };
        let mut message = if first.trim() == "\"\"\"" {
            let mut block = Vec::new();
            while let Some(line) = self.line("...> ")?.filter(|line| line.trim() != "\"\"\"") {
                block.push(line);
            }
            block.join("\n")
        } else {
            first
        };
        while message.ends_with('\\') {
            message.pop();
            message.push('\n');
            message.push_str(&self.line("...> ")?.unwrap_or_default());
        }
        if !message.trim().is_empty() {
            self.editor.add_history_entry(&message).ok();
            self.editor.save_history(&self.history_file).ok();
        }
        Ok(Some(message))
    }

    fn line(&mut self, prompt: &str) -> Result<Option<String>, Failure> {
        match self.editor.readline(prompt) {
            Ok(line) => Ok(Some(line)),
            // Gives the line up, as in a shell.
            Err(ReadlineError::Interrupted) => Ok(Some(String::new())),
            Err(ReadlineError::Eof) => Ok(None),
            Err(error) => Err(unusable(&error)),
        }
    }
}

fn unusable(error: &dyn std::fmt::Display) -> Failure {
    Failure::new(Reason::Internal, format!("read from the terminal: {error}"))
}
