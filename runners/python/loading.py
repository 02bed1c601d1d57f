"""Turns the source of one agent file into instances the worker can call, or into the reason why not."""

import inspect
import json
import os
import re
import sys
import traceback
import types
from importlib.machinery import ModuleSpec, SourceFileLoader

import endpoint
import watching
from basic_agent import BasicAgent

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
SCHEMA_DEPTH_MAX = 32


class Refused(Exception):
    """A class cannot become an agent, for this reason."""

    def __init__(self, reason, message):
        super().__init__(message)
        self.reason = reason


class Entry:
    """An agent that can be asked, and what was found out about it once."""

    __slots__ = ("agent", "file", "takes_user")

    def __init__(self, agent, file=None):
        self.agent = agent
        self.file = file or getattr(sys.modules.get(type(agent).__module__), "__file__", None)
        self.takes_user = accepts_keyword(agent.perform, "user_guid")


def load(start, source):
    """The answer to the start frame, and the entries by name."""
    file = start["file"]
    try:
        module = execute(file, source)
    except BaseException as error:
        return {"op": "failed", **import_failure(error, file)}, {}
    if start.get("kind") == "service":
        return load_endpoint(module, file)
    found, failures = {}, []
    descriptions = []
    for class_name, cls in candidates(module):
        try:
            agent = construct(cls, file)
            description = describe(agent, class_name)
            if description["name"] in found:
                raise Refused("shadowed", f"another class of this file already has the name {description['name']}")
        except Refused as refusal:
            failures.append({"class": class_name, "reason": refusal.reason, "message": str(refusal)})
            continue
        found[description["name"]] = Entry(agent)
        descriptions.append(description)
    if not descriptions and not failures:
        return {"op": "failed", "reason": "no_agent", "message": "the file has no class with a perform method"}, {}
    return {"op": "loaded", "agents": descriptions, "failures": failures}, found


def load_endpoint(module, file):
    """The same for a service: one entry that stands for the file's `handle`."""
    if not callable(getattr(module, "handle", None)):
        message, next_step = "the file has no function handle(method, path, body)", "define `handle(method, path, body)`"
        return {"op": "failed", "reason": "no_agent", "message": message, "next": next_step}, {}
    try:
        service = endpoint.Endpoint(module, os.path.basename(file))
        description = describe(service, "")
    except Refused as refusal:
        failure = {"class": "", "reason": refusal.reason, "message": str(refusal)}
        return {"op": "loaded", "agents": [], "failures": [failure]}, {}
    return {"op": "loaded", "agents": [description], "failures": []}, {description["name"]: Entry(service, file)}


def execute(file, source):
    """Runs the source as a module of its own; exactly the bytes that were given, never a cached compilation."""
    name = module_name(file)
    module = empty_module(name, file)
    # Dataclasses, pickling and inspection look a class's module up by name.
    sys.modules[name] = module
    code = compile(source, file, "exec", dont_inherit=True)
    exec(code, module.__dict__)
    return module


def empty_module(name, file):
    """A module as an import of this file would begin it. Made by hand: asking the import system makes 150 kB of shared
    memory this worker's own."""
    module = types.ModuleType(name)
    module.__file__, module.__package__ = file, ""
    module.__loader__ = SourceFileLoader(name, file)
    module.__spec__ = ModuleSpec(name, module.__loader__, origin=file)
    module.__spec__.has_location = True
    return module


def module_name(file):
    """A name of the file's own that no import can mean."""
    return "roost_agent_" + re.sub(r"\W", "_", file.rsplit("/", 1)[-1].rsplit(".", 1)[0])


def candidates(module):
    """Classes that could be agents, alphabetically; imported ones only when the file defines none itself."""
    own, imported, seen = [], [], set()
    for name in sorted(vars(module)):
        cls = vars(module)[name]
        if not isinstance(cls, type) or name in ("BasicAgent", "object") or name.startswith("_"):
            continue
        if cls is BasicAgent or not hasattr(cls, "perform") or id(cls) in seen:
            continue
        seen.add(id(cls))
        (own if cls.__module__ == module.__name__ else imported).append((name, cls))
    return own or imported


def construct(cls, file):
    try:
        return cls()
    except BaseException as error:
        print_trace(error)
        line = line_in(error.__traceback__, file)
        at = f" (line {line})" if line else ""
        raise Refused("constructor_failed", f"{type(error).__name__}: {text_of(error)}{at}") from None


