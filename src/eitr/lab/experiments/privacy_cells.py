"""The results of the privacy experiment by cell: the seeds of a cell together, and the strongest attack of several."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from eitr.lab.results.store import Result
from eitr.lab.runs.privacy import OUTSIDER, SERVER, PrivacyRun


@dataclass(frozen=True, slots=True)
class Leak:
    """How well one attack did in one measure."""

    attack: str
    run: PrivacyRun
    mean: float
    error: float | None
    """Half of the 95 % interval over the victims, where the measure has one."""

    @property
    def upper(self) -> float:
        """The upper end of the interval."""
        return self.mean + (self.error or 0.0)

    @property
    def words(self) -> str:
        """Where it was measured, in words."""
        pages = f"{self.run.own_pages} own page{'s' if self.run.own_pages > 1 else ''} ({self.run.choice})"
        uses = f", {self.run.uses} uses" if self.run.uses > 1 else ""
        viewer = f", seen by {'an' if self.run.viewer == OUTSIDER else 'a'} {self.run.viewer}"
        return f"{self.attack}, {pages}, base {self.run.base}{uses}{viewer if self.run.viewer != SERVER else ''}"


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell, with one result per seed."""

    run: PrivacyRun
    results: Sequence[Result]

    @property
    def attacks(self) -> list[str]:
        """The attacks that apply to the defence, in the order in which they were recorded."""
        names = (name.partition(".")[2] for name in self.results[0].arrays)
        return [name for name in dict.fromkeys(names) if name]

    def leak(self, measure: str, attack: str) -> Leak | None:
        """Return a measure of an attack over all seeds and victims; None where the attack says nothing about it."""
        name = f"{measure}.{attack}"
        if name not in self.results[0]:
            return None
        errors = [float(one[f"{measure}_error.{attack}"]) for one in self.results if f"{measure}_error.{attack}" in one]
        error = math.hypot(*errors) / len(errors) if errors else None
        return Leak(attack, self.run, float(np.mean([one[name] for one in self.results])), error)

    def cost(self, name: str) -> float:
        """Return what the defence costs, the mean over the seeds."""
        return float(np.mean([one[name] for one in self.results]))


def cells_of(results: Iterable[Result]) -> list[Cell]:
    """Return the cells, victims and attacks on them, in the order of their first result."""
    found: dict[PrivacyRun, list[Result]] = {}
    for result in results:
        if isinstance(result.run, PrivacyRun):
            found.setdefault(replace(result.run, seed=0), []).append(result)
    return [Cell(run, theirs) for run, theirs in found.items()]


def strongest(
    cells: Sequence[Cell],
    measure: str,
    attack: str | None = None,
    by: Callable[[Leak], float] = lambda leak: leak.mean,
) -> Leak | None:
    """Return the largest of a measure over some cells and all attacks, or one; None where nothing was measured."""
    leaks = (cell.leak(measure, name) for cell in cells for name in ([attack] if attack else cell.attacks))
    return max((leak for leak in leaks if leak is not None), key=by, default=None)
