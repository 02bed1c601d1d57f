//! The host's side of a running worker besides questions and answers: what it hands over while it enters its sandbox,
//! what it asks of the host, what it reaches through the proxy, and what is refused to it.

use crate::{
    agent::{Answer, HostCalls, Program},
    frame::Frames,
    proxy::{Doorkeeper, Egress, Proxy, Verdict},
    sandbox::{Connecting, Notices, Refused, receive_descriptors},
    worker::Surroundings,
};
use roost_protocol::{
    Access, Enforcement, HostCall, HostCallReply, HostPort, HostTraffic, ModelUse, Place, Refusal, RefusedBy,
    Right, Tried, TriedKind, VariableName,
};
use rustix::fs::{AtFlags, CWD, statat};
use std::{
    io,
    net::IpAddr,
    os::unix::net::UnixStream,
    path::Path,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};
use tokio::{sync::oneshot, task::JoinHandle};

/// Attends to one worker as long as it lives.
#[derive(Debug)]
pub(crate) struct Attendance {
    task: JoinHandle<()>,
    refused: Arc<Refused>,
    proxy: Arc<OnceLock<Proxy>>,
    /// What the call that runs cost so far, and how deep it stands.
    running: Arc<Running>,
    /// Whether the worker entered its sandbox, once it says so.
    applied: Option<oneshot::Receiver<io::Result<()>>>,
}

#[derive(Debug, Default)]
struct Running {
    model: Mutex<Option<ModelUse>>,
    depth: AtomicU32,
}

impl Attendance {
    /// Takes what the worker hands over, then answers what its agent asks.
    pub(crate) fn begin(
        calls: UnixStream,
        program: &Program,
        around: &Surroundings,
        promised: &Enforcement,
    ) -> Self {
        let is_filtered = promised.seccomp;
        let (host, egress) = (Arc::clone(&around.host_calls), Arc::clone(&around.egress));
        let refused = Arc::new(Refused::default());
        let proxy = Arc::new(OnceLock::new());
        let (say, applied) = oneshot::channel();
        let caller = Arc::new(program.clone());
        let running = Arc::new(Running::default());
        let task = {
            let (refused, proxy, running) = (Arc::clone(&refused), Arc::clone(&proxy), Arc::clone(&running));
            tokio::spawn(async move {
                let door = Arc::new(Door {
                    caller: Arc::clone(&caller),
                    host: Arc::clone(&host),
                    running: Arc::clone(&running),
                });
                let taken = take_over(&calls, door, &egress, refused, &proxy, is_filtered).await;
                let (notices, outcome) = match taken {
                    Ok(notices) => (notices, Ok(())),
                    Err(error) => (None, Err(error)),
                };
                // Nobody waits when the worker was given up meanwhile.
                if outcome.is_err() | say.send(outcome).is_err() {
                    return;
                }
                answer_host_calls(calls, &*host, &caller, &running).await;
                drop(notices);
            })
        };
        Self { task, refused, proxy, running, applied: Some(applied) }
    }

    /// Resolves when the worker is in its sandbox.
    pub(crate) async fn applied(&mut self) -> io::Result<()> {
        match self.applied.take() {
            Some(applied) => applied.await.unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into())),
            None => Ok(()),
        }
    }

    /// A call begins that stands below so many chats.
    pub(crate) fn begin_call(&self, depth: u32) {
        self.running.depth.store(depth, Ordering::Relaxed);
    }

    /// What was asked of the host's model since the last look.
    pub(crate) fn take_model_use(&self) -> Option<ModelUse> {
        self.running.model.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// What was refused since the last look, together with what the worker noticed itself.
    pub(crate) fn take_refused(&self, tried: &[Tried]) -> Vec<Refusal> {
        self.take_report(tried).1
    }

    /// Lets the next look see these again.
    pub(crate) fn put_back(&self, refused: &[Refusal]) {
        refused.iter().for_each(|refusal| self.refused.note(refusal.clone()));
    }

    /// What went through the proxy since the last look, and what was refused.
    pub(crate) fn take_report(&self, tried: &[Tried]) -> (Vec<HostTraffic>, Vec<Refusal>) {
        let report = self.proxy.get().map(Proxy::take_report).unwrap_or_default();
        let mut all = self.refused.take();
        all.extend(report.refused);
        let tried: Vec<&Tried> = tried.iter().filter(|one| is_there(one)).collect();
        // What the worker noticed says more than the system call it made.
        let knows = |kind| tried.iter().any(|one| one.kind == kind);
        if knows(TriedKind::Start) {
            all.retain(|one| one.by != RefusedBy::Syscalls || one.right != Some(Right::Subprocess));
        }
        if knows(TriedKind::Connect) {
            all.retain(|one| one.by != RefusedBy::Syscalls || one.right != Some(Right::AnyNetwork));
        }
        tried.into_iter().map(in_words).for_each(|refusal| {
            match all.iter_mut().find(|known| known.what == refusal.what) {
                Some(known) => known.count += 1,
                None => all.push(refusal),
            }
        });
        (report.traffic, all)
    }
}

