//! Runs a Python file as a program of its own, in the same sandbox as its worker would be in.

use crate::{
    agent::Program,
    exit::Exit,
    languages::{Machine, Needs},
    process::{self, Child, Launch, Ran, WhenHostDies},
    sandbox::{Connecting, LanguageFiles, Notices, Refused, receive_descriptors},
};
use roost_protocol::{Failure, Reason};
use std::{
    collections::BTreeMap, ffi::OsString, io, os::unix::net::UnixStream, path::Path, sync::Arc,
    time::Duration,
};
use tokio::{io::AsyncReadExt as _, net::unix::pipe};

/// The first descriptor after the standard ones; the program finds it closed.
const HAND_OVER_DESCRIPTOR: i32 = 3;

/// What is kept of what it prints: its last words are at the end, its whole story is nobody's business here.
const PRINTED_BYTES_MAX: u64 = 1 << 20;

/// Runs the file of an agent to its end.
pub(crate) async fn run_alone(
    program: &Program,
    interpreter: &Path,
    files: LanguageFiles,
    machine: &Machine,
    within: Duration,
) -> Result<Ran, Failure> {
    let arguments = vec!["-B".into(), program.file.clone().into()];
    let standalone = Standalone {
        interpreter,
        arguments,
        environment: &program.environment,
        needs: Needs::of(program),
        files,
        name: program.file.display().to_string(),
    };
    standalone.run(machine, within).await
}

/// A Python program, confined like a worker.
pub(crate) struct Standalone<'a> {
    pub(crate) interpreter: &'a Path,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) environment: &'a BTreeMap<String, String>,
    pub(crate) needs: Needs<'a>,
    pub(crate) files: LanguageFiles,
    /// What it is called in errors.
    pub(crate) name: String,
}

impl Standalone<'_> {
    /// Runs it, and gives what it printed.
    pub(crate) async fn run(mut self, machine: &Machine, within: Duration) -> Result<Ran, Failure> {
        let interpreter = self.interpreter;
        let real = interpreter.canonicalize().unwrap_or_else(|_| interpreter.to_owned());
        self.files.always_executable.push(real);
        self.files.always_executable.extend(process::loader_of(interpreter));
        let refuse =
            |error: io::Error| Failure::new(Reason::StartFailed, format!("run {}: {error}", self.name));
        let path = process::lasting_path(interpreter).map_err(refuse)?;
        let enclosed = machine.enclose(&self.needs, &self.files, path, HAND_OVER_DESCRIPTOR)?;
        let (ours, theirs) = UnixStream::pair().map_err(refuse)?;
        ours.set_nonblocking(true).map_err(refuse)?;
        let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
            .map_err(|error| refuse(error.into()))?;
        let child = Launch {
            program: interpreter,
            arguments: self.arguments,
            environment: self.environment,
            working_directory: Path::new("/"),
            descriptors: vec![theirs.into()],
            input: None,
            output: Some(writer),
            errors: None,
            when_host_dies: WhenHostDies::End,
            entry: enclosed.entry,
        }
        .start()
        .map_err(refuse)?;
        let printed = pipe::Receiver::from_owned_fd(reader).map_err(refuse)?;
        let handed = receive_descriptors(&ours).await.map_err(refuse)?;
        handed.check(enclosed.enforcement.seccomp).map_err(refuse)?;
        match machine.sandbox.observe(child.id(), &enclosed.enforcement) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(refuse(error)),
            _ => {}
        }
        let refused = Arc::new(Refused::default());
        let _heard = handed
            .notices
            .map(|listener| Notices::listen(listener, refused, Connecting::Never))
            .transpose()
            .map_err(refuse)?;
        let ended = tokio::time::timeout(within, wait(child, printed)).await;
        ended
            .map_err(|_| refuse(io::Error::other(format!("no end within {} s", within.as_secs()))))?
            .map_err(refuse)
    }
}

async fn wait(mut child: Child, printed: pipe::Receiver) -> io::Result<Ran> {
    let mut text = Vec::new();
    let reading = async {
        let mut rest = printed;
        (&mut rest).take(PRINTED_BYTES_MAX).read_to_end(&mut text).await?;
        tokio::io::copy(&mut rest, &mut tokio::io::sink()).await
    };
    let (exit, read) = tokio::join!(child.wait(), reading);
    read?;
    let stderr = String::from_utf8_lossy(&text).into_owned();
    Ok(Ran { succeeded: exit? == Exit::Status(0), stdout: String::new(), stderr })
}
