//! One question that all recorded exchanges are about, and settings under which nothing is asked by itself.

use crate::server::Server;
use roost_chat::{
    Ask, GitHubSettings, Model as _, ModelFailure, ModelSettings, Models, OpenAiSettings, Reply, Secret,
    StartLocal, ToolList,
};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;
use tempfile::TempDir;

pub(crate) const GITHUB_TOKEN: &str = "ghu_recordedGitHubToken0004";

/// Long enough for any machine, short enough to end a test that hangs.
const PATIENCE: Duration = Duration::from_secs(20);

/// What the tests of silence wait for.
pub(crate) const IMPATIENCE: Duration = Duration::from_millis(200);

pub(crate) fn secret(text: &str) -> Secret {
    Secret::parse(text).unwrap()
}

/// Nothing is set up and nothing is looked for.
pub(crate) fn nothing() -> ModelSettings {
    let nowhere = "http://127.0.0.1:9".to_owned();
    let github = GitHubSettings {
        login_base: nowhere.clone(),
        api_base: nowhere,
        models_base: None,
        second: Duration::from_millis(1),
        ..GitHubSettings::default()
    };
    ModelSettings {
        discover: false,
        github,
        probe_wait: PATIENCE,
        first_byte_wait: PATIENCE,
        piece_wait: PATIENCE,
        ..ModelSettings::default()
    }
}

/// A server with OpenAI's form.
pub(crate) fn openai(server: &Server, model: Option<&str>) -> ModelSettings {
    let openai = OpenAiSettings {
        base_url: Some(server.url()),
        key: Some(secret("sk-recorded-openai-key-0001")),
        model: model.map(str::to_owned),
    };
    ModelSettings { openai: Some(openai), ..nothing() }
}

/// GitHub, with a token in the settings.
pub(crate) fn github(server: &Server, model: Option<&str>) -> ModelSettings {
    let mut settings = signed_out(server);
    settings.github.token = Some(secret(GITHUB_TOKEN));
    settings.github.model = model.map(str::to_owned);
    settings
}

/// GitHub, where nobody is signed in.
pub(crate) fn signed_out(server: &Server) -> ModelSettings {
    let mut settings = nothing();
    settings.github.login_base = server.url();
    settings.github.api_base = server.url();
    settings
}

/// Models with a state folder of their own.
pub(crate) fn open(settings: ModelSettings) -> (Models, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    (open_in(settings, folder.path()), folder)
}

pub(crate) fn open_in(settings: ModelSettings, folder: &Path) -> Models {
    Models::open(settings, folder.to_owned(), None).unwrap()
}

pub(crate) fn open_with_local(settings: ModelSettings, local: StartLocal) -> (Models, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    (Models::open(settings, folder.path().to_owned(), Some(local)).unwrap(), folder)
}

/// Asks the question of all recorded exchanges.
pub(crate) async fn ask(models: &Models) -> Result<Reply, ModelFailure> {
    ask_for(models, None).await
}

pub(crate) async fn ask_for(models: &Models, model: Option<&str>) -> Result<Reply, ModelFailure> {
    let (messages, tools) = question();
    models.reply(Ask { messages: &messages, tools: &tools, model, options: None, user: None }, None).await
}

pub(crate) async fn ask_without_tools(models: &Models) -> Result<Reply, ModelFailure> {
    models
        .reply(
            Ask { messages: &question().0, tools: &ToolList::none(), model: None, options: None, user: None },
            None,
        )
        .await
}

/// The same as a stream, with the pieces that were heard.
pub(crate) async fn listen(models: &Models) -> (Result<Reply, ModelFailure>, Vec<String>) {
    let (messages, tools) = question();
    let heard = Mutex::new(Vec::new());
    let on_piece = |text: &str| heard.lock().unwrap().push(text.to_owned());
    let ask = Ask { messages: &messages, tools: &tools, model: None, options: None, user: None };
    let reply = models.reply(ask, Some(&on_piece)).await;
    (reply, heard.into_inner().unwrap())
}

/// The calls of a reply, each as id, name and arguments.
pub(crate) fn calls(reply: &Reply) -> Value {
    let brief = |call: &Value| json!([call["id"], call["function"]["name"], call["function"]["arguments"]]);
    reply.calls().iter().map(brief).collect()
}

fn question() -> (Vec<Value>, ToolList) {
    let messages = vec![
        json!({"role": "system", "content": "Be brief."}),
        json!({"role": "user", "content": "What is the weather in Bern?"}),
    ];
    let parameters =
        json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    let function = json!({"name": "Weather", "description": "Tells the weather.", "parameters": parameters});
    (messages, vec![json!({"type": "function", "function": function})].into())
}
