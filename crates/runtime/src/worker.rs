//! One running worker: asks it one question at a time, watches its limits, ends it with all it started.

use crate::{
    agent::{Call, HostCalls, LoadFailed, Loaded, Program, Usage},
    asking::Asking,
    attendance::Attendance,
    budget::{Budget, over, used_up},
    cgroup::Group,
    connection::HostEnds,
    disk::Disk,
    exit::{Exit, ExitWatch, ended},
    frame::Frames,
    languages::Machine,
    log::{Logs, Printed},
    native::{Arrivals, Inspector},
    process::{self, CpuClock},
    proxy::Egress,
    sandbox::own_places,
    zygote::Zygote,
};
use roost_protocol::{
    Bounds, Enforcement, Failure, FromWorker, Level, Noticed, PerformFrame, Performed, Reason, Recipe, Start,
    ToWorker, Tried, WorkerUse,
};
use std::{io, path::PathBuf, pin::pin, sync::Arc, time::Duration};
use tokio::{
    sync::{Semaphore, oneshot},
    time::{Instant, timeout},
};

/// How long the last bytes of a process that ended may take, and its end after its last bytes.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// A call shorter than this cannot have started a process.
const FORK_TAKES: Duration = Duration::from_micros(100);

/// A call shorter than this cannot have filled a disk.
const DISK_CHECK_AFTER: Duration = Duration::from_millis(20);

/// A call with less CPU time than this cannot have used noticeably more memory than was already seen.
const MEMORY_CHECK_AFTER: Duration = Duration::from_micros(500);

/// A process that was started for a worker and waits for its first frame.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) pid: u32,
    pub(crate) exit: ExitWatch,
    pub(crate) killer: Killer,
    pub(crate) ends: HostEnds,
    /// For example `python 3.12.1`.
    pub(crate) runtime: String,
    /// The converted module, for TypeScript.
    pub(crate) module: Option<PathBuf>,
    /// The environment with its packages, for Python.
    pub(crate) packages: Option<PathBuf>,
    pub(crate) group: Option<Group>,
    /// What the worker still has to apply to itself.
    pub(crate) recipe: Recipe,
    /// What then holds, without the limits.
    pub(crate) enforcement: Enforcement,
}

/// Who can end the process safely: its parent, which knows whether the id is still the process's own.
#[derive(Debug)]
pub(crate) enum Killer {
    Zygote(Arc<Zygote>),
    Parent(Option<oneshot::Sender<()>>),
}

/// What workers share.
#[derive(Clone)]
pub(crate) struct Surroundings {
    pub(crate) machine: Arc<Machine>,
    pub(crate) logs: Logs,
    pub(crate) inspector: Inspector,
    pub(crate) data: PathBuf,
    pub(crate) host_calls: Arc<dyn HostCalls>,
    pub(crate) egress: Arc<Egress>,
    pub(crate) asking: Asking,
    /// Held while a native app is started, one at a time: a start keeps a thread of the host busy, and others have to be
    /// answered meanwhile.
    pub(crate) native_start: Arc<Semaphore>,
    /// Where sockets of native apps appear.
    pub(crate) arrivals: Arrivals,
}

/// A worker that loaded its file. Dropping it ends the process and everything it started.
#[derive(Debug)]
pub(crate) struct Worker {
    frames: Frames,
    pid: u32,
    exit: ExitWatch,
    killer: Killer,
    group: Option<Group>,
    printed: Arc<Printed>,
    attendance: Attendance,
    questions: u64,
    /// A question was asked and not answered: the worker cannot be asked another.
    is_busy: bool,
    runtime: String,
    enforcement: Enforcement,
    peak_memory_kb: u64,
    asking: Asking,
    last_answer_took: Duration,
    cpu: Option<CpuClock>,
    /// CPU time at the last look: the end of the last call, or a later sweep.
    cpu_seen: Duration,
    disk: Disk,
    /// What happened during the last call, as the worker noticed it.
    noticed: Noticed,
    stray_processes: u32,
    /// Its agent left processes behind.
    is_worn_out: bool,
    /// Set for the first question: who looks whether it is confined before it is given the source.
    entering: Option<Arc<Machine>>,
}

