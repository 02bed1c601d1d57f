"""Puts this process into its sandbox. The host prepared everything; here it is only applied.

In this order, because each step needs what the next one takes away: identity, processes, mounts, network, powers, files,
system calls. Nothing of the agent has been read yet. See crates/runtime/src/sandbox for what is in the data.
"""

import array
import binascii
import ctypes
import errno
import fcntl
import os
import platform
import socket
import struct

PR_SET_NAME = 15
PR_SET_SECUREBITS = 28
PR_SET_NO_NEW_PRIVS = 38
PR_GET_TID_ADDRESS = 40

CLONE_NEWNET = 0x40000000
CLONE_CHILD_CLEARTID = 0x00200000
CLONE_CHILD_SETTID = 0x01000000
SIGCHLD = 17

MS_NOSUID, MS_NODEV, MS_NOEXEC = 2, 4, 8
MOVE_MOUNT_F_EMPTY_PATH = 4
AT_FDCWD = -100
SIOCSIFFLAGS = 0x8914
IFF_UP = 1

SECCOMP_SET_MODE_FILTER = 1
SECCOMP_FILTER_FLAG_NEW_LISTENER = 1 << 3
LANDLOCK_RULE_PATH_BENEATH = 1
CAPABILITY_VERSION_3 = 0x20080522
# Being root means nothing, ids do not matter, powers are never kept; and none of it can be changed back.
ROOT_IS_NOBODY = 0b101111

# Numbers that the two architectures share, and those that they do not.
MOVE_MOUNT, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 429, 445, 446
CLONE, CAPSET, SECCOMP = {"x86_64": (56, 126, 317), "aarch64": (220, 91, 277)}.get(platform.machine(), (None,) * 3)

# What a handed-over descriptor is.
NOTICES, PROXY, DONE = b"n", b"p", b"."

# Made once, before any fork: making them in a worker would cost each of them memory and time.
_libc = ctypes.PyDLL(None, use_errno=True)
_syscall = _libc.syscall
_syscall.restype = ctypes.c_long
_prctl = _libc.prctl
_prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
_mount = _libc.mount
_mount.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_void_p]
_unshare = _libc.unshare
_unshare.argtypes = [ctypes.c_int]
_environ = ctypes.c_void_p.in_dll(_libc, "environ")
_heap_end = _libc.sbrk
_heap_end.argtypes = [ctypes.c_long]
_heap_end.restype = ctypes.c_void_p
_before_fork = ctypes.pythonapi.PyOS_BeforeFork
_after_fork_in_parent = ctypes.pythonapi.PyOS_AfterFork_Parent
_after_fork_in_child = ctypes.pythonapi.PyOS_AfterFork_Child


def _thread_id_address():
    """Where the C library keeps the id of this thread; a fork that does not go through it has to say."""
    address = ctypes.c_ulong()
    if _prctl(PR_GET_TID_ADDRESS, ctypes.addressof(address), 0, 0, 0) != 0:
        return 0
    return address.value


_THREAD_ID = _thread_id_address()


def heap_end():
    """Where the C library's heap ends."""
    return _heap_end(0)


def set_property(option, value):
    """A property of this process that the kernel keeps."""
    _checked(_prctl(option, value, 0, 0, 0), "prctl")


_environment = None


def set_environment(variables):
    """The whole environment of this process, in one piece: set one by one, variables would cost every worker forty
    pages. `variables` is a list of `NAME=value` in bytes."""
    global _environment
    text = b"\0".join(variables) + b"\0"
    start = _address(text)
    places, at = [], 0
    for variable in variables:
        places.append(start + at)
        at += len(variable) + 1
    table = struct.pack(f"{len(places) + 1}Q", *places, 0)
    # Kept as long as the C library may read it.
    _environment = (text, table)
    _environ.value = _address(table)


def _address(data):
    """Where these bytes are; they must be kept as long as somebody looks there."""
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0


def fork_into(namespaces):
    """Like `os.fork`, with the child in new namespaces of these kinds. Plain fork when there are none."""
    if namespaces == 0:
        return os.fork()
    flags = namespaces | SIGCHLD
    if _THREAD_ID:
        flags |= CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID
    zero, thread_id = ctypes.c_ulong(0), ctypes.c_ulong(_THREAD_ID)
    # The last two arguments stand the other way round on ARM.
    last = (zero, thread_id) if platform.machine() == "aarch64" else (thread_id, zero)
    _before_fork()
    pid = _syscall(CLONE, ctypes.c_ulong(flags), zero, zero, *last)
    if pid == 0:
        _after_fork_in_child()
        return 0
    error = ctypes.get_errno()
    _after_fork_in_parent()
    if pid < 0:
        raise OSError(error, os.strerror(error))
    return pid


