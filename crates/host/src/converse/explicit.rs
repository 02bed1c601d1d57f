//! What a person wrote as a call: `/Agent key=value`. Works with and without a model.

use super::{
    ChatAnswer, ChatRequest,
    agent_tools::{AgentTools, Caller},
    plain,
};
use crate::{
    host::Inner,
    perform::ChosenBy,
    runs::{ActiveRun, RecordedTools},
    toolbox::Toolbox,
};
use roost_chat::{Explicit, ExplicitProblem, OnEvent, ToolAnswer, ToolCall, Tools as _, TurnEvent, TurnLog};
use roost_protocol::{Failure, Reason};
use std::sync::Arc;

impl Inner {
    /// Runs what a person wrote as a call. Works with and without a model.
    pub(super) async fn answer_explicit(
        self: &Arc<Self>,
        explicit: Result<Explicit, ExplicitProblem>,
        toolbox: &Arc<Toolbox>,
        request: &ChatRequest,
        run: Option<&ActiveRun>,
        on_event: Option<OnEvent<'_>>,
    ) -> Result<ChatAnswer, Failure> {
        let said = |text: String| {
            if let Some(on_event) = on_event {
                on_event(TurnEvent::Piece(text.clone()));
            }
            Ok(plain(request, text, Vec::new(), None))
        };
        let (name, arguments) = match explicit.map_err(in_words)? {
            Explicit::Use { agent, arguments } => (agent, arguments),
            Explicit::Help => return said(HELP.to_owned()),
            Explicit::Agents => return said(agents_in_words(toolbox)),
        };
        let caller = Caller {
            user: request.user.as_ref(),
            query: &request.input,
            depth: request.depth,
            chosen_by: ChosenBy::Caller,
            run: run.map(|run| run.id.as_str()),
        };
        let agents = AgentTools::new(self, toolbox, &caller);
        let tools = RecordedTools::new(&agents, run);
        let call = ToolCall { id: format!("call_{}", uuid::Uuid::new_v4().simple()), name, arguments };
        let tell = |event: TurnEvent| {
            if let Some(on_event) = on_event {
                on_event(event);
            }
        };
        tell(TurnEvent::ToolStarted(call.clone()));
        let answer = tools.run(&call).await;
        let text = words_of(&call.name, &answer);
        let log = TurnLog::answered(call, answer.result, answer.record);
        tell(TurnEvent::ToolFinished(log.clone()));
        tell(TurnEvent::RoundFinished(vec![log.clone()]));
        tell(TurnEvent::Piece(text.clone()));
        Ok(plain(request, text, vec![log], None))
    }
}

/// What a person reads when an agent answered.
pub(crate) fn words_of(agent: &str, answer: &ToolAnswer) -> String {
    match &answer.result {
        Ok(output) => output.clone(),
        Err(message) => {
            let next = answer.record["next"].as_str().map(|next| format!("\nNext: {next}"));
            format!("{agent} could not do that: {message}{}", next.unwrap_or_default())
        }
    }
}

const HELP: &str = "\
`/Agent key=value` calls an agent directly, for example `/Calculator expression=\"2 + 2\"`. `/Agent {\"key\": 1}` takes JSON.
`/agents` lists them. Anything else goes to the model, or, without one, gets an offer of the agents that may be meant.";

/// Agents that are listed in words; more are counted.
const LISTED_MAX: usize = 40;

fn agents_in_words(toolbox: &Toolbox) -> String {
    let mut lines: Vec<String> = toolbox
        .definitions
        .iter()
        .take(LISTED_MAX)
        .map(|tool| {
            let description: String =
                tool.description.lines().next().unwrap_or_default().chars().take(120).collect();
            format!("- {}: {description}", tool.name)
        })
        .collect();
    if toolbox.definitions.len() > LISTED_MAX {
        lines.push(format!("and {} more; `roost agents` lists all", toolbox.definitions.len() - LISTED_MAX));
    }
    if lines.is_empty() {
        lines.push("There are no agents yet.".to_owned());
    }
    lines.join("\n")
}

fn in_words(problem: ExplicitProblem) -> Failure {
    let reason = match problem {
        ExplicitProblem::UnknownAgent { .. } | ExplicitProblem::AmbiguousAgent { .. } => Reason::UnknownAgent,
        _ => Reason::BadArguments,
    };
    Failure::new(reason, problem.to_string())
}
