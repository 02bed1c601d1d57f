"""The warm parent of all workers of one Python interpreter.

Started once per interpreter, it imports what agents commonly import, then forks a worker each time the host asks.
It runs no code of agents or packages, has one thread, holds no secret and no descriptor besides its control socket. One worker more than
were asked for waits, so that the next one is there at once.

Control socket: one SEQPACKET message per request or event, JSON text.
  host   {"op": "fork", "namespaces": flags} with three descriptors (channel, host calls, log) and the doors of its groups
  zygote {"op": "forked", "pid": n}, or {"op": "fork_failed", "message": s}
  host   {"op": "kill", "pid": n}
  zygote {"op": "exited", "pid": n, "status": wait status}
"""

import gc
import json
import os
import select
import signal
import socket
import sys

import _socket

SHIMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "shims")
CONTROL = 3

# Channel, host calls and log, and a door for each control group that limits processes or memory.
DESCRIPTORS_MAX = 5

# More than a heap of this kind has gaps.
HEAP_BLOCKS_MAX = 20_000

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

# What agents import at the top of their files. Importing here costs once; in a worker it would cost each time.
PRELOADED = (
    "abc argparse array ast asyncio base64 bisect calendar collections concurrent.futures contextlib copy csv dataclasses "
    "datetime decimal difflib email.utils enum fnmatch fractions functools getpass glob hashlib heapq hmac html "
    "http.client importlib.util inspect io itertools json logging math mimetypes numbers operator pathlib platform "
    "pprint queue random re secrets shlex shutil sqlite3 ssl statistics string struct subprocess tempfile textwrap "
    "threading time traceback types typing unicodedata urllib.error urllib.parse urllib.request uuid weakref "
    "xml.etree.ElementTree zipfile zlib"
).split()


def warm_up():
    """Imports the standard library's common part and the modules agents may import from the host."""
    sys.path.append(SHIMS)
    sys.path.insert(0, os.path.dirname(SHIMS))
    for name in PRELOADED:
        try:
            __import__(name)
        except ImportError:
            # A Python built without an optional library still runs agents that do not need it.
            continue
    for name in (
        "basic_agent agents.basic_agent openrappter.agents.basic_agent local_storage utils.storage_factory "
        "utils.azure_file_storage utils.dynamics_storage utils.llm utils.workspace brainstem function_app sandbox watching worker rehearsal"
    ).split():
        __import__(name)
    sys.path.pop(0)
    # Without `site` there would be no `exit`, which agents call. Importing it runs nothing of any package.
    import site

    site.setquit()


def step_back():
    """Keeps the place behind the host that the zygote has, where the kernel shares processors out by session."""
    try:
        setting = os.open("/proc/self/autogroup", os.O_WRONLY)
    except OSError:
        return
    try:
        os.write(setting, b"%d" % os.getpriority(os.PRIO_PROCESS, 0))
    except OSError:
        # Ordinary users may set it only so often.
        pass
    finally:
        os.close(setting)


def fill_allocator_gaps():
    """Objects of every small size, to be kept: what a worker allocates then goes to fresh pages, close together,
    instead of into gaps all over the shared ones, each of which would have to be copied."""
    sizes = range(48, 513, 16)
    small = [bytes(size - 40) for size in sizes for _ in range(400)], [[[None], {}, (index,)] for index in range(2000)]
    return small, fill_heap_gaps()


def fill_heap_gaps():
    """The same for larger sizes, which the C library keeps: blocks of each until the heap has to grow for one."""
    blocks = []
    for size in (1 << 16, 1 << 15, 1 << 14, 1 << 13, 1 << 12, 1 << 11, 1 << 10, 640, 544):
        end = sys.modules["sandbox"].heap_end()
        while sys.modules["sandbox"].heap_end() == end and len(blocks) < HEAP_BLOCKS_MAX:
            blocks.append(bytes(size - 48))
    return blocks


