//! Is the host there, and does everything it needs work: for people, balancers and monitors.

use crate::request::QueryOf;
use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use roost_host::{
    Host,
    doctor::{FindingState, examine},
};
use roost_protocol::AgentState;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, time::Instant};
use utoipa::{IntoParams, ToSchema};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The version of the host.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Version {
    version: &'static str,
}

/// The version alone.
#[utoipa::path(get, path = "/version", tag = "host", responses((status = 200, body = Version)))]
pub(crate) async fn version() -> Json<Version> {
    Json(Version { version: VERSION })
}

/// What anybody may know.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Public {
    /// Always `ok`: a host that is not does not answer.
    status: &'static str,
    version: &'static str,
}

/// That the host is there, and nothing about what is in it.
#[utoipa::path(get, path = "/health/public", tag = "host", responses((status = 200, body = Public)))]
pub(crate) async fn public() -> Json<Public> {
    Json(Public { status: "ok", version: VERSION })
}

/// How closely to look.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ChecksQuery {
    /// Also look at the machine and try the sandbox, which takes a moment.
    #[serde(default)]
    deep: bool,
}

/// How well something works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Condition {
    Healthy,
    Degraded,
    Unhealthy,
}

/// One thing that was looked at.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Check {
    status: Condition,
    message: String,
}

/// Everything that was looked at.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Checks {
    /// That of the worst check.
    status: Condition,
    /// UTC.
    timestamp: String,
    version: &'static str,
    checks: BTreeMap<String, Check>,
    response_time_ms: f64,
}

/// Whether everything works; 503 when the host cannot do its work.
#[utoipa::path(get, path = "/api/health", tag = "host", params(ChecksQuery),
    responses((status = 200, body = Checks), (status = 503, body = Checks)))]
pub(crate) async fn checks(State(host): State<Host>, QueryOf(query): QueryOf<ChecksQuery>) -> Response {
    let started = Instant::now();
    let mut checks =
        BTreeMap::from([("agents".to_owned(), agents(&host)), ("storage".to_owned(), storage(&host))]);
    if query.deep {
        for finding in examine(&host).await {
            let status = match finding.state {
                FindingState::Ok => Condition::Healthy,
                FindingState::Limited | FindingState::Missing => Condition::Degraded,
            };
            add(&mut checks, finding.name, Check { status, message: finding.detail });
        }
    }
    let status = checks.values().map(|check| check.status).max().unwrap_or(Condition::Healthy);
    let code = if status == Condition::Unhealthy { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
    let body = Checks {
        status,
        timestamp: jiff::Timestamp::now().to_string(),
        version: VERSION,
        checks,
        response_time_ms: started.elapsed().as_secs_f64() * 1000.0,
    };
    (code, Json(body)).into_response()
}

/// Of several checks with one name the worst counts, and all are told.
fn add(checks: &mut BTreeMap<String, Check>, name: &str, check: Check) {
    match checks.get_mut(name) {
        Some(before) => {
            before.status = before.status.max(check.status);
            before.message = format!("{}; {}", before.message, check.message);
        }
        None => drop(checks.insert(name.to_owned(), check)),
    }
}

fn agents(host: &Host) -> Check {
    let agents = host.known_agents();
    let works = agents.iter().filter(|agent| agent.serving.is_some()).count();
    let is_broken = agents.iter().any(|agent| agent.state == AgentState::Failed);
    let status = if is_broken { Condition::Degraded } else { Condition::Healthy };
    Check { status, message: format!("{works} of {} can be called", agents.len()) }
}

/// Without a record of its decisions the host allows nothing.
fn storage(host: &Host) -> Check {
    let usable = host.flush();
    match usable {
        Ok(()) => Check { status: Condition::Healthy, message: "decisions are recorded".to_owned() },
        Err(failure) => Check { status: Condition::Unhealthy, message: failure.message },
    }
}

#[cfg(test)]
mod tests {
    use super::{Check, Condition, add};
    use std::collections::BTreeMap;

    #[test]
    fn a_later_success_does_not_hide_an_earlier_problem() {
        let mut checks = BTreeMap::new();
        for (status, message) in [(Condition::Degraded, "python: broken"), (Condition::Healthy, "deno: fine")]
        {
            add(&mut checks, "self-test", Check { status, message: message.to_owned() });
        }
        let check = &checks["self-test"];
        assert_eq!(
            (check.status, check.message.as_str()),
            (Condition::Degraded, "python: broken; deno: fine")
        );
    }
}