_has_own_proc = False


def settle_in(user, group):
    """What a process does first in namespaces of its own, whatever it will become."""
    global _has_own_proc
    _become(user, group)
    _has_own_proc = _own_proc()


def enter(recipe, host):
    """Applies the recipe. Descriptors go to the host, and come from it, over the socket `host`. Raises OSError when
    something cannot be applied: then nothing of the agent may run."""
    ruleset = _receive(host) if recipe["has_rules"] else None
    namespaces = recipe.get("namespaces")
    if namespaces:
        for target in namespaces["mounts"]:
            _put_mount(_receive(host), target)
        if namespaces["has_proxy"]:
            _checked(_unshare(CLONE_NEWNET), "unshare")
            with _listener(recipe["proxy_port"]) as listener:
                _hand_over(host, PROXY, listener.fileno())
    instructions = recipe.get("filter")
    if namespaces or instructions or ruleset is not None:
        _give_up_powers()
        set_property(PR_SET_NO_NEW_PRIVS, 1)
    if ruleset is not None:
        _restrict_files(ruleset, recipe["proc_access"] if _has_own_proc else None)
        os.close(ruleset)
    if instructions:
        listener = _install(binascii.a2b_base64(instructions))
        # With the end in the same message: the host is woken once.
        _hand_over(host, NOTICES + DONE, listener)
        os.close(listener)
    else:
        _hand_over(host, DONE)


def _become(user, group):
    """The same ids inside as outside, and no others."""
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        descriptor = os.open(f"/proc/self/{name}", os.O_WRONLY)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)


def _put_mount(tree, target):
    """Lets a part of the file system be seen that the host prepared. Nothing else of the host's files is here."""
    moved = _syscall(MOVE_MOUNT, tree, b"", AT_FDCWD, os.fsencode(target), ctypes.c_ulong(MOVE_MOUNT_F_EMPTY_PATH))
    _checked(moved, f"mount {target}")
    os.close(tree)


def _own_proc():
    """A view of processes that shows only this worker's. Some containers do not allow one: then the shared view stays,
    and the file rules close it."""
    if _mount(b"proc", b"/proc", b"proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, None) == 0:
        return True
    error = ctypes.get_errno()
    if error in (errno.EPERM, errno.EBUSY):
        return False
    raise OSError(error, os.strerror(error), "/proc")


def _listener(port):
    """Where the agent finds the host's proxy, in a network that has nothing else."""
    listener = socket.socket()
    fcntl.ioctl(listener, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP))
    listener.bind(("127.0.0.1", port))
    listener.listen(128)
    return listener


def _give_up_powers():
    """Powers over its own namespaces, which the process has from making them, and those of root. A process without
    powers may not say so, and need not."""
    if _prctl(PR_SET_SECUREBITS, ROOT_IS_NOBODY, 0, 0, 0) != 0 and ctypes.get_errno() != errno.EPERM:
        _checked(-1, "prctl")
    _set_powers(struct.pack("Ii", CAPABILITY_VERSION_3, 0), bytes(24))


def _set_powers(header, powers):
    _checked(_syscall(CAPSET, header, powers), "capset")


def _restrict_files(ruleset, proc_access):
    if proc_access is not None:
        folder = os.open("/proc", os.O_PATH | os.O_CLOEXEC)
        rule = struct.pack("=Qi", proc_access, folder)
        added = _syscall(LANDLOCK_ADD_RULE, ruleset, LANDLOCK_RULE_PATH_BENEATH, rule, ctypes.c_ulong(0))
        os.close(folder)
        _checked(added, "landlock_add_rule")
    _checked(_syscall(LANDLOCK_RESTRICT_SELF, ruleset, ctypes.c_ulong(0)), "landlock_restrict_self")


def _install(instructions):
    """Puts the system call filter in force; the answer is where refused calls are heard."""
    program = struct.pack("H6xQ", len(instructions) // 8, _address(instructions))
    flags = ctypes.c_ulong(SECCOMP_FILTER_FLAG_NEW_LISTENER)
    return _checked(_syscall(SECCOMP, SECCOMP_SET_MODE_FILTER, flags, program), "seccomp")


def _receive(host):
    _, descriptors, _, _ = socket.recv_fds(host, 1, 1)
    if len(descriptors) != 1:
        raise OSError(errno.EPROTO, "a part of the sandbox did not come from the host")
    return descriptors[0]


def _hand_over(host, kind, descriptor=None):
    if descriptor is None:
        host.sendmsg([kind])
    else:
        host.sendmsg([kind], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor]))])


def _checked(answer, name):
    if answer < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{name}: {os.strerror(error)}")
    return answer
