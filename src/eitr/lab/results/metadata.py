"""The files `lab.json` (what was run, on what, and how) and `timings.json` of a result folder."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from eitr.datasets.own.options import FileOptions, options_of
from eitr.datasets.registry import SOURCES
from eitr.errors import InputError
from eitr.io.atomic import write_atomically
from eitr.lab.runs.profile import Profile, make_profile
from eitr.lab.runs.start import RANDOM

METADATA = "lab.json"
TIMINGS = "timings.json"
COMPARE = "compare"
"""The id of the experiment that a grid describes, and the name of its profile."""

_KINDS: Final[Mapping[str, type | tuple[type, ...]]] = {
    **dict.fromkeys(("data", "data_digest", "pool", "profile", "start", "start_argument"), str),
    **dict.fromkeys(("grid", "plugins", "hardware", "versions"), dict),
    "seeds": int,
    "data_arguments": (list, tuple),
}
"""What the fields of `lab.json` must be."""
_NUMBERS: Final = {"attackers": float, "clients": int, "alpha": float, "participation": float}
_NUMBER: Final = {"rounds": int, "steps": int, "learning_rate": float}
"""Which fields of a grid are lists of numbers, and which are one number; the others are lists of texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabMetadata:
    """What `lab.json` says about a lab run. The first eight determine the results, the others tell how they came."""

    experiments: Sequence[str]
    profile: str
    data: str
    seeds: int
    data_digest: str = ""
    """The digest of the examples, where they were read: other examples of the same name do not go into the folder."""
    start: str = RANDOM
    """The name of the model that training starts from: see `StartModel`."""
    pool: str = ""
    """The digest of the start's pool of cover pages; older labs did not write it."""
    grid: Mapping[str, Any] = field(default_factory=dict)
    """What `eitr lab compare` was asked for; empty for the experiments of the registry."""
    data_arguments: Sequence[str] = ()
    """The words of the command that name the data: `--data` with the whole path of a file, then the options."""
    start_argument: str = RANDOM
    """The start as the command names it, a folder with its whole path."""
    command: str = ""
    plugins: Mapping[str, str] = field(default_factory=dict)
    """The files of `--plugin`, with the SHA-256 of their content."""
    device: str = ""
    hardware: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, Any] = field(default_factory=dict)
    started: str = ""

    def full_profile(self) -> Profile:
        """Return the profile that the experiments were asked with."""
        if self.grid:
            return comparison_profile(self.data, self.seeds, self.start)
        return make_profile(self.profile, data=self.data, seeds=self.seeds, start=self.start, pool=self.pool)

    def command_for(self, *ids: str, resume: bool = False) -> str:
        """Return the command that computes some experiments, or the comparison, as these were.

        >>> LabMetadata(experiments=["weights"], profile="quick", data="mine", seeds=1).command_for("weights")
        'eitr lab run weights --data mine.npz --profile quick --seeds 1 --out results'
        >>> grid = {"rules": ["fused", "median"], "rounds": 9}
        >>> compared = LabMetadata(experiments=[COMPARE], profile=COMPARE, data="builtin", seeds=2, grid=grid)
        >>> compared.command_for(COMPARE, resume=True)
        'eitr lab compare --rule fused,median --rounds 9 --data builtin --seeds 2 --out results --resume'
        """
        words = ["compare", *_grid_words(self.grid)] if self.grid else ["run", *ids]
        words += self.public_data_arguments()
        words += [] if self.start_argument == RANDOM else ["--start", Path(self.start_argument).name]
        words += [] if self.grid else ["--profile", self.profile]
        words += ["--seeds", str(self.seeds)]
        words += [word for name in self.plugins for word in ("--plugin", name)]
        return shlex.join(["eitr", "lab", *words, "--out", "results"] + ["--resume"] * resume)

    def public_data_arguments(self) -> list[str]:
        """Return the words of the command that name the data, without the folder of a file: it may name a person."""
        option, data, *words = self._data_arguments()
        return [option, Path(data).name, *words]

    def data_path(self) -> str:
        """Return the data as `--data` names them."""
        return self._data_arguments()[1]

    def file_options(self) -> FileOptions:
        """Return how the files of the data are read."""
        return options_of(self._data_arguments()[2:])

    def _data_arguments(self) -> Sequence[str]:
        # Older labs wrote no words: they read data sets, and prepared files, by their name.
        return self.data_arguments or ("--data", self.data if self.data in SOURCES else f"{self.data}.npz")


