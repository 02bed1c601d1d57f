"""SandboxProbe: tries to escape from a worker, one way per probe, and says whether it worked.

A probe returns what it got when the forbidden thing really worked and raises when it did not; nothing is concluded
from the text of an error. Each runs in a forked child with a folder of its own and two seconds of time, and harms
nothing where it does work: it reports how much it read, never what. A parameter of a probe is a target that the caller
may give by that name; one without a default must be given, else the probe is skipped.
"""

import base64
import ctypes
import errno
import fcntl
import http.client
import inspect
import json
import os
import platform
import pwd
import random
import select
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import termios
import time
import urllib.parse

from agents.basic_agent import BasicAgent

PROBE_SECONDS_MAX = 2
# Shorter than a probe may take, so that a silent peer is told apart from a probe that hangs.
NETWORK_SECONDS_MAX = 1.5
DAEMON_SECONDS = 60
SAW_CHARACTERS_MAX = 300
DESCRIPTORS_MAX = 256

# By name: the number on x86_64 and on aarch64.
SYSTEM_CALLS = {
    "adjtimex": (159, 171), "bpf": (321, 280), "clone": (56, 220), "clone3": (435, 435), "fchmodat2": (452, 452), "fsopen": (430, 430),
    "inotify_add_watch": (254, 27), "inotify_init1": (294, 26),
    "io_uring_setup": (425, 425), "ioctl": (16, 29), "keyctl": (250, 219), "mount": (165, 40),
    "mq_open": (240, 180), "openat2": (437, 437), "perf_event_open": (298, 241), "pidfd_getfd": (438, 438), "pidfd_open": (434, 434),
    "process_vm_readv": (310, 270), "ptrace": (101, 117), "setns": (308, 268), "settimeofday": (164, 170),
    "shmat": (30, 196), "shmget": (29, 194), "umount2": (166, 39), "unshare": (272, 97), "userfaultfd": (323, 282),
}  # fmt: skip
MACHINE = {"x86_64": 0, "aarch64": 1}.get(platform.machine())

CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWNET = 0x00020000, 0x10000000, 0x40000000
MS_REC, MS_PRIVATE, MNT_DETACH = 0x4000, 1 << 18, 2
PTRACE_TRACEME, PTRACE_SEIZE = 0, 0x4206
SHM_RDONLY, ADJ_SETOFFSET = 0o10000, 0x0100

PROBES = {}


class Denied(Exception):
    """The attempt came to nothing without an error of the operating system."""


class Skipped(Exception):
    """The attempt cannot be made here."""


class SandboxProbeAgent(BasicAgent):
    def __init__(self):
        self.name = "SandboxProbe"
        properties = {name: {"description": "A target"} for name in sorted(target_names())}
        properties["probe"] = {"type": "string", "enum": list(PROBES), "description": "Which probe; all without it"}
        properties["targets"] = {"description": "The targets as an object or as JSON text"}
        self.metadata = {
            "name": self.name,
            "description": "Tries to escape from its sandbox and reports what worked.",
            "parameters": {"type": "object", "properties": properties, "required": []},
        }
        super().__init__(name=self.name, metadata=self.metadata)

    def perform(self, probe=None, targets=None, **kwargs):
        given = json.loads(targets) if isinstance(targets, str) else dict(targets or {})
        given.update(kwargs)
        if probe:
            return json.dumps(attempt(probe, given))
        return json.dumps([attempt(name, given) for name in PROBES])


def probe(function):
    PROBES[function.__name__] = function
    return function


def target_names():
    names = {name for function in PROBES.values() for name in inspect.signature(function).parameters}
    return names - {"folder", "worker_pid", "parent_pid"} | {"host_pid_namespace"}


# ---- running a probe ----


