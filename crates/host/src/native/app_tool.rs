//! The tool `app`: native apps as a model can see, start and stop them, and find new ones.
//!
//! What would change which apps there are, or what they are set to, is not done here: it waits for a person.

use super::state::NativePhase;
use crate::{
    catalogs::{CATALOG_AGE_MAX, Filters, Freshness},
    host::{Host, Inner},
    library::{InstallSource, StoreQuery},
    pages::PageWish,
};
use roost_apps::library::AppKind;
use roost_chat::{ToolAnswer, ToolCall, ToolList};
use roost_protocol::{Failure, Reason};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::{Arc, LazyLock};

/// Its name.
pub(crate) const APP_TOOL: &str = "app";

/// Apps that are told at once.
const PAGE_SIZE_USUAL: usize = 20;
const PAGE_SIZE_MAX: usize = 50;

/// Longest text that a model gets of what somebody else wrote.
const TEXT_CHARACTERS_MAX: usize = 300;

/// Written once: every turn sends it.
static DEFINITION: LazyLock<ToolList> = LazyLock::new(|| {
    ToolList::from(vec![json!({ "type": "function", "function": {
        "name": APP_TOOL,
        "description": "Native apps of this host: list, launch and stop those that are installed, and see their settings; \
            browse what can be installed; install and uninstall, which a person approves first.",
        "parameters": { "type": "object", "properties": {
            "action": { "type": "string", "enum": ["list", "launch", "stop", "settings", "browse", "install", "uninstall"] },
            "id": { "type": "string", "description": "The app's id; browse shows one app in detail with it" },
            "query": { "type": "string", "description": "Words to browse for" },
            "category": { "type": "string", "description": "Of browse; such as featured or popular" },
            "page": { "type": "integer", "minimum": 1 },
            "page_size": { "type": "integer", "minimum": 1, "maximum": PAGE_SIZE_MAX },
        }, "required": ["action"] },
    } })])
});

/// What a model asks for.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Asked {
    action: String,
    id: Option<String>,
    query: Option<String>,
    category: Option<String>,
    page: Option<usize>,
    page_size: Option<usize>,
}

impl Inner {
    /// True where there are native apps, or stores to get some from.
    pub(crate) fn offers_app_tool(&self) -> bool {
        !self.native.states().is_empty() || self.library.has_stores()
    }

    /// The tools of a turn with this one behind them. An agent that has the name keeps it.
    pub(crate) fn with_app_tool(&self, tools: ToolList) -> ToolList {
        let is_taken = tools.iter().any(|tool| tool["function"]["name"] == APP_TOOL);
        if is_taken || !self.offers_app_tool() { tools } else { tools.with_more(&DEFINITION) }
    }

    /// Does what a model asks for, or lets it wait for a person.
    pub(crate) async fn run_app_tool(self: &Arc<Self>, call: &ToolCall, run: Option<&str>) -> ToolAnswer {
        match self.app_action(&call.arguments, run).await {
            Ok((text, record)) => ToolAnswer { result: Ok(text), record },
            Err(failure) => ToolAnswer {
                record: json!({ "reason": failure.reason, "next": failure.next_step() }),
                result: Err(failure.message),
            },
        }
    }

    async fn app_action(
        self: &Arc<Self>,
        arguments: &Map<String, Value>,
        run: Option<&str>,
    ) -> Result<(String, Value), Failure> {
        let asked: Asked = serde_json::from_value(Value::Object(arguments.clone()))
            .map_err(|error| Failure::new(Reason::BadArguments, error.to_string()))?;
        let needed = || {
            let message = format!("id: {} needs the id of an app", asked.action);
            asked.id.as_deref().ok_or_else(|| Failure::new(Reason::BadArguments, message))
        };
        let plain = |value: Value| Ok((value.to_string(), json!({})));
        match asked.action.as_str() {
            "list" => plain(json!({ "apps": self.known_apps() })),
            "launch" => plain(self.launch_known(needed()?).await?),
            "stop" => {
                let state = self.native.stop(needed()?).await?;
                plain(json!({ "id": state.id, "status": status(state.phase) }))
            }
            // A person changes them; secrets are masked.
            "settings" => plain(json!(self.as_host().native_settings(needed()?).await?)),
            "browse" => plain(self.browse(&asked).await?),
            "install" => self.ask_install(needed()?, run).await,
            "uninstall" => self.ask_removal(needed()?, run).await,
            other => {
                let shown: String = other.escape_debug().take(40).collect();
                Err(Failure::new(Reason::BadArguments, format!("action: there is no `{shown}`")))
            }
        }
    }

