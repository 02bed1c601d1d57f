//! A language model in a process of its own: its crash and its memory are not the host's.
//!
//! The program says on its output where it listens, and ends when its input closes. Only who knows the key is answered.

use crate::{
    process::{Child, Launch, WhenHostDies},
    sandbox::Entry,
};
use roost_protocol::{Failure, Reason};
use rustix::pipe::{PipeFlags, pipe_with};
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::fd::OwnedFd,
    path::Path,
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader, Lines},
    net::unix::pipe,
    time::timeout,
};

/// The file name of the program.
pub const LOCAL_MODEL_PROGRAM: &str = "roost-local-model";

/// A gigabyte from a slow disk; the program tells of its progress meanwhile.
const LOAD_WITHIN: Duration = Duration::from_secs(300);

/// A log longer than this begins anew.
const LOG_BYTES_MAX: u64 = 1 << 20;

/// A model that is loaded and answers.
#[derive(Debug)]
pub struct LocalModel {
    /// Where it listens, on loopback.
    pub port: u16,
    /// What a request must carry.
    pub key: String,
    child: Child,
    /// Closed with this value, which ends the program.
    _input: OwnedFd,
}

/// What the program says while it starts.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Said {
    Ready { port: u16 },
    Loading { loading: f32 },
    Failed { error: String },
}

impl LocalModel {
    /// Starts the program and waits until the model is loaded.
    pub async fn start(
        program: &Path,
        model: &Path,
        log: &Path,
        on_progress: &(dyn Fn(f32) + Send + Sync),
    ) -> Result<Self, Failure> {
        let refuse = |error: io::Error| {
            Failure::new(Reason::LocalModelFailed, format!("start {}: {error}", program.display()))
        };
        let key = random_key().map_err(refuse)?;
        let (input_end, input) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| refuse(error.into()))?;
        let (reader, output) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| refuse(error.into()))?;
        let child = Launch {
            program,
            arguments: vec!["serve".into(), "--model".into(), model.into()],
            environment: &BTreeMap::from([("ROOST_LOCAL_MODEL_KEY".to_owned(), key.clone())]),
            working_directory: Path::new("/"),
            descriptors: Vec::new(),
            input: Some(input_end),
            output: Some(output),
            errors: None,
            when_host_dies: WhenHostDies::End,
            entry: Entry::default(),
        }
        .start()
        .map_err(refuse)?;
        let output = pipe::Receiver::from_owned_fd(reader).map_err(refuse)?;
        let mut lines = BufReader::new(output).lines();
        let mut log = open_log(log).map_err(refuse)?;
        let port = match timeout(LOAD_WITHIN, ready(&mut lines, &mut log, on_progress)).await {
            Ok(port) => port?,
            Err(_) => return Err(Failure::new(Reason::LocalModelFailed, "the model did not load in time")),
        };
        // Ends with the program, whose output it reads.
        drop(tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                writeln!(log, "{line}").ok();
            }
        }));
        Ok(Self { port, key, child, _input: input })
    }

    /// False once the program ended.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

async fn ready(
    lines: &mut Lines<BufReader<pipe::Receiver>>,
    log: &mut File,
    on_progress: &(dyn Fn(f32) + Send + Sync),
) -> Result<u16, Failure> {
    let mut last = String::new();
    while let Ok(Some(line)) = lines.next_line().await {
        match serde_json::from_str(&line) {
            Ok(Said::Ready { port }) => return Ok(port),
            Ok(Said::Loading { loading }) => on_progress(loading),
            Ok(Said::Failed { error }) => return Err(Failure::new(Reason::LocalModelFailed, error)),
            Err(_) => {
                // What the library prints is for the log only.
                writeln!(log, "{line}").ok();
                last = line;
            }
        }
    }
    Err(Failure::new(Reason::LocalModelFailed, format!("the model's program ended: {last}")))
}

fn open_log(path: &Path) -> io::Result<File> {
    let is_long = path.metadata().is_ok_and(|metadata| metadata.len() > LOG_BYTES_MAX);
    OpenOptions::new().create(true).write(true).truncate(is_long).append(!is_long).open(path)
}

fn random_key() -> io::Result<String> {
    let mut bytes = [0; 32];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
