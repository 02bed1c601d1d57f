//! What a new process does before it is its program.
//!
//! Everything is prepared before: here are only system calls, no allocation and no lock, because the memory is the host's
//! and another of its threads may hold any lock.

use super::{
    AGENT_NICENESS, Born, Image, Namespaces, PROXY_PORT, Prepared, PreparedRoot,
    birth::{Progress, give_birth},
    descriptors, files,
    mounting::{become_root, change_to, mount_processes, run_in_namespaces, stage},
    namespaces::{Maps, OF_EVERY_WORKER},
    root::Part,
    syscalls::Filter,
};
use crate::process::WhenHostDies;
use rustix::process::{PidfdFlags, getpid, pidfd_open};
use std::{
    ffi::{CStr, CString},
    io,
    os::fd::{AsRawFd as _, OwnedFd, RawFd},
    sync::Arc,
};

/// Descriptors of the host are moved up to here, out of the way of those the process will have.
const FIRST_OWN_DESCRIPTOR: RawFd = 100;

/// How a process is made ready, besides what every process gets.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    namespaces: Option<Ready>,
    ruleset: Option<OwnedFd>,
    filter: Option<Arc<Filter>>,
    /// Where descriptors are handed to the host, as the process numbers it.
    hand_over_on: Option<RawFd>,
    /// Files that take the process into its control groups.
    groups: Vec<OwnedFd>,
    limits: Vec<(libc::__rlimit_resource_t, u64)>,
}

/// Namespaces in the form the kernel takes them.
#[derive(Debug)]
pub(super) struct Ready {
    flags: libc::c_int,
    maps: Maps,
    root: Part,
    has_proxy: bool,
}

impl Ready {
    pub(super) fn new(namespaces: &Namespaces, root: Part) -> io::Result<Self> {
        let Namespaces { flags, has_proxy } = *namespaces;
        Ok(Self { flags, maps: Maps::of_this_user()?, root, has_proxy })
    }

    fn has_own_processes(&self) -> bool {
        self.flags & libc::CLONE_NEWPID != 0
    }
}

/// A process as it is to be.
#[derive(Debug)]
pub(crate) struct Newborn {
    /// What it becomes.
    pub(crate) image: Image,
    pub(crate) working_directory: CString,
    /// Its descriptors, from 0 on. It has no others.
    pub(crate) descriptors: Vec<OwnedFd>,
    pub(crate) when_host_dies: WhenHostDies,
    pub(crate) entry: Entry,
}

impl Newborn {
    /// Makes it, as the leader of a session of its own whose orphans stay below it, in its sandbox.
    pub(crate) fn start(self) -> io::Result<Born> {
        let Self { image, working_directory, descriptors, when_host_dies, entry } = self;
        let descriptors = descriptors.into_iter().map(out_of_the_way).collect::<io::Result<Vec<_>>>()?;
        let host = out_of_the_way(pidfd_open(getpid(), PidfdFlags::empty())?)?;
        let steps = |progress: &Progress| -> io::Result<()> {
            for (number, descriptor) in (0..).zip(&descriptors) {
                become_descriptor(descriptor, number)?;
            }
            entry.apply(when_host_dies, &host, progress)?;
            progress.at("");
            change_to(&working_directory)?;
            close_from(u32::try_from(descriptors.len()).unwrap_or(u32::MAX))?;
            image.become_it()
        };
        let why = |progress: &Progress| {
            steps(progress).err().unwrap_or_else(|| io::Error::from_raw_os_error(libc::ENOEXEC))
        };
        give_birth(entry.namespaces.as_ref().map_or(0, |ready| ready.flags), &why)
    }
}

/// Descriptors that the process will have must not be taken by others on the way.
fn out_of_the_way(descriptor: OwnedFd) -> io::Result<OwnedFd> {
    rustix::io::fcntl_dupfd_cloexec(&descriptor, FIRST_OWN_DESCRIPTOR).map_err(io::Error::from)
}

impl Entry {
    /// Namespaces with a root of their own and no powers in them; system calls stay open. For a process that runs no
    /// agent itself.
    pub(crate) fn of_zygote(namespaces: &Namespaces, root: Part) -> io::Result<Self> {
        Ok(Self { namespaces: Some(Ready::new(namespaces, root)?), ..Self::default() })
    }

    /// The whole sandbox, for a process that becomes an engine.
    pub(crate) fn whole(
        prepared: Prepared,
        groups: Vec<OwnedFd>,
        limits: Vec<(libc::__rlimit_resource_t, u64)>,
        hand_over_on: RawFd,
    ) -> io::Result<Self> {
        Ok(Self {
            namespaces: match prepared.root {
                Some(PreparedRoot::Whole(namespaces, root)) => Some(Ready::new(&namespaces, root)?),
                _ => None,
            },
            ruleset: prepared.ruleset.map(out_of_the_way).transpose()?,
            filter: prepared.filter,
            hand_over_on: Some(hand_over_on),
            groups: groups.into_iter().map(out_of_the_way).collect::<io::Result<_>>()?,
            limits,
        })
    }

