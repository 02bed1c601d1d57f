//! Tries the sandbox on this machine: an agent of our own does in a throw-away worker what no agent may, and says what
//! worked.

use crate::{host::Host, program::Source};
use roost_apps::AgentFile;
use roost_protocol::{Failure, Language, Level, Reason};
use roost_runtime::{Call, Done};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::{fs, os::unix::net::UnixListener, path::Path};

/// What came out of one self-test.
#[derive(Debug, Clone, Serialize)]
pub struct SelfTest {
    /// What ran the probes, for example `python 3.12.1`.
    pub runtime: String,
    /// The level the worker was said to have.
    pub level: Level,
    /// How many things were tried.
    pub tried: usize,
    /// What worked and must not.
    pub escaped: Vec<Probe>,
    /// What could not be tried here, and why.
    pub skipped: Vec<Probe>,
}

/// One thing that was tried.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Probe {
    /// Its name.
    pub probe: String,
    /// True when it worked; absent where only the caller could know.
    pub escaped: Option<bool>,
    /// What happened.
    #[serde(default)]
    pub saw: String,
    /// Why it was not tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
}

/// The name of the agent in the probe files.
const PROBE_AGENT: &str = "SandboxProbe";

impl Host {
    /// Runs the probes of one language, with no right that is not everybody's.
    pub async fn self_test(&self, language: Language) -> Result<SelfTest, Failure> {
        let [python, javascript] = self.runtime().probes();
        let path = if language == Language::Python { python } else { javascript };
        let bait = Bait::lay(self)?;
        let source = Source::from(&AgentFile::read(path)?);
        let folder = path.parent().unwrap_or(Path::new("/")).to_owned();
        let runnable = self.inner.workshop().prepare(source, folder).await?;
        let arguments = bait.targets();
        let call =
            Call { agent: PROBE_AGENT, arguments: &arguments, context: "{}", user_guid: None, depth: 0 };
        let (result, usage) = match runnable.agent.perform(call).await {
            Done::Asked { result, usage } => (result, usage),
            Done::NotStarted(failed) => return Err(failed.failure),
        };
        let probes: Vec<Probe> = serde_json::from_str(&result?.output).map_err(|error| {
            Failure::new(Reason::Internal, format!("the probes answered something else: {error}"))
        })?;
        let (skipped, tried): (Vec<Probe>, Vec<Probe>) =
            probes.into_iter().partition(|probe| probe.skipped.is_some());
        Ok(SelfTest {
            runtime: usage.worker.runtime,
            level: usage.enforcement.level,
            tried: tried.len(),
            escaped: tried.into_iter().filter(|probe| probe.escaped == Some(true)).collect(),
            skipped,
        })
    }
}

/// Things of the host's that a probe must not reach.
struct Bait {
    file: std::path::PathBuf,
    socket: std::path::PathBuf,
    _listener: UnixListener,
}

impl Bait {
    fn lay(host: &Host) -> Result<Self, Failure> {
        let folder = host.home().run();
        let unusable = |error: std::io::Error| {
            Failure::new(Reason::HomeUnusable, format!("{}: {error}", folder.display()))
        };
        fs::create_dir_all(&folder).map_err(unusable)?;
        let file = folder.join(format!("self-test-{}.txt", std::process::id()));
        let socket = folder.join(format!("self-test-{}.sock", std::process::id()));
        fs::write(&file, "Nobody may read this.").map_err(unusable)?;
        fs::remove_file(&socket).ok();
        let listener = UnixListener::bind(&socket).map_err(unusable)?;
        Ok(Self { file, socket, _listener: listener })
    }

    fn targets(&self) -> Map<String, Value> {
        let file = self.file.display().to_string();
        let socket = self.socket.display().to_string();
        let host = std::process::id();
        let namespace = fs::read_link("/proc/self/ns/pid").map(|link| link.display().to_string());
        let targets = json!({
            "host_pid": host,
            "host_pid_namespace": namespace.unwrap_or_default(),
            "own_pids": [1],
            "database": file,
            "outside_file": file,
            "movable_file": file,
            "outside_path": format!("{file}.new"),
            "other_folder": self.file.parent().map(|folder| folder.display().to_string()),
            "socket_path": socket,
            "datagram_path": socket,
            "udp_address": "127.0.0.1:9",
        });
        match targets {
            Value::Object(targets) => targets,
            _ => Map::new(),
        }
    }
}

impl Drop for Bait {
    fn drop(&mut self) {
        for path in [&self.file, &self.socket] {
            fs::remove_file(path).ok();
        }
    }
}
