//! Starting and ending processes. The only place that starts any, and it never ends one it did not start.

mod child; // one that was started

pub(crate) use self::child::Child;

use crate::sandbox::{self, Entry, Image, Newborn};
use roost_protocol::{Failure, Reason};
use rustix::process::{Pid, Signal};
use std::{
    collections::BTreeMap,
    ffi::{CStr, CString, OsString},
    io,
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::{Path, PathBuf},
    process::Stdio,
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::{io::AsyncWriteExt as _, process::Command};

/// A process to start. It inherits nothing that is not named here.
#[derive(Debug)]
pub(crate) struct Launch<'a> {
    pub(crate) program: &'a Path,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) environment: &'a BTreeMap<String, String>,
    pub(crate) working_directory: &'a Path,
    /// Descriptors beyond the standard three; in the process they are 3, 4 and so on.
    pub(crate) descriptors: Vec<OwnedFd>,
    /// Standard input; empty when absent.
    pub(crate) input: Option<OwnedFd>,
    /// Standard output, and error where that has no place of its own.
    pub(crate) output: Option<OwnedFd>,
    /// Standard error.
    pub(crate) errors: Option<OwnedFd>,
    pub(crate) when_host_dies: WhenHostDies,
    /// The sandbox it enters before it becomes the program.
    pub(crate) entry: Entry,
}

/// What becomes of a process whose host is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhenHostDies {
    /// The kernel ends it at once.
    End,
    /// It sees its connection close and ends by itself, after it has ended what it started.
    CleanUp,
}

impl Launch<'_> {
    /// Starts it as the leader of a session of its own; its orphans stay below it.
    pub(crate) fn start(self) -> io::Result<Child> {
        let image = self.image()?;
        let nowhere =
            || std::fs::OpenOptions::new().read(true).write(true).open("/dev/null").map(OwnedFd::from);
        let input = self.input.map_or_else(nowhere, Ok)?;
        let output = self.output.map_or_else(nowhere, Ok)?;
        let errors = self.errors.map_or_else(|| output.try_clone(), Ok)?;
        let standard = [input, output, errors];
        let newborn = Newborn {
            image,
            working_directory: text(self.working_directory.as_os_str().as_bytes())?,
            descriptors: standard.into_iter().chain(self.descriptors).collect(),
            when_host_dies: self.when_host_dies,
            entry: self.entry,
        };
        Child::new(newborn.start()?, self.when_host_dies)
    }

    fn image(&self) -> io::Result<Image> {
        // The very text whose address a filter may know.
        let path = lasting_path(self.program)?;
        let arguments = self.arguments.iter().map(|argument| text(argument.as_bytes()));
        let arguments = std::iter::once(Ok(path.to_owned())).chain(arguments).collect::<io::Result<_>>()?;
        let environment =
            self.environment.iter().map(|(name, value)| text(format!("{name}={value}").as_bytes()));
        Ok(Image::new(path, arguments, environment.collect::<io::Result<_>>()?))
    }
}

fn text(bytes: &[u8]) -> io::Result<CString> {
    CString::new(bytes).map_err(io::Error::other)
}

