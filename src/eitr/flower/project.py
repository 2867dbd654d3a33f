"""The template project: a folder that `flwr run` takes as it is, and that its owner changes."""

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from eitr.errors import InputError


def write_project(folder: Path) -> list[Path]:
    """Copy the template into a folder that is empty or does not exist; return the files that were written."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} is not empty: give the name of a new folder")
    try:
        return _copied(files("eitr").joinpath("flower", "template"), folder)
    except OSError as error:
        raise InputError(f"cannot write {error.filename or folder}: {error.strerror or error}") from error


def _copied(source: Traversable, target: Path) -> list[Path]:
    target.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for entry in sorted(source.iterdir(), key=lambda one: one.name):
        if entry.name == "__pycache__":
            continue
        if entry.is_dir():
            written += _copied(entry, target / entry.name)
        else:
            (target / entry.name).write_bytes(entry.read_bytes())
            written.append(target / entry.name)
    return written
