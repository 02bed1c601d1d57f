//! Chat through the real program, with a model on loopback that answers at once and one tool call per turn.
//!
//! The model and the clients share the machine with the host: the numbers are those of all three together.

use crate::{Table, file_name, milliseconds, name, percentile, program, source, write_agents};
use anyhow::{Context as _, Result};
use roost_tests::{KeepAlive, ModelServer, status_kb};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Stdio},
    time::{Duration, Instant},
};

const KNOWN: usize = 350;
const FEW: usize = 10;
const CLIENTS: usize = 16;
const TURNS: usize = 6000;
const ALONE: usize = 1500;

/// Descriptions of the length that registries have.
const PADDING: &str = " It takes the text as it is, looks at every word of it, keeps what matters and returns it in a form that other agents can read, with the signals they need.";

pub(crate) async fn start(table: &mut Table) -> Result<()> {
    let home = home(KNOWN)?;
    // The first start describes them all.
    drop(Host::start(home.path(), &[], KNOWN).await?);
    let mut times = Vec::new();
    for _ in 0..11 {
        let started = Instant::now();
        let host = Host::start(home.path(), &[], KNOWN).await?;
        times.push(started.elapsed());
        drop(host);
    }
    table.at_most(
        "start to /health, 350 agents known, p50",
        "ms",
        milliseconds(percentile(&mut times, 50)),
        100.0,
    );
    let host = Host::start(home.path(), &[], KNOWN).await?;
    let mut client = KeepAlive::connect(host.port).await?;
    let mut times = Vec::new();
    for _ in 0..5000 {
        let started = Instant::now();
        client.get("/health").await?;
        times.push(started.elapsed());
    }
    table.at_most("/health, 350 agents, p99", "ms", milliseconds(percentile(&mut times, 99)), 1.0);
    Ok(())
}

pub(crate) async fn turns(table: &mut Table) -> Result<()> {
    let server = ModelServer::new();
    let address = server.base_url();
    let model = [("OPENAI_BASE_URL", address.as_str()), ("OPENAI_MODEL", "scripted")];
    let few = home(FEW)?;
    let host = Host::start(few.path(), &model, FEW).await?;
    let mut client = KeepAlive::connect(host.port).await?;
    for index in 0..FEW {
        turn(&mut client, index).await?;
    }
    let mut times = Vec::new();
    for _ in 0..ALONE {
        let started = Instant::now();
        turn(&mut client, 0).await?;
        times.push(started.elapsed());
    }
    table.at_most("/chat, 10 agents, 1 client, p50", "ms", milliseconds(percentile(&mut times, 50)), 1.5);
    let rate = many(host.port, FEW, TURNS).await?;
    table.at_least("/chat, 10 agents, 16 clients", "turns/s", rate, 1500.0);
    let early = host.resident_mb()?;
    many(host.port, FEW, 10_000 - TURNS).await?;
    let late = host.resident_mb()?;
    table.at_most("host after 10 000 turns", "MB", late, 100.0);
    table.at_most("of that, since the first 6000", "MB", late - early, 5.0);
    drop(host);
    let all = home(KNOWN)?;
    let host = Host::start(all.path(), &model, KNOWN).await?;
    many(host.port, FEW, 200).await?;
    let rate = many(host.port, FEW, TURNS / 2).await?;
    table.at_least("/chat, 350 agents, 16 clients", "turns/s", rate, 1000.0);
    Ok(())
}

/// Turns per second of sixteen clients, each with a connection of its own.
async fn many(port: u16, agents: usize, turns: usize) -> Result<f64> {
    let started = Instant::now();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|index| {
            tokio::spawn(async move {
                let mut client = KeepAlive::connect(port).await?;
                for _ in 0..turns / CLIENTS {
                    turn(&mut client, index % agents).await?;
                }
                anyhow::Ok(())
            })
        })
        .collect();
    for client in clients {
        client.await??;
    }
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let rate = (turns / CLIENTS * CLIENTS) as f64 / started.elapsed().as_secs_f64();
    Ok(rate)
}

async fn turn(client: &mut KeepAlive, agent: usize) -> Result<()> {
    let message = format!("call {} {{\"text\": \"hello\"}}", name(agent));
    let (status, body) = client.post("/chat", &json!({ "user_input": message })).await?;
    let answer: Value = serde_json::from_slice(&body)?;
    let said = answer["response"].as_str().unwrap_or_default();
    anyhow::ensure!(
        status == 200 && said.starts_with("tools said: {\"text\": \"hello\""),
        "{status}: {answer}"
    );
    Ok(())
}

fn home(agents: usize) -> Result<tempfile::TempDir> {
    let home = tempfile::tempdir_in(std::env::current_exe()?.parent().context("no folder")?)?;
    let folder = home.path().join("agents");
    write_agents(&folder, agents)?;
    for index in 0..agents {
        let text = source(index).replace(&format!("number {index}."), &format!("number {index}.{PADDING}"));
        fs::write(folder.join(file_name(index)), text)?;
    }
    Ok(home)
}

/// The real program in the background.
pub(crate) struct Host {
    process: Child,
    pub(crate) port: u16,
}

impl Host {
    /// Starts it and waits until it knows so many agents.
    pub(crate) async fn start(home: &Path, variables: &[(&str, &str)], agents: usize) -> Result<Self> {
        let mut command = program(home)?;
        for name in ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GITHUB_TOKEN", "AZURE_OPENAI_ENDPOINT"] {
            command.env_remove(name);
        }
        command.envs(variables.iter().copied());
        let mut process =
            command.args(["up", "--port", "0"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let mut line = String::new();
        BufReader::new(process.stdout.take().context("no output")?).read_line(&mut line)?;
        let port = line.trim().rsplit(':').next().and_then(|port| port.parse().ok()).context("no port")?;
        let host = Self { process, port };
        let mut client = KeepAlive::connect(port).await?;
        let deadline = Instant::now() + Duration::from_secs(60);
        while Instant::now() < deadline {
            let (status, body) = client.get("/health").await?;
            let health: Value = serde_json::from_slice(&body)?;
            if status == 200 && health["agents"].as_array().is_some_and(|known| known.len() == agents) {
                return Ok(host);
            }
        }
        anyhow::bail!("the host does not know {agents} agents within a minute")
    }

    fn resident_mb(&self) -> Result<f64> {
        let kilobytes = status_kb(self.process.id(), "VmRSS:").context("read the host's memory")?;
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        Ok(kilobytes as f64 / 1024.0)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // Asked rather than killed: what it knows of the agents is saved.
        if let Some(pid) = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw) {
            kill_process(pid, Signal::TERM).ok();
        }
        self.process.wait().ok();
    }
}
