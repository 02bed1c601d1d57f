//! What this machine has, what is missing, and what each missing thing costs.

use crate::{host::Host, vault::KeyPlace};
use roost_chat::StandingState;
use roost_protocol::{Failure, Language, Level, NetworkMode, Reason};
use roost_runtime::EngineKind;
use roost_storage::Engine;
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
    findings.extend(self_tests(host).await);
    findings.push(records(host));
    findings.push(store(host).await);
    findings.push(model(host).await);
    findings.extend(vault(host).await);
    findings
}

/// Who answers in chats. Chats work without, with less.
async fn model(host: &Host) -> Finding {
    host.models().discover().await;
    let standing = host.models().standing();
    let without = "chats get offers instead of answers; `/Agent key=value` works";
    let lacking =
        |detail: &str, next: &str| Finding::lacking("model", FindingState::Limited, detail, without, next);
    let named = || {
        let provider = standing.provider.map_or("nobody", |provider| provider.as_str());
        format!("{} of {provider}", standing.model.as_deref().unwrap_or("the default model"))
    };
    match &standing.state {
        StandingState::Ready => Finding::ok("model", named()),
        StandingState::Pending => Finding::ok("model", format!("{}, not tried yet", named())),
        StandingState::NotSetUp => lacking("none is set up", "see `roost models` for the ways to one"),
        StandingState::NotSignedIn => lacking("nobody is signed in at GitHub", "roost login"),
        StandingState::NoAccess { user } => {
            lacking(&format!("the account {user} has no access to Copilot"), "roost login --switch")
        }
    }
}

/// The database, and whether it is sound.
async fn store(host: &Host) -> Finding {
    let broken = |failure: Failure| {
        Finding::lacking(
            "store",
            FindingState::Missing,
            failure.message.clone(),
            "no files with history, no record of runs, no tokens",
            failure.next_step(),
        )
    };
    let checked = async {
        let database = host.inner.store.database().await?;
        let wrong = database.check().await?;
        Ok((database.engine(), wrong))
    };
    match checked.await {
        Ok((engine, wrong)) if wrong.is_empty() => {
            let engine = match engine {
                Engine::Sqlite => "roost.db in the home folder",
                Engine::Postgres => "PostgreSQL; it holds tenants apart",
            };
            Finding::ok("store", format!("{engine}, sound"))
        }
        Ok((_, wrong)) => broken(Failure::new(Reason::StorageDamaged, wrong.join("; "))),
        Err(failure) => broken(failure),
    }
}

/// The grants and the audit log, which decide whether anything runs.
fn records(host: &Host) -> Finding {
    let checked = host.inner.gate.grants().list(None).and_then(|grants| {
        host.verify_audit().map(|verified| format!("{} grants, {} audit rows", grants.len(), verified.rows))
    });
    match checked {
        Ok(detail) => Finding::ok("records", detail),
        Err(failure) => Finding::lacking(
            "records",
            FindingState::Missing,
            failure.message.clone(),
            "nothing is granted while this holds",
            failure.next_step(),
        ),
    }
}

/// The vault, where there is one.
async fn vault(host: &Host) -> Option<Finding> {
    match host.vault().list().await.transpose()? {
        Ok((KeyPlace::Keychain, names)) => {
            Some(Finding::ok("vault", format!("{} secrets, their key is in the keychain", names.len())))
        }
        Ok((KeyPlace::File, names)) => {
            let detail = format!("{} secrets, their key is in keys/vault.key beside them", names.len());
            Some(Finding::ok("vault", detail))
        }
        Err(failure) => Some(Finding::lacking(
            "vault",
            FindingState::Missing,
            failure.message.clone(),
            "no agent that was granted a variable or a secret can run",
            failure.next_step(),
        )),
    }
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

/// The level this machine can give, and each part of it that is not there.
fn enforcement(host: &Host) -> Vec<Finding> {
    let enforcement = host.runtime().enforcement(NetworkMode::None);
    let required = host.inner.settings.sandbox.required;
    let detail = format!("{}: {}", enforcement.level.as_str(), enforcement.enforced.join(", "));
    let first = if enforcement.level >= required {
        Finding::ok("sandbox", detail)
    } else {
        Finding::lacking(
            "sandbox",
            FindingState::Missing,
            format!("{detail}; `{}` is demanded", required.as_str()),
            "no agent can run",
            &format!(
                "set `require = \"{}\"` under `[sandbox]` in roost.toml to accept less",
                enforcement.level.as_str()
            ),
        )
    };
    let missing = enforcement.missing.iter().map(|missing| {
        let (cost, next) = cost_of(missing);
        Finding::lacking(
            "sandbox",
            FindingState::Limited,
            format!("no {}", missing.replace('_', " ")),
            cost,
            next,
        )
    });
    std::iter::once(first).chain(missing).collect()
}

fn cost_of(missing: &str) -> (&'static str, &'static str) {
    match missing {
        "files" => (
            "an agent can read and write what you can",
            "use a kernel with Landlock (6.2 or newer), and see whether it is switched on in `lsm=`",
        ),
        "system_calls" => {
            ("an agent can use every part of the kernel that you can", "use a kernel with seccomp")
        }
        "own_network" | "own_processes" | "own_identity" => (
            "an agent cannot be given single computers, and its processes are not apart from yours",
            "allow user namespaces: `sysctl kernel.unprivileged_userns_clone=1`, or on Ubuntu \
             `sysctl kernel.apparmor_restrict_unprivileged_userns=0`",
        ),
        "signals" => {
            ("an agent can send signals to your programs", "use a newer kernel, or allow user namespaces")
        }
        "processes" => (
            "an agent may start any number of processes while it runs",
            "run as an ordinary user, or where the pids control group can be written",
        ),
        _ => (
            "memory is limited for each process of an agent, not for all of them together",
            "run where the memory control group can be written",
        ),
    }
}

/// Tries the forbidden things in a throw-away worker of each language that is there.
async fn self_tests(host: &Host) -> Vec<Finding> {
    let mut findings = Vec::new();
    if host.runtime().python().await.is_some() {
        findings.push(self_test(host, Language::Python).await);
    }
    if host.runtime().engine().await.is_ok() {
        findings.push(self_test(host, Language::TypeScript).await);
    }
    findings
}

async fn self_test(host: &Host, language: Language) -> Finding {
    match host.self_test(language).await {
        Ok(test) if test.escaped.is_empty() => Finding::ok(
            "self-test",
            format!(
                "{}: {} things were tried that no agent may, none worked; {} could not be tried",
                test.runtime,
                test.tried,
                test.skipped.len()
            ),
        ),
        Ok(test) => {
            let escaped: Vec<String> =
                test.escaped.iter().map(|probe| format!("{} ({})", probe.probe, probe.saw)).collect();
            let state = if test.level == Level::Full { FindingState::Missing } else { FindingState::Limited };
            Finding::lacking(
                "self-test",
                state,
                format!("{}: worked and must not: {}", test.runtime, escaped.join(", ")),
                "an agent can do these things",
                "see the sandbox's missing parts above; at level `full` please report it",
            )
        }
        Err(failure) => Finding::lacking(
            "self-test",
            FindingState::Missing,
            failure.message.clone(),
            "it is not known what an agent can do here",
            failure.next_step(),
        ),
    }
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
            "TypeScript agents run in the same sandbox, without the engine's own permissions on top",
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
