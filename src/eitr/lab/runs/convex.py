"""Federations on a strongly convex problem, on which Theorem 1 can be checked."""

from dataclasses import dataclass
from typing import ClassVar

from eitr.aggregation.interface import Rule
from eitr.errors import InputError
from eitr.lab.runs.run import Run

POISONS = ("none", "flip", "scale", "arbitrary")


@dataclass(frozen=True, kw_only=True)
class ConvexRun(Run):
    """One federation on the convex problem."""

    kind: ClassVar[str] = "convex"

    rule: Rule
    clients: int = 10
    parameters: int = 20
    samples: int = 200
    """Of each client."""
    rounds: int = 100
    poison: str = "flip"
    attackers: int = 3

    def __post_init__(self) -> None:
        if min(self.clients, self.parameters, self.samples, self.rounds) < 1:
            raise InputError("a run needs clients, parameters, samples and rounds, at least one of each")
        if self.poison not in POISONS:
            raise InputError(f"poison must be one of {', '.join(POISONS)}, not {self.poison!r}")
        if not 0 <= self.attackers < self.clients or (self.poison == "none") != (self.attackers == 0):
            raise InputError(f"{self.attackers} attackers among {self.clients} clients do not go with {self.poison!r}")

    @property
    def share(self) -> float:
        """Return p."""
        return self.attackers / self.clients

    @property
    def title(self) -> str:
        """Return a few words for a progress bar."""
        return f"convex, {self.poison}, M {self.clients}, N {self.parameters}, seed {self.seed}"
