//! What this machine has, what is missing, and what each missing thing costs.

use crate::host::Host;
use roost_runtime::EngineKind;
use serde::Serialize;

/// One thing that was looked at.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    /// What was looked at.
    pub name: &'static str,
    /// Whether it is there.
    pub state: FindingState,
    /// What was found.
    pub detail: String,
    /// What its absence costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<String>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Whether something is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingState {
    /// As it should be.
    Ok,
    /// It works, with something less.
    Limited,
    /// Something does not work without it.
    Missing,
}

impl Finding {
    fn ok(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, state: FindingState::Ok, detail: detail.into(), cost: None, next: None }
    }

    fn lacking(
        name: &'static str,
        state: FindingState,
        detail: impl Into<String>,
        cost: &str,
        next: &str,
    ) -> Self {
        let (cost, next) = (Some(cost.to_owned()), Some(next.to_owned()));
        Self { name, state, detail: detail.into(), cost, next }
    }
}

/// Looks at everything agents need.
pub async fn examine(host: &Host) -> Vec<Finding> {
    let mut findings = vec![home(host), kernel()];
    findings.extend(enforcement(host));
    findings.push(python(host).await);
    findings.push(uv(host));
    findings.push(environments(host));
    findings.push(typescript(host).await);
    findings
}

fn home(host: &Host) -> Finding {
    let root = host.home().root();
    let probe = root.join(".roost-doctor");
    match std::fs::write(&probe, b"").and_then(|()| std::fs::remove_file(&probe)) {
        Ok(()) => Finding::ok("home", root.display().to_string()),
        Err(error) => Finding::lacking(
            "home",
            FindingState::Missing,
            format!("{}: {error}", root.display()),
            "nothing can be kept",
            "choose another home with --home or ROOST_HOME",
        ),
    }
}

fn kernel() -> Finding {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let has = |path: &str| if std::path::Path::new(path).exists() { "yes" } else { "no" };
    let landlock = roost_runtime::landlock_abi().map_or("no".to_owned(), |abi| format!("ABI {abi}"));
    Finding::ok(
        "kernel",
        format!(
            "Linux {}, user namespaces: {}, seccomp: {}, landlock: {landlock}",
            release.trim(),
            has("/proc/self/ns/user"),
            has("/proc/sys/kernel/seccomp"),
        ),
    )
}

fn enforcement(host: &Host) -> Vec<Finding> {
    let enforcement = host.runtime().enforcement(roost_protocol::NetworkMode::None);
    let level = format!("{}: {}", enforcement.level.as_str(), enforcement.enforced.join(", "));
    let mut findings = vec![Finding::ok("limits", level)];
    for missing in &enforcement.missing {
        let (cost, next) = match missing.as_str() {
            "kernel_sandbox" => (
                "an agent can read and write what you can; run only agents you trust",
                "this version of Roost has no kernel sandbox yet",
            ),
            "processes" => (
                "an agent may start any number of processes while it runs",
                "run as an ordinary user, or where the pids control group can be written",
            ),
            _ => (
                "memory is limited for each process of an agent, not for all of them together",
                "run where the memory control group can be written",
            ),
        };
        findings.push(Finding::lacking(
            "limits",
            FindingState::Limited,
            format!("no {}", missing.replace('_', " ")),
            cost,
            next,
        ));
    }
    findings
}

async fn python(host: &Host) -> Finding {
    let found = host.runtime().pythons().await;
    match found.first() {
        Some(newest) => {
            let others: Vec<String> = found.iter().skip(1).map(|python| python.version.to_string()).collect();
            let others =
                if others.is_empty() { String::new() } else { format!(" (also {})", others.join(", ")) };
            Finding::ok("python", format!("{} at {}{others}", newest.version, newest.path.display()))
        }
        None => Finding::lacking(
            "python",
            FindingState::Missing,
            "no CPython 3.10 or newer",
            "no Python agent can run",
            "install Python, for example with `apt-get install python3`",
        ),
    }
}

fn uv(host: &Host) -> Finding {
    match host.runtime().uv() {
        Some(path) => Finding::ok("uv", path.display().to_string()),
        None => Finding::lacking(
            "uv",
            FindingState::Limited,
            "not found",
            "agents that need packages wait for uv to be fetched on first use",
            "install it, for example with `pip install uv`",
        ),
    }
}

fn environments(host: &Host) -> Finding {
    let (folder, count) = host.runtime().environments();
    Finding::ok("environments", format!("{count} in {}", folder.display()))
}

async fn typescript(host: &Host) -> Finding {
    match host.runtime().engine().await {
        Ok(engine) if engine.kind == EngineKind::Deno => Finding::ok(
            "typescript",
            format!("deno {} at {}, the preferred runtime", engine.version, engine.path.display()),
        ),
        Ok(engine) => Finding::lacking(
            "typescript",
            FindingState::Limited,
            format!("node {} at {}, because no Deno was found", engine.version, engine.path.display()),
            "TypeScript agents run, without the runtime's own permission flags",
            "install Deno",
        ),
        Err(failure) => Finding::lacking(
            "typescript",
            FindingState::Missing,
            failure.message.clone(),
            "no TypeScript agent can run",
            failure.next_step(),
        ),
    }
}
