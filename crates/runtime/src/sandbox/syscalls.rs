//! The system calls a worker may make, as a seccomp filter.
//!
//! A list of what is refused rather than of what is allowed: agents are ordinary programs, and files and network are
//! confined by other layers. Refused is what leads out of the sandbox, traces others, reaches parts of the kernel
//! that no agent needs, or opens sockets of a kind the policy does not give. Each refusal is answered by the host,
//! which so learns of it.

use roost_protocol::{NetworkMode, Right};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, sock_filter,
};
use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Calls that are always refused, and what they do.
const REFUSED: &[(i64, &str)] = &[
    (libc::SYS_ptrace, "trace a process"),
    (libc::SYS_process_vm_readv, "read the memory of a process"),
    (libc::SYS_process_vm_writev, "write the memory of a process"),
    (libc::SYS_kcmp, "compare processes"),
    (libc::SYS_pidfd_getfd, "take a descriptor of another process"),
    (libc::SYS_mount, "mount a file system"),
    (libc::SYS_umount2, "unmount a file system"),
    (libc::SYS_move_mount, "move a mount"),
    (libc::SYS_open_tree, "take a mount"),
    (libc::SYS_fsopen, "make a file system"),
    (libc::SYS_fsconfig, "set up a file system"),
    (libc::SYS_fsmount, "mount a file system"),
    (libc::SYS_fspick, "take a file system"),
    (libc::SYS_mount_setattr, "change a mount"),
    (libc::SYS_pivot_root, "change the root"),
    (libc::SYS_chroot, "change the root"),
    (libc::SYS_setns, "enter a namespace"),
    (libc::SYS_unshare, "make a namespace"),
    (libc::SYS_bpf, "load a kernel program"),
    (libc::SYS_perf_event_open, "watch the processor"),
    (libc::SYS_userfaultfd, "answer page faults"),
    (libc::SYS_keyctl, "use kernel keys"),
    (libc::SYS_add_key, "add a kernel key"),
    (libc::SYS_request_key, "ask for a kernel key"),
    (libc::SYS_io_uring_setup, "use io_uring"),
    (libc::SYS_io_uring_enter, "use io_uring"),
    (libc::SYS_io_uring_register, "use io_uring"),
    // A file that is in no folder, and so in no rule about folders, could be executed.
    (libc::SYS_memfd_create, "make a file in memory"),
    (libc::SYS_memfd_secret, "make secret memory"),
    (libc::SYS_open_by_handle_at, "open a file by handle"),
    (libc::SYS_fanotify_init, "watch all files"),
    (libc::SYS_init_module, "load a kernel module"),
    (libc::SYS_finit_module, "load a kernel module"),
    (libc::SYS_delete_module, "unload a kernel module"),
    (libc::SYS_kexec_load, "load another kernel"),
    (libc::SYS_kexec_file_load, "load another kernel"),
    (libc::SYS_reboot, "restart the computer"),
    (libc::SYS_swapon, "add swap space"),
    (libc::SYS_swapoff, "remove swap space"),
    (libc::SYS_acct, "record processes"),
    (libc::SYS_quotactl, "change quotas"),
    (libc::SYS_quotactl_fd, "change quotas"),
    (libc::SYS_syslog, "read the kernel log"),
    (libc::SYS_settimeofday, "set the clock"),
    (libc::SYS_clock_settime, "set the clock"),
    (libc::SYS_clock_adjtime, "adjust the clock"),
    (libc::SYS_adjtimex, "adjust the clock"),
    (libc::SYS_sethostname, "rename the computer"),
    (libc::SYS_setdomainname, "rename the network"),
    (libc::SYS_vhangup, "hang up the terminal"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_iopl, "use hardware ports"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_ioperm, "use hardware ports"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_modify_ldt, "change segments"),
];