def comparison_profile(data: str, seeds: int, start: str = RANDOM) -> Profile:
    """Return the profile of a comparison: its grid has everything but data, seeds and start."""
    return replace(make_profile("paper", data=data, seeds=seeds, start=start), name=COMPARE)


def _grid_words(grid: Mapping[str, Any]) -> list[str]:
    words: list[str] = []
    for name, value in grid.items():
        option = {"rules": "rule", "attacks": "attack"}.get(name, name.replace("_", "-"))
        words += [f"--{option}", ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)]
    return words


def check_grid_types(grid: Mapping[str, Any]) -> None:
    """Refuse a grid with a value of another type than those of `Grid.as_json`."""
    for name, value in grid.items():
        kind = _NUMBERS.get(name) or _NUMBER.get(name, str)
        parts = [value] if name in _NUMBER else value
        allowed = (int, float) if kind is float else kind
        if not isinstance(parts, list) or any(not isinstance(x, allowed) or isinstance(x, bool) for x in parts):
            word = {str: "text", int: "whole number", float: "number"}[kind]
            expected = f"a {word}" if name in _NUMBER else f"a list of {word}s"
            raise InputError(f"{name} must be {expected}, not {value!r}")


def read_metadata(folder: Path) -> LabMetadata:
    """Read `lab.json`; one that is missing or not understood is an InputError."""
    path = folder / METADATA
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        metadata = LabMetadata(**{name: found[name] for name in LabMetadata.__dataclass_fields__ if name in found})
        if not isinstance(metadata.experiments, list) or not all(isinstance(id, str) for id in found["experiments"]):
            raise TypeError("experiments")
        for name, kind in _KINDS.items():
            if not isinstance(getattr(metadata, name), kind):
                raise TypeError(name)
        check_grid_types(metadata.grid)
        words = metadata.data_arguments
        if len(words) == 1 or not all(isinstance(word, str) for word in words):
            raise TypeError("data_arguments")
    except FileNotFoundError:
        raise InputError(f"{path} is missing: give the folder of a lab run, made by `eitr lab run ... --out`") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise InputError(f"{path}: damaged, or not written by a lab run; delete the folder") from error
    return metadata


def write_metadata(folder: Path, metadata: LabMetadata) -> None:
    """Write `lab.json`."""
    content = {name: getattr(metadata, name) for name in LabMetadata.__dataclass_fields__}
    write_atomically(folder / METADATA, (json.dumps(content, indent=2) + "\n").encode())


@dataclass(frozen=True, slots=True)
class Timings:
    """How long the calls that filled a folder took, together, and each run."""

    total: float | None = None
    runs: Mapping[str, float] = field(default_factory=dict)
    """Seconds by the key of the run."""

    def of(self, keys: Sequence[str]) -> float | None:
        """Return the seconds of some runs together; None where one is not known."""
        return sum(self.runs[key] for key in keys) if keys and all(key in self.runs for key in keys) else None


def read_timings(folder: Path) -> Timings:
    """Read `timings.json`; return empty timings where it is missing or damaged, as no result depends on it."""
    try:
        calls = _calls(folder)
        total = sum(float(call["seconds"]) for call in calls)
        runs = {str(key): float(seconds) for call in calls for key, seconds in call["runs"].items()}
    except (ValueError, TypeError, KeyError, AttributeError):
        return Timings()
    return Timings(total, runs) if calls else Timings()


def add_timing(folder: Path, call: Mapping[str, Any]) -> None:
    """Add a call to `timings.json`."""
    try:
        calls = _calls(folder)
    except ValueError:
        calls = []
    write_atomically(folder / TIMINGS, (json.dumps([*calls, call], indent=1) + "\n").encode())


def _calls(folder: Path) -> list[Any]:
    try:
        found = json.loads((folder / TIMINGS).read_text(encoding="utf-8"))
    except OSError:
        return []
    if not isinstance(found, list):
        raise ValueError("a list of calls is expected")
    return found
