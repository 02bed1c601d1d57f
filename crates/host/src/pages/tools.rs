//! Pages as a model can make them: three tools of the host itself. None of them does anything but ask a person.

use super::{
    approvals::{PageWish, page_in},
    changes::{PageChanges, PageFile},
};
use crate::host::Inner;
use roost_chat::{ToolAnswer, ToolCall, ToolList};
use roost_protocol::{Failure, Reason};
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, sync::LazyLock};

const NAMES: [&str; 3] = ["CreateApp", "UpdateApp", "DeleteApp"];

/// True for a tool of the host that makes or changes pages.
pub(crate) fn is_page_tool(name: &str) -> bool {
    NAMES.contains(&name)
}

/// Written once: every turn of every conversation sends them.
static DEFINITIONS: LazyLock<ToolList> = LazyLock::new(|| ToolList::from(definitions()));

/// The tools of a turn, with those of the host behind the agents where there is room. An agent that has one of the names
/// keeps it.
pub(crate) fn with_page_tools(agents: &ToolList) -> ToolList {
    let name_of = |tool: &Value| tool["function"]["name"].as_str().unwrap_or_default().to_owned();
    let taken: Vec<String> = agents.iter().map(name_of).filter(|name| is_page_tool(name)).collect();
    if taken.is_empty() {
        return agents.with_more(&DEFINITIONS);
    }
    let free = definitions().into_iter().filter(|tool| !taken.contains(&name_of(tool)));
    agents.with_more(&ToolList::from(free.collect::<Vec<Value>>()))
}

fn definitions() -> Vec<Value> {
    let files = json!({
        "type": "object",
        "additionalProperties": { "type": "string" },
        "description": "File contents by path, such as index.html and app.js. Load ../_sdk/reploid-app-sdk.js for \
            window.reploid. Put texts into the page with textContent."
    });
    let manifest = json!({
        "type": "object",
        "description": "id (lower-case words joined by hyphens), name, version (1.0.0), entry (index.html), and \
            permissions such as {\"vfs\": {\"read\": [\"/docs/*\"], \"write\": [\"/apps/ID/data/*\"]}}"
    });
    let id = json!({ "type": "string", "description": "The page's id" });
    let tool = |name: &str, description: &str, properties: Value, required: &[&str]| {
        json!({ "type": "function", "function": {
            "name": name, "description": description,
            "parameters": { "type": "object", "properties": properties, "required": required },
        } })
    };
    vec![
        tool(
            NAMES[0],
            "Makes a page app: a small interactive web page for the user. A person approves it before it exists.",
            json!({ "manifest": manifest, "files": files }),
            &["manifest", "files"],
        ),
        tool(
            NAMES[1],
            "Changes files or the manifest of a page app. A person approves it first.",
            json!({ "id": id, "manifest": manifest, "files": files }),
            &["id"],
        ),
        tool(NAMES[2], "Removes a page app. A person approves it first.", json!({ "id": id }), &["id"]),
    ]
}

impl Inner {
    /// Lets what a model wants wait for a person.
    pub(crate) async fn run_page_tool(&self, call: &ToolCall, run: Option<&str>) -> ToolAnswer {
        let asked = async {
            let page = page_in(&call.arguments)?;
            let wish = wish(&call.name, &call.arguments)?;
            self.ask_approval(&page, wish, run).await
        };
        match asked.await {
            Ok(approval) => {
                let text = format!(
                    "Waiting for a person to approve it ({}). Nothing was changed yet: tell the user that the page \
                     `{}` waits in the approvals.",
                    approval.id, approval.page
                );
                ToolAnswer { result: Ok(text), record: json!({ "approval": approval.id }) }
            }
            Err(failure) => ToolAnswer {
                record: json!({ "reason": failure.reason, "next": failure.next_step() }),
                result: Err(failure.message),
            },
        }
    }
}

fn wish(tool: &str, arguments: &Map<String, Value>) -> Result<PageWish, Failure> {
    let manifest = match arguments.get("manifest") {
        None | Some(Value::Null) => None,
        Some(Value::Object(manifest)) => Some(manifest.clone()),
        Some(_) => return Err(wrong("manifest: an object is needed")),
    };
    let files: BTreeMap<String, Option<PageFile>> = match arguments.get("files") {
        None | Some(Value::Null) => BTreeMap::new(),
        Some(files) => serde_json::from_value(files.clone())
            .map_err(|_| wrong("files: an object of texts by path is needed"))?,
    };
    match tool {
        "CreateApp" => {
            let manifest = manifest.ok_or_else(|| wrong("manifest: it is missing"))?;
            let files = files.into_iter().filter_map(|(path, file)| Some((path, file?))).collect();
            Ok(PageWish::Create { manifest, files })
        }
        "UpdateApp" => Ok(PageWish::Update { changes: PageChanges { manifest, files } }),
        _ => Ok(PageWish::Delete),
    }
}

fn wrong(message: &str) -> Failure {
    Failure::new(Reason::BadArguments, message)
}