/// Kinds of namespaces `clone` can make.
const NAMESPACE_FLAGS: &[libc::c_int] = &[
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// Bits of a socket's type that are its kind, the others being flags.
const KIND: u64 = 0xf;

/// A kind of socket from before there was a family for packets.
const OLD_PACKET_KIND: libc::c_int = 10;

/// Every kind of socket besides streams and datagrams.
const UNUSUAL_KINDS: [libc::c_int; 5] =
    [libc::SOCK_RAW, libc::SOCK_RDM, libc::SOCK_SEQPACKET, libc::SOCK_DCCP, OLD_PACKET_KIND];

/// Where `ioctl` writes to a terminal as if a person typed.
const TYPING: &[u64] = &[libc::TIOCSTI, libc::TIOCLINUX];

/// A filter ready to be installed.
#[derive(Debug)]
pub(crate) struct Filter {
    instructions: BpfProgram,
}

impl Filter {
    pub(super) fn instructions(&self) -> &[sock_filter] {
        &self.instructions
    }

    /// As the kernel takes them.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let bytes = |one: &sock_filter| {
            let mut bytes = [0; 8];
            bytes[..2].copy_from_slice(&one.code.to_ne_bytes());
            (bytes[2], bytes[3]) = (one.jt, one.jf);
            bytes[4..].copy_from_slice(&one.k.to_ne_bytes());
            bytes
        };
        self.instructions.iter().flat_map(bytes).collect()
    }
}

/// Which programs may be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Executing {
    Anything,
    Nothing,
    /// Only the program whose path is the text at this address of the host's memory: once it was started, that text
    /// is no more, and nothing else can be started.
    Once(u64),
}

/// Filters made so far: there are few different ones.
#[derive(Debug, Default)]
pub(super) struct Filters(Mutex<HashMap<(NetworkMode, Executing), Arc<Filter>>>);

impl Filters {
    pub(super) fn get(
        &self,
        network: NetworkMode,
        may_execute: Executing,
    ) -> Result<Arc<Filter>, seccompiler::Error> {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(filter) = made.get(&(network, may_execute)) {
            return Ok(Arc::clone(filter));
        }
        let filter = Arc::new(Filter { instructions: compile(network, may_execute)? });
        made.insert((network, may_execute), Arc::clone(&filter));
        Ok(filter)
    }
}

fn compile(network: NetworkMode, may_execute: Executing) -> Result<BpfProgram, seccompiler::Error> {
    let mut rules: Rules = REFUSED.iter().map(|(number, _)| (*number, Vec::new())).collect();
    let namespaces = NAMESPACE_FLAGS.iter().map(|flag| bits(0, *flag as u64, *flag as u64));
    rules.insert(libc::SYS_clone, all_of(namespaces)?);
    rules.insert(libc::SYS_ioctl, all_of(TYPING.iter().map(|command| equals(1, *command)))?);
    // A datagram socket can be sent anywhere from, even when it was made as one of a pair.
    rules.insert(libc::SYS_socketpair, all_of([bits(1, KIND, libc::SOCK_DGRAM as u64)])?);
    rules.insert(libc::SYS_socket, sockets(network)?);
    if may_execute != Executing::Anything {
        let others = match may_execute {
            Executing::Once(address) => vec![rule(vec![differs_in_full(0, address)])?],
            _ => Vec::new(),
        };
        rules.insert(libc::SYS_execve, others);
        rules.insert(libc::SYS_execveat, Vec::new());
    }
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Trace(0), architecture())
        .map_err(seccompiler::Error::Backend)?;
    let program: BpfProgram = filter.try_into().map_err(seccompiler::Error::Backend)?;
    Ok(unknown_numbers().into_iter().chain(program.into_iter().map(notify_instead_of_trace)).collect())
}