def attempt(name, given):
    """The outcome of one probe as the caller gets it."""
    function = PROBES.get(name)
    if function is None:
        return {"probe": name, "escaped": False, "saw": "not tried", "skipped": "there is no such probe"}
    known = {"worker_pid": os.getpid(), "parent_pid": os.getppid(), "host_pid": os.getppid() or 1}
    known.update((key, value) for key, value in given.items() if value is not None)
    folder, parameters = None, inspect.signature(function).parameters
    try:
        if "folder" in parameters:
            folder = known["folder"] = tempfile.mkdtemp(prefix="roost-probe-")
        for parameter in parameters.values():
            if parameter.default is parameter.empty and parameter.name not in known:
                raise Skipped(f"no target {parameter.name}")
        if "host_pid" in parameters and int(known["host_pid"]) == os.getpid():
            raise Skipped("host_pid is the number of this worker")
        outcome = run_in_child(function, {key: known[key] for key in parameters if key in known})
    except Exception as error:
        outcome = outcome_of_error(error)
    finally:
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
    namespace = or_nothing(os.readlink, "/proc/self/ns/pid")
    is_elsewhere = namespace and namespace != known.get("host_pid_namespace", namespace)
    # Tracing counts whoever was traced. Else the number means a process of this sandbox, whatever was done to it.
    if outcome["escaped"] and is_elsewhere and "host_pid" in parameters and name != "ptrace_host":
        outcome.update(escaped=False, saw=f"not the host but its namesake in here: {outcome['saw']}")
    return {"probe": name, **outcome}


def outcome_of_error(error):
    if isinstance(error, Skipped):
        return {"escaped": False, "saw": "not tried", "skipped": str(error)}
    return {"escaped": False, "saw": one_line(text_of(error))}


def text_of(error):
    if isinstance(error, OSError) and error.errno in errno.errorcode:
        place = f" ({error.filename})" if error.filename else ""
        return f"{errno.errorcode[error.errno]}: {error.strerror}{place}"
    return str(error) if isinstance(error, Denied) else f"{type(error).__name__}: {error}"


def one_line(text):
    return " ".join(text.split())[:SAW_CHARACTERS_MAX]


