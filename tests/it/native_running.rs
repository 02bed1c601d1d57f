//! Native apps that run: as tools, kept alive, and ended with all they started.

use roost_host::{
    Host, HostSettings, ModeSettings, Policy, Request, SandboxSettings, StoreSettings, Variables,
    native::{NativeFolder, NativePace, NativePhase, NativeState},
};
use roost_protocol::{CallOutcome, Failure, Limits, Reason};
use roost_runtime::{PoolSettings, Surface};
use roost_tests::{TestHome, descendants, is_alive, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

/// The folder of an app that does what its name says.
pub(crate) fn app_folder(home: &TestHome, id: &str, name: &str, more: &Value) -> PathBuf {
    let folder = home.outside().join(id);
    fs::create_dir_all(&folder).unwrap();
    let mut manifest = json!({
        "id": id, "name": name, "version": "1.2.3", "provides": ["tool:echo"], "startup_timeout": 5,
    });
    for (key, value) in more.as_object().unwrap() {
        manifest[key] = value.clone();
    }
    fs::write(folder.join("manifest.json"), manifest.to_string()).unwrap();
    // A new file each time: the kernel may still hold the one of an app that has just ended.
    fs::remove_file(folder.join("binary")).ok();
    fs::copy(env!("CARGO_BIN_EXE_native_app"), folder.join("binary")).unwrap();
    fs::set_permissions(folder.join("binary"), fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// Puts the app into the home as one that somebody works on.
pub(crate) fn sideload(home: &TestHome, folder: &Path) {
    fs::create_dir_all(home.root().join("native")).unwrap();
    symlink(folder, home.root().join("native").join(folder.file_name().unwrap())).unwrap();
}

/// A host of this home that is not patient.
pub(crate) async fn host(home: &TestHome, policy: &str) -> Host {
    Host::open(settings(home, policy)).await.unwrap()
}

/// What such a host is made of.
pub(crate) fn settings(home: &TestHome, policy: &str) -> HostSettings {
    let pace = NativePace {
        health_every: Duration::from_millis(100),
        wait_first: Duration::from_millis(20),
        restarts_max: 3,
        ..NativePace::default()
    };
    let limits = Limits { memory_mb: 512, wall_seconds: 5, ..Limits::default() };
    let policy = Policy::from_table(policy.parse().unwrap(), None).unwrap();
    HostSettings {
        home: roost_host::Home::new(home.root(), None),
        surface: Surface::default(),
        pool: PoolSettings::default(),
        environment: BTreeMap::new(),
        working_directory: home.root(),
        sandbox: SandboxSettings::default(),
        policy: Arc::new(policy),
        variables: Variables::default(),
        limits,
        models: roost_host::chat::ModelSettings::default(),
        tracker: None,
        pinned_agents: Vec::new(),
        agents: BTreeMap::new(),
        modes: ModeSettings::default(),
        store: StoreSettings::default(),
        apps: roost_host::library::AppSettings::default(),
        catalogs: roost_host::catalogs::CatalogSettings::default(),
        native: pace,
    }
}

pub(crate) async fn started(host: &Host, folder: &Path) -> Result<NativeState, Failure> {
    host.native_apps().start(NativeFolder::sideloaded(folder).unwrap()).await
}

pub(crate) async fn call(host: &Host, tool: &str, arguments: Value) -> Result<CallOutcome, Failure> {
    let arguments = arguments.as_object().unwrap().clone();
    host.call(tool, &Request { arguments, ..Request::default() }).await
}

fn has_tool(host: &Host, name: &str) -> bool {
    host.known_agents().iter().any(|agent| agent.name == name)
}

pub(crate) fn kill(pid: u32) {
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), Signal::KILL).unwrap();
}

const ECHO: &str = "com.example.echo";

#[test]
fn an_app_of_the_home_is_listed_called_and_gone_with_its_process() {
    let home = TestHome::new();
    sideload(&home, &app_folder(&home, ECHO, "Echo", &json!({})));
    let running = home.up();
    running.until_known("echo");
    let listed = running.listing().into_iter().find(|agent| agent["name"] == "echo").unwrap();
    assert_eq!(
        (&listed["language"], &listed["file"], &listed["state"]),
        (&json!("native"), &json!("native:com.example.echo"), &json!("ready"))
    );
    let outcome = running.call("echo", &json!({ "text": "hello" })).json();
    assert_eq!(outcome["output"], r#"{"text":"hello"}"#, "{outcome}");
    let receipt = &outcome["receipt"];
    assert_eq!(receipt["worker"]["runtime"], "native");
    assert_eq!(receipt["enforcement"]["level"], "full", "{receipt}");
    assert_eq!(receipt["rights"], json!([]));
    let pid = u32::try_from(receipt["worker"]["pid"].as_u64().unwrap()).unwrap();
    // What an agent file is asked at the command line, a native tool is asked as well.
    let called = home.roost(&["call", "echo", "text=hi"]);
    assert_eq!((called.status, called.stdout.trim()), (0, r#"{"text":"hi"}"#));
    kill(pid);
    until("the tool is gone", || {
        let health = running.get("/health").json();
        !health["agents"].to_string().contains("echo")
    });
    assert_eq!(running.failure("echo", &json!({})), "unknown_agent");

    // Nothing of a host that is killed outlives it, and the next one begins anew.
    let again = TestHome::new();
    sideload(&again, &app_folder(&again, ECHO, "Echo", &json!({})));
    let running = again.up();
    running.until_known("echo");
    let below = descendants(running.pid());
    assert!(!below.is_empty());
    running.kill();
    until("everything ended with its host", || below.iter().all(|pid| !is_alive(*pid)));
    let running = again.up();
    running.until_known("echo");
    assert_eq!(running.output("echo", &json!({})), "{}");
    assert_eq!(running.terminate(), 0);
    let called = again.roost(&["call", "echo", "text=alone"]);
    assert_eq!((called.status, called.stdout.trim()), (0, r#"{"text":"alone"}"#), "{}", called.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_that_dies_or_falls_ill_is_started_again_until_its_budget_is_used_up() {
    let home = TestHome::new();
    let host = host(&home, "").await;
    let folder = app_folder(&home, ECHO, "Echo", &json!({}));
    let state = started(&host, &folder).await.unwrap();
    assert_eq!((state.phase, state.restarts), (NativePhase::Running, 0));
    let mut pid = state.pid.unwrap();
    for (restart, order) in ["die", "leave", "fall ill"].into_iter().enumerate() {
        let outcome = call(&host, "echo", json!({ "do": order })).await.unwrap();
        assert_eq!(outcome.error.is_some(), order != "fall ill", "{order}: {:?}", outcome.error);
        until(&format!("it runs again after `{order}`"), || {
            let state = host.native_apps().state(ECHO).unwrap();
            state.phase == NativePhase::Running && state.pid.is_some_and(|now| now != pid)
        });
        let state = host.native_apps().state(ECHO).unwrap();
        assert_eq!(state.restarts, restart + 1);
        assert!(state.reason.is_some(), "why it was started again is told");
        assert!(!is_alive(pid), "{order}");
        pid = state.pid.unwrap();
        assert_eq!(call(&host, "echo", json!({})).await.unwrap().output, "{}");
    }
    kill(pid);
    until("it is given up", || host.native_apps().state(ECHO).unwrap().phase == NativePhase::Failed);
    let state = host.native_apps().state(ECHO).unwrap();
    assert_eq!(state.reason.unwrap().reason, Reason::NativeGivenUp);
    assert!(!has_tool(&host, "echo"));
    // A person may start it anew, with a new budget.
    let state = host.native_apps().restart(ECHO).await.unwrap();
    assert_eq!((state.phase, state.restarts), (NativePhase::Running, 0));
    assert!(has_tool(&host, "echo"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_that_does_not_come_to_answer_is_refused_and_leaves_nothing() {
    let home = TestHome::new();
    let host = host(&home, "").await;
    for (name, words) in [
        ("ends at once", "ended before it answered"),
        ("never listens", "no answer within 1 s"),
        ("not well", "not healthy"),
        ("hangs when asked how it is", "no answer within 1 s"),
    ] {
        let folder = app_folder(&home, ECHO, name, &json!({ "startup_timeout": 1 }));
        let failure = started(&host, &folder).await.unwrap_err();
        assert!(failure.message.contains(words), "{name}: {failure}");
        let state = host.native_apps().state(ECHO).unwrap();
        assert_eq!((state.phase, state.pid), (NativePhase::Failed, None), "{name}");
        assert_eq!(descendants(std::process::id()), Vec::<u32>::new(), "{name}");
    }
    for (name, what) in [("bad name", "tool"), ("bad schema", "tool"), ("has no approval", "tool")] {
        let folder = app_folder(&home, ECHO, name, &json!({}));
        let state = started(&host, &folder).await.unwrap();
        assert_eq!((state.phase, state.left_out[0].what.as_str()), (NativePhase::Running, what), "{name}");
        assert!(!has_tool(&host, "echo"), "{name}");
    }
    assert_eq!(
        host.native_apps().stop("com.example.none").await.unwrap_err().reason,
        Reason::UnknownNativeApp
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_hangs_floods_or_eats_memory_harms_nobody_else() {
    let home = TestHome::new();
    let host = host(&home, "").await;
    let folder = app_folder(&home, ECHO, "Echo", &json!({}));
    started(&host, &folder).await.unwrap();
    let other = app_folder(&home, "com.example.other", "tool other", &json!({}));
    started(&host, &other).await.unwrap();

    let begun = Instant::now();
    let hung = call(&host, "echo", json!({ "do": "hang" })).await.unwrap();
    assert_eq!(hung.error.unwrap().reason, Reason::TimeLimit);
    assert!(begun.elapsed() < Duration::from_secs(20));
    let much = call(&host, "echo", json!({ "do": "send much" })).await.unwrap().output;
    assert!(much.len() < 101_000 && much.contains("cut off"), "{} bytes", much.len());
    let denied = call(&host, "echo", json!({ "do": "delete yourself" })).await.unwrap().output;
    assert_eq!(denied, "true");
    assert!(folder.join("binary").exists());
    let eaten = call(&host, "echo", json!({ "do": "use memory" })).await.unwrap();
    assert!(eaten.error.is_some(), "{}", eaten.output);
    assert_eq!(call(&host, "other", json!({})).await.unwrap().output, "{}");
    // A second app of the same name does not take the first one's place.
    let same = app_folder(&home, "com.example.third", "tool other", &json!({}));
    let state = started(&host, &same).await.unwrap();
    assert!(state.left_out[0].why.contains("already has a tool other"), "{:?}", state.left_out);
}

#[tokio::test(flavor = "multi_thread")]
async fn stopping_ends_what_ignores_it_and_what_was_left_behind() {
    let home = TestHome::new();
    let host = host(&home, "[local]\nallow = [\"subprocess\"]\n").await;
    let stubborn = app_folder(&home, ECHO, "does not end", &json!({}));
    let pid = started(&host, &stubborn).await.unwrap().pid.unwrap();
    let begun = Instant::now();
    let state = host.native_apps().stop(ECHO).await.unwrap();
    assert_eq!((state.phase, state.pid), (NativePhase::Stopped, None));
    assert!(!is_alive(pid) && begun.elapsed() >= Duration::from_secs(2));

    let permissions = json!({ "permissions": ["shell:exec"] });
    let daemon = app_folder(&home, "com.example.daemon", "daemonises", &permissions);
    started(&host, &daemon).await.unwrap();
    let left = || {
        let words = |pid: &u32| fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        descendants(std::process::id())
            .into_iter()
            .filter(move |pid| words(pid).ends_with(b"sleep\x0086399\0"))
    };
    until("it left something behind", || left().count() == 1);
    let left: Vec<u32> = left().collect();
    host.native_apps().stop("com.example.daemon").await.unwrap();
    assert!(left.iter().all(|pid| !is_alive(*pid)));

    // Dropping the host is enough, too.
    let state = started(&host, &app_folder(&home, ECHO, "Echo", &json!({}))).await.unwrap();
    drop(host);
    until("it ended with its host", || !is_alive(state.pid.unwrap()));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_lies_in_the_home_but_is_no_app_is_never_started() {
    let home = TestHome::new();
    for name in ["com.example.echo.pending", "com.example.echo.updating", ".installing-1", "unsigned"] {
        let from = app_folder(&home, ECHO, "Echo", &json!({}));
        let to = home.root().join("native").join(name);
        fs::create_dir_all(&to).unwrap();
        for file in ["manifest.json", "binary"] {
            fs::copy(from.join(file), to.join(file)).unwrap();
        }
    }
    let folder = app_folder(&home, "com.example.other", "tool other", &json!({}));
    fs::write(folder.join(".quarantined"), "revoked").unwrap();
    sideload(&home, &folder);
    // A link whose name is not the app's id.
    symlink(home.outside().join(ECHO), home.root().join("native/com.example.stolen")).unwrap();
    let host = host(&home, "").await;
    host.start_native_apps().await;
    assert!(host.native_apps().states().is_empty(), "{:?}", host.native_apps().states());
}
