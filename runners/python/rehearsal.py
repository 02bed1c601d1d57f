"""Runs a worker's whole path in the zygote with an agent of our own, before anything is forked.

The first run of any Python code fills caches and rewrites its own instructions. Done here it happens once, in memory
that all workers share; left to the workers it would cost each of them a third of a megabyte and a part of the start.
"""

import ctypes
import json
import os
import socket
import sys

import agents
import loading
import sandbox
import watching
import worker

ROUNDS = 40

SOURCE = b"""
from agents.basic_agent import BasicAgent


class RehearsalAgent(BasicAgent):
    def __init__(self):
        self.name = "Rehearsal"
        self.metadata = {
            "name": self.name,
            "description": "Rehearses.",
            "parameters": {
                "type": "object",
                "properties": {"text": {"type": "string", "description": "Any"}},
                "required": [],
            },
        }
        super().__init__(name=self.name, metadata=self.metadata)

    def perform(self, **kwargs):
        return kwargs.get("text", "")
"""

BOUNDS = {
    "confined": False,
    "readable": ["/usr/share"],
    "writable": ["/var/lib/rehearsal", "/var/lib/rehearsal/data"],
    "may_start_programs": False,
    "network": "none",
    "withheld": [],
    "watched": [],
}
START = {
    "op": "start",
    "file": "/rehearsal_agent.py",
    "own": "rehearsal_agent",
    "folder": "/",
    "data": "/",
    "working_directory": "/",
    "environment": {"PATH": "/usr/bin", "HOME": "/", "LANG": "C.UTF-8", "ROOST_HOME": "/"},
    "limits": {"result_mb": 1},
    "source_bytes": len(SOURCE),
    "bounds": BOUNDS,
}
# Set to what it is, which changes nothing and costs what every property costs.
_NAME = ctypes.create_string_buffer(b"python")
THREAD_NAME = ctypes.addressof(_NAME)
QUESTION = {"op": "perform", "id": 1, "agent": "Rehearsal", "arguments": {"text": "x" * 90}}
CONTEXT = b'{"temporal": {}}'


def rehearse():
    """Loads and performs as a worker would, over a real socket, and leaves no trace but warm code."""
    paths, package_paths, environment = list(sys.path), list(agents.__path__), dict(os.environ)
    ours, theirs = socket.socketpair()
    channel = worker.Channel(theirs.detach())
    for _ in range(ROUNDS):
        ours.sendall(frame(START) + SOURCE)
        start = worker.decode(channel.receive())
        rehearse_sandbox()
        rehearse_watching()
        worker.settle(start)
        worker.prepare(start, None)
        answer, loaded = loading.load(start, channel.receive_exactly(start["source_bytes"]))
        channel.send(worker.with_what_was_noticed(worker.encode(answer)))
        ours.recv(1 << 16)
        ours.sendall(frame({**QUESTION, "context_bytes": len(CONTEXT)}) + CONTEXT)
        question = worker.decode(channel.receive())
        question["context"] = channel.receive_exactly(question["context_bytes"])
        channel.send(worker.with_what_was_noticed(worker.answer_to(question, loaded, 1 << 20)))
        ours.recv(1 << 16)
        worker.flush_output()
    channel.socket.close()
    ours.close()
    sys.modules.pop(loading.module_name(START["file"]))
    sys.path[:], agents.__path__[:] = paths, package_paths
    os.environ.clear()
    os.environ.update(environment)


def rehearse_sandbox():
    """Steps into the sandbox, with arguments that the kernel refuses: this process stays outside. Nothing here may
    work when the zygote is root and has no namespaces."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        socket.send_fds(ours, [b"r"], [ours.fileno()])
        os.close(sandbox._receive(theirs))
        sandbox._hand_over(theirs, sandbox.NOTICES + sandbox.DONE, theirs.fileno())
        sandbox.enter({"has_rules": False}, theirs)
    sandbox.set_property(sandbox.PR_SET_NAME, THREAD_NAME)
    for step, arguments in (
        (sandbox._become, (-1, -1)),
        (sandbox._put_mount, (-1, "/nowhere")),
        (sandbox._set_powers, (bytes(8), bytes(24))),
        (sandbox._restrict_files, (-1, 0)),
        (sandbox._install, (b"",)),
    ):
        try:
            step(*arguments)
        except OSError:
            continue


def rehearse_watching():
    """What is noticed of an ordinary agent."""
    watching.begin({**BOUNDS, "confined": True})
    for event, arguments in (
        ("open", ("/tmp/x", "r", 0)),
        ("open", ("/tmp/x", None, os.O_WRONLY)),
        ("open", ("/usr/lib/x", "r", 0)),
        ("os.listdir", ("/tmp",)),
        ("import", ("json", None, None, None, None)),
    ):
        watching._notice(event, arguments)
    watching.report()
    watching.end()


def frame(message):
    payload = json.dumps(message).encode()
    return worker.HEADER.pack(len(payload)) + payload
