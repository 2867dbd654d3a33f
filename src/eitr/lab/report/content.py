"""What a report says, before it is a page or a file."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eitr.errors import InputError
from eitr.lab.drawing import figure_svg
from eitr.lab.experiments.interface import Experiment, Table, Verdict
from eitr.lab.experiments.registry import experiment
from eitr.lab.profile import make_profile
from eitr.lab.results import Store
from eitr.lab.runs import Run

HOLDS, FAILS, OPEN = "holds", "does not hold", "cannot be judged"
STATUSES = (HOLDS, FAILS, OPEN)


def status_of(verdict: Verdict) -> str:
    """Return what became of a claim, in words."""
    return OPEN if verdict.holds is None else HOLDS if verdict.holds else FAILS


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab:
    """What `lab.json` says about a lab run."""

    experiments: Sequence[str]
    profile: str
    data: str
    seeds: int
    command: str = ""
    device: str = ""
    hardware: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, Any] = field(default_factory=dict)
    started: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict)

    def command_for(self, id: str, *, resume: bool = False) -> str:
        """Return the command that computes one experiment."""
        words = ["eitr", "lab", "run", id, "--profile", self.profile, "--data", self.data, "--seeds", str(self.seeds)]
        return shlex.join(words + ["--resume"] * resume)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One experiment in a report. Without its results there is no table, no figure and no verdict."""

    experiment: Experiment
    command: str
    """How to compute it, or, when it is unfinished, how to go on."""
    runs: Sequence[Run]
    missing: int
    seconds: float | None
    table: Table | None = None
    verdicts: Sequence[Verdict] = ()
    svg: str | None = None

    @property
    def finished(self) -> bool:
        """Whether all runs are there."""
        return self.missing == 0

    def count(self, status: str) -> int:
        """Return how many claims have a status."""
        return sum(status_of(verdict) == status for verdict in self.verdicts)


def read_lab(folder: Path) -> Lab:
    """Read `lab.json`; one that is missing or not understood is an InputError."""
    path = folder / "lab.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        known = {name: found[name] for name in Lab.__dataclass_fields__ if name in found}
        lab = Lab(**known)
        if not isinstance(lab.experiments, list) or not all(isinstance(id, str) for id in lab.experiments):
            raise TypeError("experiments")
        if not isinstance(lab.seeds, int) or not isinstance(lab.data, str) or not isinstance(lab.profile, str):
            raise TypeError("profile, data, seeds")
    except FileNotFoundError:
        raise InputError(f"{path} is missing: give the folder of a lab run, made by `eitr lab run ... --out`") from None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise InputError(f"{path}: not the description of a lab run ({error})") from error
    return lab


def make_section(id: str, lab: Lab, store: Store) -> Section:
    """Return the section of one experiment, from the results that are there."""
    chosen = experiment(id)
    runs = chosen.runs(make_profile(lab.profile, data=lab.data, seeds=lab.seeds))
    missing = sum(not store.has(run) for run in runs)
    seconds = lab.seconds.get(id)
    if missing:
        command = lab.command_for(id, resume=True)
        return Section(experiment=chosen, command=command, runs=runs, missing=missing, seconds=seconds)
    results = store.load_all(runs)
    return Section(
        experiment=chosen,
        command=lab.command_for(id),
        runs=runs,
        missing=0,
        seconds=seconds,
        table=chosen.table(results),
        verdicts=chosen.verdicts(results),
        svg=figure_svg(
            chosen.figure(results),
            title=chosen.title,
            description=f"{chosen.note} The numbers are in the table that follows the figure.".strip(),
            prefix=f"figure-{id}",
        ),
    )
