"""The files `lab.json` (what was run, on what, and how) and `timings.json` of a result folder."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from eitr.datasets.registry import SOURCES
from eitr.errors import InputError
from eitr.io.atomic import write_atomically
from eitr.lab.runs.profile import Profile, make_profile

METADATA = "lab.json"
TIMINGS = "timings.json"

_KINDS: Final[Mapping[str, type | tuple[type, ...]]] = {
    **dict.fromkeys(("data", "data_digest", "profile"), str),
    **dict.fromkeys(("hardware", "versions"), dict),
    "seeds": int,
    "data_arguments": (list, tuple),
}
"""What the fields of `lab.json` must be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabMetadata:
    """What `lab.json` says about a lab run. The first four determine the results, the others say how they were made."""

    experiments: Sequence[str]
    profile: str
    data: str
    seeds: int
    data_digest: str = ""
    """The digest of the examples, where they were read: other examples of the same name do not go into the folder."""
    data_arguments: Sequence[str] = ()
    """The words of the command that name the data, where the name alone does not."""
    command: str = ""
    device: str = ""
    hardware: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, Any] = field(default_factory=dict)
    started: str = ""

    def full_profile(self) -> Profile:
        """Return the profile that the experiments were asked with."""
        return make_profile(self.profile, data=self.data, seeds=self.seeds)

    def command_for(self, *ids: str, resume: bool = False) -> str:
        """Return the command that computes some experiments as these were."""
        return run_command(ids, self.full_profile(), self.data_arguments, resume=resume)


def run_command(
    ids: Sequence[str], profile: Profile, data_arguments: Sequence[str] = (), *, resume: bool = False
) -> str:
    """Return the command that computes experiments.

    >>> run_command(["weights"], make_profile("quick", data="mine.npz", seeds=1), resume=True)
    'eitr lab run weights --data mine.npz --profile quick --seeds 1 --out results --resume'
    """
    data = data_arguments or ("--data", profile.data if profile.data in SOURCES else f"{profile.data}.npz")
    words = ["eitr", "lab", "run", *ids, *data, "--profile", profile.name]
    words += ["--seeds", str(len(profile.seeds)), "--out", "results"]
    return shlex.join(words + ["--resume"] * resume)


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
        if not all(isinstance(word, str) for word in metadata.data_arguments):
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