impl Worker {
    /// Limits the process, gives it the program, and waits until it is loaded.
    pub(crate) async fn load(
        started: Started,
        program: &Program,
        around: &Surroundings,
    ) -> Result<(Self, Loaded), LoadFailed> {
        let printed = Arc::new(Printed::new(program.limits.output_bytes()));
        around.logs.follow(&program.file, started.ends.log, Arc::clone(&printed));
        let attendance = Attendance::begin(started.ends.calls, program, around, &started.enforcement);
        let mut worker = Self {
            frames: Frames::new(started.ends.channel),
            pid: started.pid,
            exit: started.exit,
            killer: started.killer,
            group: started.group,
            printed,
            attendance,
            questions: 0,
            is_busy: false,
            runtime: started.runtime,
            enforcement: around.machine.enforcer.complete(started.enforcement),
            peak_memory_kb: 0,
            asking: around.asking.clone(),
            last_answer_took: Duration::MAX,
            cpu: CpuClock::of(started.pid),
            cpu_seen: Duration::ZERO,
            disk: Disk::of(program),
            stray_processes: 0,
            is_worn_out: false,
            entering: None,
            noticed: Noticed::default(),
        };
        let source: &[u8] = if started.module.is_some() { &[] } else { &program.source };
        let start = Start {
            file: program.file.clone(),
            kind: program.kind,
            own: program.own.clone(),
            folder: program.folder.clone(),
            data: around.data.clone(),
            working_directory: program.working_directory.clone(),
            environment: program.environment.clone(),
            limits: program.limits.clone(),
            source_bytes: source.len() as u64,
            module: started.module,
            packages: started.packages,
            sandbox: started.recipe,
            bounds: bounds(program, worker.enforcement.level),
        };
        let time = Budget { within: program.limits.load(), cpu: program.limits.load() };
        worker.entering = Some(Arc::clone(&around.machine));
        let answer = worker.ask(&ToWorker::Start(&start), source, &time).await.map_err(while_loading);
        worker.taken_in(answer).await
    }

    /// What the first answer means.
    async fn taken_in(self, answer: Result<FromWorker, Failure>) -> Result<(Self, Loaded), LoadFailed> {
        let failed = |worker: &Self, failure, tried: &[Tried]| {
            let refused = worker.attendance.take_refused(tried);
            Err(LoadFailed { failure, refused })
        };
        match answer {
            Ok(FromWorker::Loaded { agents, failures, noticed }) => {
                let refused = self.attendance.take_refused(&noticed.refused);
                // What was refused while loading explains what the first call gives.
                self.attendance.put_back(&refused);
                Ok((self, Loaded { agents, failures, refused }))
            }
            Ok(FromWorker::Failed { failure, noticed }) => failed(&self, failure, &noticed.refused),
            Ok(FromWorker::Result { .. } | FromWorker::Error { .. }) => {
                failed(&self, violation("an answer nobody asked for"), &[])
            }
            Err(failure) => failed(&self, failure, &[]),
        }
    }

    /// Runs one call.
    pub(crate) async fn perform(&mut self, call: &Call<'_>, program: &Program) -> Result<Performed, Failure> {
        self.attendance.begin_call(call.depth);
        let id = self.next_question();
        let frame = PerformFrame {
            id,
            agent: call.agent,
            arguments: call.arguments,
            user_guid: call.user_guid,
            context_bytes: call.context.len(),
        };
        let time =
            Budget { within: program.limits.wall(), cpu: Duration::from_secs(program.limits.cpu_seconds) };
        let answer = self.ask(&ToWorker::Perform(frame), call.context.as_bytes(), &time).await?;
        self.result_of(id, answer)
    }

    /// Asks one agent for its contribution to the system prompt.
    pub(crate) async fn system_context(
        &mut self,
        agent: &str,
        context: &str,
        program: &Program,
    ) -> Result<String, Failure> {
        let id = self.next_question();
        let time = Budget { within: program.limits.load(), cpu: program.limits.load() };
        let question = ToWorker::SystemContext { id, agent, context_bytes: context.len() };
        let answer = self.ask(&question, context.as_bytes(), &time).await?;
        self.result_of(id, answer).map(|performed| performed.output)
    }

