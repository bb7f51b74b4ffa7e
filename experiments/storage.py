"""Files that survive crashes: append-only lines synced per batch, atomic replacement, a lock that dies with its owner.

Knows nothing of what the lines mean. Every failed write is fatal, says which file, and leaves nothing half-written.
"""

from __future__ import annotations

import errno
import fcntl
import gzip
import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from toolkit.errors import RunError, UserError


def write_failure(path: Path, error: OSError) -> UserError | RunError:
    """What to say about a write that failed: a request that could not work, or a machine that ran out of something."""
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return UserError("this cannot be written", str(path), "choose another folder with --out, or its permissions")
    if error.errno in (errno.ENOTDIR, errno.EEXIST, errno.EISDIR):
        return UserError("there is a file where a folder is needed, or the reverse", str(path), "choose another --out")
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    cause = "the disk is full" if full else f"writing failed ({error.strerror})"
    return RunError(f"{path}: {cause}; nothing of this batch was kept: make room and run the same command again")


def make_folder(folder: Path) -> None:
    """Make a folder and its parents; an existing one must be writable."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_failure(folder, error) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise write_failure(folder, PermissionError(errno.EACCES, "permission denied"))


def sync_folder(folder: Path) -> None:
    """Make a new or renamed file's entry in its folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_atomic(path: Path, text: str) -> None:
    """Replace a file by `text`, or leave it untouched."""
    temporary = path.with_name(f"{path.name}.new")
    try:
        with temporary.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise write_failure(path, error) from error


def read_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, object) of a JSONL file; a last line without newline is skipped, any other damage an error."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            for number, line in enumerate(stream, 1):
                if not line.endswith(b"\n"):
                    return
                try:
                    record = json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise UserError(
                        f"damaged line: {error}", f"{path}:{number}", "restore it, or remove the line to run it again"
                    ) from error
                if not isinstance(record, dict):
                    raise UserError("damaged line: not an object", f"{path}:{number}", "restore it or remove the line")
                yield number, record
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UserError(f"this cannot be read ({reason})", str(path), "check the file") from error


class Appender:
    """Appends whole batches of lines to one file. A torn last line is cut off when the file is opened."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            is_new = not path.exists()
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
            if is_new:
                sync_folder(path.parent)
            self._end = self._cut_torn_line()
        except OSError as error:
            raise write_failure(path, error) from error

    def _cut_torn_line(self) -> int:
        """The size of the file after anything behind its last newline is gone."""
        end = size = os.fstat(self._handle).st_size
        while end:
            start = max(0, end - 65536)
            newline = os.pread(self._handle, end - start, start).rfind(b"\n")
            end = start + newline + 1 if newline >= 0 else start
            if newline >= 0:
                break
        if end != size:
            os.ftruncate(self._handle, end)
            os.fsync(self._handle)
        return end

    def append(self, text: str) -> None:
        """Write `text` (whole lines) at the end and sync; after a failure the file is as it was before."""
        data = text.encode()
        if not data:
            return
        written = 0
        try:
            while written < len(data):
                written += os.pwrite(self._handle, data[written:], self._end + written)
            os.fsync(self._handle)
        except OSError as error:
            os.ftruncate(self._handle, self._end)
            raise write_failure(self.path, error) from error
        self._end += len(data)

    def close(self) -> None:
        """Close the file."""
        os.close(self._handle)


class Lock:
    """An advisory lock on a file. The system releases it when the process ends, however it ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle: int | None = None

    def acquire(self) -> None:
        """Take the lock; UserError when another process holds it."""
        try:
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise write_failure(self.path, error) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(handle, 32, 0).decode("ascii", "replace").strip() or "?"
            os.close(handle)
            raise UserError(
                f"another process (pid {owner}) is writing this run",
                str(self.path.parent),
                "wait for it, stop it, or choose another --out",
            ) from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        self._handle = handle

    def release(self) -> None:
        """Give the lock back."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
