//! Every check of the repository, in order, ending at the first that fails.
//!
//! `make test` and CI run the same list. All steps share one target folder and one set of flags, so that no
//! step rebuilds what another has built.

use crate::{repository::Repository, tidy};
use anyhow::{Context as _, Result, bail};
use std::{
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

/// Where the tests of the Python runner are.
const PYTHON_TESTS: &str = "runners/python/tests";

/// Where the tests of the TypeScript runner are.
const TYPESCRIPT_TESTS: &str = "runners/typescript/tests";

/// Where the stories of the page are.
const BROWSER_TESTS: &str = "tests/browser";

/// Where the program for local models is built: its workspace has a lock file of its own.
const LOCAL_MODEL_TARGET: &str = "target/local-model";

/// The steps, cheapest first.
const STEPS: &[Step] = &[
    Step { name: "fmt", run: fmt },
    Step { name: "tidy", run: tidy_checks },
    Step { name: "clippy", run: clippy },
    Step { name: "python", run: python },
    Step { name: "typescript", run: typescript },
    Step { name: "web", run: web },
    Step { name: "test", run: test },
    Step { name: "browser", run: browser },
    Step { name: "fuzz", run: fuzz },
    Step { name: "local model", run: local_model },
    Step { name: "docs", run: docs },
    Step { name: "deny", run: deny },
];

struct Step {
    name: &'static str,
    run: fn(&Path) -> Result<Ended>,
}

/// How a step ended that found nothing wrong.
enum Ended {
    Passed,
    /// It could not run here; the text says why.
    Skipped(String),
}

/// Runs every step.
pub(crate) fn run(root: &Path) -> Result<()> {
    let start = Instant::now();
    let mut skipped = Vec::new();
    for (number, step) in STEPS.iter().enumerate() {
        println!("==> {}", step.name);
        let step_start = Instant::now();
        let ended = (step.run)(root);
        let seconds = step_start.elapsed().as_secs_f64();
        match ended {
            Ok(Ended::Passed) => println!("    {} passed in {seconds:.1} s", step.name),
            Ok(Ended::Skipped(why)) => {
                println!("    {} skipped: {why}", step.name);
                skipped.push(step.name);
            }
            Err(error) => {
                println!("    {} failed after {seconds:.1} s", step.name);
                let place = format!("step {} of {}", number + 1, STEPS.len());
                return Err(error.context(format!("ci: {} failed, {place}", step.name)));
            }
        }
    }
    println!("{}", summary(STEPS.len(), &skipped, start.elapsed().as_secs_f64()));
    Ok(())
}

fn summary(steps: usize, skipped: &[&str], seconds: f64) -> String {
    let passed = steps - skipped.len();
    match skipped {
        [] => format!("ci: all {steps} steps passed in {seconds:.1} s"),
        names => format!("ci: {passed} steps passed, skipped {}, in {seconds:.1} s", names.join(", ")),
    }
}

fn fmt(root: &Path) -> Result<Ended> {
    check(root, "cargo", &["fmt", "--all", "--check"])
}

fn tidy_checks(root: &Path) -> Result<Ended> {
    tidy::run(&Repository::read(root)?)?;
    Ok(Ended::Passed)
}

fn clippy(root: &Path) -> Result<Ended> {
    check(root, "cargo", &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"])
}

fn python(root: &Path) -> Result<Ended> {
    if !root.join(PYTHON_TESTS).is_dir() {
        return Ok(Ended::Skipped(format!("there is no {PYTHON_TESTS}")));
    }
    // Without -B the run would leave bytecode beside the sources that the runtime embeds.
    check(root, "python3", &["-B", "-m", "unittest", "discover", "-s", PYTHON_TESTS])
}

fn typescript(root: &Path) -> Result<Ended> {
    if let Some(missing) = ["node", "openssl"].into_iter().find(|program| !has_program(root, program)) {
        return Ok(Ended::Skipped(format!(
            "{missing} was not found, so the TypeScript runner was not tested"
        )));
    }
    let files = files_ending(root, TYPESCRIPT_TESTS, ".test.mjs")?;
    let quiet = ["--test", "--test-reporter=dot"];
    let arguments: Vec<&str> = quiet.into_iter().chain(files.iter().map(String::as_str)).collect();
    check(root, "node", &arguments)
}

/// The page: its types, its tests, and a build within its limit of size. The host that is built next embeds it.
fn web(root: &Path) -> Result<Ended> {
    if let Some(missing) = ["node", "npm"].into_iter().find(|program| !has_program(root, program)) {
        return Ok(Ended::Skipped(format!("{missing} was not found, so the page was not built")));
    }
    check(root, &root.join("scripts/web.sh").display().to_string(), &["packages"])?;
    check(root, "npm", &["--prefix", "web", "run", "--silent", "check"])?;
    check(root, "npm", &["--prefix", "web", "run", "--silent", "test"])?;
    check(root, &root.join("scripts/web.sh").display().to_string(), &[])
}

/// The page in a real browser, on a real host.
fn browser(root: &Path) -> Result<Ended> {
    if !root.join("web/dist/index.html").is_file() {
        return Ok(Ended::Skipped("the page was not built".to_owned()));
    }
    let known = ["chromium", "chromium-browser", "google-chrome"];
    if !known.into_iter().any(|program| has_program(root, program)) {
        return Ok(Ended::Skipped("no browser was found, so the page was not tried".to_owned()));
    }
    // What the stories start; already built where the step before ran.
    check(root, "cargo", &["build", "--workspace", "--bins", "--quiet"])?;
    let files = files_ending(root, BROWSER_TESTS, ".spec.mjs")?;
    // One after the other: some of them measure, and each has a host and a browser of its own.
    let quiet = ["--test", "--test-reporter=dot", "--test-concurrency=1"];
    let arguments: Vec<&str> = quiet.into_iter().chain(files.iter().map(String::as_str)).collect();
    check(root, "node", &arguments)
}

fn test(root: &Path) -> Result<Ended> {
    // The stories run the real program, and no test runner builds another package's program for them.
    check(root, "cargo", &["build", "--workspace", "--bins", "--quiet"])?;
    if !is_installed(root, "nextest") {
        return with_postgres(root, &["cargo", "test", "--workspace", "--quiet"]);
    }
    // The other runner does not know examples in documentation. First, so that the last summary is the whole one.
    check(root, "cargo", &["test", "--workspace", "--doc", "--quiet"])?;
    with_postgres(
        root,
        &["cargo", "nextest", "run", "--workspace", "--cargo-quiet", "--status-level", "fail"],
    )
}

/// The bodies of the fuzz targets for what comes from outside, a few seconds each.
fn fuzz(root: &Path) -> Result<Ended> {
    check(root, "cargo", &["run", "--quiet", "--package", "roost-tests", "--bin", "fuzz", "--", "5"])
}

/// The program for local models, on the smallest real model: built, tested alone, and behind the host.
fn local_model(root: &Path) -> Result<Ended> {
    if let Some(missing) = ["cmake", "clang"].into_iter().find(|program| !has_program(root, program)) {
        return Ok(Ended::Skipped(format!("{missing} was not found, so the local model was not tested")));
    }
    let manifest = "local-model/Cargo.toml";
    let with_cargo = |verb, more: &[&str]| {
        let mut words = vec![verb, "--release", "--locked", "--quiet", "--manifest-path", manifest];
        words.extend(["--target-dir", LOCAL_MODEL_TARGET]);
        words.extend(more);
        command(root, "cargo", &words)
    };
    finish(&mut with_cargo("build", &[]))?;
    let home = root.join("target/tmp/local-model-home");
    let pull = ["models", "pull", "smollm2-135m", "--home"];
    let program = root.join("target/debug/roost");
    finish(command(root, &program.display().to_string(), &pull).arg(&home))?;
    let model = home.join("models/smollm2-135m.gguf");
    finish(with_cargo("test", &[]).env("ROOST_TEST_MODEL", &model))?;
    let built = root.join(LOCAL_MODEL_TARGET).join("release/roost-local-model");
    std::fs::copy(&built, program.with_file_name("roost-local-model"))
        .context("put the program beside the host")?;
    // As everything else was built: one package alone has other features, and would be compiled anew.
    let stories = ["test", "--workspace", "--test", "it", "--quiet", "local_model"];
    finish(command(root, "cargo", &stories).env("ROOST_TEST_MODEL", &model))
}

fn docs(root: &Path) -> Result<Ended> {
    let mut command = command(root, "cargo", &["doc", "--workspace", "--no-deps", "--quiet"]);
    finish(command.env("RUSTDOCFLAGS", "-D warnings"))
}

fn deny(root: &Path) -> Result<Ended> {
    if !is_installed(root, "deny") {
        return Ok(Ended::Skipped("cargo-deny is not installed, so licences were not checked".to_owned()));
    }
    // Advisories need a download that not every machine can reach.
    check(root, "cargo", &["deny", "check", "bans", "licenses", "sources"])
}

/// The files of a folder whose names end so; there must be some.
fn files_ending(root: &Path, folder: &str, ending: &str) -> Result<Vec<String>> {
    let entries = std::fs::read_dir(root.join(folder)).with_context(|| format!("read {folder}"))?;
    let paths = entries.flatten().map(|entry| entry.path().display().to_string());
    let files: Vec<String> = paths.filter(|path| path.ends_with(ending)).collect();
    if files.is_empty() {
        bail!("there are no tests in {folder}");
    }
    Ok(files)
}

/// True when there is a program of this name.
fn has_program(root: &Path, program: &str) -> bool {
    let mut probe = command(root, program, &["--version"]);
    probe.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

/// True when cargo has this subcommand here.
fn is_installed(root: &Path, subcommand: &str) -> bool {
    let mut probe = command(root, "cargo", &[subcommand, "--version"]);
    probe.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

fn check(root: &Path, program: &str, arguments: &[&str]) -> Result<Ended> {
    finish(&mut command(root, program, arguments))
}

/// The same beside a PostgreSQL server that ends with the command.
fn with_postgres(root: &Path, words: &[&str]) -> Result<Ended> {
    let script = root.join("scripts/with-postgres.sh");
    check(root, &script.display().to_string(), words)
}

fn command(root: &Path, program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root).stdin(Stdio::null());
    command
}

fn finish(command: &mut Command) -> Result<Ended> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command.status().with_context(|| format!("start {program}"))?;
    if !status.success() {
        let arguments: Vec<_> = command.get_args().map(|argument| argument.to_string_lossy()).collect();
        bail!("`{program} {}` ended with {status}", arguments.join(" "));
    }
    Ok(Ended::Passed)
}

#[cfg(test)]
mod tests {
    use super::summary;

    #[test]
    fn the_summary_names_what_was_skipped() {
        assert_eq!(summary(7, &[], 12.34), "ci: all 7 steps passed in 12.3 s");
        assert_eq!(
            summary(7, &["python", "deny"], 5.0),
            "ci: 5 steps passed, skipped python, deny, in 5.0 s"
        );
    }
}
