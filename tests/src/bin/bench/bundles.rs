//! What the gate costs: an ordinary bundle, and the worst that someone can send.

use super::{Table, milliseconds, percentile, program, status_kb, surface};
use anyhow::{Context as _, Result, ensure};
use roost_apps::{
    Arrival, BundleId, BundleReport, BundleSource, ContainerLimits, Files, NewApp, Publisher, Rules,
    Submission, look_at, new_app, read_zip, validate_bundle,
};
use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

const ROUNDS: usize = 200;
const HOSTILE_ROUNDS: usize = 5;
const MANY: u32 = 1_000_000;
const COMPARED: usize = 300;
const COMPARED_ROUNDS: usize = 9;

/// The file of the published validator (`lib_rapp.py` of its repository), where somebody has it: it is not ours to bring.
const PUBLISHED: &str = "ROOST_PUBLISHED_VALIDATOR";

/// Judges a zip as the published workflow does: one process each. Takes the zip and the validator.
const AS_PUBLISHED: &str = r"
import importlib.util, sys
known = importlib.util.spec_from_file_location('lib_rapp', sys.argv[2])
published = importlib.util.module_from_spec(known)
sys.modules['lib_rapp'] = published
known.loader.exec_module(published)
from pathlib import Path
import tempfile
with tempfile.TemporaryDirectory() as folder:
    judged = published.validate_zip(Path(sys.argv[1]).read_bytes(), extract_to=Path(folder))
assert judged.ok, judged.errors
";

/// Less than any validator in Python does: it has the same modules, and reads and parses what it would judge.
const PARSED_ONLY: &str = r"
import ast, hashlib, io, json, os, re, shutil, sys, zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any
with zipfile.ZipFile(io.BytesIO(Path(sys.argv[1]).read_bytes())) as bundle:
    for name in bundle.namelist():
        content = bundle.read(name)
        if name.endswith('.py'):
            ast.parse(content)
        if name.endswith('.json'):
            json.loads(content)
";

/// Ordinary and hostile bundles.
pub(super) fn validation(table: &mut Table) -> Result<()> {
    // First, while the memory of this program is still small.
    hostile(table)?;
    let zip = typical(0)?;
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let started = Instant::now();
        let report = judged(&zip);
        times.push(started.elapsed());
        ensure!(report.ok, "{:?}", report.errors);
    }
    table.at_most("validate a bundle of 50 kB, p50", "ms", milliseconds(percentile(&mut times, 50)), 3.0);
    table.at_most("validate a bundle of 50 kB, p99", "ms", milliseconds(percentile(&mut times, 99)), 6.0);
    compared(table)
}

/// The same bundles, by one `roost validate` and by Python, each started as its users start it.
#[expect(clippy::disallowed_methods, reason = "measures another program, which a variable may name")]
fn compared(table: &mut Table) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let paths: Vec<PathBuf> =
        (0..COMPARED).map(|number| folder.path().join(format!("{number}.zip"))).collect();
    for (number, path) in paths.iter().enumerate() {
        fs::write(path, typical(number)?)?;
    }
    let mut ours = Vec::new();
    for _ in 0..COMPARED_ROUNDS {
        let started = Instant::now();
        let ran = program(folder.path())?.arg("validate").args(&paths).output()?;
        ours.push(started.elapsed());
        ensure!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
    }
    let python = roost_runtime::find_program("python3", &surface().search_path).context("no Python")?;
    let published = std::env::var_os(PUBLISHED);
    let (script, what) = match published {
        Some(_) => (AS_PUBLISHED, "300 bundles, against the published validator"),
        None => (PARSED_ONLY, "300 bundles, against Python that only parses"),
    };
    let started = Instant::now();
    for path in &paths {
        let mut command = std::process::Command::new(&python);
        let ran = command.args(["-I", "-c", script]).arg(path).args(published.as_deref()).output()?;
        ensure!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    }
    let theirs = started.elapsed();
    let ours = percentile(&mut ours, 50);
    table.at_least(what, "times", theirs.as_secs_f64() / ours.as_secs_f64(), 100.0);
    Ok(())
}

fn hostile(table: &mut Table) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let many_path = folder.path().join("many.zip");
    let many = many_entries(u64::from(MANY));
    fs::write(&many_path, &many)?;
    let hidden = many_entries(10);
    let everything = ContainerLimits { archive_bytes_max: 1 << 30, ..ContainerLimits::BUNDLE };
    let worst = worst_case()?;
    let bomb = bomb();
    let mut longest = Duration::ZERO;
    let mut most_kb = 0;
    let mut measure = |what: &mut dyn FnMut() -> Result<()>| -> Result<()> {
        for _ in 0..HOSTILE_ROUNDS {
            // Makes the highest mark begin at what is used now.
            fs::write("/proc/self/clear_refs", "5")?;
            let before = status_kb(std::process::id(), "VmHWM:").context("no memory mark")?;
            let started = Instant::now();
            what()?;
            longest = longest.max(started.elapsed());
            let after = status_kb(std::process::id(), "VmHWM:").context("no memory mark")?;
            most_kb = most_kb.max(after.saturating_sub(before));
        }
        Ok(())
    };
    measure(&mut || {
        judged(&worst);
        Ok(())
    })?;
    measure(&mut || {
        ensure!(!judged(&bomb).ok, "a bomb passed");
        Ok(())
    })?;
    measure(&mut || {
        let Arrival::Zip(bytes) = look_at(&many_path).map_err(|failure| anyhow::anyhow!(failure.message))?
        else {
            anyhow::bail!("not taken for a zip");
        };
        ensure!(!judged(&bytes).ok, "a million entries passed");
        Ok(())
    })?;
    for bytes in [&many, &hidden] {
        measure(&mut || {
            ensure!(read_zip(bytes, &everything).is_err(), "a million entries passed");
            Ok(())
        })?;
    }
    table.at_most("validate hostile zips, longest", "ms", milliseconds(longest), 200.0);
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let most = most_kb as f64 / 1024.0;
    table.at_most("memory for hostile zips, most", "MiB", most, 64.0);
    Ok(())
}

