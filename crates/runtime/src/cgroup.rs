//! Control groups: the only limits on processes and memory that hold for a whole tree, and for root.
//!
//! Used where the kernel lets us make a group below our own; elsewhere workers have per-process limits only, and
//! receipts say so.

use roost_protocol::Limits;
use std::{
    fs, io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// The groups this host can make, found once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cgroups {
    processes: Option<Controller>,
    memory: Option<Controller>,
    busy: Busy,
}

/// Folders of groups whose processes were still dying when they were to be removed.
type Busy = Arc<Mutex<Vec<PathBuf>>>;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Controller {
    folder: PathBuf,
    unified: bool,
}

/// Group names are unique in the process, because they are unique on the machine only together with its id.
static NEXT: AtomicU64 = AtomicU64::new(0);

impl Cgroups {
    /// Looks for controllers in which this process may make groups.
    pub(crate) fn detect() -> Self {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let usable = |name| controller(&mounts, &own, name).filter(Controller::can_make_groups);
        let cgroups = Self { processes: usable("pids"), memory: usable("memory"), busy: Busy::default() };
        cgroups.remove_left_behind();
        cgroups
    }

    /// Names of the limits these groups add.
    pub(crate) fn enforces_processes(&self) -> bool {
        self.processes.is_some()
    }

    pub(crate) fn enforces_memory(&self) -> bool {
        self.memory.is_some()
    }

    /// Makes a group with these limits. Nothing is in it yet.
    pub(crate) fn make(&self, limits: &Limits) -> io::Result<Group> {
        let name = format!("roost-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let mut group = Group { folders: Vec::new(), processes: None, busy: Arc::clone(&self.busy) };
        self.busy.lock().unwrap_or_else(PoisonError::into_inner).retain(|folder| !remove(folder));
        if let Some(controller) = &self.processes {
            let folder = group.make(controller, &name)?;
            fs::write(folder.join("pids.max"), limits.processes.to_string())?;
            group.processes = Some(folder);
        }
        if let Some(controller) = &self.memory {
            let folder = group.make(controller, &name)?;
            let file = if controller.unified { "memory.max" } else { "memory.limit_in_bytes" };
            fs::write(folder.join(file), limits.memory_bytes().to_string())?;
        }
        Ok(group)
    }

    /// Ends and removes what hosts left behind that died before they could tidy up.
    fn remove_left_behind(&self) {
        for controller in [&self.processes, &self.memory].into_iter().flatten() {
            for entry in fs::read_dir(&controller.folder).into_iter().flatten().flatten() {
                let name = entry.file_name();
                let owner = name.to_str().and_then(|name| name.strip_prefix("roost-")?.split('-').next());
                if owner.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
                    kill_members(&entry.path());
                    remove(&entry.path());
                }
            }
        }
    }
}

impl Controller {
    fn can_make_groups(&self) -> bool {
        let probe = self.folder.join(format!("roost-probe-{}", std::process::id()));
        fs::create_dir(&probe).is_ok_and(|()| {
            let holds = probe.join("pids.max").exists()
                || probe.join("memory.max").exists()
                || probe.join("memory.limit_in_bytes").exists();
            remove(&probe);
            holds
        })
    }
}

/// The folder of our own group in the hierarchy that has this controller.
fn controller(mounts: &str, own: &str, name: &str) -> Option<Controller> {
    let own_path = |wanted: &str| {
        own.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let controllers = fields.next()?;
            controllers.split(',').any(|controller| controller == wanted).then(|| fields.next())?
        })
    };
    let mount = |kind: &str, option: Option<&str>| {
        mounts.lines().find_map(|line| {
            let fields: Vec<&str> = line.split(' ').collect();
            let fits = fields.get(2) == Some(&kind)
                && option.is_none_or(|option| {
                    fields.get(3).is_some_and(|all| all.split(',').any(|one| one == option))
                });
            fits.then(|| PathBuf::from(fields[1]))
        })
    };
    if let (Some(mount), Some(path)) = (mount("cgroup", Some(name)), own_path(name)) {
        return Some(Controller { folder: mount.join(path.trim_start_matches('/')), unified: false });
    }
    let folder = mount("cgroup2", None)?.join(own_path("")?.trim_start_matches('/'));
    Some(Controller { folder, unified: true })
}

