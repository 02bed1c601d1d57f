//! The system calls a worker may make, as a seccomp filter.
//!
//! A list of what is refused rather than of what is allowed: agents are ordinary programs, and files and network are
//! confined by other layers. Refused is what leads out of the sandbox, traces others, reaches parts of the kernel
//! that no agent needs, or opens sockets of a kind the policy does not give. Each refusal is answered by the host,
//! which so learns of it.

use super::filter::{self, Check, Instruction, When};
use roost_protocol::{NetworkMode, Right};
use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

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

/// Calls whose arguments lie in memory, where a filter cannot see them; programs use older ones where these are missing.
const UNKNOWN: &[i64] = &[
    libc::SYS_clone3,
    libc::SYS_openat2,
    // Extended attributes and flags of files relative to a folder: newer than what programs are made for.
    SET_ATTRIBUTE_AT,
    REMOVE_ATTRIBUTE_AT,
    FILE_SET_FLAGS,
];

const SET_ATTRIBUTE_AT: i64 = 463;
const REMOVE_ATTRIBUTE_AT: i64 = 466;
const FILE_SET_FLAGS: i64 = 469;

/// Calls that give a file to somebody else.
const OWNERSHIP: &[i64] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    libc::SYS_fchown,
    libc::SYS_fchownat,
];

/// Calls that take the mode of a file, and which argument it is.
const MODES: &[(i64, u32)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (libc::SYS_fchmodat2, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mkdir, 1),
    (libc::SYS_mkdirat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
    (libc::SYS_mknodat, 2),
];

/// Calls that take a mode where their flags say so, and which arguments these are.
const OPENING: &[(i64, u32, u32)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1, 2),
    (libc::SYS_openat, 2, 3),
];

/// Bits of a mode that make a program run as its owner, or keep a folder's files to theirs.
const SPECIAL_BITS: u32 = 0o7000;

/// Flags of opening with which a file is made.
const MAKES_FILE: u32 = (libc::O_CREAT | (libc::O_TMPFILE & !libc::O_DIRECTORY)) as u32;

/// Calls that change what a file is rather than what it holds. No file rules reach them: where a process has no root of
/// its own they are refused altogether.
const METADATA: &[i64] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchmodat2,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
];

/// What these calls do, for people.
const SET_SPECIAL_BITS: &str = "make a file run as its owner";
const CHANGE_METADATA: &str = "change the mode, times or attributes of a file";

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
const KIND: u32 = 0xf;

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
    instructions: Vec<Instruction>,
}

impl Filter {
    pub(super) fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }

    /// As the kernel takes them.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.instructions.iter().flat_map(Instruction::bytes).collect()
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

/// Whether a program may be asked over a socket that it makes itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Listening {
    /// It is asked over what it is given.
    Nowhere,
    /// On Unix sockets, where the file rules let it make one. It connects to none; to computers only where it has a
    /// network, through the host.
    OnUnixSockets,
}

/// Filters made so far: there are few different ones.
#[derive(Debug, Default)]
pub(super) struct Filters(Mutex<HashMap<Wish, Arc<Filter>>>);

/// What a filter depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Wish {
    pub(super) network: NetworkMode,
    pub(super) may_execute: Executing,
    pub(super) listening: Listening,
    /// Whether mounts keep the process from the metadata of files, or the filter has to.
    pub(super) metadata: Metadata,
}

/// Who keeps a process from the metadata of files that it does not own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Metadata {
    /// Its root: nothing else is there, or it cannot be changed.
    HeldByRoot,
    /// The filter.
    Refused,
}

impl Filters {
    pub(super) fn get(&self, wish: Wish) -> Arc<Filter> {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let filter = made.entry(wish).or_insert_with(|| Arc::new(Filter { instructions: compile(wish) }));
        Arc::clone(filter)
    }
}

