//! How each refused attempt is called in receipts and audit rows, and which ones nobody notices.

use roost_tests::Engine;

/// Words of `refused[].what`, by probe; one of them has to stand there.
///
/// Not here: filling the disk, which is an error of the write or the end of the call, see `lasting`; what meets nothing in a namespace of its own (other processes, shared memory), what no file or identity of
/// its own allows (devices to make, users to become), and what a worker starts with.
pub(super) const SEEN: &[(&str, &[&str])] = &[
    ("ssh_folder", &["/.ssh"]),
    ("host_database", &["/roost.db"]),
    ("other_agent_folder", &["/other_agent"]),
    ("symlink_out", &["/secret.txt", "a symbolic link"]),
    ("hard_link_out", &["/secret.txt"]),
    ("worker_thread", &["/secret.txt"]),
    ("rename_in", &["/movable.txt"]),
    ("write_outside", &["change "]),
    ("write_home", &["/.roost-probe-"]),
    ("stat_outside", &["/secret.txt"]),
    ("chmod_outside", &["/secret.txt"]),
    ("chmod_home", &["/.ssh"]),
    ("utime_outside", &["/secret.txt"]),
    ("xattr_outside", &["/secret.txt"]),
    ("chown_own", &["change who owns a file"]),
    ("setuid_chmod", &["make a file run as its owner"]),
    ("setuid_fchmod", &["make a file run as its owner"]),
    ("setuid_fchmodat2", &["make a file run as its owner"]),
    ("setuid_open", &["make a file run as its owner"]),
    ("setuid_mknod", &["make a file run as its owner"]),
    ("setgid_folder", &["make a file run as its owner"]),
    ("core_pattern", &["change /proc/sys/kernel/core_pattern"]),
    ("devices", &["read /dev/"]),
    ("daemon", &["leave processes running", "start the program"]),
    ("host_environ", &["look into process"]),
    ("host_memory", &["look into process"]),
    ("process_vm_readv", &["read the memory of a process"]),
    ("pidfd_getfd", &["process"]),
    ("ptrace_host", &["trace a process"]),
    ("kill_host", &["send a signal to process"]),
    ("host_socket_path", &["open a Unix socket", "/sockets/path"]),
    ("host_socket_abstract", &["open a Unix socket"]),
    ("datagram_socketpair", &["open a pair of datagram sockets"]),
    ("raw_socket", &["open a raw socket"]),
    ("packet_socket", &["open a packet socket"]),
    ("netlink_socket", &["open a netlink socket"]),
    ("udp_send", &["send datagrams", "connect to 127.0.0.1:"]),
    ("dns_lookup", &["connect to example.com"]),
    ("tcp_connect", &["connect to 127.0.0.1:"]),
    ("ip_literal", &["connect to 127.0.0.1:", "use the network"]),
    ("mount", &["mount a file system"]),
    ("unshare_user", &["make a namespace"]),
    ("setns", &["process", "namespace"]),
    ("bpf", &["load a kernel program"]),
    ("keyctl", &["use kernel keys"]),
    ("io_uring", &["use io_uring"]),
    ("perf_event", &["watch the processor"]),
    ("userfaultfd", &["answer page faults"]),
    ("dropped_binary", &["start the program"]),
    ("memfd_exec", &["make a file in memory", "start the program"]),
    ("tiocsti", &["terminal", "/dev/ptmx"]),
    ("clock_set", &["set the clock"]),
    ("set_hostname", &["rename the computer"]),
    ("chroot", &["change the root"]),
];

/// A refusal that leaves no trace in receipt and audit log.
pub(super) struct NotSeen {
    pub(super) probe: &'static str,
    pub(super) engines: &'static [Engine],
    /// Only while the agent may start programs; before that the program itself is what is refused, and seen.
    pub(super) only_with_programs: bool,
    #[expect(dead_code, reason = "for whoever reads the list")]
    pub(super) why: &'static str,
}

const TYPESCRIPT: &[Engine] = &[Engine::Node, Engine::Deno];

/// The fewer the better. What is seen by now has to leave this list.
pub(super) const NOT_SEEN: &[NotSeen] = &[
    NotSeen {
        probe: "stat_outside",
        engines: &[Engine::Python],
        only_with_programs: false,
        why: "Python tells nobody of a look at a path; there is nothing to see at it",
    },
    NotSeen {
        probe: "worker_thread",
        engines: TYPESCRIPT,
        only_with_programs: false,
        why: "threads of an engine have functions of their own, which are not watched",
    },
    NotSeen {
        probe: "setuid_open",
        engines: &[Engine::Deno],
        only_with_programs: false,
        why: "Deno drops the bits itself before it opens the file",
    },
    NotSeen {
        probe: "tiocsti",
        engines: TYPESCRIPT,
        only_with_programs: false,
        why: "only a program can try it, and Landlock refuses it a terminal without telling anybody",
    },
    NotSeen {
        probe: "pidfd_getfd",
        engines: &Engine::ALL,
        only_with_programs: false,
        why: "the process does not exist in the worker's namespace, which is no refusal to the kernel",
    },
    NotSeen {
        probe: "setns",
        engines: TYPESCRIPT,
        only_with_programs: false,
        why: "a program looks for a process that does not exist in the worker's namespace",
    },
];

/// Attempts that cannot be made, by probe and reason.
pub(super) const NOT_TRIED: &[(&str, &str)] = &[
    // There is no proxy without a grant; the stories in `network` have one.
    ("proxy_other_host", "HTTP_PROXY is not set"),
    ("proxy_connect_private", "HTTP_PROXY is not set"),
    // What Deno holds open, an agent cannot name either.
    ("inherited_descriptors", "Deno sees no descriptors without /proc"),
];

/// What Node and Deno say of every system call that they make only by way of a program.
pub(super) const NEEDS_PERL: &str = "a raw system call needs Perl";