    /// Apps that run or could, with how they are.
    fn known_apps(&self) -> Vec<Value> {
        let mut apps: Vec<Value> = self
            .native
            .states()
            .into_iter()
            .map(|state| {
                let status = status(state.phase);
                json!({ "id": state.id, "name": state.name, "version": state.version, "status": status })
            })
            .collect();
        for app in self.library.programs() {
            if !apps.iter().any(|known| known["id"] == app.id.as_str()) {
                let version = app.current.shown_version();
                apps.push(json!({ "id": app.id, "name": app.name, "version": version, "status": "stopped" }));
            }
        }
        apps
    }

    /// Starts an app that a person installed; one that runs goes on.
    async fn launch_known(&self, id: &str) -> Result<Value, Failure> {
        let running = self.native.state(id).ok().filter(|state| state.phase == NativePhase::Running);
        let state = match running {
            Some(state) => state,
            None => self.native.start(self.native_folder(id).await?).await?,
        };
        Ok(json!({ "id": state.id, "status": status(state.phase) }))
    }

    async fn browse(self: &Arc<Self>, asked: &Asked) -> Result<Value, Failure> {
        let size = asked.page_size.unwrap_or(PAGE_SIZE_USUAL).clamp(1, PAGE_SIZE_MAX);
        let page = asked.page.unwrap_or(1).clamp(1, 1000);
        if let Some(id) = &asked.id {
            return self.detail(id).await;
        }
        let query = asked.query.clone().unwrap_or_default();
        let category = asked.category.clone().filter(|category| !category.is_empty());
        let (mut apps, mut failures) = (Vec::new(), Vec::new());
        let wanted = StoreQuery { words: Some(query.clone()), category: category.clone() };
        match self.as_host().library().store_apps(&wanted).await {
            Ok(found) => {
                apps.extend(found.iter().skip((page - 1) * size).take(size).map(|app| shown(&json!(app))));
            }
            Err(failure) => failures.push(failure.message),
        }
        // Catalogs know nothing of shortcuts: there they mean everything.
        let is_shortcut = |category: &String| matches!(category.as_str(), "featured" | "popular");
        let filters = Filters { category: category.filter(|one| !is_shortcut(one)), ..Filters::default() };
        match self.catalogs.as_ref().map_err(Clone::clone) {
            Ok(catalogs) => {
                let freshness = Freshness::AtMost(CATALOG_AGE_MAX);
                match catalogs.search(&query, &filters, page * size, freshness).await {
                    Ok(answer) => {
                        let found = json!(answer)["found"].as_array().cloned().unwrap_or_default();
                        apps.extend(found.iter().skip((page - 1) * size).map(shown));
                    }
                    Err(failure) => failures.push(failure.message),
                }
            }
            Err(failure) => failures.push(failure.message),
        }
        apps.truncate(size);
        Ok(json!({ "apps": apps, "page": page, "page_size": size, "not_asked": failures }))
    }

    async fn detail(self: &Arc<Self>, id: &str) -> Result<Value, Failure> {
        match InstallSource::parse(id)? {
            InstallSource::Store(app) => {
                let detail = self.as_host().library().store_app(&app.id).await?;
                Ok(shown(&json!(detail)))
            }
            InstallSource::Entry(name) => {
                let catalogs = self.catalogs.as_ref().map_err(Clone::clone)?;
                let found = catalogs.show(&name, Freshness::AtMost(CATALOG_AGE_MAX)).await?;
                Ok(shown(&json!(found)))
            }
            _ => Err(elsewhere()),
        }
    }

