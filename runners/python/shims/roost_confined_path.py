"""Keeps every path an agent names inside one folder.

This is about honest mistakes and hostile arguments (a model or a user names the path), not about hostile agent
code, which could open any file without asking here.
"""

import os

# Names the store keeps for itself: lock files and half-written files.
RESERVED_PREFIX = ".roost-"


def confine(root, *parts):
    """The real path of `parts` joined below `root`. Raises PermissionError when it is not below `root`."""
    named = [os.fspath(part) for part in parts]
    shown = "/".join(map(str, named))
    for part in named:
        if not isinstance(part, str):
            raise TypeError(f"a path must be text, not {type(part).__name__}")
        if "\0" in part:
            raise _refused(shown, "it contains a NUL character")
        if os.path.isabs(part) or part.startswith("\\"):
            raise _refused(shown, "it is absolute")
        # A backslash is no separator here, but a path written on another system must not climb either.
        segments = part.replace("\\", "/").split("/")
        if ".." in segments:
            raise _refused(shown, "it contains '..'")
        if any(segment.startswith(RESERVED_PREFIX) for segment in segments):
            raise _refused(shown, f"names starting with {RESERVED_PREFIX!r} belong to the store")
    real_root = os.path.realpath(root)
    real_path = os.path.realpath(os.path.join(real_root, *named))
    if real_path != real_root and not real_path.startswith(real_root.rstrip("/") + "/"):
        raise _refused(shown, "a symbolic link leads out of the data folder")
    return real_path


def _refused(shown, why):
    return PermissionError(f"the path {shown!r} is refused: {why}; use a relative path inside the data folder")
