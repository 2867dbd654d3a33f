"""Writing a file so that a reader, and a crash, sees either the old content or the new, never a part."""

import contextlib
import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from eitr.errors import InputError


def write_atomically(path: Path, data: bytes) -> None:
    """Replace the content of `path` by `data`, or leave it as it was and raise InputError."""
    write_together({path: data})


def write_together(files: Mapping[Path, bytes]) -> None:
    """Replace the contents of several files, or leave all as they were and raise InputError.

    The data goes to temporary files in the same directories, down to the disk; only when all are there do they take
    their names, in the given order. A link is followed, so that it stays a link; an existing file keeps its mode.
    """
    prepared: list[tuple[Path, Path]] = []
    try:
        for path, data in files.items():
            try:
                prepared.append(_prepared(Path(os.path.realpath(path)), data))
            except OSError as error:
                raise InputError(f"cannot write {path}: {error.strerror or error}") from error
        for temporary, target in prepared:
            try:
                temporary.replace(target)
            except OSError as error:
                raise InputError(f"cannot write {target}: {error.strerror or error}") from error
            _sync_directory(target.parent)
    finally:
        for temporary, _ in prepared:
            temporary.unlink(missing_ok=True)


def _prepared(target: Path, data: bytes) -> tuple[Path, Path]:
    """Write the data beside the target; return where, and the target. On failure no temporary file stays."""
    if target.exists() and not target.is_file():
        # Renaming over a device such as /dev/full would replace the device itself.
        raise OSError("not a regular file")
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.tmp")
    try:
        _write_to_disk(temporary, data)
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o7777)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary, target


def _write_to_disk(path: Path, data: bytes) -> None:
    """Create a file that must not be there yet, and return only when its content is on the disk."""
    with path.open("xb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def _sync_directory(directory: Path) -> None:
    """Make the new name durable where the system can; the content is in place either way."""
    with contextlib.suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
