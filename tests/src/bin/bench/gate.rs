//! What deciding costs: one decision with its row in the log, and finding out what a file asks for.

use super::{Table, milliseconds, percentile};
use anyhow::Result;
use roost_apps::PythonVersion;
use roost_host::{Caller, Decision, Gate, Policy};
use roost_protocol::{AppId, Ask, Asks, Digest, Evidence, Language, Origin, Right};
use std::time::{Duration, Instant};

const DECISIONS: u32 = 100_000;

/// Decisions, half of them equal and half of them each about something else, with the writing of their rows.
pub(super) fn decisions(table: &mut Table) -> Result<()> {
    let home = tempfile::tempdir()?;
    let gate = Gate::open(home.path(), Policy::standard(None))?;
    let caller =
        Caller { app: AppId::new("bench_agent.py"), digest: Digest::of(b"bench"), origin: Origin::Local };
    let ask = |right: &str| -> Result<Ask> {
        Ok(Ask { right: right.parse()?, evidence: Evidence::Source, line: None, original: None })
    };
    let asks = Asks { declared: true, asks: vec![ask("model")?, ask("network:*")?] };
    let rights: Vec<Right> = (0..DECISIONS / 2)
        .map(|number| format!("network:host{number}.example").parse())
        .collect::<Result<_, _>>()?;
    let model: Right = "model".parse()?;
    let started = Instant::now();
    for right in &rights {
        let allowed = gate.decide(&caller, &asks, &model);
        anyhow::ensure!(matches!(allowed, Decision::Allowed { .. }), "{allowed:?}");
        let denied = gate.decide(&caller, &asks, right);
        anyhow::ensure!(matches!(denied, Decision::Denied { .. }), "{denied:?}");
    }
    gate.flush()?;
    let each = started.elapsed().as_secs_f64() * 1e6 / f64::from(DECISIONS);
    table.at_most("gate decision with its audit row, on disk", "µs", each, 20.0);
    let mut times: Vec<Duration> = Vec::new();
    for _ in 0..50 {
        let started = Instant::now();
        anyhow::ensure!(matches!(gate.decide(&caller, &asks, &model), Decision::Allowed { .. }), "denied");
        gate.flush()?;
        times.push(started.elapsed());
    }
    table.at_most(
        "audit row until it is on disk, longest of 50",
        "ms",
        milliseconds(percentile(&mut times, 100)),
        100.0,
    );
    Ok(())
}

/// Files read for what they ask, in a second.
pub(super) fn static_analysis(table: &mut Table) -> Result<()> {
    let source = include_str!("../../../fixtures/registry/web_call_requests_agent.py");
    let body = "\n\ndef helper(values):\n    return [value * 2 for value in values if value]\n".repeat(100);
    let file = format!("{source}{body}");
    let version = PythonVersion { major: 3, minor: 12 };
    let files = 2_000;
    let started = Instant::now();
    for _ in 0..files {
        let asks = roost_apps::asks(Language::Python, file.as_bytes(), version)?;
        anyhow::ensure!(!asks.asks.is_empty(), "nothing was found");
    }
    let rate = f64::from(files) / started.elapsed().as_secs_f64();
    table.at_least("files read for what they ask", "files/s", rate, 2_000.0);
    Ok(())
}
