"""Writing a file so that a reader, and a crash, sees either the old content or the new, never a part."""

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
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
            with _named(path):
                prepared.append(_prepared(Path(os.path.realpath(path)), data))
        _take_names(prepared)
    finally:
        for temporary, _ in prepared:
            temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
    """Turn what the system says into an error that names the file."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error


def _take_names(prepared: list[tuple[Path, Path]]) -> None:
    """Rename all files to their targets; if one cannot be, give the others their old contents back."""
    undo: list[tuple[Path, Path | None]] = []
    try:
        for temporary, target in prepared:
            with _named(target):
                # The last rename needs no way back.
                undo.append((target, _kept(target) if len(undo) < len(prepared) - 1 else None))
                temporary.replace(target)
    except BaseException:
        for target, old in undo[:-1]:
            if old is None:
                target.unlink(missing_ok=True)
            else:
                old.replace(target)
        raise
    finally:
        for _, old in undo:
            if old is not None:
                old.unlink(missing_ok=True)
    for _, target in prepared:
        _sync_directory(target.parent)


def _kept(target: Path) -> Path | None:
    """Keep a target's present content under another name; None where there is none yet."""
    if not target.exists():
        return None
    old = _beside(target)
    try:
        os.link(target, old)
    except OSError:  # a file system without hard links
        shutil.copy2(target, old)
    return old


def _prepared(target: Path, data: bytes) -> tuple[Path, Path]:
    """Write the data beside the target; return where, and the target. On failure no temporary file stays."""
    if target.exists() and not target.is_file():
        # Renaming over a device such as /dev/full would replace the device itself.
        raise OSError("not a regular file")
    temporary = _beside(target)
    try:
        _write_to_disk(temporary, data)
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o7777)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary, target


def _beside(target: Path) -> Path:
    """Return a name in the target's folder that nobody else has."""
    return target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.tmp")


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