    fn apply(&self, when_host_dies: WhenHostDies, host: &OwnedFd, progress: &Progress) -> io::Result<()> {
        leave_session()?;
        step_back()?;
        self.groups.iter().try_for_each(|group| write_all(group.as_raw_fd(), b"0"))?;
        if when_host_dies == WhenHostDies::End {
            set(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong)?;
            // One that died before this was said will not be heard of.
            refuse_if_gone(host)?;
        }
        set(libc::PR_SET_CHILD_SUBREAPER, 1)?;
        let proc = match &self.namespaces {
            Some(ready) => enter(ready, progress)?,
            None => Proc::Shared,
        };
        self.close_the_doors(proc, progress)?;
        progress.at("set limits");
        // Last: until it becomes the program, the process has all descriptors of the host, which count.
        self.limits.iter().try_for_each(|(resource, value)| limit(*resource, *value))
    }

    /// Files and system calls, in this order: the filter would refuse what the steps before it need.
    fn close_the_doors(&self, proc: Proc, progress: &Progress) -> io::Result<()> {
        progress.at("listen for the proxy");
        if let (Some(hand_over_on), Some(ready)) = (self.hand_over_on, &self.namespaces)
            && ready.has_proxy
        {
            hand_over(hand_over_on, descriptors::PROXY, Some(listen()?))?;
        }
        let is_confined = self.namespaces.is_some() || self.ruleset.is_some() || self.filter.is_some();
        if is_confined {
            progress.at("give up powers");
            match self.hand_over_on {
                Some(_) => give_up_powers()?,
                None => keep_power_to_map_root()?,
            }
            set(libc::PR_SET_NO_NEW_PRIVS, 1)?;
        }
        progress.at("restrict files");
        if let Some(ruleset) = &self.ruleset {
            restrict_files(ruleset, proc)?;
        }
        progress.at("filter system calls");
        if let (Some(filter), Some(hand_over_on)) = (&self.filter, self.hand_over_on) {
            let listener = install(filter)?;
            hand_over(hand_over_on, descriptors::NOTICES, Some(listener))?;
        }
        match self.hand_over_on {
            Some(hand_over_on) => hand_over(hand_over_on, descriptors::DONE, None),
            None => Ok(()),
        }
    }
}

/// Tries what a worker does to have a root, processes and a network of its own; an error says which step this machine
/// does not allow.
pub(super) fn try_namespaces(root: Part) -> io::Result<()> {
    let namespaces = Namespaces { flags: OF_EVERY_WORKER | libc::CLONE_NEWNET, has_proxy: false };
    let ready = Ready::new(&namespaces, root)?;
    run_in_namespaces(ready.flags, &|progress| enter(&ready, progress).map(drop))
}

/// Puts a descriptor at the number it is to have.
#[expect(unsafe_code, reason = "the safe form takes an owner of the number")]
fn become_descriptor(descriptor: &OwnedFd, number: RawFd) -> io::Result<()> {
    // SAFETY: numbers go in and out; whatever had the number in this process is not used in it.
    check(unsafe { libc::dup2(descriptor.as_raw_fd(), number) })
}

/// A process can be heard to end, and so can be asked whether it did.
#[expect(unsafe_code, reason = "the safe form may allocate")]
fn refuse_if_gone(process: &OwnedFd) -> io::Result<()> {
    let mut asked = libc::pollfd { fd: process.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: the kernel reads and writes one structure of that type, and does not wait.
    match unsafe { libc::poll(&raw mut asked, 1, 0) } {
        0 => Ok(()),
        answer if answer > 0 => Err(io::Error::from_raw_os_error(libc::ESRCH)),
        _ => Err(io::Error::last_os_error()),
    }
}

pub(super) fn check(answer: libc::c_int) -> io::Result<()> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// A session of its own: no terminal to write to, a group to end it by, and a share of the processors apart from the
/// host's where the kernel shares them out by session.
#[expect(unsafe_code, reason = "the safe form is not documented for use in a new process")]
fn leave_session() -> io::Result<()> {
    // SAFETY: takes nothing and returns a number.
    check(unsafe { libc::setsid() })
}

/// The host answers everybody, an agent only its caller: when processors are short, the host goes first.
#[expect(unsafe_code, reason = "the safe form may allocate for its error")]
fn step_back() -> io::Result<()> {
    // SAFETY: only numbers go in and out.
    check(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, AGENT_NICENESS) })
}

