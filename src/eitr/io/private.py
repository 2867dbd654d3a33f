"""Files and folders that only their owner may read."""

import os
from pathlib import Path

OTHERS = 0o077
"""The permissions of everybody but the owner."""


def create_folder(path: Path) -> None:
    """Create a folder that only its owner can enter, if it is not there."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)


def create_file(path: Path, *, new: bool = False) -> None:
    """Create an empty file that only its owner can read, if it is not there; with `new`, it must not be there.

    A file that is there is not even opened: to close it again would release all locks that SQLite has on it in this
    process, and another program would then remove the log of a database in use.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        if new:
            raise


def write_file(path: Path, text: str) -> None:
    """Write a new file that only its owner can read, in the place of one that is there."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
        stream.write(text)


def close_to_others(path: Path) -> bool:
    """Take all permissions on a file or folder from everybody but its owner; say whether they had some."""
    mode = path.stat().st_mode & 0o7777
    if not mode & OTHERS:
        return False
    path.chmod(mode & ~OTHERS)
    return True
