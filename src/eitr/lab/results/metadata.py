"""The files `lab.json` (what was run, on what, and how) and `timings.json` of a result folder."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from eitr.datasets.registry import SOURCES
from eitr.errors import InputError
from eitr.io.atomic import write_atomically
from eitr.lab.runs.profile import Profile, make_profile

METADATA = "lab.json"
TIMINGS = "timings.json"
COMPARE = "compare"
"""The id of the experiment that a grid describes, and the name of its profile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabMetadata:
    """What `lab.json` says about a lab run. The first five determine the results, the others say how they were made."""

    experiments: Sequence[str]
    profile: str
    data: str
    seeds: int
    grid: Mapping[str, Any] = field(default_factory=dict)
    """What `eitr lab compare` was asked for; empty for the experiments of the registry."""
    command: str = ""
    data_given: str = ""
    """The data as the command line named them: where a comparison that is resumed finds them."""
    plugins: Mapping[str, str] = field(default_factory=dict)
    """The files of `--plugin`, with the SHA-256 of their content."""
    device: str = ""
    hardware: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, Any] = field(default_factory=dict)
    started: str = ""

    def full_profile(self) -> Profile:
        """Return the profile that the experiments were asked with."""
        if self.grid:
            return comparison_profile(self.data, self.seeds)
        return make_profile(self.profile, data=self.data, seeds=self.seeds)

    def command_for(self, *ids: str, resume: bool = False) -> str:
        """Return the command that computes some experiments as these were."""
        if self.grid:
            return compare_command(self.grid, self.full_profile(), tuple(self.plugins), resume=resume)
        return run_command(ids, self.full_profile(), tuple(self.plugins), resume=resume)


def comparison_profile(data: str, seeds: int) -> Profile:
    """Return the profile of a comparison: its grid has everything but data and seeds."""
    return replace(make_profile("paper", data=data, seeds=seeds), name=COMPARE)


def compare_command(
    grid: Mapping[str, Any], profile: Profile, plugins: Sequence[str] = (), *, resume: bool = False
) -> str:
    """Return the command that computes a comparison.

    >>> compare_command({"rules": ["fused", "median"], "rounds": 9}, comparison_profile("builtin", 2))
    'eitr lab compare --rule fused,median --rounds 9 --data builtin --seeds 2 --out results'
    """
    words = ["eitr", "lab", "compare"]
    for name, value in grid.items():
        option = {"rules": "rule", "attacks": "attack"}.get(name, name.replace("_", "-"))
        words += [f"--{option}", ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)]
    return shlex.join([*words, *_common(profile, plugins)] + ["--resume"] * resume)


def _common(profile: Profile, plugins: Sequence[str]) -> list[str]:
    """Return the options that all commands have."""
    data = profile.data if profile.data in SOURCES else f"{profile.data}.npz"
    chosen = [] if profile.name == COMPARE else ["--profile", profile.name]
    files = [word for name in plugins for word in ("--plugin", name)]
    return ["--data", data, *chosen, "--seeds", str(len(profile.seeds)), *files, "--out", "results"]


def run_command(ids: Sequence[str], profile: Profile, plugins: Sequence[str] = (), *, resume: bool = False) -> str:
    """Return the command that computes experiments.

    >>> run_command(["weights"], make_profile("quick", data="mine.npz", seeds=1), resume=True)
    'eitr lab run weights --data mine.npz --profile quick --seeds 1 --out results --resume'
    """
    return shlex.join(["eitr", "lab", "run", *ids, *_common(profile, plugins)] + ["--resume"] * resume)


def read_metadata(folder: Path) -> LabMetadata:
    """Read `lab.json`; one that is missing or not understood is an InputError."""
    path = folder / METADATA
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        metadata = LabMetadata(**{name: found[name] for name in LabMetadata.__dataclass_fields__ if name in found})
        if not isinstance(metadata.experiments, list) or not all(isinstance(id, str) for id in found["experiments"]):
            raise TypeError("experiments")
        texts, tables = ("data", "profile", "data_given"), ("hardware", "versions", "grid", "plugins")
        for kind, names in ((int, ("seeds",)), (str, texts), (dict, tables)):
            for name in names:
                if not isinstance(getattr(metadata, name), kind):
                    raise TypeError(name)
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