#[expect(unsafe_code, reason = "the safe form is not documented for use in a new process")]
fn limit(resource: libc::__rlimit_resource_t, value: u64) -> io::Result<()> {
    let limit = libc::rlimit { rlim_cur: value, rlim_max: value };
    // SAFETY: the kernel reads one structure of that type.
    check(unsafe { libc::setrlimit(resource, &raw const limit) })
}

/// Whose processes `/proc` shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Proc {
    Own,
    Shared,
}

/// Makes itself at home in the namespaces it was made in: its identity, its root, its view of processes.
fn enter(ready: &Ready, progress: &Progress) -> io::Result<Proc> {
    progress.at("map the user");
    write_maps(&ready.maps)?;
    stage(&ready.root, progress)?;
    let has_own = ready.has_own_processes() && mount_processes(progress)?;
    become_root(progress)?;
    Ok(if has_own { Proc::Own } else { Proc::Shared })
}

/// The same ids inside as outside, and no others.
pub(super) fn write_maps(maps: &Maps) -> io::Result<()> {
    write_file(c"/proc/self/setgroups", b"deny")?;
    write_file(c"/proc/self/uid_map", maps.user.as_bytes())?;
    write_file(c"/proc/self/gid_map", maps.group.as_bytes())
}

/// Powers over its own namespaces, which the process has from making them, and those of root. A process without powers
/// may not say so, and need not.
fn give_up_powers() -> io::Result<()> {
    /// Being root means nothing, ids do not matter, powers are never kept; and none of it can be changed back.
    const ROOT_IS_NOBODY: libc::c_ulong = 0b10_1111;
    match set(libc::PR_SET_SECUREBITS, ROOT_IS_NOBODY) {
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => {}
        done => done?,
    }
    set_powers(0)
}

/// A zygote of root has to let its workers be root in their own namespaces, which is one power in its own namespace; one
/// of an ordinary user loses it with all others when it becomes its program.
fn keep_power_to_map_root() -> io::Result<()> {
    const SET_FILE_CAPABILITIES: u32 = 1 << 31;
    set_powers(SET_FILE_CAPABILITIES)
}

#[expect(unsafe_code, reason = "the call has no safe form")]
fn set_powers(kept: u32) -> io::Result<()> {
    const VERSION_3: u32 = 0x2008_0522;
    #[repr(C)]
    struct Header {
        version: u32,
        process: libc::c_int,
    }
    let header = Header { version: VERSION_3, process: 0 };
    // In force, permitted and inherited, of the first 32 powers; then of the others.
    let powers = [kept, kept, 0, 0, 0, 0];
    // SAFETY: the kernel reads a header and six numbers, as this version of the call has them.
    let answer = unsafe { libc::syscall(libc::SYS_capset, &raw const header, powers.as_ptr()) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Adds the worker's own view of processes to the rules, and puts them in force.
#[expect(unsafe_code, reason = "the calls have no safe form")]
fn restrict_files(ruleset: &OwnedFd, proc: Proc) -> io::Result<()> {
    #[repr(C, packed)]
    struct Beneath {
        access: u64,
        folder: RawFd,
    }
    const PATH_BENEATH: libc::c_ulong = 1;
    // SAFETY: the texts are constants, and the kernel reads one structure of the form it documents.
    let answers = unsafe {
        let folder = libc::open(c"/proc".as_ptr(), libc::O_PATH | libc::O_CLOEXEC);
        let rule = Beneath { access: files::access_to_proc(), folder };
        let added = match folder >= 0 && proc == Proc::Own {
            true => libc::syscall(
                libc::SYS_landlock_add_rule,
                ruleset.as_raw_fd(),
                PATH_BENEATH,
                &raw const rule,
                0,
            ),
            false => 0,
        };
        libc::close(folder);
        [added, libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0)]
    };
    if answers.iter().all(|answer| *answer == 0) { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Puts the filter in force; the answer is where refused calls are heard.
#[expect(unsafe_code, reason = "the call has no safe form")]
pub(super) fn install(filter: &Filter) -> io::Result<RawFd> {
    let instructions = filter.instructions();
    let program = libc::sock_fprog {
        len: u16::try_from(instructions.len()).unwrap_or(0),
        filter: instructions.as_ptr().cast::<libc::sock_filter>().cast_mut(),
    };
    // SAFETY: the kernel reads the program and as many instructions as it names.
    let put_in_force = |flags: libc::c_ulong| unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program)
    };
    let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    // A call that the host works at must not begin again because of a signal; older kernels do not know this wish.
    let mut answer = put_in_force(flags | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
    if answer < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::EINVAL) {
        answer = put_in_force(flags);
    }
    RawFd::try_from(answer).ok().filter(|descriptor| *descriptor >= 0).ok_or_else(io::Error::last_os_error)
}

/// A listener for the proxy in the new network, whose only device is switched on.
#[expect(unsafe_code, reason = "the safe forms may allocate")]
fn listen() -> io::Result<RawFd> {
    const BACKLOG: libc::c_int = 128;
    // SAFETY: plain structures of the documented types, filled before the kernel reads them.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
        check(socket)?;
        let mut device: libc::ifreq = std::mem::zeroed();
        device.ifr_name[..2].copy_from_slice(&[b'l' as libc::c_char, b'o' as libc::c_char]);
        device.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
        check(libc::ioctl(socket, libc::SIOCSIFFLAGS as _, &raw const device))?;
        let mut address: libc::sockaddr_in = std::mem::zeroed();
        address.sin_family = libc::AF_INET as libc::sa_family_t;
        address.sin_port = PROXY_PORT.to_be();
        address.sin_addr.s_addr = u32::from(std::net::Ipv4Addr::LOCALHOST).to_be();
        let size = size_of::<libc::sockaddr_in>() as libc::socklen_t;
        check(libc::bind(socket, (&raw const address).cast(), size))?;
        check(libc::listen(socket, BACKLOG))?;
        Ok(socket)
    }
}

