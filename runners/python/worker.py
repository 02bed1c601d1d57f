"""One agent file in one process: loads it, describes it, performs what the host asks.

The host asks one question at a time over the channel and gets exactly one answer. See docs/agent-protocol.md.
"""

import asyncio
import gc
import inspect
import json
import os
import site
import socket
import struct
import sys
import time
from json.encoder import encode_basestring

import agents
import brainstem
import loading
import roost_host
import sandbox
import watching
from basic_agent import BasicAgent
from roost_context import Context

FRAME_BYTES_MAX = 64 << 20
HEADER = struct.Struct(">I")

# One answer in one page or two; longer frames take several reads.
RECEIVED_BYTES = 8192

encode = json.JSONEncoder(ensure_ascii=False, default=str).encode
scan = json.JSONDecoder().raw_decode


def decode(frame):
    """The JSON of a frame, without the guesses about encoding and white space that `json.loads` makes."""
    return scan(frame.decode())[0]


def serve(channel_fd, calls_fd):
    """Runs until the host closes the channel; the return value is the exit status of the process."""
    channel = Channel(channel_fd)
    text = channel.receive()
    if text is None:
        return 0
    start = decode(text)
    try:
        enter_sandbox(start, calls_fd)
    except OSError as error:
        # Nothing of the agent was read, and nothing will be.
        message = f"the sandbox could not be applied: {error}"
        channel.send(encode({"op": "failed", "reason": "sandbox_failed", "message": message}))
        return 1
    settle(start)
    source = channel.receive_exactly(start["source_bytes"])
    prepare(start, calls_fd)
    answer, loaded = loading.load(start, source)
    flush_output()
    channel.send(with_what_was_noticed(encode(answer)))
    result_bytes_max = start["limits"]["result_mb"] << 20
    # Its room is the agent's from now on.
    start = source = text = answer = None
    # The agent's own objects live as long as the process; collections need not visit them again.
    gc.freeze()
    while True:
        text = channel.receive()
        if text is None:
            return 0
        question = decode(text)
        question["context"] = channel.receive_exactly(question["context_bytes"])
        reply = answer_to(question, loaded, result_bytes_max)
        flush_output()
        channel.send(with_what_was_noticed(reply))


def enter_sandbox(start, calls_fd):
    """After the fork and before the agent's code is read."""
    host = socket.socket(fileno=calls_fd)
    try:
        sandbox.enter(start["sandbox"], host)
    finally:
        host.detach()


def settle(start):
    """Takes on what the agent sees of itself: its environment, its folder, its bounds."""
    # The zygote has no environment, so this is all of it.
    variables = [(os.fsencode(name), os.fsencode(value)) for name, value in start["environment"].items()]
    os.environ._data.update(variables)
    sandbox.set_environment([name + b"=" + value for name, value in variables])
    if "TZ" in start["environment"]:
        time.tzset()
    try:
        os.chdir(start["working_directory"])
    except OSError:
        # It lies where the agent has a folder of its own, such as /tmp.
        os.chdir("/")
    watching.begin(start["bounds"])


def with_what_was_noticed(answer):
    """The answer, which is the text of an object, with what was refused meanwhile."""
    noticed = watching.report()
    if noticed is None:
        return answer
    return f"{answer[:-1]},{encode(noticed)[1:]}"


def prepare(start, calls_fd):
    """Makes the modules and paths that RAPP agents expect to find."""
    folder = start["folder"]
    if "packages" in start:
        add_packages(start["packages"])
    # A folder that cannot be read has no modules; looking for them there would be refused each time.
    if watching.may_read(folder):
        agents.__path__[:] = [folder] + [path for path in agents.__path__ if path != folder]
        # Behind the standard library, so that a file in the folder cannot take a standard module's place.
        sys.path.append(folder)
    sys.argv = [start["file"]]
    roost_host.attach(calls_fd, {"file": start["file"], "stem": start["own"]}, start["data"])
    brainstem.install_main_alias()


def add_packages(environment):
    """Packages are found from here on, and what they want to run at the start runs now: in the sandbox."""
    version = "python{}.{}".format(*sys.version_info)
    sys.prefix = sys.exec_prefix = environment
    sys.executable = os.path.join(environment, "bin", "python")
    site.addsitedir(os.path.join(environment, "lib", version, "site-packages"))