/// What a program printed, and whether it succeeded.
#[derive(Debug)]
pub struct Ran {
    /// True for exit status 0.
    pub succeeded: bool,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// Runs a program to its end and collects what it prints.
pub async fn run(
    program: &Path,
    arguments: &[OsString],
    environment: &BTreeMap<String, String>,
    within: Duration,
) -> Result<Ran, Failure> {
    run_with_input(program, arguments, environment, "", within).await
}

/// The same with a short text on its standard input: what is secret must not stand among the arguments, which every
/// user of the machine can read.
pub async fn run_with_input(
    program: &Path,
    arguments: &[OsString],
    environment: &BTreeMap<String, String>,
    input: &str,
    within: Duration,
) -> Result<Ran, Failure> {
    let mut command = plain_command(program);
    command.args(arguments).env_clear().envs(environment).kill_on_drop(true);
    command.stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let named = |error: &dyn std::fmt::Display| {
        Failure::new(Reason::StartFailed, format!("run {}: {error}", program.display()))
    };
    let ran = async {
        let mut child = command.spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // A program that does not read it says why by its exit status.
            stdin.write_all(input.as_bytes()).await.ok();
        }
        child.wait_with_output().await
    };
    let output = tokio::time::timeout(within, ran)
        .await
        .map_err(|_| named(&format_args!("no end within {} s", within.as_secs())))?
        .map_err(|error| named(&error))?;
    Ok(Ran {
        succeeded: output.status.success(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

#[expect(clippy::disallowed_methods, reason = "this is the place that starts processes")]
fn plain_command(program: &Path) -> Command {
    Command::new(program)
}

/// The first entry of a search path that is a program of this name in the machine's own format: scripts, such as the
/// shims of version managers, are passed over.
#[must_use]
pub fn find_program(name: &str, search_path: &[PathBuf]) -> Option<PathBuf> {
    search_path.iter().map(|folder| folder.join(name)).find(|candidate| is_binary(candidate))
}

/// The first entry of a search path that may be executed, scripts included.
#[must_use]
pub fn find_executable(name: &str, search_path: &[PathBuf]) -> Option<PathBuf> {
    let may_run =
        |path: &PathBuf| path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok();
    search_path.iter().map(|folder| folder.join(name)).find(may_run)
}

/// True for an executable in the machine's own format, so neither a script nor a shim.
pub(crate) fn is_binary(path: &Path) -> bool {
    use std::io::Read as _;
    let mut magic = [0; 4];
    std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok()
        && magic == *b"\x7fELF"
        && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

/// The path of a program as text that lives as long as this process. Each path is kept once: there are as many as there
/// are engines, interpreters and native apps.
pub(crate) fn lasting_path(program: &Path) -> io::Result<&'static CStr> {
    static KEPT: Mutex<BTreeMap<PathBuf, &'static CStr>> = Mutex::new(BTreeMap::new());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(text) = kept.get(program) {
        return Ok(text);
    }
    let text = text(program.as_os_str().as_bytes())?;
    let text: &'static CStr = Box::leak(text.into_boxed_c_str());
    kept.insert(program.to_owned(), text);
    Ok(text)
}

/// The program that loads a program's libraries, as its header names it.
pub(crate) fn loader_of(program: &Path) -> Option<PathBuf> {
    use std::io::{Read as _, Seek as _, SeekFrom};
    const HEADER_BYTES: usize = 64;
    const ENTRY_BYTES: usize = 56;
    const NAMES_LOADER: u32 = 3;
    let mut file = std::fs::File::open(program).ok()?;
    let mut read = |at: u64, length: usize| {
        let mut bytes = vec![0; length];
        file.seek(SeekFrom::Start(at)).and_then(|_| file.read_exact(&mut bytes)).ok().map(|()| bytes)
    };
    let number = |bytes: &[u8], at: usize| bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes);
    let header = read(0, HEADER_BYTES)?;
    let table = number(&header, 32)?;
    let entries = u16::from_le_bytes(header.get(56..58)?.try_into().ok()?);
    for index in 0..u64::from(entries) {
        let entry = read(table.checked_add(index * ENTRY_BYTES as u64)?, ENTRY_BYTES)?;
        if u32::from_le_bytes(entry.get(..4)?.try_into().ok()?) == NAMES_LOADER {
            let length = usize::try_from(number(&entry, 32)?).ok().filter(|length| *length < 4096)?;
            let name = read(number(&entry, 8)?, length)?;
            let name = std::str::from_utf8(&name).ok()?.trim_end_matches('\0');
            return Some(PathBuf::from(name));
        }
    }
    None
}

pub(crate) fn as_pid(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

/// Puts a worker that was not reaped yet behind others in the queue for a processor.
pub(crate) fn step_back(pid: u32) {
    // Without an id the call would mean the host itself.
    let Some(process) = as_pid(pid) else { return };
    if let Err(error) = rustix::process::setpriority_process(Some(process), sandbox::LONG_COMPUTING_NICENESS)
    {
        tracing::debug!(pid, %error, "lower a worker's priority");
    }
    // Where processors are shared out by session, this is what counts; where they are not, it does not exist.
    let niceness = sandbox::LONG_COMPUTING_NICENESS.to_string();
    if let Err(error) = std::fs::write(format!("/proc/{pid}/autogroup"), niceness) {
        tracing::debug!(pid, %error, "lower the priority of a worker's session");
    }
}

/// Tells the CPU time of one process, its threads included, in one system call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CpuClock(nix::time::ClockId);

impl CpuClock {
    pub(crate) fn of(pid: u32) -> Option<Self> {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(pid).ok()?);
        nix::time::clock_getcpuclockid(pid).ok().map(Self)
    }

    /// CPU time so far; `None` when the process is gone.
    pub(crate) fn now(self) -> Option<Duration> {
        nix::time::clock_gettime(self.0).ok().map(Duration::from)
    }
}

/// Highest resident memory of a process so far.
pub(crate) fn peak_memory_kb(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Ends a process group and every descendant of its leader. The caller is the leader's parent and has not reaped
/// it, so the leader's id is its own; a descendant is held by a descriptor before it is checked and killed.
pub(crate) fn kill_tree(leader: u32) {
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
    let held: Vec<_> = descendants(leader)
        .into_iter()
        .filter_map(|pid| Some((pid, pidfd_open(as_pid(pid)?, PidfdFlags::empty()).ok()?)))
        .collect();
    let still = descendants(leader);
    if let Some(pid) = as_pid(leader)
        && let Err(error) = rustix::process::kill_process_group(pid, Signal::KILL)
    {
        tracing::debug!(leader, %error, "kill a process group");
    }
    for (pid, process) in held.iter().filter(|(pid, _)| still.contains(pid)) {
        if let Err(error) = pidfd_send_signal(process, Signal::KILL) {
            tracing::debug!(pid, %error, "kill a descendant");
        }
    }
}

/// What a worker's agent left behind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LeftBehind {
    /// Processes that still ran, and were ended.
    pub(crate) ended: u32,
    /// True when there is anything left, also what nobody collected.
    pub(crate) anything: bool,
}

/// Ends what a worker started and left running. The worker itself goes on.
pub(crate) fn end_descendants(pid: u32) -> LeftBehind {
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
    let all = descendants(pid);
    let held: Vec<_> = all
        .iter()
        .filter(|pid| is_running(**pid))
        .filter_map(|pid| Some((*pid, pidfd_open(as_pid(*pid)?, PidfdFlags::empty()).ok()?)))
        .collect();
    let still = if held.is_empty() { Vec::new() } else { descendants(pid) };
    let ended = held
        .iter()
        .filter(|(pid, process)| still.contains(pid) && pidfd_send_signal(process, Signal::KILL).is_ok());
    let ended = u32::try_from(ended.count()).unwrap_or(u32::MAX);
    LeftBehind { ended, anything: !all.is_empty() }
}

/// False for a process that ended and waits to be collected.
fn is_running(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = status.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

/// CPU time of everything a process started: of what still runs, and of what it collected.
pub(crate) fn cpu_of_descendants(pid: u32) -> Duration {
    /// Where times stand behind the name of the program, which may hold anything.
    const OWN: std::ops::Range<usize> = 11..13;
    const COLLECTED: std::ops::Range<usize> = 13..15;
    let ticks = |pid: u32, fields: std::ops::Range<usize>| -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let rest = status.rsplit_once(") ").map_or("", |(_, rest)| rest);
        let numbers = rest.split(' ').skip(fields.start).take(fields.len());
        numbers.filter_map(|number| number.parse::<u64>().ok()).sum()
    };
    let running: u64 = descendants(pid).into_iter().map(|child| ticks(child, OWN.start..COLLECTED.end)).sum();
    let all = running + ticks(pid, COLLECTED);
    Duration::from_millis(all.saturating_mul(1000) / rustix::param::clock_ticks_per_second().max(1))
}

/// Bytes of files that a process and what it started have open and that are in no folder any more. Each file counts once.
pub(crate) fn nameless_bytes(pid: u32) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let mut seen = std::collections::HashSet::new();
    let mut bytes = 0u64;
    for process in std::iter::once(pid).chain(descendants(pid)) {
        let open = std::fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
        for descriptor in open {
            let Ok(file) = std::fs::metadata(descriptor.path()) else { continue };
            if file.is_file() && file.nlink() == 0 && seen.insert((file.dev(), file.ino())) {
                bytes = bytes.saturating_add(file.blocks().saturating_mul(512));
            }
        }
    }
    bytes
}

/// True while a process has children, whether they still run or not.
pub(crate) fn has_children(pid: u32) -> bool {
    !descendants(pid).is_empty()
}

/// Bytes a process, and what it started and waited for, caused to be written to disk.
pub(crate) fn written_bytes(pid: u32) -> Option<u64> {
    let counters = std::fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    let line = counters.lines().find(|line| line.starts_with("wchar:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// All descendants of a process, nearest first.
fn descendants(pid: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut parents = vec![pid];
    while let Some(parent) = parents.pop() {
        let tasks = std::fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
        for task in tasks {
            let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            let children: Vec<u32> =
                children.split_whitespace().filter_map(|text| text.parse().ok()).collect();
            parents.extend(&children);
            found.extend(children);
        }
    }
    found
}

/// A process that does nothing for longer than any test takes.
#[cfg(test)]
pub(crate) fn idle_process() -> io::Result<Child> {
    let launch = Launch {
        program: Path::new("/bin/sleep"),
        arguments: vec!["600".into()],
        environment: &BTreeMap::new(),
        working_directory: Path::new("/"),
        descriptors: Vec::new(),
        input: None,
        output: None,
        errors: None,
        when_host_dies: WhenHostDies::End,
        entry: Entry::default(),
    };
    launch.start()
}
