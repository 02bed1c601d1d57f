"""A service file as something the worker can call: `handle(method, path, body)` behind `perform`.

The file answers in one of the forms of the RAPP kernels; the host gets one: an object with the status, the headers and
the body. What is no answer is refused here, where the file's own words for it are still known.
"""

import base64
import inspect
import json
import re

from basic_agent import BasicAgent

FILE_SUFFIX = "_service.py"
HEADERS_MAX = 64
HEADER_CHARACTERS_MAX = 8192

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_FORBIDDEN_IN_VALUE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_PARAMETERS = {
    "type": "object",
    "properties": {"method": {"type": "string"}, "path": {"type": "string"}, "body": {"type": "object"}},
    "required": ["method", "path", "body"],
}


class NoAnswer(Exception):
    """`handle` returned something that is no answer to a request."""


class Endpoint(BasicAgent):
    """One service: asked like an agent, answers like a web server."""

    def __init__(self, module, file_name):
        first_line = (module.__doc__ or "").strip().partition("\n")[0]
        name = getattr(module, "name", None)
        name = file_name[: -len(FILE_SUFFIX)] if name is None else name
        super().__init__(name, {"name": name, "description": first_line, "parameters": _PARAMETERS})
        self._handle = module.handle

    def perform(self, method, path, body):
        returned = self._handle(method, path, body)
        return _later(returned) if inspect.isawaitable(returned) else as_answer(returned)


async def _later(returned):
    return as_answer(await returned)


def as_answer(returned):
    """The answer as JSON text, from `(obj, status)`, `(bytes, status, headers)` or an object alone."""
    if returned is None:
        raise NoAnswer("handle() returned None instead of (object, status)")
    if not isinstance(returned, tuple):
        returned = (returned, 200)
    if len(returned) not in (2, 3):
        raise NoAnswer(f"handle() returned a tuple of {len(returned)}, not (object, status) or (bytes, status, headers)")
    body, status = returned[0], returned[1]
    if isinstance(status, bool) or not isinstance(status, int) or not 200 <= status <= 599:
        raise NoAnswer(f"handle() returned the status {str(status)[:40]!r}, not a number from 200 to 599")
    headers = _headers(returned[2]) if len(returned) == 3 else []
    return json.dumps({"status": int(status), "headers": headers, "body": _body(body, len(returned) == 3)})


def _body(body, is_raw):
    if isinstance(body, (bytes, bytearray, memoryview)):
        return {"base64": base64.b64encode(body).decode("ascii")}
    if is_raw and isinstance(body, str):
        return {"text": body.encode("utf-8", "replace").decode()}
    try:
        return {"json": json.dumps(body, default=str, allow_nan=False)}
    except (TypeError, ValueError, RecursionError) as error:
        raise NoAnswer(f"handle() returned what cannot be written as JSON: {str(error)[:200]}") from None


def _headers(headers):
    pairs = list(headers.items()) if hasattr(headers, "items") else list(headers or [])
    if len(pairs) > HEADERS_MAX:
        raise NoAnswer(f"handle() returned {len(pairs)} headers; {HEADERS_MAX} are allowed")
    checked = []
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise NoAnswer("handle() returned headers that are no names with values")
        name, value = str(pair[0]), str(pair[1])
        if not _HEADER_NAME.match(name) or _FORBIDDEN_IN_VALUE.search(value) or len(value) > HEADER_CHARACTERS_MAX:
            raise NoAnswer(f"handle() returned a header that cannot be sent: {name[:80]!r}")
        checked.append([name, value])
    return checked
