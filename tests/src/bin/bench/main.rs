//! The numbers Roost promises, measured on this machine: a table for people, `bench.json` for programs.
//!
//! A row has a limit; a value over it is marked and makes the program fail. Times are medians unless a row says
//! otherwise.
#![expect(clippy::print_stdout, reason = "the table is the answer")]

mod bundles; // what comes from outside, judged
mod catalog; // finding an app
mod chat; // turns through the whole program
mod gate; // decisions and what files ask for
mod install; // an app, from a catalog to its answer
mod native; // programs that answer gRPC
mod sandbox; // what confinement costs
mod workspace; // files with history

use anyhow::{Context as _, Result};
use roost_host::{
    Home, Host, HostSettings, ModeSettings, NoProgress, Policy, Request, SandboxSettings, Variables,
};
use roost_protocol::Limits;
use roost_runtime::{PoolSettings, Surface};
use roost_tests::status_kb;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

/// The allocator of `roost`: what is measured in this program is what happens there.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const CALLS: usize = 20_000;
const PARALLEL: usize = 16;
const KNOWN: usize = 350;
const IDLE: usize = 300;
const COLD: usize = 100;

#[tokio::main]
async fn main() -> Result<std::process::ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [bundles::ALONE, way, path] = words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        println!("{}", bundles::alone(way, Path::new(path))?);
        return Ok(std::process::ExitCode::SUCCESS);
    }
    // On a thread of the runtime, as every request of the server is.
    let table = tokio::spawn(measure()).await??;
    println!("{}", table.text());
    fs::write("bench.json", serde_json::to_vec_pretty(&table.json())?)?;
    Ok(std::process::ExitCode::from(u8::from(!table.rows.iter().all(Row::holds))))
}

/// All sections, or those named on the command line.
async fn measure() -> Result<Table> {
    let named: Vec<String> = std::env::args().skip(1).collect();
    let wanted = |section: &str| named.is_empty() || named.iter().any(|name| name == section);
    let mut table = Table::default();
    if wanted("bundles") {
        bundles::validation(&mut table)?;
    }
    if wanted("calls") {
        round_trips(&mut table).await?;
    }
    if wanted("cold") {
        cold_calls(&mut table).await?;
    }
    if wanted("idle") {
        idle_workers(&mut table).await?;
    }
    if wanted("known") {
        known_agents(&mut table)?;
    }
    if wanted("hot") {
        hot_reload(&mut table).await?;
    }
    if wanted("sandbox") {
        sandbox::worker_starts(&mut table).await?;
        sandbox::warm_calls(&mut table).await?;
    }
    if wanted("reach") {
        sandbox::proxied_requests(&mut table).await?;
    }
    if wanted("start") {
        chat::start(&mut table).await?;
    }
    if wanted("chat") {
        chat::turns(&mut table).await?;
    }
    if wanted("workspace") {
        workspace::files(&mut table).await?;
    }
    if wanted("gate") {
        gate::decisions(&mut table)?;
    }
    if wanted("asks") {
        gate::static_analysis(&mut table)?;
    }
    if wanted("catalog") {
        catalog::search(&mut table)?;
    }
    if wanted("install") {
        install::from_catalog(&mut table).await?;
    }
    if wanted("native") {
        native::apps(&mut table).await?;
    }
    Ok(table)
}

