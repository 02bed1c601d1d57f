//! Installing an app of a megabyte from a catalog on this disk, until its agent answered in its sandbox.

use super::{Bench, Table, milliseconds, percentile};
use anyhow::Result;
use roost_host::{
    catalogs::{EntryName, Position},
    library::{Choice, InstallSource},
};
use roost_protocol::Digest;
use serde_json::json;
use std::{
    fs,
    time::{Duration, Instant},
};

const ROUNDS: usize = 15;
const APP_BYTES: usize = 1 << 20;

const AGENT: &str = "from agents.basic_agent import BasicAgent


class TeaAgent(BasicAgent):
    def __init__(self):
        self.name = 'Tea'
        self.metadata = {'name': 'Tea', 'description': 'Tea.', 'parameters': {'type': 'object', 'properties': {}}}
        super().__init__(self.name, self.metadata)

    def perform(self, **kwargs):
        return 'tea'
";

pub(super) async fn from_catalog(table: &mut Table) -> Result<()> {
    let bench = Bench::new(1).await?;
    let store = tempfile::tempdir()?;
    let page = format!("<p>{}", "tea ".repeat(APP_BYTES / 4));
    fs::write(store.path().join("tea_agent.py"), AGENT)?;
    fs::write(store.path().join("index.html"), &page)?;
    let entry = json!({
        "id": "tea", "name": "Tea", "version": "1.0.0", "publisher": "@ada", "summary": "Tea.",
        "singleton_url": "tea_agent.py", "singleton_sha256": Digest::of(AGENT.as_bytes()),
        "ui_url": "index.html", "ui_sha256": Digest::of(page.as_bytes()),
    });
    let index = json!({ "schema": "rapp-store/1.0", "name": "Bench", "rapplications": [entry] });
    fs::write(store.path().join("index.json"), index.to_string())?;
    let address = store.path().display().to_string();
    bench.host.catalogs()?.add(&address, Some("bench"), Position::First).await?;
    // The other one cannot be reached from here, and is not what is measured.
    bench.host.catalogs()?.remove("official")?;
    let library = bench.host.library();
    let source = InstallSource::Entry(EntryName::parse("@ada/tea")?);
    let mut times: Vec<Duration> = Vec::new();
    for _ in 0..ROUNDS {
        let started = Instant::now();
        let installed = library.install(&source, None, &Choice::Policy, "bench").await?;
        times.push(started.elapsed());
        anyhow::ensure!(installed.app.agents == ["Tea"], "{:?}", installed.app);
        library.remove("tea").await?;
    }
    table.at_most(
        "install of 1 MB from a catalog on this disk, to answered",
        "ms",
        milliseconds(percentile(&mut times, 50)),
        300.0,
    );
    Ok(())
}
