"""The calling agent's own folder: `workspace_dir()`, and files in it by their names.

The host keeps a history of everything below the folder. The agent's identity comes from the host; it is never taken from
the calling code, which could claim any.
"""

import mimetypes
import os
import pathlib
import re
import tempfile

import roost_host
from roost_confined_path import RESERVED_PREFIX, confine

__all__ = ["list_files", "read_text", "request_files", "workspace_dir", "write_text"]

_DRIVE = re.compile(r"[A-Za-z]:")


def workspace_dir():
    """`<data>/workspaces/<file stem>` as a `pathlib.Path`, created."""
    stem = roost_host.identity().get("stem")
    if not stem:
        raise roost_host.HostCallFailed(
            "host_unreachable", "no agent runs in this process, so there is no workspace", "run the agent with `roost run`"
        )
    folder = pathlib.Path(confine(roost_host.data_folder(), "workspaces", stem))
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def list_files():
    """Every file as `{"name", "size", "mtime", "mime"}`, by name; names of files in folders have slashes."""
    root = workspace_dir()
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(RESERVED_PREFIX)]
        for file in files:
            path = pathlib.Path(folder, file)
            if file.startswith(RESERVED_PREFIX) or path.is_symlink() or not path.is_file():
                continue
            status = path.stat()
            name = path.relative_to(root).as_posix()
            mime = mimetypes.guess_type(file)[0] or "application/octet-stream"
            found.append({"name": name, "size": status.st_size, "mtime": int(status.st_mtime), "mime": mime})
    return sorted(found, key=lambda entry: entry["name"])


def read_text(name):
    """The content of a file as text. Raises FileNotFoundError when there is none."""
    return _path(name).read_text(encoding="utf-8")


def write_text(name, content):
    """Put `content` into a file, whole, so that no reader ever sees half of it. Returns its path."""
    if not isinstance(content, str):
        raise TypeError(f"the content must be text, not {type(content).__name__}")
    path = _path(name)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, half_written = tempfile.mkstemp(prefix=RESERVED_PREFIX + "half-written-", dir=path.parent)
    try:
        # No newline is changed: what was given is what is kept.
        with open(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(content)
        os.replace(half_written, path)
    except BaseException:
        os.unlink(half_written)
        raise
    return path


def request_files(prompt, patterns=None):
    """Ask the person for files whose names fit one of `patterns` (`*.csv`).

    `{"names": [...]}` when there are such files; else `{"cancelled": True}` at once, and the request waits for the
    person: ask again in a later call.
    """
    if patterns is None:
        patterns = []
    elif isinstance(patterns, str):
        patterns = [patterns]
    return roost_host.call("workspace.request_files", {"prompt": str(prompt), "patterns": [str(one) for one in patterns]})


def _path(name):
    """The place of a file by its name. Raises PermissionError for a name that is none, or leads out."""
    name = os.fspath(name)
    if not isinstance(name, str):
        raise TypeError(f"a name must be text, not {type(name).__name__}")
    segments = name.replace("\\", "/").split("/")
    if "" in segments or "." in segments or _DRIVE.match(name):
        raise PermissionError(f"invalid_name: {name!r} is no name of a file in the workspace")
    return pathlib.Path(confine(workspace_dir(), name))
