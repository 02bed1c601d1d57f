//! The host's side of a Python zygote: asks it to fork workers, hears when they end.

use crate::{
    exit::{Exit, ExitWatch},
    process::{Child, Launch, WhenHostDies},
    sandbox::Entry,
};
use roost_protocol::{Failure, Reason};
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
    recv, sendmsg, socketpair,
};
use serde::Deserialize;
use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    ffi::OsString,
    io::{self, IoSlice},
    mem::MaybeUninit,
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::{
    io::Interest,
    net::UnixStream,
    sync::{oneshot, watch},
    task::JoinHandle,
};

/// Longest message either way; they are one short JSON object.
const MESSAGE_BYTES_MAX: usize = 4096;

/// A running zygote. When it is dropped its process ends, and with it all its workers.
#[derive(Debug)]
pub(crate) struct Zygote {
    control: Arc<UnixStream>,
    state: Arc<Mutex<State>>,
    listener: JoinHandle<()>,
    /// Reaped when it ends; not killed when this is dropped, because it has to clean up first.
    _process: Child,
}

/// A worker that was just forked.
#[derive(Debug)]
pub(crate) struct Forked {
    pub(crate) pid: u32,
    pub(crate) exit: ExitWatch,
}

#[derive(Debug, Default)]
struct State {
    is_gone: bool,
    waiting: VecDeque<oneshot::Sender<Result<Forked, String>>>,
    workers: HashMap<u32, watch::Sender<Option<Exit>>>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
enum Event {
    Forked { pid: u32 },
    ForkFailed { message: String },
    Exited { pid: u32, status: i32 },
}

impl Zygote {
    /// Starts the interpreter with the runner.
    pub(crate) fn start(interpreter: &Path, script: &Path, entry: Entry) -> io::Result<Self> {
        let (ours, theirs) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
            None,
        )?;
        rustix::io::ioctl_fionbio(&theirs, false)?;
        // Without site-packages: they would run code of packages here, where nothing confines it, and what an agent can
        // import must not depend on what this machine has installed.
        let arguments: Vec<OsString> =
            vec!["-I".into(), "-S".into(), "-B".into(), "-u".into(), script.into()];
        let process = Launch {
            program: interpreter,
            arguments,
            environment: &BTreeMap::new(),
            working_directory: Path::new("/"),
            descriptors: vec![theirs],
            input: None,
            output: None,
            errors: None,
            // Killed at once it could not end what its workers started.
            when_host_dies: WhenHostDies::CleanUp,
            entry,
        }
        .start()?;
        // A stream to tokio, for its readiness; messages go through `send` and `receive` only, which keep their
        // boundaries.
        let control = Arc::new(UnixStream::from_std(ours.into())?);
        let state = Arc::new(Mutex::new(State::default()));
        let listener = tokio::spawn(listen(Arc::clone(&control), Arc::clone(&state)));
        Ok(Self { control, state, listener, _process: process })
    }

    /// True once the process ended; it cannot be used any more.
    pub(crate) fn is_gone(&self) -> bool {
        lock(&self.state).is_gone
    }

    /// Forks a worker that owns these descriptors, in new namespaces of these kinds.
    pub(crate) async fn fork(&self, descriptors: &[OwnedFd], namespaces: i32) -> Result<Forked, Failure> {
        let refuse = |message: String| Failure::new(Reason::StartFailed, message);
        let (sender, receiver) = oneshot::channel();
        let borrowed: Vec<BorrowedFd<'_>> = descriptors.iter().map(|descriptor| descriptor.as_fd()).collect();
        let message = format!(r#"{{"op":"fork","namespaces":{namespaces}}}"#);
        loop {
            self.control.writable().await.map_err(|error| refuse(error.to_string()))?;
            // Queued under the lock that orders the messages: the zygote answers in the order it was asked.
            let mut state = lock(&self.state);
            if state.is_gone {
                return Err(refuse("the Python zygote is gone".to_owned()));
            }
            let asked = self
                .control
                .try_io(Interest::WRITABLE, || send(self.control.as_fd(), message.as_bytes(), &borrowed));
            match asked {
                Ok(()) => {
                    state.waiting.push_back(sender);
                    break;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(refuse(format!("ask the Python zygote: {error}"))),
            }
        }
        match receiver.await {
            Ok(Ok(forked)) => Ok(forked),
            Ok(Err(message)) => Err(refuse(format!("fork a worker: {message}"))),
            Err(_) => Err(refuse("the Python zygote ended".to_owned())),
        }
    }

    /// Asks the zygote to end a worker and its group; it ignores ids that are not its workers.
    pub(crate) fn kill(&self, pid: u32) {
        let message = format!(r#"{{"op":"kill","pid":{pid}}}"#);
        if let Err(error) = send(self.control.as_fd(), message.as_bytes(), &[]) {
            tracing::debug!(pid, %error, "ask the Python zygote to kill a worker");
        }
    }
}

impl Drop for Zygote {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

async fn listen(control: Arc<UnixStream>, state: Arc<Mutex<State>>) {
    loop {
        let received = control.async_io(Interest::READABLE, || receive(control.as_fd())).await;
        match received {
            Ok(Some(event)) => state_after(&state, event),
            Ok(None) => break,
            Err(error) => {
                tracing::error!(%error, "read from the Python zygote");
                break;
            }
        }
    }
    let mut state = lock(&state);
    state.is_gone = true;
    state.waiting.clear();
    for (_, worker) in state.workers.drain() {
        worker.send_replace(Some(Exit::Unknown));
    }
}

fn state_after(state: &Mutex<State>, event: Event) {
    let mut state = lock(state);
    match event {
        Event::Forked { pid } => {
            let (sender, exit) = watch::channel(None);
            state.workers.insert(pid, sender);
            let waiter = state.waiting.pop_front();
            drop(state);
            // A caller that left closes the worker's channel with its descriptors, which ends the worker.
            drop(waiter.map(|waiter| waiter.send(Ok(Forked { pid, exit }))));
        }
        Event::ForkFailed { message } => {
            drop(state.waiting.pop_front().map(|waiter| waiter.send(Err(message))))
        }
        Event::Exited { pid, status } => {
            if let Some(worker) = state.workers.remove(&pid) {
                worker.send_replace(Some(Exit::from_wait_status(status)));
            }
        }
    }
}

fn send(socket: BorrowedFd<'_>, message: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(5))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::Error::other("too many descriptors for one message"));
    }
    sendmsg(socket, &[IoSlice::new(message)], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

fn receive(socket: BorrowedFd<'_>) -> io::Result<Option<Event>> {
    let mut message = [0; MESSAGE_BYTES_MAX];
    let (received, _) = recv(socket, &mut message, RecvFlags::empty())?;
    if received == 0 {
        return Ok(None);
    }
    Ok(Some(serde_json::from_slice(&message[..received])?))
}

fn lock(state: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