    /// Looks at what would be installed, and lets exactly that wait for a person.
    async fn ask_install(self: &Arc<Self>, id: &str, run: Option<&str>) -> Result<(String, Value), Failure> {
        let source = InstallSource::parse(id)?;
        // Only what the home's own catalogs and stores have: a model may have read an address anywhere.
        if !matches!(source, InstallSource::Store(_) | InstallSource::Entry(_)) {
            return Err(elsewhere());
        }
        let plan = self.as_host().library().plan(&source).await?;
        if plan.is_installed {
            let message = format!("{} is installed already", plan.id);
            return Err(Failure::new(Reason::AlreadyExists, message));
        }
        let asks = plan.rights.iter().map(|asked| asked.sentence.clone()).collect();
        let wish = PageWish::Install { source: id.to_owned(), digest: plan.digest };
        self.wait_for_approval(&plan.id, wish, asks, run).await
    }

    async fn ask_removal(self: &Arc<Self>, id: &str, run: Option<&str>) -> Result<(String, Value), Failure> {
        let app = self.as_host().library().show(id).await?;
        if app.kind != AppKind::Native {
            return Err(Failure::new(Reason::UnknownNativeApp, format!("{id} is not a native app")));
        }
        self.wait_for_approval(id, PageWish::Uninstall, Vec::new(), run).await
    }

    fn as_host(self: &Arc<Self>) -> Host {
        Host { inner: Arc::clone(self) }
    }

    async fn wait_for_approval(
        &self,
        app: &str,
        wish: PageWish,
        asks: Vec<String>,
        run: Option<&str>,
    ) -> Result<(String, Value), Failure> {
        let approval = self.let_wait(app, wish, asks, run).await?;
        let text = format!(
            "Waiting for a person to approve it ({}). Nothing was changed yet: tell the user that the app `{app}` \
             waits in the approvals.",
            approval.id
        );
        Ok((text, json!({ "approval": approval.id })))
    }
}

fn elsewhere() -> Failure {
    Failure::new(Reason::WrongUse, "only apps of the home's catalogs and stores can be asked for by id")
        .with_next("a person can install anything with `roost install`")
}

/// How an app is, in the words of the contract.
fn status(phase: NativePhase) -> &'static str {
    match phase {
        NativePhase::Running => "running",
        NativePhase::Stopped => "stopped",
        NativePhase::Starting | NativePhase::Waiting => "starting",
        NativePhase::Failed => "error",
    }
}

/// What a model is told of an app that somebody else describes: a few short texts.
fn shown(app: &Value) -> Value {
    let app = if app["app"].is_object() { &app["app"] } else { app };
    let mut told = Map::new();
    for key in ["id", "name", "version", "description", "summary", "category", "publisher", "author"] {
        let text = match &app[key] {
            Value::String(text) => text,
            Value::Object(author) => match author.get("name") {
                Some(Value::String(text)) => text,
                _ => continue,
            },
            _ => continue,
        };
        told.insert(key.to_owned(), json!(text.chars().take(TEXT_CHARACTERS_MAX).collect::<String>()));
    }
    Value::Object(told)
}

#[cfg(test)]
mod tests {
    use super::shown;
    use serde_json::json;

    #[test]
    fn a_model_is_told_a_few_short_texts_of_what_others_wrote() {
        let told = shown(&json!({ "app": {
            "id": "a", "description": "x".repeat(1000), "author": { "name": "Me" }, "manifest": { "much": 1 },
        } }));
        assert_eq!(told["id"], "a");
        assert_eq!((told["description"].as_str().unwrap().len(), &told["author"]), (300, &json!("Me")));
        assert!(told.get("manifest").is_none());
    }
}
