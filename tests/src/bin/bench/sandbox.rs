//! What confinement costs: at the start of a worker, in a call, and on the way to an allowed computer.

use super::{Bench, CALLS, COLD, Table, microseconds, milliseconds, percentile, request};
use anyhow::{Context as _, Result};
use roost_host::{Request, SandboxSettings};
use roost_protocol::{Lasting, Level};
use roost_runtime::Layer;
use serde_json::json;
use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpListener,
    time::{Duration, Instant},
};

/// Requests of one agent, in one call.
const REQUESTS: usize = 200;

/// A sandbox with nothing in it but processes and limits, to compare with.
fn nothing() -> SandboxSettings {
    SandboxSettings {
        required: Level::ProcessOnly,
        left_out: vec![Layer::Landlock, Layer::Seccomp, Layer::Namespaces],
    }
}

/// First calls of cold agents with and without the sandbox, in pairs: what the machine does meanwhile is in both.
pub(super) async fn worker_starts(table: &mut Table) -> Result<()> {
    let confined = Bench::new(COLD + 1).await?;
    let free = Bench::confined(COLD + 1, nothing()).await?;
    let request = request();
    confined.call(COLD, &request).await?;
    free.call(COLD, &request).await?;
    let mut more = Vec::new();
    for index in 0..COLD {
        let with = time_of(&confined, index, 1, &request).await?;
        let without = time_of(&free, index, 1, &request).await?;
        more.push(milliseconds(with) - milliseconds(without));
    }
    table.at_most("worker start, more in its sandbox, p50", "ms", median(more), 1.0);
    Ok(())
}

/// Warm calls with and without the sandbox, in pairs of short rounds.
pub(super) async fn warm_calls(table: &mut Table) -> Result<()> {
    const ROUNDS: usize = 100;
    let confined = Bench::new(1).await?;
    let free = Bench::confined(1, nothing()).await?;
    let request = request();
    let mut more = Vec::new();
    for _ in 0..ROUNDS {
        let with = time_of(&confined, 0, CALLS / ROUNDS, &request).await?;
        let without = time_of(&free, 0, CALLS / ROUNDS, &request).await?;
        more.push(100.0 * (microseconds(with) / microseconds(without) - 1.0));
    }
    table.at_most("warm perform(), more in its sandbox, p50", "%", median(more), 2.0);
    Ok(())
}

/// The median time of some calls of one agent.
async fn time_of(bench: &Bench, agent: usize, calls: usize, request: &Request) -> Result<Duration> {
    let mut times = Vec::with_capacity(calls);
    for _ in 0..calls {
        let started = Instant::now();
        bench.call(agent, request).await?;
        times.push(started.elapsed());
    }
    Ok(percentile(&mut times, 50))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Requests of an agent to a server on loopback: directly with `network:*`, and through the proxy by name.
pub(super) async fn proxied_requests(table: &mut Table) -> Result<()> {
    let port = serve_forever()?;
    let bench = Bench::new(0).await?;
    let mut medians = Vec::new();
    for (name, right) in [("Direct", "network:*".to_owned()), ("Named", format!("network:localhost:{port}"))]
    {
        let file = bench.home.path().join("agents").join(format!("{}_agent.py", name.to_lowercase()));
        fs::write(&file, asking_agent(name, &right, port))?;
        let app = file.file_name().and_then(|name| name.to_str()).context("no name")?;
        bench.host.grant(app, &[right.parse()?], Lasting::Always, "bench").await?;
        let request = Request::default();
        bench.host.call(name, &request).await?;
        let outcome = bench.host.call(name, &request).await?;
        anyhow::ensure!(outcome.error.is_none(), "{:?}", outcome.error);
        medians.push(outcome.output.parse::<f64>().with_context(|| outcome.output.clone())?);
    }
    table.at_most("proxied request, more than direct, p50", "ms", medians[1] - medians[0], 1.0);
    Ok(())
}

/// An agent that declares the right, asks the server many times, and says how long the median took.
fn asking_agent(name: &str, right: &str, port: u16) -> String {
    let rights = json!([right]);
    format!(
        "# /// script\n# [tool.roost]\n# rights = {rights}\n# ///\nimport time, urllib.request\n\
         from agents.basic_agent import BasicAgent\n\n\nclass {name}Agent(BasicAgent):\n    \
         def __init__(self):\n        self.name = '{name}'\n        \
         self.metadata = {{'name': self.name, 'description': 'Asks.', 'parameters': {{'type': 'object', 'properties': {{}}}}}}\n        \
         super().__init__(name=self.name, metadata=self.metadata)\n\n    \
         def perform(self, **kwargs):\n        times = []\n        \
         for _ in range({REQUESTS}):\n            started = time.perf_counter()\n            \
         urllib.request.urlopen('http://localhost:{port}/', timeout=5).read()\n            \
         times.append(time.perf_counter() - started)\n        \
         return str(sorted(times)[len(times) // 2] * 1000)\n"
    )
}

/// A server on a free port that answers every request alike, as long as the program runs.
fn serve_forever() -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            stream.set_read_timeout(Some(Duration::from_secs(5))).ok();
            let mut head = [0; 4096];
            if stream.read(&mut head).is_ok() {
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok").ok();
            }
        }
    });
    Ok(port)
}
