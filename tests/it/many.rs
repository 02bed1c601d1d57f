//! Many agents: hundreds of files of every shape are listed, loaded and run; a warm list starts nothing.

use roost_tests::{Expected, TestHome, generated_agents};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

const PYTHON: usize = 290;
const TYPESCRIPT: usize = 10;

#[test]
fn three_hundred_agents_of_every_shape_are_listed_loaded_and_run() {
    let home = TestHome::alone();
    let agents = generated_agents(PYTHON, TYPESCRIPT);
    for agent in &agents {
        home.write(&agent.file_name, &agent.source);
    }
    let cold = Instant::now();
    let listing = home.listing();
    let cold = cold.elapsed();
    let by_file: BTreeMap<(&str, &str), &Value> = listing
        .iter()
        .map(|listed| ((listed["file"].as_str().unwrap(), listed["name"].as_str().unwrap()), listed))
        .collect();
    for agent in &agents {
        let listed = by_file.get(&(agent.file_name.as_str(), agent.name.as_str()));
        let listed = listed.unwrap_or_else(|| panic!("{} is not listed as {}", agent.file_name, agent.name));
        match &agent.expected {
            Expected::IsRefused(reason) => assert_eq!(listed["reason"]["reason"], *reason, "{listed}"),
            _ => assert_eq!(listed["state"], "ready", "{listed}"),
        }
    }
    let warm = warm_listing_starts_no_process(home, &listing);
    eprintln!("many: {} files listed cold in {cold:?}, warm in {warm:?}", agents.len());
}

/// A folder without programs and an interpreter that does not exist: whatever had to be started would fail.
fn warm_listing_starts_no_process(home: TestHome, listing: &[Value]) -> Duration {
    let started = Instant::now();
    assert_eq!(home.listing(), listing);
    let warm = started.elapsed();
    let logs = || -> Vec<_> {
        let entries = std::fs::read_dir(home.root().join("logs")).unwrap().flatten();
        entries.map(|entry| (entry.path(), entry.metadata().unwrap().modified().unwrap())).collect()
    };
    let before = logs();
    // Files print while they load, so an untouched log is a file that did not run.
    assert!(!before.is_empty());
    assert_eq!(home.listing(), listing);
    assert_eq!(logs(), before);
    runs(&home, listing);
    warm
}

fn runs(home: &TestHome, listing: &[Value]) {
    let host = home.up();
    for agent in generated_agents(PYTHON, TYPESCRIPT) {
        match &agent.expected {
            Expected::Answers(text) => {
                assert_eq!(&host.output(&agent.name, &json!({})), text, "{}", agent.file_name)
            }
            Expected::CallFails(reason) => {
                assert_eq!(&host.failure(&agent.name, &json!({})), reason, "{}", agent.file_name)
            }
            Expected::IsRefused(_) => {}
        }
    }
    assert_eq!(host.listing(), listing);
}