def describe(agent, class_name):
    name = getattr(agent, "name", None)
    if not isinstance(name, str) or not NAME.match(name):
        raise Refused("invalid_name", f"the name {str(name)[:80]!r} is not 1 to 64 letters, digits, _ or -")
    metadata = getattr(agent, "metadata", None)
    if not isinstance(metadata, dict):
        raise Refused("invalid_metadata", f"metadata is a {type(metadata).__name__}, not a dict")
    metadata = as_json(metadata, "metadata")
    parameters = metadata.get("parameters")
    if parameters is None:
        parameters = {"type": "object", "properties": {}}
    check_schema(parameters)
    description = {
        "name": name,
        "class": class_name,
        "description": str(metadata.get("description") or ""),
        "parameters": parameters,
        "has_system_context": overrides(agent, "system_context"),
    }
    if overrides(agent, "to_tool"):
        try:
            tool = agent.to_tool()
        except BaseException as error:
            print_trace(error)
            raise Refused("invalid_metadata", f"to_tool() raised {type(error).__name__}: {text_of(error)}") from None
        if not isinstance(tool, dict):
            raise Refused("invalid_metadata", f"to_tool() returned a {type(tool).__name__}, not a dict")
        description["tool"] = as_json(tool, "to_tool()")
    return description


def accepts_keyword(function, keyword):
    """True when the function can be called with this keyword; where nobody can tell, it is not tried."""
    bound = isinstance(function, types.MethodType)
    plain = function.__func__ if bound else function
    if type(plain) is types.FunctionType and not plain.__dict__:
        # Nearly every agent. A signature would say the same, and make 200 kB of shared memory this worker's own.
        code = plain.__code__
        # `self` is given by position, unless `*arguments` takes it.
        first = max(code.co_posonlyargcount, min(bound, code.co_argcount))
        by_name = code.co_varnames[first : code.co_argcount + code.co_kwonlyargcount]
        return bool(code.co_flags & inspect.CO_VARKEYWORDS) or keyword in by_name
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return any(
        parameter.kind is inspect.Parameter.VAR_KEYWORD or (parameter.name == keyword and parameter.kind in by_name)
        for parameter in parameters
    )


def overrides(agent, method):
    own = getattr(type(agent), method, None)
    return callable(own) and own is not getattr(BasicAgent, method)


def as_json(value, what):
    """A copy of the value as JSON would carry it."""
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise Refused("metadata_not_json", f"{what} cannot be written as JSON: {str(error)[:200]}") from None


def check_schema(schema, path="parameters", depth=0):
    if depth > SCHEMA_DEPTH_MAX:
        raise Refused("invalid_schema", f"{path} is nested deeper than {SCHEMA_DEPTH_MAX} levels")
    if not isinstance(schema, dict):
        raise Refused("invalid_schema", f"{path} is a {type(schema).__name__}, not an object")
    properties = schema.get("properties")
    if depth == 0 and (schema.get("type") != "object" or not isinstance(properties, dict)):
        raise Refused("invalid_schema", f'{path} needs "type": "object" and an object of "properties"')
    if properties is not None and not isinstance(properties, dict):
        raise Refused("invalid_schema", f"{path}.properties is not an object")
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        raise Refused("invalid_schema", f"{path}.required is not a list of names")
    for name, inner in (properties or {}).items():
        check_schema(inner, f"{path}.properties.{name}", depth + 1)
    if isinstance(schema.get("items"), dict):
        check_schema(schema["items"], f"{path}.items", depth + 1)


def import_failure(error, file):
    """The reason why the file did not load, with the line when it is the file's own."""
    line = line_in(error.__traceback__, file)
    message = f"{type(error).__name__}: {text_of(error)}"
    if isinstance(error, SyntaxError) and error.filename == file:
        reason, message, line = "syntax_error", error.msg or message, error.lineno
    elif isinstance(error, SystemExit):
        reason, message = "exit_at_import", f"the file called exit with status {error.code} while it was loaded"
    elif isinstance(error, ModuleNotFoundError):
        reason, message = "missing_module", f"no module named {error.name!r}"
        watching.miss_module(error.name, os.path.dirname(file))
    elif isinstance(error, MemoryError):
        reason, message = "memory_limit", "the file ran out of memory while it was loaded"
    else:
        reason = "import_failed"
    print_trace(error)
    failure = {"reason": reason, "message": message}
    if line:
        failure["line"] = line
    return failure


def line_in(trace, file):
    """The innermost line of `file` in a traceback."""
    line = None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def text_of(error):
    """The exception's text, even when its own __str__ raises."""
    try:
        return str(error)
    except BaseException:
        return ""


def print_trace(error):
    try:
        traceback.print_exception(type(error), error, error.__traceback__)
    except BaseException:
        # An exception whose own text raises still gets its reason to the host.
        sys.stderr.write(f"{type(error).__name__} (no text)\n")
