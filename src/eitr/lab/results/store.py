"""Results as files: one .npz per run, named by its key, readable with numpy alone."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eitr.errors import InputError
from eitr.io.npz import read_npz, write_npz
from eitr.lab.runs.run import Run

Arrays = dict[str, NDArray[Any]]

FOLDER = "runs"


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
        """Return one recorded array of all of them, (results, ...): one row per seed, usually."""
        return np.stack([np.asarray(result[name], np.float64) for result in self._found])


def _has(run: Any, name: str, value: Any) -> bool:
    own = getattr(run, name)
    if name in ("rule", "attack") and (value is None or isinstance(value, str)):
        own = None if own is None else own.name
    return bool(own == value)


def described(run: Run) -> str:
    """Return what a result file says about its run."""
    return json.dumps(run.describe(), sort_keys=True)


class Store:
    """The files of a lab run: results of finished runs, and checkpoints of the others."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, run: Run) -> Path:
        """Return the path of the result of a run."""
        return self.folder / FOLDER / f"{run.key}.npz"

    def checkpoint_path(self, run: Run) -> Path:
        """Return the path of the checkpoint of a run."""
        return self.folder / FOLDER / f"{run.key}.part.npz"

    def has(self, run: Run) -> bool:
        """Return whether a run is finished."""
        return self.path(run).is_file()

    def save(self, run: Run, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Write the result of a finished run and delete its checkpoint."""
        write_npz(self.path(run), {"run": np.array(described(run)), **arrays})
        self.checkpoint_path(run).unlink(missing_ok=True)

    def load(self, run: Run) -> Result:
        """Read the result of a run."""
        path = self.path(run)
        if not path.is_file():
            raise InputError(f"{path} is missing: the run is not finished; go on with `eitr lab run ... --resume`")
        arrays = read_result(path)
        if str(arrays.pop("run", "")) != described(run):
            raise InputError(f"{path} is not the result of the run it is named after: delete it and run again")
        return Result(run, arrays)

    def load_all(self, runs: Iterable[Run]) -> Results:
        """Read the results of several runs."""
        return Results(self.load(run) for run in runs)


def read_result(path: Path) -> Arrays:
    """Read a result or a checkpoint; a damaged one is an InputError that says what to do."""
    try:
        return read_npz(path)
    except InputError as error:
        raise InputError(f"{error}; delete it and run again with --resume") from error