/// One worker's group. Everything in it can be ended at once, however it forked or daemonised.
#[derive(Debug)]
pub(crate) struct Group {
    folders: Vec<PathBuf>,
    processes: Option<PathBuf>,
    busy: Busy,
}

/// Rounds of reading and killing before giving up; with no new forks possible, one round nearly always does.
const KILL_ROUNDS_MAX: usize = 5;

impl Group {
    fn make(&mut self, controller: &Controller, name: &str) -> io::Result<PathBuf> {
        let folder = controller.folder.join(name);
        if !self.folders.contains(&folder) {
            fs::create_dir(&folder)?;
            self.folders.push(folder.clone());
        }
        Ok(folder)
    }

    /// Files through which a process of one thread takes itself into the group, by writing `0`. A thread that moves only
    /// itself waits for nobody; a process that is moved waits, each time, until every processor has rested once: some
    /// milliseconds, during which nothing on the machine can fork. Only older hierarchies have a file for threads.
    pub(crate) fn entrances(&self) -> io::Result<Vec<OwnedFd>> {
        let write = |file| fs::OpenOptions::new().write(true).open(file);
        let open = |folder: &PathBuf| match write(folder.join("tasks")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => write(folder.join("cgroup.procs")),
            opened => opened,
        };
        self.folders.iter().map(|folder| open(folder).map(OwnedFd::from)).collect()
    }

    /// True when the kernel ended something in this group for want of memory.
    pub(crate) fn ran_out_of_memory(&self) -> bool {
        let killed = |folder: &PathBuf| {
            let events = ["memory.events", "memory.oom_control"]
                .iter()
                .find_map(|file| fs::read_to_string(folder.join(file)).ok())?;
            let line = events.lines().find(|line| line.starts_with("oom_kill "))?;
            line.split(' ').nth(1)?.parse::<u64>().ok().filter(|count| *count > 0)
        };
        self.folders.iter().any(|folder| killed(folder).is_some())
    }

    /// Ends every process of the group.
    pub(crate) fn kill_all(&self) {
        let Some(folder) = &self.processes else { return };
        // First no more forks, then the kill: otherwise a bomb could outrun it.
        if let Err(error) = fs::write(folder.join("pids.max"), "0") {
            tracing::debug!(%error, "stop forks of a group");
        }
        kill_members(folder);
    }
}

fn kill_members(folder: &Path) {
    for _ in 0..KILL_ROUNDS_MAX {
        let members = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
        let members: Vec<u32> = members.lines().filter_map(|line| line.parse().ok()).collect();
        if members.is_empty() {
            return;
        }
        members.into_iter().for_each(|pid| kill_member(pid, folder));
        std::thread::yield_now();
    }
}

/// Kills a process only while it is surely a member: the descriptor holds the process, then membership is read.
fn kill_member(pid: u32, folder: &Path) {
    use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
    let Some(Ok(process)) = crate::process::as_pid(pid).map(|pid| pidfd_open(pid, PidfdFlags::empty()))
    else {
        return;
    };
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_member = groups.lines().any(|line| line.rsplit('/').next() == Some(name));
    if is_member && let Err(error) = pidfd_send_signal(&process, Signal::KILL) {
        tracing::debug!(pid, %error, "kill a member of a group");
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill_all();
        let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        busy.extend(self.folders.drain(..).filter(|folder| !remove(folder)));
    }
}

/// True when the group is gone; false while processes in it are still dying.
fn remove(folder: &Path) -> bool {
    match fs::remove_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::ResourceBusy => false,
        Err(error) => {
            tracing::debug!(%error, folder = %folder.display(), "remove a group");
            true
        }
        Ok(()) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::{Controller, controller};

    #[test]
    fn the_own_group_is_found_in_both_hierarchies() {
        let mounts = "cgroup /sys/fs/cgroup/pids cgroup rw,nosuid,pids 0 0\n\
                      cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        let own = "8:pids:/\n4:memory:/a/b\n0::/user.slice\n";
        let at = |folder: &str, unified| Some(Controller { folder: folder.into(), unified });
        assert_eq!(controller(mounts, own, "pids"), at("/sys/fs/cgroup/pids/", false));
        assert_eq!(controller(mounts, own, "memory"), at("/sys/fs/cgroup/unified/user.slice", true));
        assert_eq!(controller("", own, "pids"), None);
        assert_eq!(controller(mounts, "", "pids"), None);
    }
}
