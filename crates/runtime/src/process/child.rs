//! A process that was started here: how it ends, and that nobody has to wait for it in vain.

use super::WhenHostDies;
use crate::{exit::Exit, sandbox::Born};
use rustix::process::{Signal, WaitId, WaitIdOptions, WaitIdStatus, pidfd_send_signal, waitid};
use std::{
    io,
    os::fd::{AsFd as _, OwnedFd},
    thread,
};
use tokio::io::unix::AsyncFd;

/// What collecting a process needs, which is next to nothing.
const COLLECTOR_STACK_BYTES: usize = 64 << 10;

/// A process that was started here. It is held by a descriptor, so that its id is never taken for another's.
#[derive(Debug)]
pub(crate) struct Child {
    pid: u32,
    /// Absent once it was collected.
    held: Option<AsyncFd<OwnedFd>>,
    exit: Exit,
    when_host_dies: WhenHostDies,
}

impl Child {
    pub(super) fn new(born: Born, when_host_dies: WhenHostDies) -> io::Result<Self> {
        let pid = born.pid;
        Ok(Self { pid, held: Some(born.watch()?), exit: Exit::Unknown, when_host_dies })
    }

    /// Its id, which is its own until its end was heard.
    pub(crate) fn id(&self) -> u32 {
        self.pid
    }

    /// Returns when it ended, with how.
    pub(crate) async fn wait(&mut self) -> io::Result<Exit> {
        loop {
            if let Some(exit) = self.try_wait()? {
                return Ok(exit);
            }
            if let Some(held) = &self.held {
                held.readable().await?.clear_ready();
            }
        }
    }

    /// How it ended; nothing while it runs.
    pub(crate) fn try_wait(&mut self) -> io::Result<Option<Exit>> {
        let Some(held) = &self.held else { return Ok(Some(self.exit)) };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        let Some(status) = waitid(WaitId::PidFd(held.get_ref().as_fd()), options)? else { return Ok(None) };
        self.exit = exit_of(&status);
        self.held = None;
        Ok(Some(self.exit))
    }
}

fn exit_of(status: &WaitIdStatus) -> Exit {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(status), _) => Exit::Status(status),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Unknown,
    }
}

/// Whoever does not wait for it has no more use for it: it is ended, unless it has to clean up, and collected.
impl Drop for Child {
    fn drop(&mut self) {
        let Some(held) = self.held.take().map(AsyncFd::into_inner) else { return };
        if self.when_host_dies == WhenHostDies::End
            && let Err(error) = pidfd_send_signal(&held, Signal::KILL)
        {
            tracing::debug!(pid = self.pid, %error, "end a process");
        }
        let collect = move || waitid(WaitId::PidFd(held.as_fd()), WaitIdOptions::EXITED);
        let collector = thread::Builder::new().name("collector".to_owned()).stack_size(COLLECTOR_STACK_BYTES);
        // It may take its time to end, and nobody should wait for that.
        if let Err(error) = collector.spawn(collect) {
            tracing::warn!(pid = self.pid, %error, "collect a process");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Launch, WhenHostDies, has_children};
    use crate::{exit::Exit, process::Child, sandbox::Entry};
    use rustix::pipe::{PipeFlags, pipe_with};
    use std::{
        collections::BTreeMap,
        fs::File,
        io::{self, Read as _},
        os::fd::OwnedFd,
        path::Path,
        time::Duration,
    };

    fn start(program: &str, script: &str, output: Option<OwnedFd>) -> io::Result<Child> {
        let launch = Launch {
            program: Path::new(program),
            arguments: vec!["-c".into(), script.into()],
            environment: &BTreeMap::from([("GREETING".to_owned(), "hello there".to_owned())]),
            working_directory: Path::new("/usr"),
            descriptors: Vec::new(),
            input: None,
            output,
            errors: None,
            when_host_dies: WhenHostDies::End,
            entry: Entry::default(),
        };
        launch.start()
    }

    #[tokio::test]
    async fn how_a_program_ended_is_told_each_time_it_is_asked() {
        for (script, exit) in [("exit 7", Exit::Status(7)), ("kill -9 $$", Exit::Signal(9))] {
            let mut child = start("/bin/sh", script, None).unwrap();
            assert_eq!(child.wait().await.unwrap(), exit);
            assert_eq!(child.try_wait().unwrap(), Some(exit));
        }
        let mut child = start("/bin/sh", "read nothing", None).unwrap();
        assert_eq!(child.wait().await.unwrap(), Exit::Status(1), "its input is empty");
    }

    #[tokio::test]
    async fn what_cannot_be_started_says_why_and_leaves_no_process() {
        let missing = start("/nowhere/at/all", "", None).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        let folder = start("/usr", "", None).unwrap_err();
        assert_eq!(folder.kind(), io::ErrorKind::PermissionDenied);
        assert!(!has_children(std::process::id()));
    }

    #[tokio::test]
    async fn a_program_has_nothing_of_the_host_that_it_was_not_given() {
        let _open: Vec<File> = (0..8).map(|_| File::open("/dev/null").unwrap()).collect();
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        // The mask is read by the shell itself: while it starts a program, it holds signals back.
        let mask = "while read -r name value; do [ $name != SigBlk: ] || echo $value; done </proc/$$/status";
        let script = format!("pwd; tr '\\0' '\\n' </proc/$$/environ; ls /proc/$$/fd; {mask}; kill -PIPE $$");
        let mut child = start("/bin/sh", &script, Some(writer)).unwrap();
        let mut said = String::new();
        File::from(reader).read_to_string(&mut said).unwrap();
        assert_eq!(said, "/usr\nGREETING=hello there\n0\n1\n2\n0000000000000000\n");
        // The host does not listen to this one, and must not teach that to others.
        assert_eq!(child.wait().await.unwrap(), Exit::Signal(13));
    }

    #[tokio::test]
    async fn a_process_that_nobody_wants_any_more_is_ended_and_collected() {
        let child = start("/bin/sh", "while :; do :; done", None).unwrap();
        let folder = format!("/proc/{}", child.id());
        drop(child);
        let gone = async {
            while Path::new(&folder).exists() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), gone).await.unwrap();
    }
}
