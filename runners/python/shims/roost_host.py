"""The link from an agent to its host: who the agent is, where its data lives, and questions to the host.

The worker calls `attach` once after the fork. A question is one frame (big-endian u32 length, then JSON) on a
Unix socket, and so is its answer. Nothing is opened before the first question.
"""

import json
import os
import pathlib
import socket
import struct
import threading

# As in the host: above every real answer, far below what would hurt.
_FRAME_BYTES_MAX = 64 << 20
_RECEIVE_BYTES = 1 << 16


class HostCallFailed(RuntimeError):
    """The host did not do what was asked. `reason` is a stable code; the text says what happened and what to do."""

    def __init__(self, reason, message, next_step=None):
        super().__init__(f"{message}; next: {next_step}" if next_step else message)
        self.reason = reason
        self.message = message
        self.next_step = next_step


class _Link:
    """One attached host. Its lock covers a question together with its answer, so any thread may ask."""

    def __init__(self, calls_fd, identity, data_folder):
        self.identity = dict(identity or {})
        self.data_folder = data_folder
        self._calls_fd = calls_fd
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._socket = None
        self._broken = False
        self._received = bytearray()
        self._last_id = 0

    def ask(self, method, params):
        if self._calls_fd is None:
            raise _unreachable(f"{method} was asked, but this code does not run inside a Roost worker")
        if os.getpid() != self._process:
            # Two processes on one stream would read each other's answers.
            raise _unreachable(
                f"{method} was asked in a child process", "ask the host from the process that runs perform()"
            )
        with self._lock:
            if self._broken:
                raise _unreachable(f"{method} was asked, but the connection to the host is closed")
            self._last_id += 1
            frame = _encode(self._last_id, method, params)
            try:
                self._send(frame)
                reply = self._receive_reply(self._last_id)
            except OSError as error:
                self._broken = True
                raise _unreachable(f"{method} got no answer from the host: {error}") from error
            except HostCallFailed:
                self._broken = True
                raise
        return _result_of(reply, method)

    def close(self):
        self._broken = True
        if self._socket is not None:
            self._socket.close()
        elif self._calls_fd is not None:
            os.close(self._calls_fd)

    def _send(self, frame):
        if self._socket is None:
            self._socket = socket.socket(fileno=self._calls_fd)
            # The other end may have been made by an event loop, which leaves the descriptor non-blocking.
            self._socket.setblocking(True)
        # Set until the whole frame is out: half a frame can never be completed by a later question.
        self._broken = True
        self._socket.sendall(frame)
        self._broken = False

    def _receive_reply(self, wanted_id):
        # No time limit of its own: the host ends the whole call when its time is up.
        while True:
            length = struct.unpack(">I", self._peek(4))[0]
            if length > _FRAME_BYTES_MAX:
                raise HostCallFailed("protocol_violation", f"the host announced an answer of {length} bytes")
            frame = self._peek(4 + length)[4:]
            del self._received[: 4 + length]
            try:
                reply = json.loads(frame)
            except ValueError as error:
                raise HostCallFailed("protocol_violation", f"the host's answer is not JSON: {error}") from error
            answered = reply.get("id") if isinstance(reply, dict) else None
            if answered == wanted_id:
                return reply
            # A smaller id answers a question whose asker was interrupted, for example by a signal.
            if not isinstance(answered, int) or answered > wanted_id:
                raise HostCallFailed("protocol_violation", f"the host answered question {answered}, not {wanted_id}")

    def _peek(self, count):
        """The first `count` received bytes; they stay in the buffer, so that an interrupted read can resume."""
        while len(self._received) < count:
            chunk = self._socket.recv(_RECEIVE_BYTES)
            if not chunk:
                raise ConnectionError("the connection was closed")
            self._received += chunk
        return bytes(self._received[:count])


_link = _Link(None, None, None)


def attach(calls_fd, identity, data_folder):
    """Connect this process to its host, instead of any earlier one.

    `calls_fd` is a stream socket, owned by this module from now on, or None. `identity` is the agent's
    `{"file": ..., "stem": ...}`.
    """
    global _link
    _link.close()
    _link = _Link(calls_fd, identity, data_folder)


def identity():
    """`{"file", "stem"}` of the agent this process runs; empty outside a worker."""
    return dict(_link.identity)


def data_folder():
    """The folder for what agents keep. It exists when this returns."""
    if _link.data_folder is not None:
        folder = pathlib.Path(_link.data_folder)
    else:
        # Outside a worker (`python my_agent.py`) the data is where the host would look for it.
        home = os.environ.get("ROOST_HOME")
        folder = (pathlib.Path(home) if home else pathlib.Path.home() / ".roost") / ".brainstem_data"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def call(method, params=None):
    """Ask the host and wait for the result. Raises `HostCallFailed`."""
    return _link.ask(method, {} if params is None else params)


def _unreachable(message, next_step="run the agent with `roost run` or `roost up`"):
    return HostCallFailed("host_unreachable", message, next_step)


def _encode(question_id, method, params):
    try:
        body = json.dumps({"id": question_id, "method": method, "params": params}).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise HostCallFailed(
            "bad_request", f"the parameters of {method} are not JSON: {error}", "pass only text, numbers, lists and dicts"
        ) from error
    if len(body) > _FRAME_BYTES_MAX:
        raise HostCallFailed("bad_request", f"the parameters of {method} take {len(body)} bytes", "send less at once")
    return struct.pack(">I", len(body)) + body


def _result_of(reply, method):
    error = reply.get("error")
    if error is None:
        return reply.get("result")
    if not isinstance(error, dict):
        error = {"message": str(error)}
    message = error.get("message") or "no details were given"
    raise HostCallFailed(error.get("reason") or "internal", f"{method}: {message}", error.get("next"))