    /// What the worker used since the last look.
    pub(crate) fn usage(&mut self, reused: bool) -> Usage {
        let cpu = self.cpu_since_last_look();
        let noticed = std::mem::take(&mut self.noticed);
        let (traffic, refused) = self.attendance.take_report(&noticed.refused);
        if self.peak_memory_kb == 0 || cpu > MEMORY_CHECK_AFTER {
            self.peak_memory_kb = process::peak_memory_kb(self.pid).unwrap_or(self.peak_memory_kb);
        }
        Usage {
            worker: WorkerUse { pid: self.pid, reused, runtime: self.runtime.clone() },
            enforcement: self.enforcement.clone(),
            cpu_us: u64::try_from(cpu.as_micros()).unwrap_or(u64::MAX),
            peak_memory_kb: self.peak_memory_kb,
            traffic,
            refused,
            touched: noticed.touched,
            forked: noticed.forked,
            stray_processes: std::mem::take(&mut self.stray_processes),
            model: self.attendance.take_model_use(),
        }
    }

    /// CPU time since this was asked last.
    pub(crate) fn cpu_since_last_look(&mut self) -> Duration {
        let now = self.cpu.and_then(CpuClock::now).unwrap_or(self.cpu_seen);
        let used = now.saturating_sub(self.cpu_seen);
        self.cpu_seen = now;
        used
    }

    /// True when its agent started something after its call was over.
    pub(crate) fn has_left_processes(&self) -> bool {
        process::has_children(self.pid)
    }

    /// True when the worker can be asked another question.
    pub(crate) fn is_usable(&self) -> bool {
        !self.is_busy && !self.is_worn_out && self.exit.borrow().is_none()
    }

    fn next_question(&mut self) -> u64 {
        self.questions += 1;
        self.questions
    }

    fn result_of(&mut self, asked: u64, answer: FromWorker) -> Result<Performed, Failure> {
        match answer {
            FromWorker::Result { id, output, slush, refused, forked, touched } if id == asked => {
                self.notice(Noticed { refused, forked, touched });
                Ok(Performed { output, slush })
            }
            FromWorker::Error { id, failure, noticed } if id == asked => {
                self.notice(noticed);
                Err(failure)
            }
            _ => {
                self.is_busy = true;
                Err(violation("an answer to another question"))
            }
        }
    }

    /// A call is over when it is over: what it left running ends with it. What is left of it afterwards nobody collects,
    /// so that the worker is not used again.
    ///
    /// Whether there is anything is looked up, not believed: a process can be made without the worker's knowledge.
    fn notice(&mut self, noticed: Noticed) {
        if noticed.forked || self.last_answer_took >= FORK_TAKES {
            let left = process::end_descendants(self.pid);
            self.stray_processes += left.ended;
            self.is_worn_out |= left.anything;
        }
        self.noticed = noticed;
    }

    async fn ask(
        &mut self,
        question: &ToWorker<'_>,
        attachment: &[u8],
        time: &Budget,
    ) -> Result<FromWorker, Failure> {
        self.is_busy = true;
        self.printed.reset();
        let cpu_end = self.cpu_seen + time.cpu;
        let mut exit = self.exit.clone();
        let (pid, cpu) = (self.pid, self.cpu);
        let asked = Instant::now();
        let among = self.asking.enter();
        let on_the_spot = among.on_the_spot(self.last_answer_took);
        let answered = {
            let frames = &mut self.frames;
            let (attendance, enforcement) = (&mut self.attendance, &mut self.enforcement);
            let entering = self.entering.take();
            let mut exchange = pin!(async {
                let Some(machine) = entering else {
                    frames.send(question, attachment).await?;
                    return frames.receive::<FromWorker>(on_the_spot).await;
                };
                frames.send(question, &[]).await?;
                if let Err(error) = attendance.applied().await {
                    // What the worker says of it is better than that it said no more.
                    return match frames.receive::<FromWorker>(Duration::ZERO).await {
                        Ok(Some(answer @ FromWorker::Failed { .. })) => Ok(Some(answer)),
                        _ => Err(io::Error::new(io::ErrorKind::PermissionDenied, error)),
                    };
                }
                enforcement.observed = machine.sandbox.observe(pid, enforcement)?;
                frames.send_bytes(attachment).await?;
                frames.receive::<FromWorker>(on_the_spot).await
            });
            tokio::select! {
                biased;
                answered = &mut exchange => answered,
                () = self.printed.exceeded() => return Err(Failure::plain(Reason::OutputLimit)),
                reason = used_up(pid, asked + time.within, cpu, cpu_end, &mut self.disk) => match reason {
                    // Ended below, where nothing of the exchange is left.
                    Reason::DiskLimit => Err(io::ErrorKind::StorageFull.into()),
                    Reason::CpuLimit => return Err(over(reason, time.cpu)),
                    _ => return Err(over(reason, time.within)),
                },
                exit = ended(&mut exit) => match timeout(LAST_WORDS, &mut exchange).await {
                    Ok(answered) => answered,
                    Err(_) => return Err(how_it_ended(exit, self.group.as_ref())),
                },
            }
        };
        match answered {
            Err(error) if error.kind() == io::ErrorKind::StorageFull => Err(self.run_out_of_disk().await),
            Ok(Some(answer)) => {
                self.last_answer_took = asked.elapsed();
                if self.last_answer_took > DISK_CHECK_AFTER && self.disk.is_over(pid) {
                    return Err(self.run_out_of_disk().await);
                }
                self.is_busy = false;
                Ok(answer)
            }
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                let message =
                    format!("the worker is not in its sandbox, and was given nothing to run: {error}");
                Err(Failure::new(Reason::SandboxFailed, message))
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidData || error.is_json() => {
                Err(violation(&error.to_string()))
            }
            Ok(None) | Err(_) => match timeout(LAST_WORDS, ended(&mut exit)).await {
                Ok(exit) => Err(how_it_ended(exit, self.group.as_ref())),
                Err(_) => Err(violation("it closed its connection")),
            },
        }
    }
}