/// Which sockets are refused; no rule at all means every one of them.
fn sockets(network: NetworkMode) -> Result<Vec<SeccompRule>, seccompiler::Error> {
    let (inet, inet6, netlink) = (libc::AF_INET as u64, libc::AF_INET6 as u64, libc::AF_NETLINK as u64);
    let kind = |kind: libc::c_int| bits(1, KIND, kind as u64);
    let mut refused = Vec::new();
    match network {
        NetworkMode::None => {}
        NetworkMode::Hosts => {
            refused.push(vec![differs(0, inet), differs(0, inet6)]);
            refused.push(vec![kind(libc::SOCK_DGRAM)]);
            refused.extend(UNUSUAL_KINDS.map(|unusual| vec![kind(unusual)]));
        }
        NetworkMode::Any => {
            refused.push(vec![differs(0, inet), differs(0, inet6), differs(0, netlink)]);
            // The list of own addresses, which the resolver reads; nothing else of netlink.
            refused.push(vec![equals(0, netlink), differs(2, 0)]);
            refused.extend(UNUSUAL_KINDS.map(|unusual| vec![kind(unusual), differs(0, netlink)]));
        }
    }
    refused.into_iter().map(rule).collect()
}

/// Numbers of an older way to make calls on this architecture, and the one call whose flags a filter cannot see: the
/// C library then uses the call whose flags it can.
fn unknown_numbers() -> [sock_filter; 4] {
    const OLD_NUMBERS: u32 = 0x4000_0000;
    let code = |parts: [u32; 3]| u16::try_from(parts.iter().sum::<u32>()).unwrap_or_default();
    let jump = |how: u32| code([libc::BPF_JMP, how, libc::BPF_K]);
    let unknown = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs();
    let clone3 = u32::try_from(libc::SYS_clone3).unwrap_or_default();
    [
        sock_filter { code: code([libc::BPF_LD, libc::BPF_W, libc::BPF_ABS]), jt: 0, jf: 0, k: 0 },
        sock_filter { code: jump(libc::BPF_JGE), jt: 1, jf: 0, k: OLD_NUMBERS },
        sock_filter { code: jump(libc::BPF_JEQ), jt: 0, jf: 1, k: clone3 },
        sock_filter { code: code([libc::BPF_RET, libc::BPF_K, 0]), jt: 0, jf: 0, k: unknown },
    ]
}

/// The library knows no filter that asks a supervisor; its form for tracers differs by one number.
fn notify_instead_of_trace(mut instruction: sock_filter) -> sock_filter {
    let is_return = u32::from(instruction.code) == libc::BPF_RET | libc::BPF_K;
    if is_return && instruction.k == libc::SECCOMP_RET_TRACE {
        instruction.k = libc::SECCOMP_RET_USER_NOTIF;
    }
    instruction
}

fn architecture() -> TargetArch {
    if cfg!(target_arch = "aarch64") { TargetArch::aarch64 } else { TargetArch::x86_64 }
}

type Condition = Result<SeccompCondition, seccompiler::Error>;

fn condition(argument: u8, operation: SeccompCmpOp, value: u64) -> Condition {
    // The kernel reads only the lower half of these arguments.
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operation, value).map_err(seccompiler::Error::Backend)
}

fn equals(argument: u8, value: u64) -> Condition {
    condition(argument, SeccompCmpOp::Eq, value)
}

fn differs(argument: u8, value: u64) -> Condition {
    condition(argument, SeccompCmpOp::Ne, value)
}

/// For addresses, of which both halves count.
fn differs_in_full(argument: u8, value: u64) -> Condition {
    SeccompCondition::new(argument, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, value)
        .map_err(seccompiler::Error::Backend)
}

fn bits(argument: u8, mask: u64, value: u64) -> Condition {
    condition(argument, SeccompCmpOp::MaskedEq(mask), value)
}

fn rule(conditions: Vec<Condition>) -> Result<SeccompRule, seccompiler::Error> {
    let conditions = conditions.into_iter().collect::<Result<_, _>>()?;
    SeccompRule::new(conditions).map_err(seccompiler::Error::Backend)
}

fn all_of(conditions: impl IntoIterator<Item = Condition>) -> Result<Vec<SeccompRule>, seccompiler::Error> {
    conditions.into_iter().map(|condition| rule(vec![condition])).collect()
}

