//! From a program on disk to a process that answers, and back to nothing.

use super::{
    NativeProgram,
    arrivals::Looking,
    asking,
    connection::{Channel, Connection},
    orphan,
};
use crate::{
    cgroup::Group,
    exit::{Exit, ExitWatch, ended},
    languages::Needs,
    process::{self, Launch, WhenHostDies},
    proxy::Proxy,
    sandbox::{Connecting, HandedOver, LanguageFiles, Listening, Notices, Refused, receive_descriptors},
    typescript::keep,
    worker::Surroundings,
};
use roost_protocol::{Enforcement, Failure, HostTraffic, NetworkMode, Reason, Refusal};
use rustix::process::{Signal, kill_process};
use std::{
    fs,
    future::pending,
    io,
    os::{
        fd::OwnedFd,
        unix::{fs::PermissionsExt as _, net::UnixStream},
    },
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};
use tokio::{
    sync::{oneshot, watch},
    task::yield_now,
    time::sleep,
};
use tonic::{Response, Status};

/// The first descriptor after the standard ones; the program finds it closed.
const HAND_OVER_DESCRIPTOR: i32 = 3;

/// How often the socket is looked for where nobody tells that it came.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// How often it is tried at once when it came: an app that has a socket is about to listen on it.
const TRIES_AT_ONCE: usize = 20;

/// How long an app may take to end by itself.
const END_WITHIN: Duration = Duration::from_secs(2);

/// How old what is known of its memory may be: to look takes as long as half a call, and a process does not grow much
/// meanwhile.
const MEMORY_KNOWN_FOR: Duration = Duration::from_millis(5);

/// A running app. Dropping it ends its process and everything that one started.
#[derive(Debug)]
pub struct NativeApp {
    /// Absent until it listens, and once it is being stopped: apps wait for open connections before they end.
    channel: Mutex<Option<Channel>>,
    pid: u32,
    cpu: Option<process::CpuClock>,
    exit: ExitWatch,
    /// Dropped, the process is ended with all it started.
    kill: Mutex<Option<oneshot::Sender<()>>>,
    refused: Arc<Refused>,
    enforcement: Enforcement,
    socket: PathBuf,
    /// Where it is written down which process it is.
    mark: PathBuf,
    wall: Duration,
    /// Its way out, where it has a network of its own.
    proxy: Option<Proxy>,
    /// Its highest memory in kilobytes, and when that was seen.
    peak_memory: Mutex<Option<(u64, Instant)>>,
    _group: Option<Group>,
    _notices: Option<Notices>,
}

impl NativeApp {
    /// Starts the program in its sandbox and waits until every service it offers is healthy.
    pub(crate) async fn start(program: &NativeProgram, around: &Surroundings) -> Result<Self, Failure> {
        program.check_socket_path()?;
        orphan::end_earlier(&program.mark);
        // Where the kernel has no more to give, the socket is looked for.
        let looking = around.arrivals.look_out_for(&program.socket).await.ok();
        let app = Self::spawn(program, around).await?;
        let answers = app.answers(program, around, looking);
        let started = tokio::time::timeout(program.startup, answers).await;
        match started {
            Ok(Ok(())) => Ok(app),
            Ok(Err(failure)) => Err(app.given_up(failure).await),
            Err(_) => {
                let message = format!("no answer within {} s after its start", program.startup.as_secs());
                Err(app.given_up(Failure::new(Reason::NativeStartFailed, message)).await)
            }
        }
    }

