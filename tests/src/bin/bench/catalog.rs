//! Finding an app among ten thousand, and reading a catalog of that size.

use super::{Table, milliseconds, percentile};
use anyhow::Result;
use roost_apps::catalog::{Catalog, CatalogAddress, CatalogSource, Filters, JoinedCatalogs, LoadedSource};
use serde_json::{Value, json};
use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

const ENTRIES: usize = 10_000;
const ROUNDS: usize = 50;

/// Words that summaries are made of.
const WORDS: [&str; 12] = [
    "calendar",
    "weather",
    "reports",
    "meeting",
    "transcript",
    "dashboard",
    "invoice",
    "research",
    "garden",
    "translate",
    "pipeline",
    "customer",
];

pub(super) fn search(table: &mut Table) -> Result<()> {
    let bytes = document()?;
    let mut times = Vec::new();
    let mut catalog = Catalog::parse(&bytes)?;
    for _ in 0..5 {
        let started = Instant::now();
        catalog = Catalog::parse(&bytes)?;
        times.push(started.elapsed());
    }
    anyhow::ensure!(catalog.entries.len() == ENTRIES, "not every entry was read");
    table.at_most("catalog of 10,000 entries: read", "ms", milliseconds(percentile(&mut times, 50)), 500.0);
    let source =
        CatalogSource { id: "bench".to_owned(), address: CatalogAddress::Folder(PathBuf::from("/")) };
    let loaded = LoadedSource { source, catalog: Some(Arc::new(catalog)), fetched_at: None, failure: None };
    let joined = JoinedCatalogs::new(vec![loaded]);
    let mut times: Vec<Duration> = Vec::new();
    // One that fits few, one that fits many, one that fits none, and one of several words.
    for query in ["app_4711", "a", "nothing-like-this", "weather report customer"] {
        for _ in 0..ROUNDS {
            let started = Instant::now();
            std::hint::black_box(joined.search(query, &Filters::default()));
            times.push(started.elapsed());
        }
    }
    table.at_most(
        "catalog of 10,000 entries: search, longest of 200",
        "ms",
        milliseconds(percentile(&mut times, 100)),
        10.0,
    );
    Ok(())
}

fn document() -> Result<Vec<u8>> {
    let entries: Vec<Value> = (0..ENTRIES)
        .map(|number| {
            let word = |step: usize| WORDS[(number / 7 + number * step) % WORDS.len()];
            let summary: Vec<&str> = (1..40).map(word).collect();
            json!({
                "id": format!("app_{number}"), "name": format!("{} {}", word(1), word(5)), "version": "1.2.3",
                "publisher": format!("@publisher{}", number % 100), "summary": summary.join(" "),
                "category": "productivity", "tags": ["rapplication", word(2), word(3)], "license": "MIT",
                "quality_tier": "community", "singleton_filename": format!("app_{number}_agent.py"),
                "singleton_url": format!("https://store.example/apps/@p/app_{number}/singleton/a.py"),
                "singleton_sha256": "0".repeat(64), "ui_url": "https://store.example/ui/index.html",
            })
        })
        .collect();
    Ok(serde_json::to_vec(&json!({ "schema": "rapp-store/1.0", "name": "Bench", "rapplications": entries }))?)
}
