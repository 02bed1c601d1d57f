//! Tools of native apps: what the running ones offer, and one call of one of them.

use super::{folder::app_of, launch::LiveApp};
use crate::{
    host::Inner,
    perform::{ChosenBy, Request, Surroundings, because_of},
};
use roost_protocol::{
    AgentLanguage, AgentListing, AgentName, AgentState, CallOutcome, Failure, Reason, Receipt, Serving,
    WorkerUse,
};
use roost_runtime::ToolDescription;
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc, time::Instant};

/// Longest result that is handed on; more is cut off, and the cut is told.
const RESULT_BYTES_MAX: usize = 100_000;

/// A tool of a running app.
pub(crate) struct NativeTool {
    pub(crate) name: AgentName,
    pub(crate) description: String,
    pub(crate) parameters: Value,
    /// True when a model must not use it by itself.
    pub(crate) requires_approval: bool,
    live: Arc<LiveApp>,
}

/// All tools of running apps at one moment.
#[derive(Default)]
pub(crate) struct NativeTools(BTreeMap<String, Arc<NativeTool>>);

impl NativeTools {
    /// Asks an app what its tool is.
    pub(super) async fn described(live: &Arc<LiveApp>) -> Result<NativeTool, Failure> {
        let ToolDescription { name, description, schema, requires_approval } =
            live.app.describe_tool().await?;
        let name =
            AgentName::parse(&name).map_err(|error| Failure::new(Reason::InvalidName, error.to_string()))?;
        let parameters: Option<Value> = serde_json::from_slice(&schema).ok();
        let parameters = parameters
            .filter(|schema| schema["type"] == "object")
            .ok_or_else(|| Failure::plain(Reason::InvalidSchema))?;
        Ok(NativeTool { name, description, parameters, requires_approval, live: Arc::clone(live) })
    }

    /// The same with one more. Whoever holds a name first keeps it.
    pub(super) fn with(&self, tool: NativeTool) -> Result<Self, Failure> {
        let mut tools = self.0.clone();
        if let Some(holder) = tools.get(tool.name.as_str()) {
            let message = format!("{} already has a tool {}", holder.live.folder.id(), tool.name);
            return Err(Failure::new(Reason::Shadowed, message));
        }
        tools.insert(tool.name.as_str().to_owned(), Arc::new(tool));
        Ok(Self(tools))
    }

    /// The same without those of an app; nothing when it has none.
    pub(super) fn without(&self, live: &Arc<LiveApp>) -> Option<Self> {
        let is_other = |tool: &Arc<NativeTool>| !Arc::ptr_eq(&tool.live, live);
        if self.0.values().all(is_other) {
            return None;
        }
        let others = self.0.iter().filter(|(_, tool)| is_other(tool));
        Some(Self(others.map(|(name, tool)| (name.clone(), Arc::clone(tool))).collect()))
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Arc<NativeTool>> {
        self.0.get(name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<NativeTool>> {
        self.0.values()
    }
}

impl NativeTool {
    /// One line of the agent list.
    pub(crate) fn listing(&self, holder: Option<&str>) -> AgentListing {
        let shadowed = holder.map(|holder| {
            Failure::new(Reason::Shadowed, format!("{holder} already has an agent {}", self.name))
        });
        AgentListing {
            name: self.name.as_str().to_owned(),
            file: app_of(self.live.folder.id()).as_str().to_owned(),
            source: None,
            language: AgentLanguage::Native,
            state: if shadowed.is_some() { AgentState::Shadowed } else { AgentState::Ready },
            serving: shadowed.is_none().then_some(Serving::Current),
            reason: shadowed,
            description: self.description.clone(),
            parameters: self.parameters.clone(),
            digest: Some(self.live.folder.digest),
        }
    }

    /// Runs it. A tool that failed is an outcome; an error means that nothing ran.
    async fn perform(&self, request: &Request, around: Surroundings<'_>) -> Result<CallOutcome, Failure> {
        if self.requires_approval && request.chosen_by == ChosenBy::Model {
            return Err(Failure::new(
                Reason::ApprovalNeeded,
                format!("{} is used only when a person says so", self.name),
            )
            .with_next(format!(
                "write it yourself: `/{} key=value`, or `roost call {}`",
                self.name, self.name
            )));
        }
        let started = Instant::now();
        let input = serde_json::to_vec(&request.arguments)
            .map_err(|error| Failure::new(Reason::BadArguments, error.to_string()))?;
        let app = &self.live.app;
        let (cpu_before, _) = app.used();
        let answered = app.execute(input).await;
        let (cpu_after, peak_memory_kb) = app.used();
        let (traffic, refused) = app.take_report();
        let refused = self.live.standing.explain(around.gate, refused, around.places);
        let receipt = Receipt {
            call: around.call,
            run: request.run.clone(),
            enforcement: app.enforcement().clone(),
            rights: self.live.rights.clone(),
            limits: self.live.limits.clone(),
            environment: self.live.environment.clone(),
            digest: self.live.folder.digest,
            serving: Serving::Current,
            worker: WorkerUse { pid: app.pid(), reused: true, runtime: "native".to_owned() },
            duration_us: u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX),
            cpu_us: cpu_after.saturating_sub(cpu_before),
            peak_memory_kb,
            traffic,
            refused,
            stray_processes: 0,
            model: None,
            workspace: None,
        };
        let (output, error) = match answered {
            Ok(answer) if answer.is_error => {
                (String::new(), Some(Failure::new(Reason::AgentRaised, cut(answer.content))))
            }
            Ok(answer) => (cut(answer.content), None),
            Err(failure) => (String::new(), Some(because_of(failure, &receipt.refused))),
        };
        Ok(CallOutcome { agent: self.name.clone(), output, error, slush: None, receipt })
    }
}

/// A text of a bearable length.
fn cut(mut text: String) -> String {
    if text.len() > RESULT_BYTES_MAX {
        let length = text.len();
        text.truncate(text.floor_char_boundary(RESULT_BYTES_MAX));
        text.push_str(&format!("\n[cut off: the result has {length} bytes]"));
    }
    text
}

impl Inner {
    /// The tool of a native app that is meant by a name which no agent file has.
    pub(crate) async fn native_tool(&self, name: &str) -> Option<Arc<NativeTool>> {
        if let Some(tool) = self.native.tools().find(name) {
            return Some(Arc::clone(tool));
        }
        self.start_native_apps().await;
        self.native.tools().find(name).cloned()
    }

    /// Calls a tool of a native app.
    pub(crate) async fn call_native(
        &self,
        tool: &NativeTool,
        request: &Request,
    ) -> Result<CallOutcome, Failure> {
        let performed = tool.perform(request, self.around("")).await;
        self.written_down(&tool.name, &tool.live.standing.caller.app, performed)
    }
}
