"""Where the files of a data set lie, and what to say when they do not."""

import os
from pathlib import Path

from eitr.errors import InputError

VARIABLE = "EITR_DATA"


def data_folder(named: Path | None, needs: str) -> Path:
    """Return the data folder: the one named, else that of the environment; `needs` says what it is needed for."""
    chosen = named or (Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None)
    if chosen is None:
        raise InputError(f"no data folder: name one, or set {VARIABLE} to it; needed there: {needs}")
    if not chosen.is_dir():
        raise InputError(f"the data folder {chosen} is not there; needed in it: {needs}")
    return chosen


def found(folder: Path | None, names: tuple[str, ...], needs: str) -> Path:
    """Return the first of the named files that is in the data folder."""
    place = data_folder(folder, needs)
    for name in names:
        if (place / name).is_file():
            return place / name
    raise InputError(f"{place / names[0]} is missing; needed: {needs}")