fn how_it_ended(exit: Exit, group: Option<&Group>) -> Failure {
    if group.is_some_and(Group::ran_out_of_memory) {
        return Failure::plain(Reason::MemoryLimit);
    }
    exit.failure()
}

impl Worker {
    /// Ends the process, waits until it is gone with everything it started, and only then makes room.
    async fn run_out_of_disk(&mut self) -> Failure {
        self.kill();
        let mut exit = self.exit.clone();
        if timeout(LAST_WORDS, ended(&mut exit)).await.is_err() {
            tracing::warn!(pid = self.pid, "a worker that was killed is still there");
        }
        self.disk.make_room();
        self.disk.failure()
    }

    fn kill(&mut self) {
        if self.exit.borrow().is_none() {
            match &mut self.killer {
                Killer::Zygote(zygote) => zygote.kill(self.pid),
                Killer::Parent(kill) => drop(kill.take().map(|kill| kill.send(()))),
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
    }
}

trait IsJson {
    fn is_json(&self) -> bool;
}

impl IsJson for io::Error {
    fn is_json(&self) -> bool {
        self.get_ref().is_some_and(|inner| inner.is::<serde_json::Error>())
    }
}

/// The bounds as the worker itself may know them.
fn bounds(program: &Program, level: Level) -> Bounds {
    let confinement = &program.confinement;
    let scratch = confinement.scratch.folders().into_iter().cloned();
    // Without namespaces it sees the places of all programs, and none of its own there.
    let own = if level == Level::Full { own_places(confinement) } else { Vec::new() };
    let own = own.into_iter().map(|(_, place)| place);
    Bounds {
        confined: level > Level::ProcessOnly,
        readable: confinement.all_readable().cloned().collect(),
        writable: confinement.all_writable().cloned().chain(scratch).chain(own).collect(),
        may_start_programs: confinement.may_start_programs,
        network: confinement.network,
        withheld: program.withheld.clone(),
        watched: program.watched.clone(),
    }
}

fn violation(what: &str) -> Failure {
    Failure::new(Reason::ProtocolViolation, format!("the agent's process broke the protocol: {what}"))
}

/// The same end has another name before the file was loaded.
fn while_loading(failure: Failure) -> Failure {
    let reason = match failure.reason {
        Reason::TimeLimit | Reason::CpuLimit => Reason::LoadTimeout,
        Reason::AgentExited => Reason::ExitAtImport,
        Reason::AgentCrashed => Reason::LoadCrashed,
        _ => return failure,
    };
    let message = match reason {
        Reason::LoadTimeout => reason.sentence().to_owned(),
        _ => failure.message,
    };
    Failure { reason, message, ..failure }
}
