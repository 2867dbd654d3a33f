"""Statistics over seeds: final values, and the round in which runs reach an accuracy."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eitr.lab.results.store import Results

CONVERGED = 0.99
"""A run has converged in the first round with this share of the final accuracy of FedAvg without attack."""


@dataclass(frozen=True, slots=True)
class SeedValues:
    """One number per seed; NaN where the run diverged. Mean and deviation leave those out.

    >>> SeedValues((0.5, 0.7, float("nan"))).percent
    '60.0 % ± 14.1'
    """

    values: tuple[float, ...]

    @property
    def _there(self) -> NDArray[np.float64]:
        values = np.array(self.values, np.float64)
        return values[np.isfinite(values)]

    @property
    def mean(self) -> float:
        """The mean over the seeds; NaN when there is none."""
        return float(self._there.mean()) if len(self._there) else float("nan")

    @property
    def deviation(self) -> float:
        """The sample standard deviation over the seeds; NaN when there are not two."""
        return float(self._there.std(ddof=1)) if len(self._there) > 1 else float("nan")

    @property
    def diverged(self) -> int:
        """In how many seeds there is no number."""
        return len(self.values) - len(self._there)

    @property
    def percent(self) -> str:
        """The mean in percent, with the deviation in points."""
        if not len(self._there):
            return "diverged"
        return f"{100 * self.mean:.1f} %" + (f" ± {100 * self.deviation:.1f}" if len(self._there) > 1 else "")

    def minus(self, other: "SeedValues") -> "SeedValues":
        """Return the differences, seed by seed; NaN where one of both is missing."""
        return SeedValues(tuple(mine - theirs for mine, theirs in zip(self.values, other.values, strict=True)))

    @property
    def clearly_positive(self) -> bool:
        """Whether the mean is above zero by more than its standard error (by anything, with one seed)."""
        error = self.deviation / np.sqrt(len(self._there)) if len(self._there) > 1 else 0.0
        return bool(self.mean > error)


def final(results: Results, name: str, column: int | None = None) -> SeedValues:
    """Return a recorded quantity after the last round, one number per seed, in the order of the seeds."""
    ordered = sorted(results, key=lambda result: result.run.seed)
    return SeedValues(tuple(float(r[name][-1] if column is None else r[name][-1, column]) for r in ordered))


def floor_of(results: Results, attack: str, clients: int) -> SeedValues:
    """Return the success of an attack against a model without attackers: that of FedAvg, with as many clients."""
    return final(results.where(rule="fedavg", attack=None, clients=clients), f"asr.{attack}")


def rounds_to(accuracy: NDArray[np.float64], threshold: float) -> int | None:
    """Return the first round, from 1, with this accuracy; None when there is none.

    >>> rounds_to(np.array([0.3, 0.8, 0.7, 0.9]), 0.8)
    2
    """
    reached = np.flatnonzero(np.asarray(accuracy) >= threshold)
    return int(reached[0]) + 1 if len(reached) else None


@dataclass(frozen=True, slots=True)
class RoundsToReach:
    """When runs got to an accuracy: one round per seed, or None for never, within `limit` rounds."""

    rounds: tuple[int | None, ...]
    limit: int

    @property
    def always(self) -> bool:
        """Whether every seed got there."""
        return None not in self.rounds

    @property
    def mean(self) -> float:
        """The mean round; a seed that never got there counts as one round beyond the last, which is too low."""
        return float(np.mean([self.limit + 1 if number is None else number for number in self.rounds]))

    @property
    def text(self) -> str:
        """The mean round in words."""
        missing = sum(number is None for number in self.rounds)
        if missing == len(self.rounds):
            return "never"
        return f"round {self.mean:.1f}" if not missing else f"never in {missing} of {len(self.rounds)} seeds"


def rounds_to_reach(results: Results, thresholds: dict[int, float], topic: int | None = None) -> RoundsToReach:
    """Return when runs reach a threshold, which each seed has for itself: in accuracy, or in that of a class."""
    ordered = sorted(results, key=lambda result: result.run.seed)
    curves = [one["accuracy"] if topic is None else one["class_accuracy"][:, topic] for one in ordered]
    rounds = tuple(rounds_to(curve, thresholds[one.run.seed]) for curve, one in zip(curves, ordered, strict=True))
    return RoundsToReach(rounds, max(result.run.rounds for result in ordered))


def converged_at(results: Results, clients: int) -> dict[int, float]:
    """Return the accuracy, by seed, that counts as converged: 99 % of what clean FedAvg ends with."""
    reference = results.where(rule="fedavg", attack=None, clients=clients)
    return {result.run.seed: CONVERGED * float(result["accuracy"][-1]) for result in reference}