    async fn spawn(program: &NativeProgram, around: &Surroundings) -> Result<Self, Failure> {
        let refuse = |error: io::Error| {
            Failure::new(Reason::NativeStartFailed, format!("start {}: {error}", program.binary.display()))
        };
        let machine = &around.machine;
        let turn = around.native_start.acquire().await;
        let path = process::lasting_path(&program.binary).map_err(refuse)?;
        let needs = Needs {
            confinement: &program.confinement,
            limits: &program.limits,
            reserved_bytes: 0,
            listening: Listening::OnUnixSockets,
        };
        let enclosed = machine.enclose(&needs, &own_files(program), path, HAND_OVER_DESCRIPTOR)?;
        match fs::remove_file(&program.socket) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(refuse(error)),
            _ => {}
        }
        let (ours, theirs) = UnixStream::pair().map_err(refuse)?;
        ours.set_nonblocking(true).map_err(refuse)?;
        let (output, errors) = around.logs.of_native(&program.id).map_err(refuse)?;
        let child = Launch {
            program: &program.binary,
            arguments: Vec::new(),
            environment: &program.environment(),
            working_directory: &program.folder,
            descriptors: vec![theirs.into()],
            input: None,
            output: Some(output),
            errors: Some(errors),
            when_host_dies: WhenHostDies::End,
            entry: enclosed.entry,
        }
        .start()
        .map_err(refuse)?;
        drop(turn);
        let pid = child.id();
        orphan::mark(&program.mark, pid).map_err(refuse)?;
        let (kill, killed) = oneshot::channel();
        let (sender, exit) = watch::channel(None);
        drop(tokio::spawn(keep(child, killed, sender)));
        let handed = receive_descriptors(&ours).await.map_err(refuse)?;
        handed.check(enclosed.enforcement.seccomp).map_err(refuse)?;
        let mut enforcement = machine.enforcer.complete(enclosed.enforcement);
        match machine.sandbox.observe(pid, &enforcement) {
            Ok(observed) => enforcement.observed = observed,
            // The kernel shows less and less of a process that ends. How it ended is said where its answer is waited for.
            Err(error) if tokio::time::timeout(END_WITHIN, ended(&mut exit.clone())).await.is_err() => {
                return Err(refuse(error));
            }
            Err(_) => {}
        }
        let refused = Arc::new(Refused::default());
        let (notices, proxy) = attend(handed, program, around, &refused).map_err(refuse)?;
        Ok(Self {
            channel: Mutex::new(None),
            pid,
            cpu: process::CpuClock::of(pid),
            exit,
            kill: Mutex::new(Some(kill)),
            refused,
            enforcement,
            socket: program.socket.clone(),
            mark: program.mark.clone(),
            wall: program.limits.wall(),
            proxy,
            peak_memory: Mutex::default(),
            _group: enclosed.group,
            _notices: notices,
        })
    }

    /// Waits for the socket and for every service behind it.
    async fn answers(
        &self,
        program: &NativeProgram,
        around: &Surroundings,
        looking: Option<Looking>,
    ) -> Result<(), Failure> {
        let connected = self.connects(around, looking).await?;
        // Nobody else may ask it. A file that is gone again is the app's own affair.
        fs::set_permissions(&self.socket, fs::Permissions::from_mode(0o600)).ok();
        let channel = Channel::new(connected, around.inspector.trace(&program.id));
        *self.channel.lock().unwrap_or_else(PoisonError::into_inner) = Some(channel);
        for service in &program.services {
            let mut exit = self.exit.clone();
            let health = tokio::select! {
                health = self.health(*service) => health?,
                exit = ended(&mut exit) => return Err(early_end(exit)),
            };
            if !health.healthy {
                let message = format!("{} says that it is not healthy", service.wire_name());
                return Err(Failure::new(Reason::NativeStartFailed, message));
            }
        }
        Ok(())
    }

    /// Waits until somebody listens on the socket.
    async fn connects(
        &self,
        around: &Surroundings,
        mut looking: Option<Looking>,
    ) -> Result<Connection, Failure> {
        let mut tries = 0;
        loop {
            if let Some(exit) = *self.exit.borrow() {
                return Err(early_end(exit));
            }
            // An error means that it is not there, or that nobody listens yet.
            if let Ok(connected) = Connection::open(&self.socket, &around.asking).await {
                return Ok(connected);
            }
            if tries > 0 {
                tries -= 1;
                yield_now().await;
                continue;
            }
            let came = async {
                match &looking {
                    Some(looking) => looking.it_came().await,
                    None => pending().await,
                }
            };
            tokio::select! {
                () = came => {
                    tries = TRIES_AT_ONCE;
                    // Once: an app that makes its socket again and again must not keep the host busy.
                    looking = None;
                }
                () = sleep(LOOK_EVERY) => {}
            }
        }
    }

    /// Asks for one answer, within a deadline and only for as long as the process lives.
    pub(super) fn ask<T>(
        &self,
        deadline: Duration,
        what: &str,
        asked: impl Future<Output = Result<Response<T>, Status>>,
    ) -> impl Future<Output = Result<T, Failure>> {
        // The state of a question has a kilobyte, and everybody on the way to it would have room for it several times.
        let asked = Box::pin(asked);
        let mut exit = self.exit.clone();
        async move {
            tokio::select! {
                answer = asking::within(deadline, what, asked) => answer,
                exit = ended(&mut exit) => Err(exit.failure()),
            }
        }
    }

    /// Returns when the process is gone, with how it went.
    pub async fn ended(&self) -> Failure {
        ended(&mut self.exit.clone()).await.failure()
    }

    /// How its process ends, once it does.
    pub(super) fn exit(&self) -> ExitWatch {
        self.exit.clone()
    }

    /// Its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// How long one call may take.
    pub(super) fn wall(&self) -> Duration {
        self.wall
    }

    /// CPU time and highest memory of its process so far, in microseconds and kilobytes.
    #[must_use]
    pub fn used(&self) -> (u64, u64) {
        let cpu = self.cpu.and_then(process::CpuClock::now).unwrap_or_default();
        (u64::try_from(cpu.as_micros()).unwrap_or(u64::MAX), self.peak_memory_kb())
    }

    fn peak_memory_kb(&self) -> u64 {
        let mut known = self.peak_memory.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if known.is_none_or(|(_, then)| now.duration_since(then) > MEMORY_KNOWN_FOR) {
            let before = known.map_or(0, |(kilobytes, _)| kilobytes);
            *known = Some((process::peak_memory_kb(self.pid).unwrap_or(before), now));
        }
        known.map_or(0, |(kilobytes, _)| kilobytes)
    }

    /// What the kernel enforces on it.
    #[must_use]
    pub fn enforcement(&self) -> &Enforcement {
        &self.enforcement
    }

    /// What was refused to it since the last look.
    #[must_use]
    pub fn take_refused(&self) -> Vec<Refusal> {
        self.take_report().1
    }

    /// Computers it reached through its proxy since the last look, and what was refused to it.
    #[must_use]
    pub fn take_report(&self) -> (Vec<HostTraffic>, Vec<Refusal>) {
        let report = self.proxy.as_ref().map(Proxy::take_report).unwrap_or_default();
        let mut refused = self.refused.take();
        refused.extend(report.refused);
        (report.traffic, refused)
    }

    /// Ends it: the connection first, then a request to end, then the end of it and all it started.
    pub async fn stop(&self) {
        drop(self.channel.lock().unwrap_or_else(PoisonError::into_inner).take());
        let mut exit = self.exit.clone();
        if exit.borrow().is_none() && catches_termination(self.pid) {
            if let Some(pid) = process::as_pid(self.pid)
                && let Err(error) = kill_process(pid, Signal::TERM)
            {
                tracing::debug!(pid = self.pid, %error, "ask an app to end");
            }
            // Whoever does not end by itself is ended.
            tokio::time::timeout(END_WITHIN, ended(&mut exit)).await.ok();
        }
        self.end().await;
    }

    /// Ends it at once, with everything it started.
    async fn end(&self) {
        drop(self.kill.lock().unwrap_or_else(PoisonError::into_inner).take());
        ended(&mut self.exit.clone()).await;
        fs::remove_file(&self.socket).ok();
        orphan::forget(&self.mark);
    }

    /// The connection; none while it starts or is stopped.
    pub(super) fn channel(&self) -> Result<Channel, Failure> {
        let channel = self.channel.lock().unwrap_or_else(PoisonError::into_inner).clone();
        channel.ok_or_else(|| Failure::plain(Reason::NativeNotRunning))
    }

    /// Why it did not start, with what was refused to it meanwhile. It is gone when this returns.
    async fn given_up(self, failure: Failure) -> Failure {
        self.end().await;
        let refused: Vec<String> = self.refused.take().into_iter().map(|refusal| refusal.what).collect();
        if refused.is_empty() {
            return failure;
        }
        Failure {
            message: format!("{}; it was not allowed to {}", failure.message, refused.join(", ")),
            ..failure
        }
    }
}

