//! A line of text as a person would paste it into a shell.

use crate::{home::TestHome, program::Ran};
use std::{
    path::Path,
    process::{Command, Stdio},
};

/// Runs a line that Roost printed, literally: `roost` in it is the program under test.
#[track_caller]
#[must_use]
pub fn in_shell(home: &TestHome, line: &str) -> Ran {
    let roost = home.command(&[]);
    let folder = Path::new(roost.get_program()).parent().expect("the binary lies in a folder").to_owned();
    let variables: Vec<_> = roost.get_envs().filter_map(|(name, value)| Some((name, value?))).collect();
    let path = variables.iter().find(|(name, _)| *name == "PATH").map(|(_, path)| *path).unwrap_or_default();
    let path = std::env::join_paths([folder].into_iter().chain(std::env::split_paths(path)));
    #[expect(clippy::disallowed_methods, reason = "tests start the shell they paste into")]
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", line]).env_clear().envs(variables).env("PATH", path.expect("folders have no colons"));
    match shell.current_dir(home.root()).stdin(Stdio::null()).output() {
        Ok(output) => Ran::new(&output),
        Err(error) => panic!("start a shell: {error}"),
    }
}
