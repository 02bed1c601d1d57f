//! A page without script: the agents of this host and how to call them. Stands at `/` where the web UI was not built.

use axum::{
    extract::State,
    http::header,
    response::{Html, IntoResponse as _, Response},
};
use roost_host::Host;
use roost_protocol::{AgentListing, AgentState, Serving};

const PAGE: &str = include_str!("plain_page.html");

/// Nothing but the page's own style.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Every agent with its state, for browsers without script.
#[utoipa::path(get, path = "/ui/plain", tag = "host", responses((status = 200, description = "A page", content_type = "text/html")))]
pub(crate) async fn show(State(host): State<Host>) -> Response {
    answer(&host)
}

/// The page as it is now.
pub(crate) fn answer(host: &Host) -> Response {
    let agents = host.known_agents();
    let ready = agents.iter().filter(|agent| agent.serving.is_some()).count();
    let mut list = String::new();
    for agent in &agents {
        list.push_str(&card(agent));
    }
    if agents.is_empty() {
        list.push_str("<p class=\"empty\">No agents yet. Drop a file into the folder and reload.</p>");
    }
    let page = PAGE
        .replace("{{folder}}", &escaped(&host.home().agents().display().to_string()))
        .replace("{{count}}", &format!("{ready} of {} ready", agents.len()))
        .replace("{{version}}", env!("CARGO_PKG_VERSION"))
        .replace("{{agents}}", &list);
    ([(header::CONTENT_SECURITY_POLICY, POLICY)], Html(page)).into_response()
}

fn card(agent: &AgentListing) -> String {
    let state = match (agent.state, agent.serving) {
        (AgentState::Ready, _) => "ready",
        (AgentState::Failed, Some(Serving::LastGood)) => "last good version",
        (AgentState::Failed, _) => "failed",
        (AgentState::Shadowed, _) => "shadowed",
        (AgentState::Disabled, _) => "disabled",
    };
    let class = if agent.serving.is_some() { "works" } else { "rests" };
    let mut card = format!(
        "<article class=\"{class}\"><header><h2>{}</h2><span class=\"state\">{state}</span></header>",
        escaped(&agent.name)
    );
    if !agent.description.is_empty() {
        card.push_str(&format!("<p>{}</p>", escaped(&agent.description)));
    }
    if let Some(failure) = &agent.reason {
        let line = failure.line.map(|line| format!(", line {line}")).unwrap_or_default();
        card.push_str(&format!(
            "<p class=\"reason\"><code>{}</code> {}{line}</p>",
            failure.reason.code(),
            escaped(&failure.message)
        ));
        card.push_str(&format!("<p class=\"next\">Next: {}</p>", escaped(failure.next_step())));
    }
    let names: Vec<String> = agent.parameters["properties"]
        .as_object()
        .map(|properties| properties.keys().map(|name| format!("{name}=…")).collect())
        .unwrap_or_default();
    if agent.serving.is_some() {
        card.push_str(&format!(
            "<pre>roost call {} {}</pre>",
            escaped(&agent.name),
            escaped(&names.join(" "))
        ));
    }
    card.push_str(&format!("<footer>{}</footer></article>", escaped(&agent.file)));
    card
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn what_an_agent_says_of_itself_stays_text() {
        assert_eq!(
            escaped("<img src=x onerror='a&b'>\""),
            "&lt;img src=x onerror=&#39;a&amp;b&#39;&gt;&quot;"
        );
    }
}
