"""Files that are written whole or not at all, one writer at a time.

Readers need no lock: a file is replaced by one rename, so they see the old content or the new. Writers of one
path exclude each other with a lock file, across processes and threads.
"""

import contextlib
import fcntl
import os
import time
import zlib

from roost_confined_path import RESERVED_PREFIX

# A fixed set of lock files shared by all paths: nothing to clean up, and writers of different files seldom meet.
_LOCK_FILES = 64
# A writer holds the lock for milliseconds. One that is stopped or stuck must not hang everyone else for good.
_LOCK_WAIT_SECONDS_MAX = 30
_LOCK_POLL_SECONDS = 0.002


def read_bytes(path):
    """The content, or None when there is no such file."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None


@contextlib.contextmanager
def writing(root, path):
    """Holds the write lock of `path`, a real path below `root`. Not reentrant."""
    folder = os.path.join(root, RESERVED_PREFIX + "locks")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    lock_file = os.path.join(folder, f"{_checksum(path) % _LOCK_FILES:02d}")
    descriptor = os.open(lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        _lock(descriptor, path)
        try:
            yield
        finally:
            # Unlocked by name, not only by closing: a process forked meanwhile has a copy of the descriptor.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
    finally:
        os.close(descriptor)


def replace(path, content):
    """Put `content` at `path` so that a crash leaves the old or the new file. Call it while `writing`."""
    folder = os.path.dirname(path)
    _make_folders(folder)
    # One name per path, safe under its lock: what a killed writer left behind is overwritten, not collected.
    half_written = os.path.join(folder, f"{RESERVED_PREFIX}half-written-{_checksum(path):08x}")
    descriptor = os.open(half_written, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with open(descriptor, "wb") as file:
            _write_synced(file, content)
        os.replace(half_written, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(half_written)
        raise
    _sync_folder(folder)


def keep_aside(path, content):
    """Store `content` beside `path` as `<name>.corrupt-<n>` with the first free n."""
    number = 1
    while True:
        try:
            file = open(f"{path}.corrupt-{number}", "xb")
        except FileExistsError:
            number += 1
            continue
        with file:
            _write_synced(file, content)
        _sync_folder(os.path.dirname(path))
        return


def remove(path):
    """Remove the file for good. False when there is none."""
    try:
        os.unlink(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    _sync_folder(os.path.dirname(path))
    return True


def _checksum(path):
    return zlib.crc32(os.fsencode(path))


def _lock(descriptor, path):
    deadline = time.monotonic() + _LOCK_WAIT_SECONDS_MAX
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"another writer has held {os.path.basename(path)!r} for {_LOCK_WAIT_SECONDS_MAX} s; try again later"
                ) from None
            time.sleep(_LOCK_POLL_SECONDS)


def _write_synced(file, content):
    file.write(content)
    file.flush()
    os.fsync(file.fileno())


def _make_folders(folder):
    """Like makedirs, but every new name is on disk before something is put into it."""
    if os.path.isdir(folder):
        return
    parent = os.path.dirname(folder)
    _make_folders(parent)
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    _sync_folder(parent)


def _sync_folder(folder):
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
