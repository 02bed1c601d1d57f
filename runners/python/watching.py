"""Notices what the agent tries and may not do, so that the host can name the grant that would allow it.

The kernel refuses; nothing is enforced here, and an agent that hides from this hides only what was refused to it. What
is noticed is checked once more when the call is over: only what really does not work is reported.
"""

import errno
import mmap
import os
import sys

KINDS_MAX = 64
KINDS = frozenset("read write connect start signal inspect variable".split())
CHILDREN_BYTES = 1 << 15

# What every worker may read; the host's list is crates/runtime/src/sandbox/files.rs.
SYSTEM = (
    "/usr/", "/bin/", "/sbin/", "/lib/", "/lib32/", "/lib64/", "/opt/", "/nix/store/", "/etc/ssl/certs/", "/dev/null",
    "/dev/zero", "/dev/random", "/dev/urandom", "/sys/devices/system/",
)  # fmt: skip
NOWHERE = "/dev/null"
# What was not given does not exist here. Whether it exists at all, the host knows.
REFUSED = (errno.EACCES, errno.EPERM, errno.EXDEV, errno.EROFS, errno.ENOENT, errno.ENOTDIR)
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

_state = None


def _folders(paths):
    return tuple(path.rstrip("/") + "/" for path in paths)


_OWN_FOLDER = os.path.dirname(os.path.abspath(__file__))
# The same for every worker of this interpreter, so made before any of them.
_ALWAYS_READABLE = SYSTEM + _folders({sys.prefix, sys.base_prefix, sys.exec_prefix, _OWN_FOLDER}) + ("/proc/",)


class _State:
    def __init__(self, bounds):
        # Kept apart from those of every worker: putting them together would touch, and so copy, what all share.
        self.writable = _folders(bounds["writable"])
        self.readable = _folders(bounds["readable"])
        self.may_start_programs = bounds["may_start_programs"]
        self.network = bounds["network"]
        self.withheld = frozenset(bounds["withheld"])
        self.watched = tuple(path + "/" for path in bounds["watched"] if path.startswith("/"))
        self.watched_variables = frozenset(name for name in bounds["watched"] if not name.startswith("/"))
        self.touched = set()
        self.process = os.getpid()
        self.tried = {}
        self.forked = False
        self.is_checking = False
        # What processes that the agent forks try is written here, for they have a copy of everything else. Made before
        # the first fork.
        self.of_children = None

    def expect_children(self):
        self.forked = True
        if self.of_children is None:
            self.of_children = mmap.mmap(-1, CHILDREN_BYTES)

    def can_write(self, path):
        return path.startswith(self.writable) or path == NOWHERE

    def can_read(self, path):
        return path.startswith(_ALWAYS_READABLE) or path.startswith(self.readable) or self.can_write(path)

    def note(self, kind, target):
        if os.getpid() != self.process:
            self.note_in_child(kind, target)
        elif len(self.tried) < KINDS_MAX:
            self.tried[kind, target] = None

    def note_in_child(self, kind, target):
        if self.of_children is None:
            return
        line = f"{kind} {target}".encode("utf-8", "replace").replace(b"\0", b"").replace(b"\n", b" ") + b"\n"
        end = self.of_children.find(b"\0")
        if 0 <= end < CHILDREN_BYTES - len(line):
            self.of_children[end : end + len(line)] = line

    def take_from_children(self):
        if self.of_children is None or self.of_children[0] == 0:
            return
        end = self.of_children.find(b"\0")
        for line in self.of_children[:end].decode("utf-8", "replace").splitlines():
            kind, _, target = line.partition(" ")
            if kind in KINDS:
                self.note(kind, target)
        self.of_children[:end] = bytes(end)


def install():
    """Makes this process, and every one it forks, able to watch. Once, in the zygote: it cannot be undone."""
    sys.addaudithook(_notice)


def begin(bounds):
    """Watches from now on."""
    global _state
    if not bounds["confined"]:
        return
    _state = _State(bounds)
    if _state.withheld or _state.watched_variables:
        os.environ.__class__ = _WatchedEnvironment


