//! What the gate costs: an ordinary bundle, and the worst that someone can send.

use super::{Table, milliseconds, percentile, program, surface};
use anyhow::{Context as _, Result, bail, ensure};
use roost_apps::{
    Arrival, BundleId, BundleReport, BundleSource, ContainerLimits, Files, NewApp, Publisher, Rules,
    Submission, look_at, new_app, read_zip, validate_bundle,
};
use roost_tests::status_kb;
use std::{
    fs,
    path::{Path, PathBuf},
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

/// The word on the command line behind which one hostile zip is judged.
pub(super) const ALONE: &str = "hostile-alone";

/// The hostile zips, each judged by a program that did nothing before: memory that lies ready would not be counted.
#[expect(clippy::disallowed_methods, reason = "starts this program itself")]
fn hostile(table: &mut Table) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut longest = Duration::ZERO;
    let mut most_kb = 0_u32;
    for (way, zip) in [
        ("worst", worst_case()?),
        ("refused", bomb()),
        ("arrives", many_entries(u64::from(MANY))),
        ("unreadable", many_entries(u64::from(MANY))),
        ("unreadable", many_entries(10)),
    ] {
        let path = folder.path().join("hostile.zip");
        fs::write(&path, zip)?;
        let ran = std::process::Command::new(std::env::current_exe()?)
            .args([ALONE, way])
            .arg(&path)
            .stderr(std::process::Stdio::inherit())
            .output()?;
        ensure!(ran.status.success(), "a hostile zip was not judged");
        let told = String::from_utf8(ran.stdout)?;
        let (micros, kb) = told.trim().split_once(' ').context("no answer about a hostile zip")?;
        longest = longest.max(Duration::from_micros(micros.parse()?));
        most_kb = most_kb.max(kb.parse()?);
    }
    table.at_most("validate hostile zips, longest", "ms", milliseconds(longest), 200.0);
    table.at_most("memory for hostile zips, most", "MiB", f64::from(most_kb) / 1024.0, 64.0);
    Ok(())
}

/// The longest time in microseconds, and the most kilobytes, that one hostile zip takes beyond its own bytes.
pub(super) fn alone(way: &str, path: &Path) -> Result<String> {
    let bytes = fs::read(path)?;
    // Makes the highest mark begin at what is used now.
    fs::write("/proc/self/clear_refs", "5")?;
    let mark = || status_kb(std::process::id(), "VmHWM:").context("no memory mark");
    let before = mark()?;
    let mut longest = Duration::ZERO;
    for _ in 0..HOSTILE_ROUNDS {
        let started = Instant::now();
        judge_hostile(way, path, &bytes)?;
        longest = longest.max(started.elapsed());
    }
    Ok(format!("{} {}", longest.as_micros(), mark()? - before))
}

fn judge_hostile(way: &str, path: &Path, bytes: &[u8]) -> Result<()> {
    let passes = match way {
        "worst" => {
            judged(bytes);
            false
        }
        "refused" => judged(bytes).ok,
        "arrives" => {
            let found = look_at(path).map_err(|failure| anyhow::anyhow!(failure.message))?;
            let Arrival::Zip(bytes) = found else { bail!("not taken for a zip") };
            judged(&bytes).ok
        }
        "unreadable" => {
            let everything = ContainerLimits { archive_bytes_max: 1 << 30, ..ContainerLimits::BUNDLE };
            read_zip(bytes, &everything).is_ok()
        }
        _ => bail!("no way to judge a zip is called {way}"),
    };
    ensure!(!passes, "a hostile zip passed");
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
