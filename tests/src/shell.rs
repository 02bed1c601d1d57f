//! A line of text as a person would paste it into a shell.

use crate::{home::TestHome, program::Ran};
use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Runs a line that Roost printed, literally: `roost` in it is the program under test.
#[track_caller]
#[must_use]
pub fn in_shell(home: &TestHome, line: &str) -> Ran {
    let roost = home.command(&[]);
    let folder = folder_with(home, Path::new(roost.get_program()));
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

/// A folder in which the program under test has the name that people know, whatever its file is called.
fn folder_with(home: &TestHome, program: &Path) -> PathBuf {
    let folder = home.root().with_file_name("bin");
    let link = folder.join("roost");
    if !link.exists() {
        fs::create_dir_all(&folder)
            .and_then(|()| symlink(program, &link))
            .expect("a temporary folder can be written");
    }
    folder
}