fn compile(wish: Wish) -> Vec<Instruction> {
    let Wish { network, may_execute, listening, metadata } = wish;
    let mut rules: BTreeMap<u32, When> =
        REFUSED.iter().map(|(number, _)| (*number as u32, When::Always)).collect();
    rules.extend(UNKNOWN.iter().map(|number| (*number as u32, When::Unknown)));
    rules.extend(OWNERSHIP.iter().map(|number| (*number as u32, When::Always)));
    rules.extend(MODES.iter().map(|(number, mode)| {
        (*number as u32, When::Any(vec![vec![Check::has_any_bit(*mode, SPECIAL_BITS)]]))
    }));
    rules.extend(OPENING.iter().map(|(number, flags, mode)| {
        let checks = vec![Check::has_any_bit(*flags, MAKES_FILE), Check::has_any_bit(*mode, SPECIAL_BITS)];
        (*number as u32, When::Any(vec![checks]))
    }));
    if metadata == Metadata::Refused {
        rules.extend(METADATA.iter().map(|number| (*number as u32, When::Always)));
    }
    let mut refuse = |number: libc::c_long, when| drop(rules.insert(number as u32, when));
    let namespaces = NAMESPACE_FLAGS.iter().map(|flag| vec![Check::has_bits(0, *flag as u32, *flag as u32)]);
    refuse(libc::SYS_clone, When::Any(namespaces.collect()));
    refuse(
        libc::SYS_ioctl,
        When::Any(TYPING.iter().map(|command| vec![Check::equals(1, *command as u32)]).collect()),
    );
    // A datagram socket can be sent anywhere from, even when it was made as one of a pair. What is called raw is one, too.
    let datagrams =
        [libc::SOCK_DGRAM, libc::SOCK_RAW].map(|kind| vec![Check::has_bits(1, KIND, kind as u32)]);
    refuse(libc::SYS_socketpair, When::Any(datagrams.into()));
    match listening {
        Listening::Nowhere => refuse(libc::SYS_socket, sockets(network)),
        Listening::OnUnixSockets => {
            refuse(libc::SYS_socket, sockets_beside_unix_streams(network));
            // The file rules do not reach sockets: a connection could be one to any program of this user. With a network
            // the host makes those that are not.
            refuse(libc::SYS_connect, When::Always);
        }
    }
    match may_execute {
        Executing::Anything => {}
        Executing::Nothing => {
            refuse(libc::SYS_execve, When::Always);
            refuse(libc::SYS_execveat, When::Always);
        }
        Executing::Once(address) => {
            let (low, high) = (address as u32, (address >> 32) as u32);
            let other = vec![vec![Check::differs(0, low)], vec![Check::differs_above(0, high)]];
            refuse(libc::SYS_execve, When::Any(other));
            refuse(libc::SYS_execveat, When::Always);
        }
    }
    filter::assemble(&rules)
}

/// Which sockets are refused.
fn sockets(network: NetworkMode) -> When {
    let (inet, inet6) = (libc::AF_INET as u32, libc::AF_INET6 as u32);
    let netlink = libc::AF_NETLINK as u32;
    let kind = |kind: libc::c_int| Check::has_bits(1, KIND, kind as u32);
    let mut refused = Vec::new();
    match network {
        NetworkMode::None => return When::Always,
        NetworkMode::Hosts => {
            refused.push(vec![Check::differs(0, inet), Check::differs(0, inet6)]);
            refused.push(vec![kind(libc::SOCK_DGRAM)]);
            refused.extend(UNUSUAL_KINDS.map(|unusual| vec![kind(unusual)]));
        }
        NetworkMode::Any => {
            refused.push(vec![Check::differs(0, inet), Check::differs(0, inet6), Check::differs(0, netlink)]);
            // The list of own addresses, which the resolver reads; nothing else of netlink.
            refused.push(vec![Check::equals(0, netlink), Check::differs(2, 0)]);
            refused.extend(UNUSUAL_KINDS.map(|unusual| vec![kind(unusual), Check::differs(0, netlink)]));
        }
    }
    When::Any(refused)
}

/// Which sockets are refused to a program that listens on Unix streams. No other Unix socket is given to it: one for
/// datagrams reaches others without a connection.
fn sockets_beside_unix_streams(network: NetworkMode) -> When {
    let (unix, netlink) = (libc::AF_UNIX as u32, libc::AF_NETLINK as u32);
    let (inet, inet6) = (libc::AF_INET as u32, libc::AF_INET6 as u32);
    let kind = |kind: libc::c_int| Check::has_bits(1, KIND, kind as u32);
    let families = |all: &[u32]| all.iter().map(|family| Check::differs(0, *family)).collect::<Vec<_>>();
    let mut refused = Vec::new();
    match network {
        NetworkMode::None | NetworkMode::Hosts => {
            let families =
                if network == NetworkMode::None { families(&[unix]) } else { families(&[unix, inet, inet6]) };
            refused.push(families);
            refused.push(vec![kind(libc::SOCK_DGRAM)]);
            refused.extend(UNUSUAL_KINDS.map(|unusual| vec![kind(unusual)]));
        }
        NetworkMode::Any => {
            refused.push(families(&[unix, inet, inet6, netlink]));
            refused.push(vec![Check::equals(0, unix), kind(libc::SOCK_DGRAM)]);
            refused.push(vec![Check::equals(0, netlink), Check::differs(2, 0)]);
            refused.extend(UNUSUAL_KINDS.map(|unusual| vec![kind(unusual), Check::differs(0, netlink)]));
        }
    }
    When::Any(refused)
}

