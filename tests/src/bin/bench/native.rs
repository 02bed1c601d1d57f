//! Native apps: from a program to an app that answers, calls and hooks through the whole host, and what a crash costs.

use super::{Bench, PARALLEL, Table, descendants, microseconds, milliseconds, percentile, program, request};
use anyhow::{Context as _, Result};
use roost_host::{
    HostSettings, Policy,
    native::{NativeFolder, NativePace, NativePhase},
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

const STARTS: usize = 60;
const CALLS: usize = 20_000;
const AT_ONCE: usize = 50;
const CRASHES: usize = 20;

/// Before a restart; what is measured is what comes on top.
const BACK_OFF: Duration = Duration::from_millis(50);

/// Everything there is to measure about them.
pub(super) async fn apps(table: &mut Table) -> Result<()> {
    let bench = Bench::with(0, settings).await?;
    starts(table, &bench).await?;
    calls(table, &bench).await?;
    hooks(table, &bench).await?;
    crashes(table, &bench).await?;
    bench.host.native_apps().stop_all().await;
    drop(bench);
    many_at_once(table)
}

/// Apps may use their hooks, and are started again soon.
fn settings(settings: HostSettings) -> HostSettings {
    let allowed = "[local]\nallow = [\"hooks:*\"]\n".parse().unwrap_or_default();
    let policy = Policy::from_table(allowed, None).unwrap_or_else(|_| Policy::standard(None));
    let native = NativePace {
        wait_first: BACK_OFF,
        wait_max: BACK_OFF,
        restarts_max: CRASHES + 1,
        ..NativePace::default()
    };
    HostSettings { policy: Arc::new(policy), native, ..settings }
}

/// The folder of an app that echoes.
fn app(below: &Path, id: &str, name: &str, more: &Value) -> Result<PathBuf> {
    let folder = below.join("authors").join(id);
    fs::create_dir_all(&folder)?;
    let mut manifest = json!({ "id": id, "name": name, "version": "1.0.0", "provides": ["tool:echo"] });
    for (key, value) in more.as_object().into_iter().flatten() {
        manifest[key] = value.clone();
    }
    fs::write(folder.join("manifest.json"), manifest.to_string())?;
    let binary = std::env::current_exe()?.with_file_name("native_app");
    fs::copy(&binary, folder.join("binary")).with_context(|| format!("{}", binary.display()))?;
    Ok(folder)
}

async fn starts(table: &mut Table, bench: &Bench) -> Result<()> {
    let folder =
        NativeFolder::sideloaded(&app(bench.home.path(), "com.example.start", "Start", &json!({}))?)?;
    let apps = bench.host.native_apps();
    let mut times = Vec::new();
    for _ in 0..STARTS {
        let started = Instant::now();
        let state = apps.start(folder.clone()).await?;
        times.push(started.elapsed());
        anyhow::ensure!(state.phase == NativePhase::Running, "{state:?}");
        apps.stop("com.example.start").await?;
    }
    let value = milliseconds(percentile(&mut times, 50));
    table.at_most("native app, spawn to healthy and described, p50", "ms", value, 6.0);
    Ok(())
}

async fn calls(table: &mut Table, bench: &Bench) -> Result<()> {
    let folder = app(bench.home.path(), "com.example.calls", "Calls", &json!({}))?;
    bench.host.native_apps().start(NativeFolder::sideloaded(&folder)?).await?;
    let request = request();
    let mut times = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        let started = Instant::now();
        let outcome = bench.host.call("echo", &request).await?;
        times.push(started.elapsed());
        anyhow::ensure!(outcome.error.is_none(), "{:?}", outcome.error);
    }
    table.at_most("native tool through the host, p50", "µs", microseconds(percentile(&mut times, 50)), 100.0);
    table.at_most(
        "native tool through the host, p99",
        "µs",
        microseconds(percentile(&mut times, 99)),
        1000.0,
    );
    let started = Instant::now();
    let tasks: Vec<_> = (0..PARALLEL)
        .map(|_| {
            let (host, request) = (bench.host.clone(), request.clone());
            tokio::spawn(async move {
                for _ in 0..CALLS / 4 {
                    host.call("echo", &request).await?;
                }
                Ok::<(), roost_protocol::Failure>(())
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let rate = (PARALLEL * (CALLS / 4)) as f64 / started.elapsed().as_secs_f64();
    table.at_least("native tool, 16 callers of one app", "calls/s", rate, 20_000.0);
    bench.host.native_apps().stop("com.example.calls").await?;
    Ok(())
}

async fn hooks(table: &mut Table, bench: &Bench) -> Result<()> {
    const HOOK: &str = "message.post_receive";
    let apps = bench.host.native_apps();
    let payload = || json!({ "response_text": "x".repeat(1000) });
    let started = Instant::now();
    for _ in 0..CALLS {
        anyhow::ensure!(apps.at_hook(HOOK, payload).await.is_none(), "somebody takes part");
    }
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let each = started.elapsed().as_secs_f64() * 1e9 / CALLS as f64;
    table.at_most("hook point without subscribers", "ns", each, 100.0);
    let more = json!({ "provides": ["hooks"], "permissions": ["hook:*"] });
    let folder = app(bench.home.path(), "com.example.hooks", "Hooks", &more)?;
    apps.start(NativeFolder::sideloaded(&folder)?).await?;
    let mut times = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        let started = Instant::now();
        let made = apps.at_hook(HOOK, payload).await.context("nobody takes part")?;
        times.push(started.elapsed());
        anyhow::ensure!(
            made["response_text"].as_str().is_some_and(|text| text.ends_with("+Hooks")),
            "{made}"
        );
    }
    table.at_most("hook filter, 1 kB, p50", "µs", microseconds(percentile(&mut times, 50)), 120.0);
    apps.stop("com.example.hooks").await?;
    Ok(())
}

/// Killed from outside: how soon its tool is gone, and how soon it answers again beyond its back-off.
async fn crashes(table: &mut Table, bench: &Bench) -> Result<()> {
    const ID: &str = "com.example.crash";
    let folder = app(bench.home.path(), ID, "Crash", &json!({}))?;
    let apps = bench.host.native_apps();
    apps.start(NativeFolder::sideloaded(&folder)?).await?;
    let (mut gone, mut again) = (Vec::new(), Vec::new());
    for _ in 0..CRASHES {
        let pid = apps.state(ID)?.pid.context("it does not run")?;
        let pid = Pid::from_raw(i32::try_from(pid)?).context("no process")?;
        let killed = Instant::now();
        kill_process(pid, Signal::KILL)?;
        let has_tool = || bench.host.known_agents().iter().any(|agent| agent.name == "echo");
        while has_tool() {
            // tidy: sleep because how long it takes is what is measured, and a loop would take the processor from it
            tokio::time::sleep(Duration::from_micros(100)).await;
        }
        gone.push(killed.elapsed());
        while !has_tool() {
            // tidy: sleep because how long it takes is what is measured, and a loop would take the processor from it
            tokio::time::sleep(Duration::from_micros(100)).await;
        }
        again.push(killed.elapsed().saturating_sub(BACK_OFF));
    }
    table.at_most(
        "native app killed to its tool gone, p50",
        "ms",
        milliseconds(percentile(&mut gone, 50)),
        20.0,
    );
    let value = milliseconds(percentile(&mut again, 50));
    table.at_most("native app killed to running, beyond back-off", "ms", value, 20.0);
    apps.stop(ID).await?;
    Ok(())
}

/// The real program with many apps: until all of them answer, and how long `/health` takes meanwhile.
fn many_at_once(table: &mut Table) -> Result<()> {
    let home = tempfile::tempdir_in(std::env::current_exe()?.parent().context("no folder")?)?;
    fs::create_dir_all(home.path().join("native"))?;
    for index in 0..AT_ONCE {
        let id = format!("com.example.app{index}");
        let folder = app(home.path(), &id, &format!("tool echo{index}"), &json!({}))?;
        symlink(folder, home.path().join("native").join(id))?;
    }
    let started = Instant::now();
    let mut host = program(home.path())?
        .args(["up", "--port", "0"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()?;
    let mut line = String::new();
    BufReader::new(host.stdout.take().context("no output")?).read_line(&mut line)?;
    let address = line.trim().rsplit('/').next().context("no address")?.to_owned();
    let (mut slowest, mut asked) = (Duration::ZERO, 0);
    let all = loop {
        let begun = Instant::now();
        let answer = health(&address)?;
        asked += 1;
        slowest = slowest.max(begun.elapsed());
        if answer.matches("echo").count() >= AT_ONCE {
            break started.elapsed();
        }
        anyhow::ensure!(started.elapsed() < Duration::from_secs(60), "not all apps answer: {answer}");
    };
    let processes = descendants(host.id()).len();
    host.kill()?;
    host.wait()?;
    anyhow::ensure!(asked > 1 && processes >= AT_ONCE, "{asked} questions, {processes} processes");
    table.at_most("50 native apps, start of the host to all answer", "s", all.as_secs_f64(), 1.0);
    table.at_most("slowest /health meanwhile", "ms", milliseconds(slowest), 200.0);
    Ok(())
}

fn health(address: &str) -> Result<String> {
    let mut stream = std::net::TcpStream::connect(address)?;
    write!(stream, "GET /health HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}