/// One byte that says what it is, and the descriptor, which the process itself then closes.
#[expect(unsafe_code, reason = "the safe forms may allocate")]
pub(super) fn hand_over(socket: RawFd, kind: u8, descriptor: Option<RawFd>) -> io::Result<()> {
    #[repr(C)]
    union Space {
        _alignment: libc::cmsghdr,
        bytes: [u8; 64],
    }
    let mut space = Space { bytes: [0; 64] };
    let mut byte = libc::iovec { iov_base: (&raw const kind).cast_mut().cast(), iov_len: 1 };
    // SAFETY: the message points to the byte and the space above, which outlive the call, and is filled as cmsg(3) says.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut byte;
        message.msg_iovlen = 1;
        if let Some(descriptor) = descriptor {
            let size = size_of::<RawFd>() as u32;
            message.msg_control = (&raw mut space).cast();
            message.msg_controllen = libc::CMSG_SPACE(size) as _;
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(size) as _;
            libc::CMSG_DATA(header).cast::<RawFd>().write_unaligned(descriptor);
        }
        if libc::sendmsg(socket, &raw const message, libc::MSG_NOSIGNAL) < 0 {
            return Err(io::Error::last_os_error());
        }
        descriptor.map_or(Ok(()), |descriptor| check(libc::close(descriptor)))
    }
}

#[expect(unsafe_code, reason = "the safe forms may allocate")]
fn write_file(path: &CStr, text: &[u8]) -> io::Result<()> {
    // SAFETY: the path is a text that outlives the call.
    let file = unsafe { libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC) };
    check(file)?;
    let written = write_all(file, text);
    // SAFETY: the descriptor is ours.
    check(unsafe { libc::close(file) })?;
    written
}

#[expect(unsafe_code, reason = "the safe forms may allocate")]
fn write_all(file: RawFd, text: &[u8]) -> io::Result<()> {
    // SAFETY: the kernel reads as many bytes as there are.
    let written = unsafe { libc::write(file, text.as_ptr().cast(), text.len()) };
    match usize::try_from(written) {
        Ok(count) if count == text.len() => Ok(()),
        Ok(_) => Err(io::ErrorKind::WriteZero.into()),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

#[expect(unsafe_code, reason = "the call has no safe form")]
fn close_from(first: u32) -> io::Result<()> {
    // Closed by exec rather than now: one of them tells the parent whether exec worked.
    // SAFETY: descriptors are only marked; no memory is read.
    let answer = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[expect(unsafe_code, reason = "prctl has no safe form that is documented for use in a new process")]
fn set(option: libc::c_int, value: libc::c_ulong) -> io::Result<()> {
    // SAFETY: prctl with these options reads no memory of ours.
    check(unsafe { libc::prctl(option, value, 0, 0, 0) })
}

#[cfg(test)]
mod tests {
    use super::refuse_if_gone;
    use crate::process::{as_pid, idle_process};
    use rustix::process::{PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal};

    #[tokio::test]
    async fn a_host_that_is_gone_is_noticed_and_one_that_lives_is_not() {
        let mut host = idle_process().unwrap();
        let held = pidfd_open(as_pid(host.id()).unwrap(), PidfdFlags::empty()).unwrap();
        refuse_if_gone(&held).unwrap();
        pidfd_send_signal(&held, Signal::KILL).unwrap();
        host.wait().await.unwrap();
        assert_eq!(refuse_if_gone(&held).unwrap_err().raw_os_error(), Some(libc::ESRCH));
        refuse_if_gone(&pidfd_open(getpid(), PidfdFlags::empty()).unwrap()).unwrap();
    }
}
