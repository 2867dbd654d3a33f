"""Pages of a folder of HTML files, whose classes stand in its file labels.csv."""

from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from eitr.datasets.interface import Labelled
from eitr.datasets.own.labels import LabelReader
from eitr.datasets.own.options import FileOptions
from eitr.datasets.own.rows import MAX_BYTES, MAX_PAGES, check_columns
from eitr.errors import InputError
from eitr.io.table_rows import read_table
from eitr.pages.page import Page

LABELS: Final = "labels.csv"
LARGEST: Final = 8 << 20
"""How many bytes an HTML file can have: as many as the page extraction reads."""


def folder_pages(folder: Path, options: FileOptions) -> Iterator[Labelled]:
    """Yield the pages that labels.csv names in its column `file`, read as `eitr classify` reads a page."""
    try:
        # Here, for reading other data needs no lxml.
        from eitr.pages.extract import extract
    except ModuleNotFoundError as error:
        advice = "prepare the folder on another machine with `eitr data prepare`"
        raise InputError(f"{folder}: HTML files need the Python package {error.name}: {advice}") from error
    path = folder / LABELS
    if not path.is_file():
        raise InputError(f"{folder}: there is no {LABELS} in it: write one with the columns file and label")
    if path.is_symlink():
        raise InputError(f"{path}: is a symbolic link: copy the file itself")
    wrong = sorted(options.columns.keys() - {"label", "split"})
    if wrong:
        raise InputError(f"{path}: HTML files have no columns: leave out --{wrong[0]}-column")
    labels = LabelReader(path, options)
    seen: dict[PurePosixPath, int] = {}
    for line, row in read_table(path, ",", options.on_bad_line, MAX_BYTES):
        check_columns(path, row, {"file": "file", "label": "label"} | dict(options.columns))
        if len(seen) >= MAX_PAGES:
            raise InputError(f"{path}: names more than {MAX_PAGES} files: split the folder, or take a part")
        try:
            found = labels.read(line, row)
            name = _checked_name(row["file"])
            if name in seen:
                raise InputError(
                    f"the file {str(name)[-80:]!r} is listed twice, first on line {seen[name]}: remove one"
                )
            seen[name] = line
            page = _page(folder, name, extract)
        except InputError as error:
            options.on_bad_line(InputError(f"{path}: line {line}: {error}"))
            continue
        if found is not None:
            yield Labelled(page, *found)
        elif labels.hopeless:
            break
    labels.finish()


def _checked_name(text: str) -> PurePosixPath:
    """Return the name of a file within the folder; a name that leads out of it is an InputError."""
    name = PurePosixPath(text.strip())
    if not name.parts or "\0" in text:
        raise InputError("the column 'file' names no file")
    if name.is_absolute() or ".." in name.parts:
        raise InputError(f"the file {text[:80]!r} is not inside the folder: name it relative to the folder, without ..")
    return name


def _page(folder: Path, name: PurePosixPath, extract: Callable[[bytes], Page]) -> Page:
    """Read one HTML file, never through a symbolic link: a link could lead to any file of this machine."""
    path, shown = folder / name, repr(str(name)[-80:])
    try:
        if path.resolve() != folder.resolve() / name:
            raise InputError(f"the file {shown} is reached by a symbolic link: copy the file itself")
        if path.exists() and not path.is_file():
            raise InputError(f"{shown} is not a regular file")
        with path.open("rb") as stream:
            data = stream.read(LARGEST + 1)
    except OSError as error:
        raise InputError(f"the file {shown} cannot be read: {error.strerror or error}") from error
    if len(data) > LARGEST:
        raise InputError(f"the file {shown} is larger than {LARGEST} bytes: leave it out")
    try:
        return extract(data)
    except InputError as error:
        raise InputError(f"the file {shown} is {error}") from error
