"""Results as files: one .npz a run, named by its key, readable with numpy alone."""

import io
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eitr.atomic import write_atomically
from eitr.errors import InputError
from eitr.lab.runs import Run

Arrays = dict[str, NDArray[Any]]

FOLDER = "runs"
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The date of every entry: the same result gives the same bytes."""


class Computed(NamedTuple):
    """A run that was just finished."""

    run: Run
    arrays: Arrays
    seconds: float
    """How long it took; runs that were computed together share their time equally."""


@dataclass(frozen=True, slots=True)
class Result:
    """A run and what was recorded of it, by name; arrays over rounds have the round first."""

    run: Any
    arrays: Arrays

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.arrays[name]

    def __contains__(self, name: str) -> bool:
        return name in self.arrays


class Results:
    """The results of an experiment's runs, in the order of the runs."""

    def __init__(self, found: Iterable[Result]) -> None:
        self._found = list(found)

    def __iter__(self) -> Iterator[Result]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def where(self, **wanted: Any) -> "Results":
        """Return those whose run has these values; `rule` and `attack` are compared by name, None is "no attack"."""
        return Results(result for result in self._found if all(_has(result.run, *pair) for pair in wanted.items()))

    def stacked(self, name: str) -> NDArray[np.float64]:
        """Return one recorded array of all of them, (results, ...): a row a seed, usually."""
        return np.stack([np.asarray(result[name], np.float64) for result in self._found])


def _has(run: Any, name: str, value: Any) -> bool:
    own = getattr(run, name)
    if name in ("rule", "attack") and (value is None or isinstance(value, str)):
        own = None if own is None else own.name
    return bool(own == value)


class Store:
    """The folder of a lab run: finished results, and runs under way."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, run: Run) -> Path:
        """Return where the result of a run goes."""
        return self.folder / FOLDER / f"{run.key}.npz"

    def unfinished(self, run: Run) -> Path:
        """Return where a run under way is kept."""
        return self.folder / FOLDER / f"{run.key}.part.npz"

    def has(self, run: Run) -> bool:
        """Say whether a run is finished."""
        return self.path(run).is_file()

    def save(self, run: Run, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Write the result of a finished run and forget its checkpoint."""
        write_atomically(self.path(run), npz_bytes({"run": json.dumps(run.describe(), sort_keys=True), **arrays}))
        self.unfinished(run).unlink(missing_ok=True)

    def load(self, run: Run) -> Result:
        """Read the result of a run."""
        path = self.path(run)
        if not path.is_file():
            raise InputError(f"{path} is missing: the run is not finished; go on with `eitr lab run ... --resume`")
        arrays = read_npz(path)
        arrays.pop("run", None)
        return Result(run, arrays)

    def load_all(self, runs: Iterable[Run]) -> Results:
        """Read the results of several runs."""
        return Results(self.load(run) for run in runs)


def npz_bytes(arrays: Mapping[str, Any]) -> bytes:
    """Return the bytes of an .npz file, always the same for the same arrays (`numpy.savez` stamps the time)."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(f"{name}.npy", _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(entry, "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, np.asarray(array), allow_pickle=False)
    return buffer.getvalue()


def read_npz(path: Path) -> Arrays:
    """Read an .npz file; a damaged one is an InputError that names it."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: not a result file, or a damaged one; delete it and run again") from error