/// Hears what is refused to the app, connects for it where it has a network, and opens its way out where that is one of
/// its own.
fn attend(
    handed: HandedOver,
    program: &NativeProgram,
    around: &Surroundings,
    refused: &Arc<Refused>,
) -> io::Result<(Option<Notices>, Option<Proxy>)> {
    let connecting = match program.confinement.network {
        NetworkMode::None => Connecting::Never,
        NetworkMode::Hosts | NetworkMode::Any => Connecting::ToComputers,
    };
    let listen = |listener| Notices::listen(listener, Arc::clone(refused), connecting);
    let serve =
        |listener: OwnedFd| around.egress.serve(listener.into(), Arc::new(program.reach.clone()), Vec::new());
    Ok((handed.notices.map(listen).transpose()?, handed.proxy.map(serve).transpose()?))
}

/// What every app may read and execute: itself.
fn own_files(program: &NativeProgram) -> LanguageFiles {
    let mut executable = vec![program.binary.clone()];
    executable.extend(process::loader_of(&program.binary));
    LanguageFiles {
        readable: vec![program.folder.clone()],
        programs: executable.clone(),
        always_executable: executable,
    }
}

fn early_end(exit: Exit) -> Failure {
    let failure = exit.failure();
    Failure::new(Reason::NativeStartFailed, format!("it ended before it answered: {}", failure.message))
}

/// True when the process does something when it is asked to end. One that is the first in its own set of processes and
/// does nothing would not hear it at all.
fn catches_termination(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    caught & (1 << (Signal::TERM.as_raw() - 1)) != 0
}
