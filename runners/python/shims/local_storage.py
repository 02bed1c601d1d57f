"""`AzureFileStorageManager`: JSON memory and files of agents, kept in the data folder.

Names, signatures and file layout are those of the RAPP kernels, of both lineages. What differs is that nothing
is lost: writes are atomic, locked and merged with what other processes wrote since the last read.
"""

import json
import os
import pathlib
import re
import time

import roost_atomic_file
import roost_host
from roost_confined_path import RESERVED_PREFIX, confine
from roost_context import Context
from roost_merge import merge
from roost_storage_arguments import path_parts, path_parts_and_content

__all__ = ["AzureFileStorageManager", "StoredName"]

_USER_GUID = re.compile(r"[A-Za-z0-9_-]{1,64}")
# Read as bytes by the cloud lineage; everything else is text there.
_BINARY_SUFFIXES = frozenset(
    ".bin .bmp .doc .docx .gif .gz .ico .jpeg .jpg .mp3 .mp4 .pdf .png .ppt .pptx .tar .wav .webp .xls .xlsx .zip".split()
)


class StoredName(str):
    """A name in a folder: text for one lineage, an object with `name` and `is_directory` for the other."""

    def __new__(cls, name, is_directory=False):
        self = super().__new__(cls, name)
        self.is_directory = is_directory
        return self

    @property
    def name(self):
        """The name as plain text."""
        return str(self)