class Zygote:
    """Forks, reaps and sweeps; the loop of this process."""

    def __init__(self, control):
        self.control = control
        self.workers = set()
        # A process that is ready to become the next worker: in its namespaces, with nothing of any agent.
        self.spare = None
        self.spare_namespaces = 0
        # Where its descriptors go in.
        self.spare_socket = None
        self.wakeup_read, self.wakeup_write = socket.socketpair()
        self.wakeup_read.setblocking(False)
        self.wakeup_write.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self.wakeup_write.fileno(), warn_on_full_buffer=False)

    def run(self):
        """Serves until the host closes the control socket, then leaves no process behind."""
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        poll.register(self.wakeup_read, select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in poll.poll()}
            if self.wakeup_read.fileno() in ready:
                self.drain_wakeups()
                self.reap()
            if self.control.fileno() in ready and not self.serve_one():
                break
        self.drop_spare()
        for pid in list(self.workers):
            self.kill(pid)
        while self.children():
            select.select([self.wakeup_read], [], [], 0.05)
            self.drain_wakeups()
            self.reap()

    def serve_one(self):
        message, descriptors, _, _ = socket.recv_fds(self.control, 4096, DESCRIPTORS_MAX)
        if not message:
            return False
        request = json.loads(message)
        if request["op"] == "fork":
            self.fork(descriptors, request["namespaces"])
        elif request["op"] == "kill":
            self.kill(request["pid"])
        return True

    def fork(self, descriptors, namespaces):
        """Turns the spare into a worker, or forks one where there is none; then makes a new spare, while the host is
        busy with the worker. As little as possible is done here: every page that is touched between two forks is
        shared no more with the worker before."""
        try:
            if self.spare is not None and self.spare_namespaces != namespaces:
                self.drop_spare()
            if self.spare is None:
                self.fork_spare(namespaces, foreign=descriptors)
            socket.send_fds(self.spare_socket, [b"w"], descriptors)
        except OSError as error:
            self.drop_spare()
            self.say({"op": "fork_failed", "message": str(error)})
            return
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        self.workers.add(self.spare)
        self.say({"op": "forked", "pid": self.spare})
        self.spare = None
        self.spare_socket.close()
        try:
            self.fork_spare(namespaces)
        except OSError:
            # The next worker is forked when it is asked for, and says why that does not work.
            return

    def drop_spare(self):
        if self.spare is not None:
            os.kill(self.spare, signal.SIGKILL)
            self.spare_socket.close()
            self.spare = None

    def fork_spare(self, namespaces, foreign=()):
        """Forks a process that waits to become a worker, on a socket that is only its own. It keeps no `foreign`
        descriptor: what is meant for it comes over the socket."""
        self.spare_socket, waits_on = _socket.socketpair()
        user, group = os.geteuid(), os.getegid()
        try:
            pid = sys.modules["sandbox"].fork_into(namespaces)
        except OSError:
            self.spare_socket.close()
            waits_on.close()
            raise
        if pid == 0:
            self.spare_socket.close()
            for descriptor in foreign:
                os.close(descriptor)
            self.become_worker(waits_on, (user, group) if namespaces else None)
        waits_on.close()
        self.spare, self.spare_namespaces = pid, namespaces

    def become_worker(self, waits_on, identity):
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self.control.close()
            self.wakeup_read.close()
            self.wakeup_write.close()
            os.setsid()
            step_back()
            # The worker dies with the zygote, and its own daemons stay below it.
            set_property = sys.modules["sandbox"].set_property
            set_property(PR_SET_PDEATHSIG, signal.SIGKILL)
            set_property(PR_SET_CHILD_SUBREAPER, 1)
            if identity is not None:
                sys.modules["sandbox"].settle_in(*identity)
            _, descriptors, _, _ = socket.recv_fds(waits_on, 1, DESCRIPTORS_MAX)
            waits_on.close()
            if not descriptors:
                os._exit(0)
            channel, calls, log, *doors = descriptors
            for door in doors:
                os.write(door, b"0")
                os.close(door)
            os.dup2(log, 1)
            os.dup2(log, 2)
            os.close(log)
            os.set_inheritable(channel, False)
            os.set_inheritable(calls, False)
            import worker

            status = worker.serve(channel, calls)
        finally:
            # Never back into the zygote's loop, whatever the agent did.
            os._exit(status)

    def kill(self, pid):
        # Only a worker that was not reaped yet: its number cannot belong to anybody else.
        if pid in self.workers:
            for send in (os.killpg, os.kill):
                try:
                    send(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue

    def reap(self):
        """Collects everything that ended, then kills what dead workers left behind."""
        while True:
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if ended is None:
                break
            pid = ended.si_pid
            self.kill(pid)
            _, status = os.waitpid(pid, 0)
            if pid in self.workers:
                self.workers.discard(pid)
                self.say({"op": "exited", "pid": pid, "status": status})
            elif pid == self.spare:
                self.spare = None
        for pid in self.children():
            if pid not in self.workers and pid != self.spare:
                os.kill(pid, signal.SIGKILL)

    def children(self):
        own = os.getpid()
        try:
            with open(f"/proc/{own}/task/{own}/children") as listing:
                return [int(pid) for pid in listing.read().split()]
        except OSError:
            return list(self.workers)

    def drain_wakeups(self):
        try:
            while self.wakeup_read.recv(4096):
                pass
        except BlockingIOError:
            pass

    def say(self, event):
        try:
            self.control.send(json.dumps(event).encode())
        except OSError:
            # The host is gone; the loop sees it next.
            pass


def main():
    os.set_inheritable(CONTROL, False)
    # The host gives none; the interpreter may have set a locale for itself.
    os.environ.clear()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    warm_up()
    sys.modules["sandbox"].set_property(PR_SET_CHILD_SUBREAPER, 1)
    control = socket.socket(fileno=CONTROL)
    sys.modules["watching"].install()
    sys.modules["rehearsal"].rehearse()
    gc.collect()
    filling = fill_allocator_gaps()
    # A collection in a worker would touch, and so copy, every shared page.
    gc.freeze()
    Zygote(control).run()
    del filling


if __name__ == "__main__":
    main()