def answer_to(question, loaded, result_bytes_max):
    """One answer to one question, as JSON text."""
    identity = question["id"]
    entry = loaded.get(question["agent"])
    if entry is None:
        return failed(identity, "unknown_agent", f"the file has no agent named {question['agent']!r}")
    agent = entry.agent
    try:
        give_context(agent, question["context"])
        if question["op"] == "system_context":
            output, slush = agent.system_context() or "", None
            output = output if isinstance(output, str) else str(output)
        else:
            output, slush = perform(entry, question)
        reply = result(identity, output, slush)
    except BaseException as error:
        return describe_error(identity, entry.file, error)
    if len(reply) > result_bytes_max and len(output.encode("utf-8", "replace")) > result_bytes_max:
        return failed(identity, "result_too_large", f"the result is over {result_bytes_max >> 20} MiB")
    return reply


def perform(entry, question):
    agent, arguments = entry.agent, question["arguments"]
    if entry.takes_user and "user_guid" in question:
        # In place of one in the arguments: those may be a model's guess.
        arguments["user_guid"] = question["user_guid"]
    output = agent.perform(**arguments)
    if type(output) is str:
        remember_output(agent, output)
        return output, None
    if inspect.isawaitable(output):
        output = event_loop().run_until_complete(output)
    slush = None
    if isinstance(output, dict) and isinstance(output.get("data_slush"), dict):
        slush = output["data_slush"]
    remember_output(agent, output)
    return (output if isinstance(output, str) else str(output)), slush


def give_context(agent, text):
    """The context as text: it is parsed only if the agent looks at it."""
    if isinstance(agent, BasicAgent):
        own = agent.__dict__
        own.pop("context", None)
        own["_context_text"] = text
        return
    try:
        agent.context = Context.from_text(text)
    except AttributeError:
        # A class with __slots__ and no place for a context chose not to have one.
        pass


def remember_output(agent, output):
    if isinstance(agent, BasicAgent):
        agent.__dict__["_last_output"] = output


_loop = None


def event_loop():
    """One loop for the life of the worker: what an agent opened in one call still works in the next."""
    global _loop
    if _loop is None:
        _loop = asyncio.new_event_loop()
        asyncio.set_event_loop(_loop)
    return _loop


def result(identity, output, slush):
    if slush is None:
        return f'{{"op":"result","id":{identity},"output":{encode_basestring(output)}}}'
    return encode({"op": "result", "id": identity, "output": output, "slush": json_ready(slush)})


def json_ready(value):
    """The same value with only what JSON can say; text for the rest."""
    return json.loads(json.dumps(value, default=str), parse_constant=str)


def describe_error(identity, file, error):
    trace = error.__traceback__
    if isinstance(error, SystemExit):
        return failed(identity, "agent_exited", f"the agent called exit with status {error.code}")
    loading.print_trace(error)
    if isinstance(error, ModuleNotFoundError):
        watching.miss_module(error.name, os.path.dirname(file or ""))
    if isinstance(error, MemoryError):
        return failed(identity, "memory_limit", "the agent ran out of memory")
    # Raised by the call itself rather than inside perform(): the arguments did not fit.
    inside = trace.tb_next.tb_next if trace and trace.tb_next else None
    if isinstance(error, TypeError) and inside is None:
        return failed(identity, "bad_arguments", loading.text_of(error))
    message = loading.text_of(error) or type(error).__name__
    return failed(identity, "agent_raised", message, loading.line_in(trace, file))


def failed(identity, reason, message, line=None):
    answer = {"op": "error", "id": identity, "reason": reason, "message": message}
    if line is not None:
        answer["line"] = line
    return encode(answer)


def flush_output():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            # The agent closed or replaced it; that is its own affair.
            continue


class Channel:
    """Length-prefixed frames on a Unix stream socket."""

    def __init__(self, descriptor):
        self.socket = socket.socket(fileno=descriptor)
        self.rest = b""

    def receive(self):
        """The next frame as bytes, or None when the host is gone."""
        data = self.rest or self.socket.recv(RECEIVED_BYTES)
        self.rest = b""
        while len(data) < 4:
            more = self.socket.recv(RECEIVED_BYTES)
            if not more:
                return None
            data += more
        length = HEADER.unpack_from(data)[0]
        if length > FRAME_BYTES_MAX:
            return None
        end = 4 + length
        if len(data) >= end:
            self.rest = data[end:]
            return data[4:end]
        self.rest = data[4:]
        return self.receive_exactly(length)

    def receive_exactly(self, length):
        if len(self.rest) == length:
            data, self.rest = self.rest, b""
            return data
        parts = bytearray(self.rest)
        while len(parts) < length:
            more = self.socket.recv(min(1 << 20, length - len(parts)))
            if not more:
                return None
            parts += more
        self.rest = bytes(parts[length:])
        return bytes(parts[:length])

    def send(self, text):
        payload = text.encode("utf-8", "replace")
        self.socket.sendall(HEADER.pack(len(payload)) + payload)
