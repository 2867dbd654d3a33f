"""What came of each cell: accuracy, what it lost against clean FedAvg, and the attack's success with its floor."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from eitr.lab.experiments.robustness_grid import (
    CONTENDERS,
    ELSEWHERE,
    FEDAVG,
    FUSED,
    MAIN,
    NO_ATTACK,
    STRONGEST,
    THREATS,
    Contender,
    Setting,
    Threat,
    run_of,
)
from eitr.lab.experiments.seed_statistics import SeedValues, final
from eitr.lab.results.store import Result, Results
from eitr.lab.runs.federated import FederatedRun

COLUMNS = ("accuracy", "± accuracy", "points lost", "ASR", "± ASR", "floor of ASR")
UNDEFINED = "n/a"
"""What a table says where a rule is not defined."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One rule under one attack in one setting, one number per seed."""

    accuracy: SeedValues
    loss: SeedValues
    """What the accuracy is below that of clean FedAvg, seed by seed."""
    success: SeedValues | None = None
    """The attack success rate (ASR); None where an attack has none."""
    floor: SeedValues | None = None
    """The ASR of clean FedAvg, of the same seeds, on the same pages."""

    @property
    def harm(self) -> float:
        """The mean loss; infinite where training diverged in a seed, which no accuracy makes up for."""
        return math.inf if self.accuracy.diverged else self.loss.mean

    @property
    def excess(self) -> float | None:
        """By how much the mean ASR is above its floor; infinite where training diverged in a seed."""
        if self.success is None or self.floor is None:
            return None
        return math.inf if self.success.diverged else self.success.minus(self.floor).mean

    @property
    def row(self) -> tuple[float | None, ...]:
        """The numbers of a table, under `COLUMNS`."""
        success, floor = self.success, self.floor
        return (
            self.accuracy.mean,
            self.accuracy.deviation,
            100 * self.loss.mean,
            success.mean if success else None,
            success.deviation if success else None,
            floor.mean if floor else None,
        )


class Worst(NamedTuple):
    """The attack that does the most harm."""

    threat: Threat
    value: float


class Cells:
    """The cells of an experiment, found by what is run in them."""

    def __init__(
        self, results: Results, threats: Sequence[Threat] = THREATS, settings: Sequence[Setting] = (MAIN,)
    ) -> None:
        self._known, self._settings = threats, settings
        self._found: dict[FederatedRun, Result] = {result.run: result for result in results}
        self._base: FederatedRun = replace(next(iter(self._found)), attack=None, attackers=0)
        self._seeds = sorted({run.seed for run in self._found})

    def results(self, who: Contender, threat: Threat, setting: Setting = MAIN) -> Results:
        """Return the results of a cell, by seed; none where the rule is not defined or was not run."""
        runs = [run_of(self._base, who, threat, setting, seed) for seed in self._seeds]
        return Results(self._found[run] for run in runs if run is not None and run in self._found)

    def at(self, who: Contender, threat: Threat, setting: Setting = MAIN) -> Cell | None:
        """Return a cell; None where the rule is not defined, or was not run."""
        mine = self.results(who, threat, setting)
        if not len(mine):
            return None
        seeds = {result.run.seed for result in mine}
        # Other cells of a table may have more seeds: only equal ones are compared.
        clean = Results(one for one in self.results(FEDAVG, NO_ATTACK, setting) if one.run.seed in seeds)
        accuracy = final(mine, "accuracy")
        loss = final(clean, "accuracy").minus(accuracy)
        if threat.attack is None or threat.floor is None:
            return Cell(accuracy, loss)
        return Cell(accuracy, loss, final(mine, f"asr.{threat.attack.name}"), final(clean, f"asr.{threat.floor}"))

    def harm(self, who: Contender, threat: Threat, setting: Setting = MAIN) -> float | None:
        """Return what a rule loses in a cell; None where it is not defined."""
        cell = self.at(who, threat, setting)
        return None if cell is None else cell.harm

    def excess(self, who: Contender, threat: Threat, setting: Setting = MAIN) -> float | None:
        """Return an attack's success above its floor; None where there is none."""
        cell = self.at(who, threat, setting)
        return None if cell is None else cell.excess

    def contenders(self, setting: Setting = MAIN) -> Sequence[Contender]:
        """Return the rules that take part in a setting; a rule that is defined nowhere in it takes part."""
        if setting == MAIN:
            return [who for who in CONTENDERS if len(self.results(who, NO_ATTACK))]
        met = any(len(self.results(who, threat, setting)) for who in ELSEWHERE for threat in THREATS if threat.attack)
        return ELSEWHERE if met else ()

    @cached_property
    def threats(self) -> Sequence[Threat]:
        """The attacks that were run in the settings of the experiment, "none" first."""
        asked = [(who, setting) for who in (FEDAVG, FUSED) for setting in self._settings]
        return [one for one in self._known if any(len(self.results(who, one, setting)) for who, setting in asked)]

    def worst_loss(self, who: Contender, setting: Setting = MAIN) -> Worst | None:
        """Return the attack that costs a rule the most accuracy; None where it is defined under none."""
        return _worst((threat, self.harm(who, threat, setting)) for threat in self.threats if threat.attack)

    def worst_value(self, who: Contender, setting: Setting = MAIN) -> float | None:
        """Return what the worst attack costs a rule; None where it is defined under none."""
        worst = self.worst_loss(who, setting)
        return None if worst is None else worst.value

    def worst_excess(self, who: Contender, setting: Setting = MAIN) -> Worst | None:
        """Return the attack that succeeds most, above its floor; None where no success was measured."""
        return _worst((threat, self.excess(who, threat, setting)) for threat in self.threats)

    def strongest(self, most: int = len(STRONGEST)) -> list[Contender]:
        """Return the rules with the smallest worst loss in the main table, the strongest first."""
        worst = {who: self.worst_loss(who) for who in self.contenders()}
        judged = {who: one.value for who, one in worst.items() if one is not None and not math.isnan(one.value)}
        return sorted(judged, key=judged.__getitem__)[:most]


def cell_row(cell: Cell | None) -> tuple[Any, ...]:
    """Return the numbers of a table, under `COLUMNS`; a rule that is not defined has none."""
    return (UNDEFINED, *[None] * (len(COLUMNS) - 1)) if cell is None else cell.row


def in_points(share: float) -> float | str:
    """Return a share as points, or that training diverged."""
    return "diverged" if math.isinf(share) else round(100 * share, 2)


def worst_row(found: Worst | None) -> tuple[float | str, str]:
    """Return the points that a worst case costs, and the attack that does it."""
    return (UNDEFINED, "") if found is None else (in_points(found.value), found.threat.label)


def _worst(found: Iterable[tuple[Threat, float | None]]) -> Worst | None:
    """Return the largest of those that are there; NaN, where clean FedAvg diverged, is larger than all."""
    there = [Worst(threat, value) for threat, value in found if value is not None]
    return max(there, key=lambda one: math.inf if math.isnan(one.value) else one.value, default=None)