def report():
    """What was refused since the last report, whether a process was started, which grants were used; None when there
    was nothing."""
    state = _state
    if state is None:
        return None
    if state.forked:
        state.take_from_children()
    if not (state.tried or state.forked or state.touched):
        return None
    tried, state.tried = state.tried, {}
    forked, state.forked = state.forked, False
    touched, state.touched = sorted(state.touched), set()
    state.is_checking = True
    try:
        refused = [one for one in tried if _is_refused(*one)]
    finally:
        state.is_checking = False
    refused = [{"kind": kind, "target": target} for kind, target in refused if not _is_part(kind, target, refused)]
    return {"refused": refused, "forked": forked, "touched": touched}


def _is_part(kind, target, refused):
    """Making the folders above it is part of making something."""
    below = target.rstrip("/") + "/"
    return kind == "write" and any(other == "write" and path.startswith(below) for other, path in refused)


def end():
    """Watches no more; only the rehearsal of a worker does."""
    global _state
    _state = None


def miss_module(name, folder):
    """A module that was not found: a file of its name may lie among the agents."""
    if _state is not None and name:
        path = os.path.join(folder, *name.split("."))
        for beside in (path + ".py", os.path.join(path, "__init__.py")):
            _state.note("read", beside)


def _open_terminal(*arguments):
    """Like `os.openpty`, which no event tells of."""
    try:
        return _openpty(*arguments)
    except OSError:
        if _state is not None:
            _state.note("write", "/dev/ptmx")
        raise


_openpty, os.openpty = os.openpty, _open_terminal


def may_read(folder):
    """False when nothing in the folder can be read."""
    return _state is None or _state.can_read(folder.rstrip("/") + "/")


def _notice(event, arguments):
    look = _EVENTS.get(event)
    if look is not None and _state is not None and not _state.is_checking:
        try:
            look(*arguments)
        except Exception:
            # Odd arguments are the agent's affair: what it called will say so.
            return


class _WatchedEnvironment(os._Environ):
    """Says which variables the agent looked for and was not given."""

    def __getitem__(self, name):
        try:
            value = super().__getitem__(name)
        except KeyError:
            _look_for_variable(name)
            raise
        if name in _state.watched_variables:
            _state.touched.add(name)
        return value

    def __contains__(self, name):
        found = super().__contains__(name)
        if not found:
            _look_for_variable(name)
        return found


def _look_for_variable(name):
    if name in _state.withheld:
        _state.note("variable", name)


def _path(path, folder=-1):
    """The path as text, absolute; None for what is no path, such as an open descriptor. `folder` is the descriptor it
    begins at, where that is not the current folder."""
    if isinstance(path, int) or path is None:
        return None
    path = os.fsdecode(path)
    if folder >= 0 and not path.startswith("/"):
        path = os.path.join(os.readlink(f"/proc/self/fd/{folder}"), path)
    if not path.startswith("/") or "/." in path or "//" in path:
        path = os.path.abspath(path)
    return path


def _touch(path):
    """Remembers that a granted place was used."""
    for place in _state.watched:
        if (path + "/").startswith(place):
            _state.touched.add(place[:-1])


def _read(path, *_):
    path = _path(path)
    if path is None:
        return
    state = _state
    if state.watched:
        _touch(path)
    if path.startswith("/proc/"):
        owner = path[6:].partition("/")[0]
        if owner.isdigit() and not os.path.exists("/proc/" + owner):
            state.note("inspect", owner)
        return
    # What the agent can write, it can make a link to somewhere else.
    if state.can_write(path + "/"):
        if os.path.islink(path) or not os.path.exists(path):
            path = os.path.realpath(path)
        else:
            return
    if not state.can_read(path + "/"):
        state.note("read", path)


def _write(path, folder=-1):
    path = _path(path, folder)
    if path is None:
        return
    if _state.watched:
        _touch(path)
    if os.path.islink(path):
        path = os.path.realpath(path)
    if not _state.can_write(path + "/"):
        _state.note("write", path)