fn judged(zip: &[u8]) -> BundleReport {
    validate_bundle(BundleSource::Zip(zip), &Submission::default(), Rules::Spec)
}

fn demo() -> Result<Files> {
    let app = NewApp {
        id: BundleId::parse("demo_app").context("an id")?,
        publisher: Publisher::parse("@demo").context("a publisher")?,
        name: "Demo".to_owned(),
        summary: "Counts.".to_owned(),
    };
    new_app(&app).map_err(|refused| anyhow::anyhow!("{refused:?}"))
}

/// A new app whose files have grown to what real ones have; no two numbers make the same.
fn typical(number: usize) -> Result<Vec<u8>> {
    let code = "\n\ndef step_{n}(values, *, factor=NUMBER):\n    \"\"\"Scales what is positive.\"\"\"\n    \
        return {key: value * factor for key, value in values.items() if value and value > 0}\n";
    let code = &code.replace("NUMBER", &number.to_string());
    let markup = "<section class=\"card\"><h2>Part {n}</h2><p>Some text that a page has.</p></section>\n";
    with_grown(code, 25_000, markup, 20_000, &[])
}

/// The most work that fits: 20 MB of files of which every one that is read is as large and dense as it may be.
fn worst_case() -> Result<Vec<u8>> {
    let dense = format!("{{\"z\": [{}1]}}", "{},".repeat(85_000));
    let more: Vec<(String, Vec<u8>)> = (0..4000)
        .map(|number| (format!("d{}/{number}", number % 50), vec![b'x'; 4500]))
        .chain([("index_entry.json".to_owned(), dense.into_bytes())])
        .collect();
    with_grown("\nx;x;x;x;x;x;x;x;x;x", 204_000, "<b>", 500_000, &more)
}

fn with_grown(
    code: &str,
    code_bytes: usize,
    markup: &str,
    page_bytes: usize,
    more: &[(String, Vec<u8>)],
) -> Result<Vec<u8>> {
    let mut contents: Vec<(String, Vec<u8>)> =
        demo()?.iter().map(|(path, content)| (path.to_owned(), content.to_vec())).collect();
    for (path, content) in &mut contents {
        let (piece, size) = if path.ends_with(".py") { (code, code_bytes) } else { (markup, page_bytes) };
        if path.ends_with(".py") || path.ends_with(".html") {
            for number in 0.. {
                let grown = piece.replace("{n}", &number.to_string());
                if content.len() + grown.len() > size {
                    break;
                }
                content.extend(grown.as_bytes());
            }
        }
    }
    for (path, content) in more {
        contents.retain(|(known, _)| known != path);
        contents.push((path.clone(), content.clone()));
    }
    let files = Files::from_contents(contents).map_err(|refused| anyhow::anyhow!("{refused:?}"))?;
    Ok(files.to_zip("demo_app"))
}

/// As many zeros as fit, said to be few.
fn bomb() -> Vec<u8> {
    let files = Files::from_contents([("zeros".to_owned(), vec![0; 256 << 20])]);
    let mut zip = files.map(|files| files.to_zip("demo_app")).unwrap_or_default();
    let directory = zip.windows(4).rposition(|part| part == b"PK\x01\x02").unwrap_or_default();
    for at in [22, directory + 24] {
        zip[at..at + 4].copy_from_slice(&(20_u32 << 20).saturating_sub(1).to_le_bytes());
    }
    zip
}

/// A zip of a million empty entries whose end tells of `told`.
fn many_entries(told: u64) -> Vec<u8> {
    let mut zip = Vec::new();
    let mut directory = Vec::new();
    for number in 0..MANY {
        let name = format!("{number:07}");
        let at = u32::try_from(zip.len()).unwrap_or_default();
        zip.extend(b"PK\x03\x04\x14\0");
        zip.extend([0; 20]);
        zip.extend([7, 0, 0, 0]);
        zip.extend(name.as_bytes());
        directory.extend(b"PK\x01\x02\x14\x03\x14\0");
        directory.extend([0; 20]);
        directory.extend([7, 0]);
        directory.extend([0; 12]);
        directory.extend(at.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let (start, size) = (zip.len() as u64, directory.len() as u64);
    zip.extend(directory);
    zip.extend(b"PK\x06\x06");
    zip.extend(44_u64.to_le_bytes());
    zip.extend([45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    for number in [told, told, size, start] {
        zip.extend(number.to_le_bytes());
    }
    zip.extend(b"PK\x06\x07\0\0\0\0");
    zip.extend((start + size).to_le_bytes());
    zip.extend([1, 0, 0, 0]);
    zip.extend(b"PK\x05\x06\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0");
    zip
}