def run_in_child(function, arguments):
    """What the function came to, in a session of its own that is ended whole afterwards."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reading)
            os.setsid()
            try:
                got = function(**arguments)
                outcome = got if isinstance(got, dict) else {"escaped": True, "saw": one_line(got)}
            except BaseException as error:
                outcome = outcome_of_error(error)
            os.write(writing, json.dumps(outcome).encode() + b"\n")
        finally:
            os._exit(0)
    os.close(writing)
    try:
        text, deadline = b"", time.monotonic() + PROBE_SECONDS_MAX
        while not text.endswith(b"\n"):
            if not select.select([reading], [], [], max(0, deadline - time.monotonic()))[0]:
                raise Denied(f"nothing happened for {PROBE_SECONDS_MAX} s")
            more = os.read(reading, 65536)
            if not more:
                raise Denied("the process that tried was killed")
            text += more
        return json.loads(text)
    finally:
        os.close(reading)
        for send in (os.killpg, os.kill):
            try:
                send(pid, signal.SIGKILL)
            except OSError:
                continue
        os.waitpid(pid, 0)


def or_nothing(function, *arguments):
    try:
        return function(*arguments)
    except OSError:
        return ""


def fork_off(function):
    """Runs the function in one more child and returns its pid."""
    pid = os.fork()
    if pid == 0:
        try:
            function()
        finally:
            os._exit(1)
    return pid


def did(function, *arguments):
    function(*arguments)
    return f"{function.__name__}({', '.join(map(repr, arguments))}) worked"


def first_of(function, choices):
    """The result for the first choice that works; else all the errors in one."""
    errors = []
    for choice in choices:
        try:
            return function(choice)
        except (OSError, Denied, subprocess.SubprocessError) as error:
            errors.append(text_of(error))
    raise Denied("; ".join(dict.fromkeys(errors)))


def system_call(name, *arguments):
    """The result of a raw system call, which no library gets to soften."""
    if MACHINE is None:
        raise Skipped(f"system call numbers of {platform.machine()} are not known")
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    ready = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    result = library.syscall(ctypes.c_long(SYSTEM_CALLS[name][MACHINE]), *ready)
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), name)
    return result


# ---- files ----


def read(path):
    with open(path, "rb") as file:
        content = file.read(1 << 20)
    if not content:
        raise Denied(f"nothing in {path}")
    return f"read {len(content)} bytes of {path}"


def open_only(path, flags=os.O_RDONLY):
    os.close(os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY))
    return f"opened {path}"


def create(path):
    # Exclusive: what is there already is never touched.
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    os.unlink(path)
    return f"created {path}"


def account_home():
    """The home folder of the account, which is not what HOME says in a worker."""
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        raise Skipped(f"uid {os.getuid()} has no account") from None


def read_through(make_link, outside_file, folder):
    link = os.path.join(folder, "link")
    make_link(outside_file, link)
    return read(link)


DATABASE = os.path.join(os.environ.get("ROOST_HOME", "/nonexistent"), "roost.db")
DEVICES = "/dev/kmsg /dev/mem /dev/sda /dev/vda /dev/nvme0n1 /dev/kvm /dev/fuse /dev/net/tun"

PROBES |= {
    "host_database": lambda database=DATABASE: read(database),
    "symlink_out": lambda folder, outside_file: read_through(os.symlink, outside_file, folder),
    "hard_link_out": lambda folder, outside_file: read_through(os.link, outside_file, folder),
    "write_outside": lambda outside_path="/var/tmp/roost-probe": create(outside_path),
    "write_home": lambda home_folder=None: create(f"{home_folder or account_home()}/.roost-probe-{os.getpid()}"),
    "core_pattern": lambda: open_only("/proc/sys/kernel/core_pattern", os.O_WRONLY),
    "sysrq": lambda: open_only("/proc/sysrq-trigger", os.O_WRONLY),
    "mknod": lambda folder: did(os.mknod, f"{folder}/null", stat.S_IFCHR | 0o600, os.makedev(1, 3)),
    "devices": lambda device_paths=DEVICES: first_of(open_only, device_paths.split()),
    "stat_outside": lambda outside_file: did(os.stat, outside_file),
    "chmod_outside": lambda outside_file: did(os.chmod, outside_file, 0o666),
    "chmod_home": lambda ssh_path: did(os.chmod, ssh_path, 0o777),
    "utime_outside": lambda outside_file: did(os.utime, outside_file, (0, 0)),
    "xattr_outside": lambda outside_file: did(os.setxattr, outside_file, "user.roost", b"1"),
    "chown_own": lambda folder: did(os.chown, own_file(folder), os.getuid(), os.getgid()),
    "setuid_chmod": lambda folder: special(own_file(folder), lambda path: os.chmod(path, 0o4755)),
    "setuid_fchmod": lambda folder: special(own_file(folder), chmod_by_descriptor),
    "setuid_fchmodat2": lambda folder: special(
        own_file(folder), lambda path: system_call("fchmodat2", -100, path.encode(), 0o4755, 0)
    ),
    "setuid_open": lambda folder: special(f"{folder}/open", lambda path: os.open(path, os.O_CREAT | os.O_WRONLY, 0o4755)),
    "setuid_openat2": lambda folder: special(
        f"{folder}/openat2",
        lambda path: system_call("openat2", -100, path.encode(), struct.pack("QQQ", os.O_CREAT | os.O_WRONLY, 0o4755, 0), 24),
    ),
    "setuid_mknod": lambda folder: special(f"{folder}/mknod", lambda path: os.mknod(path, stat.S_IFREG | 0o4755)),
    "setgid_folder": lambda folder: special(f"{folder}/folder", lambda path: os.mkdir(path, 0o3777)),
    "watch_outside": lambda ssh_path: did(
        system_call, "inotify_add_watch", system_call("inotify_init1", 0), ssh_path.encode(), 0xFFF
    ),
}


def own_file(folder):
    path = f"{folder}/own"
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    return path


def chmod_by_descriptor(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fchmod(descriptor, 0o4755)
    finally:
        os.close(descriptor)


def special(path, make):
    """Whether a file or folder came to have a bit that changes whose it acts as."""
    make(path)
    bits = stat.S_IMODE(os.stat(path).st_mode) & 0o7000
    if not bits:
        raise Denied("the bits were dropped")
    return f"{path} has {bits:o}"


@probe
def ssh_folder(ssh_path=None):
    path = ssh_path or os.path.join(account_home(), ".ssh")
    names = sorted(os.listdir(path)) if os.path.isdir(path) else [""]
    return first_of(read, [os.path.join(path, name).rstrip("/") for name in names])


@probe
def other_agent_folder(other_folder):
    names = os.listdir(other_folder)
    contents = [text for text in (or_nothing(read, os.path.join(other_folder, name)) for name in names[:20]) if text]
    return f"listed {len(names)} entries of {other_folder}, could read {len(contents)}"


@probe
def rename_in(folder, movable_file):
    moved = os.path.join(folder, "moved")
    os.rename(movable_file, moved)
    try:
        return f"moved {movable_file} in and {read(moved)}"
    finally:
        os.rename(moved, movable_file)


@probe
def fill_disk(folder, limit_megabytes, megabytes=None):
    limit, written, chunk = int(limit_megabytes), 0, os.urandom(1 << 20)
    wanted, deadline, end = int(megabytes or limit + 1), time.monotonic() + NETWORK_SECONDS_MAX, "that was all"
    try:
        while written < wanted and time.monotonic() < deadline:
            # Many files, as a limit on the size of one does not limit the disk.
            with open(os.path.join(folder, str(written // 16)), "ab", buffering=0) as file:
                if file.write(chunk) < len(chunk):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            written += 1
    except OSError as error:
        end = text_of(error)
    return {"escaped": written > limit, "saw": f"wrote {written} MiB, {limit} are allowed: {end}", "megabytes": written}


# ---- other processes ----


def send_signals(pid):
    """SIGURG is ignored by whoever did not ask for it."""
    if pid == 0:
        raise Denied("the process is outside of the pid namespace")
    os.kill(pid, 0)
    os.kill(pid, signal.SIGURG)
    return f"sent SIGURG to {pid}"


def address_in(pid, address):
    """An address to read in the memory of another process."""
    if address is not None:
        return int(str(address), 0)
    maps = or_nothing(read_text, f"/proc/{pid}/maps")
    # A process that forked this one, without exec, has the same things at the same addresses.
    return int(maps.split("-")[0], 16) if maps else id(None)


def read_text(path):
    with open(path) as file:
        return file.read()


PROBES |= {
    "host_environ": lambda host_pid: read(f"/proc/{host_pid}/environ"),
    "pidfd_getfd": lambda host_pid: did(system_call, "pidfd_getfd", system_call("pidfd_open", int(host_pid), 0), 0, 0),
    "kill_host": lambda host_pid: send_signals(int(host_pid)),
    "signal_parent": lambda parent_pid: send_signals(parent_pid),
}


@probe
def host_memory(host_pid, host_address=None):
    with open(f"/proc/{host_pid}/mem", "rb", buffering=0) as memory:
        content = or_nothing(os.pread, memory.fileno(), 16, address_in(host_pid, host_address))
    return f"opened /proc/{host_pid}/mem and read {len(content)} bytes"


@probe
def process_vm_readv(host_pid, host_address=None):
    buffer = ctypes.create_string_buffer(16)
    local = (ctypes.c_ulong * 2)(ctypes.addressof(buffer), 16)
    remote = (ctypes.c_ulong * 2)(address_in(host_pid, host_address), 16)
    return f"read {system_call('process_vm_readv', int(host_pid), local, 1, remote, 1, 0)} bytes of {host_pid}"


@probe
def ptrace_host(host_pid):
    def be_traced():
        system_call("ptrace", PTRACE_TRACEME, 0, 0, 0)
        os.kill(os.getpid(), signal.SIGSTOP)

    def trace(pid):
        if pid:
            # Seizing does not stop the process, and it is let go when this one ends.
            system_call("ptrace", PTRACE_SEIZE, pid, 0, 0)
            return f"traced {pid}"
        # Without WUNTRACED only a traced child is seen to stop. It is killed with this session.
        if not os.WIFSTOPPED(os.waitpid(fork_off(be_traced), 0)[1]):
            raise Denied("a child could not ask to be traced")
        return "traced a child"

    return first_of(trace, [int(host_pid), None])


@probe
def proc_others(worker_pid, own_pids=()):
    own = {worker_pid, os.getpid(), *map(int, own_pids)}
    # In rising order: a process has nearly always a higher number than its parent.
    others = sorted(int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) not in own)
    for pid in others:
        status = or_nothing(read_text, f"/proc/{pid}/status")
        if any(f"PPid:\t{parent}\n" in status for parent in own):
            own.add(pid)
    foreign = [f"/proc/{pid}/cmdline" for pid in others if pid not in own]
    if not foreign:
        raise Denied("there is no process but our own")
    return first_of(read, foreign[:50])


@probe
def daemon(pid_file):
    """Leaves a process behind; whether it lives on is for the caller to see."""

    def leave():
        os.setsid()
        fork_off(live)
        os._exit(0)

    def live():
        with open(pid_file, "w") as file:
            file.write(str(os.getpid()))
        os.closerange(0, DESCRIPTORS_MAX)
        time.sleep(DAEMON_SECONDS)

    os.waitpid(fork_off(leave), 0)
    deadline = time.monotonic() + 1
    while not (text := or_nothing(read_text, pid_file)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return {"escaped": None, "saw": f"left process {text or 'without a trace'}", "pid": int(text or 0)}


# ---- sockets ----


def address_of(text):
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port)


def connect(family, address, kind=socket.SOCK_STREAM):
    with socket.socket(family, kind) as connection:
        connection.settimeout(NETWORK_SECONDS_MAX / 2)
        connection.connect(address)
    return f"connected to {address!r}"


def make_socket(family, protocol=0):
    socket.socket(family, socket.SOCK_RAW, protocol).close()
    return f"made a socket of family {family.name}"


def send(sender, address):
    return f"sent {sender.sendto(b'probe', address)} bytes to {address}"


def ask_proxy(method, target, host):
    names = ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy")
    proxy = urllib.parse.urlsplit(next((os.environ[name] for name in names if os.environ.get(name)), ""))
    if not proxy.hostname:
        raise Skipped("HTTP_PROXY is not set")
    headers = {"Host": host}
    if proxy.username:
        account = f"{urllib.parse.unquote(proxy.username)}:{urllib.parse.unquote(proxy.password or '')}"
        headers["Proxy-Authorization"] = "Basic " + base64.b64encode(account.encode()).decode()
    connection = http.client.HTTPConnection(proxy.hostname, proxy.port or 80, timeout=NETWORK_SECONDS_MAX)
    connection.request(method, target, headers=headers)
    status = connection.getresponse().status
    if status != 200:
        raise Denied(f"the proxy answered {status} for {target}")
    return f"the proxy answered 200 for {target}"


PROBES |= {
    "host_socket_abstract": lambda socket_name: connect(socket.AF_UNIX, "\0" + socket_name),
    "datagram_socketpair": lambda datagram_path: send(socket.socketpair(type=socket.SOCK_DGRAM)[0], datagram_path),
    "udp_send": lambda udp_address="127.0.0.1:9": send(socket.socket(type=socket.SOCK_DGRAM), address_of(udp_address)),
    "tcp_connect": lambda tcp_address="example.com:80": did(socket.create_connection, address_of(tcp_address), 1.5),
    "raw_socket": lambda: make_socket(socket.AF_INET, socket.IPPROTO_ICMP),
    "packet_socket": lambda: make_socket(socket.AF_PACKET),
    "netlink_socket": lambda: make_socket(socket.AF_NETLINK),
    "dns_lookup": lambda dns_name="example.com": f"{len(socket.getaddrinfo(dns_name, 80))} addresses of {dns_name}",
    "proxy_other_host": lambda other_url="http://example.com/": ask_proxy("GET", other_url, other_url.split("/")[2]),
    "proxy_connect_private": lambda private_address="169.254.169.254:80": ask_proxy("CONNECT", *[private_address] * 2),
}


@probe
def host_socket_path(socket_path="/run/docker.sock"):
    kinds = (socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM)
    return first_of(lambda kind: connect(socket.AF_UNIX, socket_path, kind), kinds)


@probe
def ip_literal(ip_address="1.1.1.1:443"):
    host, port = address_of(ip_address)
    ways = [(socket.AF_INET, (host, port)), (socket.AF_INET6, (f"::ffff:{host}", port))]
    return first_of(lambda way: connect(*way), [(socket.AF_INET6, (host, port))] if ":" in host else ways)


# ---- the kernel ----


def make_bpf_map():
    array_of_one = (ctypes.c_uint32 * 32)(2, 4, 4, 1)
    return system_call("bpf", 0, array_of_one, ctypes.sizeof(array_of_one))


def enter_group(path):
    # Not made where it is missing: a plain file of that name is no group.
    os.write(os.open(path, os.O_WRONLY), str(os.getpid()).encode())
    return f"entered {path}"


IDENTITIES = [(os.setgroups, [4]), *((change, 0 if os.getuid() else 65533) for change in (os.setgid, os.setuid))]
ROOT_GROUPS = [f"/sys/fs/cgroup/{group}cgroup.procs" for group in ("", "unified/", "pids/", "memory/")]
PROCESS_KEYRING, CREATE, USER_MODE_ONLY = -2, 1, 1

PROBES |= {
    "bpf": lambda: f"made a map as descriptor {make_bpf_map()}",
    "keyctl": lambda: f"got the keyring {system_call('keyctl', 0, PROCESS_KEYRING, CREATE)}",
    "io_uring": lambda: f"made ring {system_call('io_uring_setup', 2, ctypes.create_string_buffer(120))}",
    "userfaultfd": lambda: f"got descriptor {system_call('userfaultfd', os.O_CLOEXEC | USER_MODE_ONLY)}",
    # The name is set to what it is already; the others change only the child that tries.
    "set_hostname": lambda: did(socket.sethostname, socket.gethostname()),
    "chroot": lambda folder: did(os.chroot, folder),
    "setuid": lambda: first_of(lambda call: did(*call), IDENTITIES),
    "cgroup_escape": lambda: first_of(enter_group, ROOT_GROUPS),
}


@probe
def mount(folder):
    def mount_in(namespaces):
        if namespaces is None:
            return f"opened a file system as descriptor {system_call('fsopen', b'tmpfs', 0)}"
        if namespaces:
            system_call("unshare", namespaces)
            system_call("mount", b"none", b"/", None, MS_REC | MS_PRIVATE, None)
        system_call("mount", b"none", folder.encode(), b"tmpfs", 0, None)
        system_call("umount2", folder.encode(), MNT_DETACH)
        return f"mounted a file system on {folder}"

    return first_of(mount_in, [CLONE_NEWNS, CLONE_NEWUSER | CLONE_NEWNS, 0, None])


@probe
def unshare_user():
    def make_namespace(call):
        pid = system_call(*call)
        if pid == 0 and call[0] != "unshare":
            os._exit(0)
        return f"made a user namespace with {call[0]}"

    request = (ctypes.c_uint64 * 8)(CLONE_NEWUSER, 0, 0, 0, signal.SIGCHLD)
    clone = ("clone", CLONE_NEWUSER | signal.SIGCHLD, 0, 0, 0, 0)
    return first_of(make_namespace, [("unshare", CLONE_NEWUSER), clone, ("clone3", request, ctypes.sizeof(request))])


@probe
def setns(host_pid):
    def enter(open_it):
        system_call("setns", open_it(), CLONE_NEWNET)
        return f"entered the network namespace of {host_pid}"

    by_path = lambda: os.open(f"/proc/{host_pid}/ns/net", os.O_RDONLY)  # noqa: E731
    return first_of(enter, [by_path, lambda: system_call("pidfd_open", int(host_pid), 0)])


@probe
def perf_event():
    # A software clock of this process in user mode: the least that the call can ask for.
    attributes = ctypes.create_string_buffer(112)
    ctypes.memmove(attributes, (ctypes.c_uint32 * 2)(1, 112), 8)
    attributes[40] = 0x60
    return f"made a counter as descriptor {system_call('perf_event_open', attributes, 0, -1, -1, 0)}"


@probe
def dropped_binary(folder):
    path = os.path.join(folder, "true")
    shutil.copy(os.path.realpath("/bin/true"), path)
    os.chmod(path, 0o700)
    subprocess.run([path], check=True, timeout=1)
    return f"ran {path}"


@probe
def memfd_exec():
    descriptor = os.memfd_create("true")
    with open("/bin/true", "rb") as program:
        os.write(descriptor, program.read())
    if os.waitpid(fork_off(lambda: os.execve(descriptor, ["true"], {})), 0)[1] != 0:
        raise Denied("the program in memory did not run")
    return "ran a program from memory"


@probe
def tiocsti():
    _master, terminal = os.openpty()
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
    os.set_blocking(terminal, False)

    def push(request):
        system_call("ioctl", terminal, request, b"\n")
        return f"pushed {len(os.read(terminal, 8))} bytes into the terminal"

    # The kernel looks at the lower half of the request only; a filter may have looked at all of it.
    return first_of(push, [termios.TIOCSTI, termios.TIOCSTI | 1 << 32])


@probe
def shared_memory(shm_key=None, queue_name=None):
    def attach(target):
        if target == shm_key:
            identity = system_call("shmget", int(shm_key), 0, 0)
            return f"attached segment {identity} at {system_call('shmat', identity, 0, SHM_RDONLY):#x}"
        name = str(queue_name).lstrip("/").encode()
        return f"opened the queue as descriptor {system_call('mq_open', name, os.O_RDONLY, 0, None)}"

    targets = [target for target in (shm_key, queue_name) if target is not None]
    if not targets:
        raise Skipped("no target shm_key or queue_name")
    return first_of(attach, targets)


@probe
def clock_set():
    """Each of these calls asks for the right to set the clock and then changes it by nothing."""

    def set_to_now():
        time.clock_settime_ns(time.CLOCK_REALTIME, time.clock_gettime_ns(time.CLOCK_REALTIME))

    offset = (ctypes.c_uint32 * 64)(ADJ_SETOFFSET)
    calls = [(system_call, "adjtimex", offset), (system_call, "settimeofday", None, None), (set_to_now,)]
    return first_of(lambda call: did(*call), calls)


# ---- what a worker starts with ----


@probe
def inherited_descriptors():
    found, odd = {}, []
    harmless = {"/dev/null", *(or_nothing(os.readlink, f"/proc/self/fd/{number}") for number in range(3))} - {""}
    for descriptor in range(3, DESCRIPTORS_MAX):
        try:
            mode = os.fstat(descriptor).st_mode
        except OSError:
            continue
        link = or_nothing(os.readlink, f"/proc/self/fd/{descriptor}")
        found[descriptor] = link or f"mode {mode:o}"
        is_channel = stat.S_ISSOCK(mode) or stat.S_ISFIFO(mode) or link.startswith("anon_inode:[event")
        if not is_channel and link not in harmless:
            odd.append(f"{descriptor} is {found[descriptor]}")
    return {"escaped": bool(odd), "saw": one_line(", ".join(odd) or "only sockets and pipes"), "descriptors": found}


@probe
def random_state():
    value = random.random()
    return {"escaped": None, "saw": f"random.random() is {value}", "value": value}


@probe
def foreign_modules():
    runner = os.path.dirname(os.path.dirname(inspect.getfile(BasicAgent))) + os.sep

    def is_own(name, module):
        is_standard = name.split(".")[0] in sys.stdlib_module_names or name.startswith("_sysconfigdata")
        is_runner = str(getattr(module, "__file__", None)).startswith(runner)
        return is_standard or is_runner or name in ("__main__", "__mp_main__", __name__)

    names = sorted(name for name, module in list(sys.modules.items()) if not is_own(name, module))
    return {"escaped": None, "saw": f"{len(names)} modules of others", "modules": names}