def _make_folder(path, _mode=0, folder=-1):
    path = _path(path, folder)
    # One that is there already is found, not made.
    if not os.path.isdir(path):
        _write(path)


def _open(path, mode, flags):
    if isinstance(mode, str):
        is_writing = not set("wxa+").isdisjoint(mode)
    else:
        is_writing = bool(isinstance(flags, int) and flags & WRITING)
    (_write if is_writing else _read)(path)


def _two_paths(source, target, source_folder=-1, target_folder=-1):
    _write(source, source_folder)
    _write(target, target_folder)


def _link(source, target, source_folder=-1, target_folder=-1):
    _read(_path(source, source_folder))
    _write(target, target_folder)


def _database(path, *_):
    if isinstance(path, (str, bytes, os.PathLike)) and not str(path).startswith((":memory:", "file:")) and str(path):
        _write(path)


def _connect(_, address):
    if isinstance(address, tuple) and len(address) >= 2:
        _reach(address[0], address[1])
    elif isinstance(address, (str, bytes)) and address:
        _state.note("connect", "socket " + os.fsdecode(address).replace("\0", "@", 1))


def _look_up(host, port=None, *_):
    if host:
        _reach(host, port)


def _reach(host, port):
    host = host.decode() if isinstance(host, bytes) else str(host)
    if _state.network == "any" or (_state.network == "hosts" and _is_own(host)):
        return
    is_number = isinstance(port, int) or (isinstance(port, str) and port.isdigit())
    target = f"[{host}]" if ":" in host else host
    _state.note("connect", f"{target}:{port}" if is_number and int(port) else host)


def _is_own(host):
    return host in ("localhost", "::1", "") or host.startswith("127.")


def _start(program, *_):
    _state.expect_children()
    if isinstance(program, (list, tuple)):
        program = program[0]
    program = os.fsdecode(program)
    # What an agent can write, nobody executes.
    is_own = "/" in program and _state.can_write(_path(program))
    if is_own or not _state.may_start_programs:
        _state.note("start", program)


def _fork(*_):
    _state.expect_children()


def _signal(pid, *_):
    if pid > 1 and pid != _state.process and not os.path.exists(f"/proc/{pid}"):
        _state.note("signal", str(pid))


_EVENTS = {
    "open": _open,
    "os.listdir": _read,
    "os.scandir": _read,
    "os.mkdir": _make_folder,
    "os.rmdir": _write,
    "os.remove": _write,
    "os.truncate": lambda path, *_: _write(path),
    "os.chmod": lambda path, *_: _write(path),
    "os.chown": lambda path, *_: _write(path),
    "os.utime": lambda path, *_: _write(path),
    "os.setxattr": lambda path, *_: _write(path),
    "os.removexattr": lambda path, *_: _write(path),
    "os.rename": _two_paths,
    "os.link": _link,
    "os.symlink": lambda _, target, folder=-1: _write(target, folder),
    "sqlite3.connect": _database,
    "socket.connect": _connect,
    "socket.getaddrinfo": _look_up,
    "socket.gethostbyname": _look_up,
    "subprocess.Popen": _start,
    "os.exec": _start,
    "os.posix_spawn": _start,
    "os.spawn": lambda _, program, *rest: _start(program),
    "os.system": _start,
    "os.fork": _fork,
    "os.forkpty": _fork,
    "os.kill": _signal,
    "os.killpg": _signal,
}


def _is_refused(kind, target):
    if kind not in ("read", "write"):
        return True
    try:
        if kind == "read":
            os.close(os.open(target, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC))
        elif os.path.isdir(target):
            return not os.access(target, os.W_OK) or _cannot_make(os.path.join(target, ".roost-probe"))
        elif os.path.lexists(target):
            os.close(os.open(target, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC))
        else:
            return _cannot_make(target)
    except OSError as error:
        return error.errno in REFUSED
    return False


def _cannot_make(path):
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except OSError as error:
        return error.errno in REFUSED
    os.unlink(path)
    return False