/// What a refused call was about, and the right that would have allowed it.
pub(super) fn in_words(number: i64, arguments: [u64; 6]) -> (String, Option<Right>) {
    match number {
        libc::SYS_socket => socket_in_words(arguments),
        libc::SYS_connect => (CONNECT_TO_PROGRAM.to_owned(), None),
        libc::SYS_socketpair => ("open a pair of datagram sockets".to_owned(), None),
        libc::SYS_execve | libc::SYS_execveat => ("start a program".to_owned(), Some(Right::Subprocess)),
        libc::SYS_clone => ("make a namespace".to_owned(), None),
        libc::SYS_ioctl => ("type into a terminal".to_owned(), None),
        other if OWNERSHIP.contains(&other) => ("change who owns a file".to_owned(), None),
        other if has_special_bits(other, arguments) => (SET_SPECIAL_BITS.to_owned(), None),
        other if METADATA.contains(&other) => (CHANGE_METADATA.to_owned(), None),
        other => {
            let known = REFUSED.iter().find(|(number, _)| *number == other).map(|(_, words)| *words);
            (known.unwrap_or("make a system call that no agent may").to_owned(), None)
        }
    }
}

fn has_special_bits(number: i64, arguments: [u64; 6]) -> bool {
    let modes = MODES.iter().map(|(call, mode)| (*call, *mode));
    let mut all = modes.chain(OPENING.iter().map(|(call, _, mode)| (*call, *mode)));
    all.any(|(call, mode)| call == number && arguments[mode as usize] & u64::from(SPECIAL_BITS) != 0)
}

/// What connecting to a Unix socket is called.
pub(super) const CONNECT_TO_PROGRAM: &str = "connect to another program";

/// What opening a Unix socket is called.
const UNIX_SOCKET: &str = "open a Unix socket";

#[expect(clippy::cast_possible_truncation, reason = "the kernel reads only the lower half")]
fn socket_in_words(arguments: [u64; 6]) -> (String, Option<Right>) {
    let (family, kind) = (arguments[0] as i32, (arguments[1] & u64::from(KIND)) as i32);
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
    let answer =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0, &raw const action) };
    answer == 0
}

#[cfg(test)]
mod tests {
    use super::{Executing, Filters, Listening, Metadata, Wish, in_words};
    use crate::sandbox::filter::tests::run;
    use roost_protocol::NetworkMode;
    use std::sync::Arc;

    /// Whether the filter asks the host about this call.
    fn refuses(network: NetworkMode, may_execute: Executing, number: i64, arguments: [u64; 6]) -> bool {
        is_refused(&filter(network, may_execute, Listening::Nowhere), number, arguments)
    }

    fn filter(network: NetworkMode, may_execute: Executing, listening: Listening) -> Arc<super::Filter> {
        let metadata = Metadata::HeldByRoot;
        Filters::default().get(Wish { network, may_execute, listening, metadata })
    }

    fn is_refused(filter: &super::Filter, number: i64, arguments: [u64; 6]) -> bool {
        match run(filter.instructions(), number as u32, arguments) {
            libc::SECCOMP_RET_USER_NOTIF => true,
            libc::SECCOMP_RET_ALLOW => false,
            other => panic!("call {number} has the answer {other:x}"),
        }
    }