class AzureFileStorageManager:
    """Storage of one agent at work. It remembers what it read, so that its writes can be merged."""

    DEFAULT_MARKER_GUID = "c0p110t0-aaaa-bbbb-cccc-123456789abc"

    def __init__(self, share_name=None, **options):
        self.share_name = share_name
        self.current_guid = None
        self.shared_memory_path = "shared_memories"
        self.default_file_name = "memory.json"
        self.current_memory_path = self.shared_memory_path
        # Real path -> JSON text as this object last read or wrote it. Never trimmed: without its base a merge
        # would become an overwrite.
        self._bases = {}

    def set_memory_context(self, user_guid=None):
        """Choose whose memory `read_json` and `write_json` use. False, and shared memory, for an invalid guid."""
        guid = "" if user_guid is None else str(user_guid)
        is_user = guid not in ("", self.DEFAULT_MARKER_GUID)
        is_valid = not is_user or _USER_GUID.fullmatch(guid) is not None
        self.current_guid = guid if is_user and is_valid else None
        self.current_memory_path = f"memory/{guid}" if self.current_guid else self.shared_memory_path
        return is_valid

    def read_json(self, *place, **named):
        """The JSON at a path, or the current memory. `{}` when the file is missing or not JSON."""
        path = self._json_path("read_json", place, named)
        text = roost_atomic_file.read_bytes(path)
        value = _parse(text)
        self._bases[path] = b"{}" if value is None else text
        return {} if value is None else value

    def write_json(self, data, *place, **named):
        """Store `data`. After a read of the same path only what changed since then is applied to the file."""
        path = self._json_path("write_json", place, named)
        mine = json.dumps(data, indent=2, default=str).encode()
        with roost_atomic_file.writing(self._root(), path):
            on_disk = roost_atomic_file.read_bytes(path)
            corrupt = on_disk is not None and on_disk.strip() and _parse(on_disk) is None
            if corrupt:
                roost_atomic_file.keep_aside(path, on_disk)
            base = None if corrupt else self._bases.get(path)
            roost_atomic_file.replace(path, _merged(base, mine, on_disk))
        # The base is what the caller knows, not the merged file: records of others, which the caller has never
        # seen, must not look removed when it writes the same dict again.
        self._bases[path] = mine
        return True

    def write_file(self, *place_and_content, **named):
        """Store text, bytes or what a file-like object holds: `(path, content)` or `(directory, name, content)`."""
        parts, content = path_parts_and_content("write_file", place_and_content, named)
        path = self._file_path(parts)
        content = _as_bytes(content)
        with roost_atomic_file.writing(self._root(), path):
            roost_atomic_file.replace(path, content)
        return True

    def read_file(self, *place, **named):
        """The file as text, None when missing. Bytes when it is no text, or has a binary suffix in the cloud form."""
        parts = path_parts("read_file", place, named)
        path = self._file_path(parts)
        content = roost_atomic_file.read_bytes(path)
        if content is None or (len(parts) == 2 and os.path.splitext(path)[1].lower() in _BINARY_SUFFIXES):
            return content
        try:
            return content.decode()
        except UnicodeDecodeError:
            return content

    def read_file_binary(self, *place, **named):
        """The file as bytes, None when missing."""
        return roost_atomic_file.read_bytes(self._file_path(path_parts("read_file_binary", place, named)))

    def list_files(self, directory_name="", **named):
        """The names in a folder, sorted; empty when there is no such folder."""
        if named:
            (directory_name,) = path_parts("list_files", (), named)
        try:
            with os.scandir(self._path(directory_name or "")) as entries:
                names = [StoredName(entry.name, entry.is_dir()) for entry in entries]
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(name for name in names if not name.startswith(RESERVED_PREFIX))

    def delete_file(self, *place, **named):
        """Remove a file. False when there is none."""
        path = self._file_path(path_parts("delete_file", place, named))
        # What was read before the removal is no base any more: the next write starts a new file.
        self._bases.pop(path, None)
        with roost_atomic_file.writing(self._root(), path):
            return roost_atomic_file.remove(path)

    def file_exists(self, *place, **named):
        """Whether something has this name."""
        return os.path.exists(self._path(*path_parts("file_exists", place, named)))

    def ensure_directory_exists(self, directory_name):
        """Make a folder and those above it."""
        os.makedirs(self._path(directory_name), mode=0o700, exist_ok=True)
        return True

    def generate_download_url(self, *place, expiry_minutes=None, **named):
        """A `file:` address, None when missing. Local files need no expiry."""
        path = self._path(*path_parts("generate_download_url", place, named))
        return pathlib.Path(path).as_uri() if os.path.isfile(path) else None

    def get_file_properties(self, *place, **named):
        """Name, size and time of change, as keys and as attributes. None when missing."""
        path = self._path(*path_parts("get_file_properties", place, named))
        try:
            status = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return Context(
            name=os.path.basename(path),
            size=status.st_size,
            content_length=status.st_size,
            last_modified=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(status.st_mtime)),
            is_directory=os.path.isdir(path),
        )

    def _root(self):
        return os.path.realpath(roost_host.data_folder())

    def _path(self, *parts):
        return confine(roost_host.data_folder(), *parts)

    def _file_path(self, parts):
        path = self._path(*parts)
        if path == self._root():
            raise IsADirectoryError("an empty path names the data folder itself; give a file name")
        return path

    def _json_path(self, method, place, named):
        if place and place[0] is None:
            place = place[1:]
        if not place and not any(value is not None for value in named.values()):
            file_name = "user_memory.json" if self.current_guid else self.default_file_name
            return self._path(self.current_memory_path, file_name)
        return self._file_path(path_parts(method, place, named))


def _parse(text):
    """The JSON value in `text`; None when there is none, which a stored `null` may count as too."""
    if text is None:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _merged(base, mine, on_disk):
    """The bytes to write: mine as they are whenever nobody else wrote since the base was read."""
    if base is None or on_disk == base:
        return mine
    theirs = _parse(on_disk)
    merged = merge(json.loads(base), json.loads(mine), {} if theirs is None else theirs)
    return json.dumps(merged, indent=2).encode()


def _as_bytes(content):
    if hasattr(content, "read"):
        content = content.read()
    if isinstance(content, str):
        return content.encode()
    if isinstance(content, (bytes, bytearray, memoryview)):
        return bytes(content)
    raise TypeError(f"the content must be text, bytes or a file, not {type(content).__name__}")