/// What a refused call was about, and the right that would have allowed it.
pub(super) fn in_words(number: i64, arguments: [u64; 6]) -> (String, Option<Right>) {
    match number {
        libc::SYS_socket => socket_in_words(arguments),
        libc::SYS_socketpair => ("open a pair of datagram sockets".to_owned(), None),
        libc::SYS_execve | libc::SYS_execveat => ("start a program".to_owned(), Some(Right::Subprocess)),
        libc::SYS_clone => ("make a namespace".to_owned(), None),
        libc::SYS_ioctl => ("type into a terminal".to_owned(), None),
        other => {
            let known = REFUSED.iter().find(|(number, _)| *number == other).map(|(_, words)| *words);
            (known.unwrap_or("make a system call that no agent may").to_owned(), None)
        }
    }
}

/// What opening a Unix socket is called.
pub(crate) const UNIX_SOCKET: &str = "open a Unix socket";

#[expect(clippy::cast_possible_truncation, reason = "the kernel reads only the lower half")]
fn socket_in_words(arguments: [u64; 6]) -> (String, Option<Right>) {
    let (family, kind) = (arguments[0] as i32, (arguments[1] & KIND) as i32);
    let is_internet = family == libc::AF_INET || family == libc::AF_INET6;
    let what = match (family, kind) {
        (libc::AF_UNIX, _) => UNIX_SOCKET,
        (libc::AF_NETLINK, _) => "open a netlink socket",
        (libc::AF_PACKET, _) => "open a packet socket",
        (libc::AF_INET | libc::AF_INET6, libc::SOCK_STREAM) => "use the network",
        (libc::AF_INET | libc::AF_INET6, libc::SOCK_DGRAM) => "send datagrams (UDP, DNS)",
        (libc::AF_INET | libc::AF_INET6, _) => "open a raw socket",
        _ => "open a socket of an unusual family",
    };
    let usual = [libc::SOCK_STREAM, libc::SOCK_DGRAM].contains(&kind);
    (what.to_owned(), (is_internet && usual).then_some(Right::AnyNetwork))
}

/// True when the kernel can filter calls and ask a supervisor about them.
#[expect(unsafe_code, reason = "the question has no safe form")]
pub(super) fn can_filter() -> bool {
    let action = libc::SECCOMP_RET_USER_NOTIF;
    // SAFETY: the kernel reads the four bytes of the action and changes nothing.
    let answer = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0, &raw const action) };
    answer == 0
}

#[cfg(test)]
mod tests {
    use super::{Executing, Filters, in_words};
    use roost_protocol::NetworkMode;

    #[test]
    fn every_mode_compiles_to_a_filter_the_kernel_can_take() {
        const INSTRUCTIONS_MAX: usize = 4096;
        let filters = Filters::default();
        for network in [NetworkMode::None, NetworkMode::Hosts, NetworkMode::Any] {
            for may_execute in [Executing::Nothing, Executing::Anything, Executing::Once(0x7f00_1234_5678)] {
                let filter = filters.get(network, may_execute).unwrap();
                assert!(filter.instructions().len() < INSTRUCTIONS_MAX);
                assert_eq!(filter.bytes().len(), filter.instructions().len() * 8);
                let asks = filter.instructions().iter().any(|one| one.k == libc::SECCOMP_RET_USER_NOTIF);
                assert!(asks, "nothing would be refused");
            }
        }
    }

    #[test]
    fn a_refused_socket_names_the_right_that_allows_it() {
        let (what, right) = in_words(libc::SYS_socket, [2, 1 | 0x80000, 0, 0, 0, 0]);
        assert_eq!((what.as_str(), right.unwrap().to_string()), ("use the network", "network:*".to_owned()));
        assert_eq!(in_words(libc::SYS_socket, [1, 1, 0, 0, 0, 0]).1, None);
    }
}