/// Warm calls through the whole host: one agent alone, then sixteen side by side.
async fn round_trips(table: &mut Table) -> Result<()> {
    let bench = Bench::new(PARALLEL).await?;
    let request = request();
    for index in 0..PARALLEL {
        bench.call(index, &request).await?;
    }
    let mut times = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        let started = Instant::now();
        bench.call(0, &request).await?;
        times.push(started.elapsed());
    }
    table.at_most("warm perform(), p50", "µs", microseconds(percentile(&mut times, 50)), 80.0);
    table.at_most("warm perform(), p99", "µs", microseconds(percentile(&mut times, 99)), 300.0);
    let started = Instant::now();
    let tasks: Vec<_> = (0..PARALLEL)
        .map(|index| {
            let (host, request) = (bench.host.clone(), request.clone());
            tokio::spawn(async move {
                for _ in 0..CALLS / 4 {
                    host.call(&name(index), &request).await?;
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
    table.at_least("16 workers", "calls/s", rate, 30_000.0);
    Ok(())
}

/// The first call of agents that are known but have no worker, with the zygote running.
async fn cold_calls(table: &mut Table) -> Result<()> {
    let bench = Bench::new(COLD + 1).await?;
    let request = request();
    bench.call(COLD, &request).await?;
    let mut times = Vec::new();
    for index in 0..COLD {
        let started = Instant::now();
        bench.call(index, &request).await?;
        times.push(started.elapsed());
    }
    table.at_most("first call of a cold agent, p50", "ms", milliseconds(percentile(&mut times, 50)), 8.0);
    Ok(())
}

/// Memory of many workers that wait, zygote included.
async fn idle_workers(table: &mut Table) -> Result<()> {
    let bench = Bench::new(IDLE).await?;
    let request = request();
    for index in 0..IDLE {
        bench.call(index, &request).await?;
    }
    let own = std::process::id();
    let kilobytes: u64 = descendants(own).iter().map(|pid| proportional_kb(*pid)).sum();
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    table.at_most("300 idle workers, together", "MB", kilobytes as f64 / 1024.0, 700.0);
    Ok(())
}

/// The real program with 350 agents: describing all, listing all, waiting with all.
fn known_agents(table: &mut Table) -> Result<()> {
    let home = tempfile::tempdir()?;
    write_agents(&home.path().join("agents"), KNOWN)?;
    let started = Instant::now();
    let listed = roost(home.path(), &["agents", "--json"])?;
    let cold = started.elapsed();
    anyhow::ensure!(
        listed["agents"].as_array().is_some_and(|agents| agents.len() == KNOWN),
        "not all agents are listed"
    );
    table.at_most("350 agents described, cold cache", "s", cold.as_secs_f64(), 8.0);
    let mut times = Vec::new();
    for _ in 0..21 {
        let started = Instant::now();
        roost(home.path(), &["agents", "--json"])?;
        times.push(started.elapsed());
    }
    table.at_most("350 agents listed, warm cache", "ms", milliseconds(percentile(&mut times, 50)), 100.0);
    let mut host = start_host(home.path())?;
    let resident = status_kb(host.id(), "VmRSS:").context("read the host's memory")?;
    let children = descendants(host.id()).len();
    host.kill()?;
    host.wait()?;
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    table.at_most("idle host with 350 known agents", "MB", resident as f64 / 1024.0, 60.0);
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    table.at_most("its agent processes", "", children as f64, 0.0);
    Ok(())
}

/// From the save of a file to an answer of the new code.
async fn hot_reload(table: &mut Table) -> Result<()> {
    let bench = Bench::new(1).await?;
    let mut times = Vec::new();
    for generation in 0..50 {
        let text = source(0).replace("generation = 0", &format!("generation = {generation}"));
        fs::write(bench.home.path().join("agents").join(file_name(0)), text)?;
        let started = Instant::now();
        let outcome = bench.host.call(&name(0), &request()).await?;
        times.push(started.elapsed());
        let answer: Value = serde_json::from_str(&outcome.output)?;
        anyhow::ensure!(answer["generation"] == generation, "an old version answered");
    }
    table.at_most(
        "saved file to answer of the new code, p50",
        "ms",
        milliseconds(percentile(&mut times, 50)),
        100.0,
    );
    Ok(())
}

/// A host on a temporary home with agents that are already described.
struct Bench {
    home: tempfile::TempDir,
    host: Host,
}

impl Bench {
    async fn new(agents: usize) -> Result<Self> {
        Self::confined(agents, SandboxSettings::default()).await
    }

    async fn confined(agents: usize, sandbox: SandboxSettings) -> Result<Self> {
        let settings = |settings| HostSettings { sandbox, ..settings };
        Self::with(agents, settings).await
    }

    async fn with(agents: usize, change: impl FnOnce(HostSettings) -> HostSettings) -> Result<Self> {
        // Not below /tmp, where an agent has a folder of its own.
        let home = tempfile::tempdir_in(std::env::current_exe()?.parent().context("no folder")?)?;
        write_agents(&home.path().join("agents"), agents)?;
        let settings = HostSettings {
            home: Home::new(home.path().to_owned(), None),
            surface: surface(),
            pool: PoolSettings::default(),
            environment: BTreeMap::new(),
            working_directory: home.path().to_owned(),
            sandbox: SandboxSettings::default(),
            policy: Arc::new(Policy::standard(None)),
            variables: Variables::default(),
            limits: Limits::default(),
            agents: BTreeMap::new(),
            models: roost_host::chat::ModelSettings::default(),
            tracker: None,
            pinned_agents: Vec::new(),
            modes: ModeSettings::default(),
            store: roost_host::StoreSettings::default(),
            catalogs: roost_host::catalogs::CatalogSettings::default(),
            apps: roost_host::library::AppSettings::default(),
            native: roost_host::native::NativePace::default(),
        };
        let host = Host::open(change(settings)).await?;
        host.agents(&NoProgress).await?;
        Ok(Self { home, host })
    }

    async fn call(&self, index: usize, request: &Request) -> Result<()> {
        let outcome = self.host.call(&name(index), request).await?;
        anyhow::ensure!(outcome.error.is_none(), "{:?}", outcome.error);
        Ok(())
    }
}

fn name(index: usize) -> String {
    format!("Echo{index}")
}

fn file_name(index: usize) -> String {
    format!("echo{index}_agent.py")
}

fn source(index: usize) -> String {
    format!(
        "import json\nfrom agents.basic_agent import BasicAgent\ngeneration = 0\n\n\n\
         class Echo{index}Agent(BasicAgent):\n    def __init__(self):\n        self.name = 'Echo{index}'\n        \
         self.metadata = {{'name': self.name, 'description': 'Says what it hears, number {index}.', 'parameters': \
         {{'type': 'object', 'properties': {{'text': {{'type': 'string', 'description': 'What to say'}}}}, 'required': []}}}}\n        \
         super().__init__(name=self.name, metadata=self.metadata)\n\n    def perform(self, **kwargs):\n        \
         return json.dumps({{'text': kwargs.get('text'), 'generation': generation}})\n"
    )
}

fn write_agents(folder: &Path, count: usize) -> Result<()> {
    fs::create_dir_all(folder)?;
    for index in 0..count {
        fs::write(folder.join(file_name(index)), source(index))?;
    }
    Ok(())
}

/// Arguments of about a hundred bytes of JSON.
fn request() -> Request {
    let arguments = json!({ "text": "x".repeat(88) });
    Request { arguments: arguments.as_object().cloned().unwrap_or_default(), ..Request::default() }
}

/// The same programs the real host would find.
#[expect(clippy::disallowed_methods, reason = "a program of its own, with settings of its own")]
fn surface() -> Surface {
    Surface {
        search_path: std::env::var_os("PATH")
            .map(|path| std::env::split_paths(&path).collect())
            .unwrap_or_default(),
        user_home: std::env::var_os("HOME").map(PathBuf::from),
        python: std::env::var_os("ROOST_PYTHON").map(PathBuf::from),
        ..Surface::default()
    }
}

#[expect(clippy::disallowed_methods, reason = "measures the real program")]
fn program(home: &Path) -> Result<std::process::Command> {
    let program = std::env::current_exe()?.with_file_name("roost");
    anyhow::ensure!(program.is_file(), "{} is not built; use `make bench`", program.display());
    let mut command = std::process::Command::new(program);
    command.env("ROOST_HOME", home).stdin(std::process::Stdio::null());
    Ok(command)
}

fn roost(home: &Path, arguments: &[&str]) -> Result<Value> {
    let output = program(home)?.args(arguments).output()?;
    anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Starts the host and waits until it knows its agents.
fn start_host(home: &Path) -> Result<std::process::Child> {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    let mut host = program(home)?
        .args(["up", "--port", "0"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()?;
    let mut line = String::new();
    BufReader::new(host.stdout.take().context("no output")?).read_line(&mut line)?;
    let address = line.trim().rsplit('/').next().context("no address")?.to_owned();
    let mut stream = std::net::TcpStream::connect(&address)?;
    write!(stream, "GET /v1/agents HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    anyhow::ensure!(answer.starts_with("HTTP/1.1 200"), "the host does not answer");
    Ok(host)
}

fn descendants(pid: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    for task in tasks {
        let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        for child in children.split_whitespace().filter_map(|text| text.parse().ok()) {
            found.push(child);
            found.extend(descendants(child));
        }
    }
    found
}

fn proportional_kb(pid: u32) -> u64 {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = rollup.lines().find(|line| line.starts_with("Pss:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|text| text.parse().ok()).unwrap_or_default()
}

fn percentile(times: &mut [Duration], percent: usize) -> Duration {
    times.sort_unstable();
    times[(times.len() * percent / 100).min(times.len() - 1)]
}

fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[derive(Default)]
struct Table {
    rows: Vec<Row>,
}

struct Row {
    what: &'static str,
    unit: &'static str,
    value: f64,
    limit: f64,
    at_least: bool,
}

impl Row {
    fn holds(&self) -> bool {
        if self.at_least { self.value >= self.limit } else { self.value <= self.limit }
    }
}

impl Table {
    fn at_most(&mut self, what: &'static str, unit: &'static str, value: f64, limit: f64) {
        self.rows.push(Row { what, unit, value, limit, at_least: false });
    }

    fn at_least(&mut self, what: &'static str, unit: &'static str, value: f64, limit: f64) {
        self.rows.push(Row { what, unit, value, limit, at_least: true });
    }

    fn text(&self) -> String {
        let mut text = format!("{:44} {:>12} {:>14}", "what", "measured", "limit");
        for row in &self.rows {
            let sign = if row.at_least { ">=" } else { "<=" };
            let mark = if row.holds() { "ok" } else { "OVER" };
            let limit = format!("{sign} {}", row.limit);
            write!(text, "\n{:44} {:>12.2} {limit:>14}  {:8}{mark}", row.what, row.value, row.unit).ok();
        }
        text
    }

    fn json(&self) -> Value {
        let rows: Vec<Value> = self
            .rows
            .iter()
            .map(|row| {
                let kind = if row.at_least { "at_least" } else { "at_most" };
                json!({ "what": row.what, "unit": row.unit, "value": row.value, kind: row.limit, "holds": row.holds() })
            })
            .collect();
        json!({ "rows": rows })
    }
}
