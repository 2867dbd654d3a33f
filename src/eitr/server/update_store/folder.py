"""Updates in a folder: a folder per round and a file per object, readable by their owner alone.

Deleted files are overwritten with zeros first. That reaches their content on file systems that write in place, such as
ext4 and XFS; those that copy on write (Btrfs, ZFS), snapshots and the spare blocks of an SSD may keep it.
"""

import contextlib
import os
import secrets
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from eitr.errors import InputError
from eitr.io.private import create_folder
from eitr.server.update_store.interface import (
    MARKER,
    MissingObjectError,
    Range,
    StoredObject,
    StoreUnavailableError,
    id_in,
    new_marker,
    object_at,
    path_of,
)

AT_ONCE = 1 << 20
"""Zeros written by one call."""
MOST_PARTS = 512
"""Parts handed to the kernel by one call; it takes 1024."""


class FolderStore:
    """A store in a folder, which processes on one machine, or with one network file system, share."""

    def __init__(self, folder: Path, owner: str) -> None:
        self._folder = folder
        try:
            create_folder(folder)
            self.id = id_in(self._marker(owner), owner, str(folder))
        except OSError as error:
            raise InputError(f"{folder}: updates cannot be kept here: {error.strerror or error}") from error

    def put(self, name: str, parts: Sequence[bytes | bytearray]) -> None:
        """Write an object; when this returns, it survives a crash of the machine."""
        path = self._path(name)
        try:
            try:
                self._write(path, parts)
            except FileNotFoundError:  # the first object of a round
                self._make_folder(path.parent)
                self._write(path, parts)
            _sync_folder(path.parent)
        except OSError as error:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
            raise StoreUnavailableError(f"an update could not be written: {error.strerror or error}") from error

    def get(self, name: str) -> bytes:
        """Return an object; raise a `MissingObjectError` if there is none."""
        try:
            return self._path(name).read_bytes()
        except FileNotFoundError:
            raise MissingObjectError(name) from None
        except OSError as error:
            raise StoreUnavailableError(f"an update could not be read: {error.strerror or error}") from error

    def overwrite(self, name: str, ranges: Sequence[Range]) -> None:
        """Overwrite parts of an object with zeros; one that is not there any more is fine."""
        try:
            _fill(self._path(name), ranges)
        except OSError as error:
            raise StoreUnavailableError(f"an update could not be overwritten: {error.strerror or error}") from error

    def delete(self, name: str) -> None:
        """Overwrite an object and delete it; one that is not there any more is fine."""
        path = self._path(name)
        try:
            _fill(path, None)
            path.unlink(missing_ok=True)
        except OSError as error:
            raise StoreUnavailableError(f"an update could not be deleted: {error.strerror or error}") from error
        with contextlib.suppress(OSError):  # others are in it
            path.parent.rmdir()

    def objects(self) -> Iterator[StoredObject]:
        """Yield all objects."""
        try:
            folders = [path for path in self._folder.iterdir() if path.is_dir()]
            for folder in folders:
                with contextlib.suppress(FileNotFoundError):  # somebody else deletes, too
                    for path in sorted(folder.iterdir()):
                        written = datetime.fromtimestamp(path.stat().st_mtime, UTC)
                        found = object_at(f"{folder.name}/{path.name}", self.id, written)
                        if found is not None:
                            yield found
        except OSError as error:
            raise StoreUnavailableError(f"updates could not be listed: {error.strerror or error}") from error

    def _path(self, name: str) -> Path:
        return self._folder / path_of(name, self.id)

    def _marker(self, owner: str) -> str:
        """Return the marker; of several processes that start at once, one puts it in place and all read it."""
        path = self._folder / MARKER
        if not path.exists():
            fresh = self._folder / f".{MARKER}.{secrets.token_hex(8)}"
            self._write(fresh, [new_marker(owner).encode()])
            with contextlib.suppress(FileExistsError):
                os.link(fresh, path)
            fresh.unlink()
            _sync_folder(self._folder)
        return path.read_text("ascii", errors="replace")

    def _make_folder(self, folder: Path) -> None:
        create_folder(folder)
        _sync_folder(self._folder)

    @staticmethod
    def _write(path: Path, parts: Sequence[bytes | bytearray]) -> None:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            left = [memoryview(part) for part in parts if len(part)]
            while left:
                written = os.writev(file, left[:MOST_PARTS])
                while left and written >= len(left[0]):
                    written -= len(left.pop(0))
                if written:
                    left[0] = left[0][written:]
            os.fsync(file)
        finally:
            os.close(file)


def _sync_folder(folder: Path) -> None:
    """Let the names in a folder survive a crash of the machine."""
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _fill(path: Path, ranges: Sequence[Range] | None) -> None:
    """Overwrite parts of a file with zeros, None: all of it, if it is there; it does not become longer."""
    try:
        file = os.open(path, os.O_WRONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return
    try:
        length = os.fstat(file).st_size
        for start, count in [(0, length)] if ranges is None else ranges:
            place, end = max(0, start), min(start + count, length)
            while place < end:
                place += os.pwrite(file, bytes(min(AT_ONCE, end - place)), place)
        os.fsync(file)
    finally:
        os.close(file)