    #[test]
    fn who_listens_opens_unix_streams_only_and_connects_to_nobody() {
        let filter = filter(NetworkMode::None, Executing::Nothing, Listening::OnUnixSockets);
        let socket = |family: i32, kind: i32| {
            is_refused(&filter, libc::SYS_socket, [family as u64, kind as u64, 0, 0, 0, 0])
        };
        assert!(!socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK));
        for (family, kind) in [
            (libc::AF_UNIX, libc::SOCK_DGRAM),
            (libc::AF_UNIX, libc::SOCK_SEQPACKET),
            (libc::AF_UNIX, libc::SOCK_RAW),
            (libc::AF_INET, libc::SOCK_STREAM),
            (libc::AF_INET6, libc::SOCK_STREAM),
            (libc::AF_NETLINK, libc::SOCK_RAW),
            (libc::AF_VSOCK, libc::SOCK_STREAM),
        ] {
            assert!(socket(family, kind), "{family} {kind}");
        }
        assert!(is_refused(&filter, libc::SYS_connect, [3, 0, 0, 0, 0, 0]));
        for number in [libc::SYS_bind, libc::SYS_listen, libc::SYS_accept4, libc::SYS_read] {
            assert!(!is_refused(&filter, number, [0; 6]), "{number}");
        }
    }

    #[test]
    fn who_listens_and_has_a_network_opens_its_sockets_too_and_still_connects_to_nobody_itself() {
        let stream = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
        for (network, refused) in [
            (NetworkMode::Hosts, [false, false, false, true, true, true, true, true]),
            (NetworkMode::Any, [false, false, false, true, true, false, true, false]),
        ] {
            let filter = filter(network, Executing::Nothing, Listening::OnUnixSockets);
            let seen = [
                (libc::AF_UNIX, stream),
                (libc::AF_INET, stream),
                (libc::AF_INET6, stream),
                (libc::AF_UNIX, libc::SOCK_DGRAM),
                (libc::AF_UNIX, libc::SOCK_RAW),
                (libc::AF_INET, libc::SOCK_DGRAM),
                (libc::AF_INET, libc::SOCK_RAW),
                (libc::AF_NETLINK, libc::SOCK_RAW),
            ]
            .map(|(family, kind)| {
                is_refused(&filter, libc::SYS_socket, [family as u64, kind as u64, 0, 0, 0, 0])
            });
            assert_eq!(seen, refused, "{network:?}");
            assert!(is_refused(&filter, libc::SYS_connect, [3, 0, 0, 0, 0, 0]));
        }
    }

    #[test]
    fn what_is_on_the_list_is_refused_in_every_mode_and_ordinary_calls_are_not() {
        for network in [NetworkMode::None, NetworkMode::Hosts, NetworkMode::Any] {
            for (number, words) in super::REFUSED {
                assert!(refuses(network, Executing::Anything, *number, [0; 6]), "{words}");
            }
            for number in [libc::SYS_read, libc::SYS_openat, libc::SYS_clone, libc::SYS_ioctl, libc::SYS_mmap]
            {
                assert!(!refuses(network, Executing::Nothing, number, [0; 6]), "{number}");
            }
        }
    }

    #[test]
    fn sockets_are_refused_by_what_the_network_mode_gives() {
        let socket = |network, family: i32, kind: i32, protocol: u64| {
            refuses(
                network,
                Executing::Nothing,
                libc::SYS_socket,
                [family as u64, kind as u64, protocol, 0, 0, 0],
            )
        };
        let (none, hosts, any) = (NetworkMode::None, NetworkMode::Hosts, NetworkMode::Any);
        let stream = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
        for (family, kind, protocol, refused) in [
            (libc::AF_INET, stream, 0, [true, false, false]),
            (libc::AF_INET6, stream, 0, [true, false, false]),
            (libc::AF_INET, libc::SOCK_DGRAM, 0, [true, true, false]),
            (libc::AF_INET, libc::SOCK_RAW, 1, [true, true, true]),
            (libc::AF_UNIX, stream, 0, [true, true, true]),
            (libc::AF_PACKET, libc::SOCK_DGRAM, 0, [true, true, true]),
            (libc::AF_NETLINK, libc::SOCK_RAW, 0, [true, true, false]),
            (libc::AF_NETLINK, libc::SOCK_RAW, 9, [true, true, true]),
            (libc::AF_VSOCK, stream, 0, [true, true, true]),
        ] {
            let seen = [none, hosts, any].map(|network| socket(network, family, kind, protocol));
            assert_eq!(seen, refused, "family {family}, kind {kind}, protocol {protocol}");
        }
    }

    #[test]
    fn a_program_can_be_executed_only_from_the_one_address() {
        let address = 0x7f12_3456_789a;
        let executes = |at: u64| {
            !refuses(NetworkMode::None, Executing::Once(address), libc::SYS_execve, [at, 0, 0, 0, 0, 0])
        };
        assert!(executes(address));
        for other in [0, address + 1, address & 0xffff_ffff, address ^ (1 << 40), u64::MAX] {
            assert!(!executes(other), "{other:x}");
        }
        assert!(refuses(NetworkMode::None, Executing::Once(address), libc::SYS_execveat, [0; 6]));
        assert!(refuses(NetworkMode::None, Executing::Nothing, libc::SYS_execve, [address, 0, 0, 0, 0, 0]));
    }

    #[test]
    fn namespaces_terminals_and_datagram_pairs_are_refused_by_their_arguments() {
        let refused = |number, arguments| refuses(NetworkMode::Any, Executing::Anything, number, arguments);
        for flag in super::NAMESPACE_FLAGS {
            assert!(refused(libc::SYS_clone, [*flag as u64 | 17, 0, 0, 0, 0, 0]), "{flag:x}");
        }
        assert!(!refused(libc::SYS_clone, [0x003d_0f00, 0, 0, 0, 0, 0]), "a thread");
        assert!(refused(libc::SYS_ioctl, [0, libc::TIOCSTI, 0, 0, 0, 0]));
        assert!(
            refused(libc::SYS_ioctl, [0, libc::TIOCSTI | 1 << 32, 0, 0, 0, 0]),
            "the kernel reads the lower half"
        );
        assert!(!refused(libc::SYS_ioctl, [0, libc::TCGETS, 0, 0, 0, 0]));
        assert!(refused(libc::SYS_socketpair, [1, libc::SOCK_DGRAM as u64 | 0x80000, 0, 0, 0, 0]));
        assert!(
            refused(libc::SYS_socketpair, [1, libc::SOCK_RAW as u64, 0, 0, 0, 0]),
            "also one for datagrams"
        );
        assert!(!refused(libc::SYS_socketpair, [1, libc::SOCK_STREAM as u64, 0, 0, 0, 0]));
    }

    #[test]
    fn no_call_makes_a_file_run_as_its_owner() {
        let refused = |number, arguments| refuses(NetworkMode::Any, Executing::Anything, number, arguments);
        for special in [0o4000, 0o2000, 0o1000] {
            for (number, mode) in super::MODES {
                let with =
                    |bits: u64| std::array::from_fn(|index| if index == *mode as usize { bits } else { 0 });
                assert!(refused(*number, with(special | 0o755)), "{number} {special:o}");
                assert!(!refused(*number, with(0o755)), "{number}");
            }
            for (number, flags, mode) in super::OPENING {
                let with = |flag: i32, bits: u64| {
                    let mut arguments = [0; 6];
                    (arguments[*flags as usize], arguments[*mode as usize]) = (flag as u64, bits);
                    arguments
                };
                assert!(refused(*number, with(libc::O_CREAT | libc::O_WRONLY, special | 0o755)), "{number}");
                assert!(refused(*number, with(libc::O_TMPFILE | libc::O_RDWR, special | 0o755)), "{number}");
                assert!(!refused(*number, with(libc::O_CREAT | libc::O_WRONLY, 0o755)), "{number}");
                assert!(!refused(*number, with(libc::O_RDONLY, special)), "a mode that nobody reads");
                assert!(!refused(*number, with(libc::O_RDONLY | libc::O_DIRECTORY, special)), "a folder");
            }
        }
        for number in super::OWNERSHIP {
            assert!(refused(*number, [0; 6]), "{number}");
        }
    }

    #[test]
    fn what_lies_in_memory_is_answered_as_unknown() {
        let filter = filter(NetworkMode::Any, Executing::Anything, Listening::Nowhere);
        for number in super::UNKNOWN {
            let answer = run(filter.instructions(), *number as u32, [0; 6]);
            assert_eq!(answer, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32, "{number}");
        }
    }

    #[test]
    fn without_a_root_of_its_own_no_metadata_can_be_changed() {
        let wish = Wish {
            network: NetworkMode::None,
            may_execute: Executing::Nothing,
            listening: Listening::Nowhere,
            metadata: Metadata::Refused,
        };
        let strict = Filters::default().get(wish);
        let usual = filter(NetworkMode::None, Executing::Nothing, Listening::Nowhere);
        for number in super::METADATA {
            assert!(is_refused(&strict, *number, [0; 6]), "{number}");
            assert!(!is_refused(&usual, *number, [0; 6]), "{number}");
        }
    }

    #[test]
    fn a_refused_socket_names_the_right_that_allows_it() {
        let (what, right) = in_words(libc::SYS_socket, [2, 1 | 0x80000, 0, 0, 0, 0]);
        assert_eq!((what.as_str(), right.unwrap().to_string()), ("use the network", "network:*".to_owned()));
        assert_eq!(in_words(libc::SYS_socket, [1, 1, 0, 0, 0, 0]).1, None);
    }
}