impl Drop for Attendance {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn take_over(
    calls: &UnixStream,
    door: Arc<Door>,
    egress: &Egress,
    refused: Arc<Refused>,
    proxy: &OnceLock<Proxy>,
    is_filtered: bool,
) -> io::Result<Option<Notices>> {
    let handed = receive_descriptors(calls).await?;
    handed.check(is_filtered)?;
    if let Some(listener) = handed.proxy {
        let secrets = door.caller.confinement.secrets.clone();
        let started = egress.serve(listener.into(), door, secrets)?;
        // Set once: there is one worker and one hand-over.
        drop(proxy.set(started));
    }
    handed.notices.map(|listener| Notices::listen(listener, refused, Connecting::Never)).transpose()
}

/// The gate, as the proxy of one program sees it.
struct Door {
    caller: Arc<Program>,
    host: Arc<dyn HostCalls>,
    running: Arc<Running>,
}

impl Doorkeeper for Door {
    fn may_reach(&self, target: &HostPort) -> Verdict {
        self.host.may_reach(&self.caller, target)
    }

    fn may_reach_private(&self, address: IpAddr, port: u16) -> Verdict {
        self.host.may_reach_private(&self.caller, address, port)
    }

    fn depth(&self) -> u32 {
        self.running.depth.load(Ordering::Relaxed)
    }
}

async fn answer_host_calls(calls: UnixStream, host: &dyn HostCalls, caller: &Program, running: &Running) {
    let mut calls = Frames::new(calls);
    // Ends with the worker, or with the first thing that is not a call: only this agent loses by it.
    while let Ok(Some(call)) = calls.receive::<HostCall>(Duration::ZERO).await {
        let id = call.id;
        let reply = match host.answer(caller, call).await {
            Ok(Answer { value, model }) => {
                if let Some(model) = model {
                    let mut spent = running.model.lock().unwrap_or_else(PoisonError::into_inner);
                    *spent.get_or_insert_default() += model;
                }
                HostCallReply { id, result: Some(value), error: None }
            }
            Err(failure) => HostCallReply { id, result: None, error: Some(failure) },
        };
        if calls.send(&reply, &[]).await.is_err() {
            return;
        }
    }
    // The worker may go on without asking anything: what it hands over stays heard.
    std::future::pending().await
}

/// False for something to read that does not exist: a worker cannot tell it from what it was not given.
fn is_there(tried: &Tried) -> bool {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    tried.kind != TriedKind::Read || statat(CWD, &tried.target, flags).is_ok()
}

/// What a worker noticed, as receipts say it.
fn in_words(tried: &Tried) -> Refusal {
    let target = &tried.target;
    let files = |access| {
        let place = Place::of_path(Path::new(target), None).ok()?;
        Some(Right::Files { access, place })
    };
    let (what, right, by) = match tried.kind {
        TriedKind::Read => (format!("read {target}"), files(Access::Read), RefusedBy::Files),
        TriedKind::Write => (format!("change {target}"), files(Access::Write), RefusedBy::Files),
        TriedKind::Connect => {
            let right = HostPort::parse(target).ok().map(Right::Network);
            (format!("connect to {target}"), right, RefusedBy::Network)
        }
        TriedKind::Start => {
            (format!("start the program {target}"), Some(Right::Subprocess), RefusedBy::Syscalls)
        }
        TriedKind::Signal => (format!("send a signal to process {target}"), None, RefusedBy::Syscalls),
        TriedKind::Inspect => (format!("look into process {target}"), None, RefusedBy::Files),
        TriedKind::Variable => {
            let right = VariableName::parse(target).ok().map(Right::Environment);
            (format!("see the variable {target}"), right, RefusedBy::Gate)
        }
    };
    Refusal { what, right, by, count: 1, next: String::new() }
}
