//! The bodies of the fuzz targets for the gate, driven by random changes of good input for a bounded time, on the
//! stable toolchain: `fuzz [SECONDS] [TARGET…]`. An input that makes one panic is written to `fuzz-TARGET.bin`.
//!
//! Knows nothing of coverage; `cargo fuzz` with the same bodies does.
#![expect(clippy::print_stdout, reason = "what was run is the answer")]

#[path = "../../../../fuzz/bodies/bundle_manifest.rs"]
mod bundle_manifest;
#[path = "../../../../fuzz/bodies/bundle_source.rs"]
mod bundle_source;
#[path = "../../../../fuzz/bodies/container.rs"]
mod container;
#[path = "../../../../fuzz/bodies/native_package.rs"]
mod native_package;
mod native_seeds; // what native packages and their lists look like

use anyhow::{Context as _, Result, bail};
use roost_apps::Files;
use std::time::{Duration, Instant};

const SECONDS: u64 = 5;

/// The same every time: a failure of the machine that checks can be seen on another.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// Words of the formats, which random bytes would not meet.
const WORDS: [&[u8]; 22] = [
    b"PK\x01\x02",
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"PK\x06\x06",
    b"PK\x06\x07",
    b"PK\x07\x08",
    b"../",
    b"/",
    b"\\",
    b"\"",
    b"{",
    b"}",
    b"[",
    b"(",
    b"null",
    b"NaN",
    b"\\ud800",
    b"private",
    b"class A",
    b"f'{",
    b"lambda ",
    b"\n ",
];

struct Target {
    name: &'static str,
    run: fn(&[u8]),
    seeds: Vec<Vec<u8>>,
}

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let seconds = words.iter().find_map(|word| word.parse().ok()).unwrap_or(SECONDS);
    let named: Vec<&String> = words.iter().filter(|word| word.parse::<u64>().is_err()).collect();
    for target in targets()? {
        if named.is_empty() || named.iter().any(|name| *name == target.name) {
            drive(&target, Duration::from_secs(seconds))?;
        }
    }
    Ok(())
}

fn targets() -> Result<Vec<Target>> {
    let cases = "crates/apps/tests/gate/bundles.json";
    let text = include_str!("../../../../crates/apps/tests/gate/bundles.json");
    let bundles: serde_json::Value = serde_json::from_str(text).context(cases)?;
    let mut manifests = Vec::new();
    let mut sources = Vec::new();
    let mut zips = Vec::new();
    for bundle in bundles.as_object().context(cases)?.values() {
        let manifest = bundle["manifest"].to_string().into_bytes();
        let mut contents = vec![
            ("manifest.json".to_owned(), manifest.clone()),
            ("index_entry.json".to_owned(), bundle["entry"].to_string().into_bytes()),
        ];
        for (path, content) in bundle["files"].as_object().context(cases)? {
            let content = content.as_str().unwrap_or_default().as_bytes().to_vec();
            if path.ends_with(".py") {
                sources.push(content.clone());
            }
            contents.push((path.clone(), content));
        }
        manifests.push(manifest);
        let files = Files::from_contents(contents).map_err(|refused| anyhow::anyhow!("{refused:?}"))?;
        zips.push(files.to_zip("demo_app"));
    }
    Ok(vec![
        Target { name: "container", run: container::run, seeds: zips },
        Target { name: "bundle_manifest", run: bundle_manifest::run, seeds: manifests },
        Target { name: "bundle_source", run: bundle_source::run, seeds: sources },
        Target { name: "native_package", run: native_package::run, seeds: native_seeds::seeds()? },
    ])
}

fn drive(target: &Target, time: Duration) -> Result<()> {
    let mut random = Random(SEED);
    let started = Instant::now();
    let mut inputs = 0_u64;
    while started.elapsed() < time {
        let input = random.changed(&target.seeds);
        inputs += 1;
        if std::panic::catch_unwind(|| (target.run)(&input)).is_err() {
            let path = format!("fuzz-{}.bin", target.name);
            std::fs::write(&path, &input).with_context(|| format!("write {path}"))?;
            bail!("{} panicked at input {inputs}, which is in {path}", target.name);
        }
    }
    println!("{}: {inputs} inputs in {} s", target.name, time.as_secs());
    Ok(())
}

/// Numbers that only have to differ (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap_or(0) % below.max(1)
    }

    /// One of the seeds with one to eight changes.
    fn changed(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut input = seeds[self.next(seeds.len())].clone();
        for _ in 0..=self.next(8) {
            let at = self.next(input.len() + 1);
            match self.next(7) {
                0 | 1 if at < input.len() => input[at] = self.next(256).to_le_bytes()[0],
                2 if at < input.len() => input[at] ^= 1 << self.next(8),
                3 => drop(input.splice(at..at, WORDS[self.next(WORDS.len())].iter().copied())),
                4 => {
                    let end = (at + self.next(40)).min(input.len());
                    input.drain(at..end);
                }
                5 => {
                    let end = (at + self.next(60)).min(input.len());
                    let part = input[at..end].to_vec();
                    let to = self.next(input.len() + 1);
                    input.splice(to..to, part);
                }
                _ => {
                    let value = [0, 1, 0x7f, 0x80, 0xff][self.next(5)];
                    let end = (at + 4).min(input.len());
                    input[at..end].fill(value);
                }
            }
        }
        input
    }
}
