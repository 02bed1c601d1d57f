//! A temporary home folder, and `roost` commands in it.

use crate::{
    host::RunningHost,
    program::{Ran, roost_command, shared_folder},
    turns::Turn,
};
use serde_json::Value;
use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};
use tempfile::TempDir;

/// A home folder with an empty agents folder. It goes with this value.
#[derive(Debug)]
pub struct TestHome {
    folder: TempDir,
    environment: Vec<(String, String)>,
    _turn: Turn,
}

impl Default for TestHome {
    fn default() -> Self {
        Self::new()
    }
}

impl TestHome {
    /// A home without any agents.
    #[must_use]
    pub fn new() -> Self {
        Self::untouched().with_agents_folder()
    }

    /// A home without any agents, for a story that measures time: no other story runs meanwhile.
    #[must_use]
    pub fn alone() -> Self {
        Self::during(Turn::alone(&shared_folder())).with_agents_folder()
    }

    /// A folder nobody has used as a home yet: its first use puts the shipped agents there.
    #[must_use]
    pub fn untouched() -> Self {
        Self::during(Turn::shared(&shared_folder()))
    }

    fn with_agents_folder(self) -> Self {
        fs::create_dir_all(self.agents()).expect("a temporary folder can be written");
        self
    }

    fn during(turn: Turn) -> Self {
        // Not below /tmp: an agent has a folder of its own there, and this one would hide it.
        let folder = tempfile::Builder::new().prefix("roost-it-").tempdir_in(shared_folder());
        let folder = folder.expect("a temporary folder can be made");
        for name in ["home", "user"] {
            fs::create_dir_all(folder.path().join(name)).expect("a temporary folder can be written");
        }
        Self { folder, environment: Vec::new(), _turn: turn }
    }

    /// The same home with one more variable in the environment of its commands.
    #[must_use]
    pub fn with_variable(mut self, name: &str, value: impl Into<String>) -> Self {
        self.environment.push((name.to_owned(), value.into()));
        self
    }

    /// The home itself.
    #[must_use]
    pub fn root(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// A place outside the home that goes with it.
    #[must_use]
    pub fn outside(&self) -> PathBuf {
        self.folder.path().join("user")
    }

    /// Where agent files are dropped.
    #[must_use]
    pub fn agents(&self) -> PathBuf {
        self.root().join("agents")
    }

    /// A folder that belongs to the agent file of this stem: besides its temporary files, what it may write by itself.
    #[must_use]
    pub fn own_folder(&self, stem: &str) -> PathBuf {
        self.root().join(".brainstem_data").join(stem)
    }

    /// Writes an agent file in place and says where it is.
    pub fn write(&self, file_name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        write(&self.agents().join(file_name), content.as_ref())
    }

    /// Writes a service file in place and says where it is.
    pub fn write_service(&self, file_name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let folder = self.root().join("services");
        fs::create_dir_all(&folder).expect("a temporary folder can be written");
        write(&folder.join(file_name), content.as_ref())
    }

    /// Writes a file beside the home.
    pub fn write_outside(&self, file_name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        write(&self.outside().join(file_name), content.as_ref())
    }

    /// Replaces an agent file as careful editors do: by renaming another one over it.
    pub fn replace(&self, file_name: &str, content: impl AsRef<[u8]>) {
        let staging = write(&self.agents().join(".staging"), content.as_ref());
        fs::rename(staging, self.agents().join(file_name)).expect("a temporary file can be renamed");
    }

    /// Writes `roost.toml`.
    pub fn settings(&self, text: &str) {
        write(&self.root().join("roost.toml"), text.as_bytes());
    }

    /// A command that is not started yet.
    #[must_use]
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = roost_command(&self.root(), &self.outside());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.args(arguments).stdin(Stdio::null());
        command
    }

    /// Runs `roost` to its end.
    #[track_caller]
    pub fn roost(&self, arguments: &[&str]) -> Ran {
        match self.command(arguments).output() {
            Ok(output) => Ran::new(&output),
            Err(error) => panic!("start roost: {error}"),
        }
    }

    /// Runs `roost` to its end with this on its standard input.
    #[track_caller]
    pub fn roost_with_input(&self, arguments: &[&str], input: &[u8]) -> Ran {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().expect("the binary was found and can be started");
        if let Some(mut stdin) = process.stdin.take() {
            // One that refuses its arguments need not read it.
            stdin.write_all(input).ok();
        }
        Ran::new(&process.wait_with_output().expect("it is our child"))
    }

    /// The document that `roost … --json` prints.
    #[track_caller]
    pub fn json(&self, arguments: &[&str]) -> Value {
        let words: Vec<&str> = arguments.iter().copied().chain(["--json"]).collect();
        self.roost(&words).json()
    }

    /// What `roost agents` says.
    #[track_caller]
    pub fn listing(&self) -> Vec<Value> {
        agents_of(self.json(&["agents"]))
    }

    /// Starts the host of this home on a free port.
    #[track_caller]
    pub fn up(&self) -> RunningHost {
        RunningHost::start(self.command(&["up", "--port", "0"]))
    }

    /// Serves a store on a free port.
    #[track_caller]
    #[must_use]
    pub fn serve_store(&self, folder: &Path) -> RunningHost {
        let mut command = self.command(&["store", "serve"]);
        command.arg(folder).args(["--port", "0"]);
        RunningHost::start(command)
    }
}

/// The agents in a listing.
#[track_caller]
pub(crate) fn agents_of(mut document: Value) -> Vec<Value> {
    match document["agents"].take() {
        Value::Array(agents) => agents,
        _ => panic!("not a listing: {document}"),
    }
}

#[track_caller]
fn write(path: &Path, content: &[u8]) -> PathBuf {
    if let Err(error) = fs::write(path, content) {
        panic!("write {}: {error}", path.display());
    }
    path.to_owned()
}
