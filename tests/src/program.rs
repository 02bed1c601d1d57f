//! The `roost` binary that was built with these tests, the environment it gets, and what it printed.

use serde_json::Value;
use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// A binary to test instead of the one beside the tests, for example a release build.
const OTHER_BINARY: &str = "ROOST_TEST_BINARY";

/// What is passed on from the caller: where programs are, and how uv reaches the package registry.
const PASSED_ON: &[&str] = &["PATH", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy"];
const PASSED_ON_PREFIXES: &[&str] = &["UV_", "PIP_", "SSL_"];

/// How a program ended and what it printed.
#[derive(Debug)]
pub struct Ran {
    /// Exit status; -1 when a signal ended it.
    pub status: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Ran {
    pub(crate) fn new(output: &Output) -> Self {
        Self {
            status: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Standard output as JSON.
    #[track_caller]
    #[must_use]
    pub fn json(&self) -> Value {
        match serde_json::from_str(&self.stdout) {
            Ok(value) => value,
            Err(error) => panic!("standard output is not JSON ({error}): {self:?}"),
        }
    }

    /// Standard output of a run that ended with status 0, without the last line break.
    #[track_caller]
    #[must_use]
    pub fn text(&self) -> &str {
        assert_eq!(self.status, 0, "{self:?}");
        self.stdout.trim_end_matches('\n')
    }
}

/// The repository these tests belong to.
#[must_use]
pub fn repository_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_owned).unwrap_or_default()
}

/// The first program of this name in the search path of the caller.
#[must_use]
pub fn find_on_path(name: &str) -> Option<PathBuf> {
    caller_search_path().into_iter().map(|folder| folder.join(name)).find(|candidate| candidate.is_file())
}

/// Where the caller looks for programs.
pub(crate) fn caller_search_path() -> Vec<PathBuf> {
    let path = caller_environment().remove("PATH").unwrap_or_default();
    std::env::split_paths(&path).collect()
}

/// `roost` with a clean environment: no settings of the person who runs the tests.
#[expect(clippy::disallowed_methods, reason = "tests start the program they test")]
pub(crate) fn roost_command(home: &Path, user_home: &Path) -> Command {
    let mut command = Command::new(roost_binary());
    command.env_clear().envs(caller_environment()).env("HOME", user_home).env("ROOST_HOME", home);
    command.env("LANG", "C.UTF-8");
    // One cache for all tests and all runs: packages are fetched once.
    command.env("UV_CACHE_DIR", shared_folder().join("uv-cache")).current_dir(home);
    command
}

fn caller_environment() -> BTreeMap<String, OsString> {
    #[expect(clippy::disallowed_methods, reason = "what tests pass on is chosen here")]
    let all = std::env::vars_os();
    all.filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
        .filter(|(name, _)| {
            PASSED_ON.contains(&name.as_str())
                || PASSED_ON_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        })
        .collect()
}

/// The folder that holds `debug/` or `release/`: the test binary is at `<target>/<profile>/deps/it-<hash>`.
fn profile_folder() -> PathBuf {
    let test_binary = std::env::current_exe().expect("a running program has a path");
    test_binary.ancestors().nth(2).map(Path::to_owned).unwrap_or_default()
}

/// What all tests of all runs share.
pub(crate) fn shared_folder() -> PathBuf {
    profile_folder().with_file_name("tmp")
}

fn roost_binary() -> PathBuf {
    #[expect(clippy::disallowed_methods, reason = "the one setting of the tests themselves")]
    let other = std::env::var_os(OTHER_BINARY).map(PathBuf::from);
    let binary = other.unwrap_or_else(|| profile_folder().join("roost"));
    assert!(
        binary.is_file(),
        "{} is not there: run `cargo build -p roost-cli` first, or test the whole workspace",
        binary.display()
    );
    binary
}
