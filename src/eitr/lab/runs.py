"""What determines a run, and nothing else: two runs that are equal here have equal results.

A run is a small frozen dataclass. Its key, a hash of everything in it, names its result file, so that a run that two
experiments share is computed once and a killed lab goes on where it was.
"""

import hashlib
import json
from abc import ABC
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from typing import Any, ClassVar

from eitr.aggregation.interface import Rule
from eitr.aggregation.registry import make_rule, rule_class
from eitr.attacks.backdoor import Backdoor
from eitr.attacks.interface import Attack
from eitr.attacks.label_flip import LabelFlip
from eitr.attacks.schedule import Schedule
from eitr.errors import InputError
from eitr.model.plan import TrainingPlan
from eitr.taxonomy import NAMES

REVISION = 2
"""Goes up whenever the same settings give other results than before: what an older lab computed is then not found."""


@dataclass(frozen=True, kw_only=True)
class Run(ABC):
    """The base of all kinds of runs; `kind` says which part of the lab computes it."""

    kind: ClassVar[str]

    seed: int = 0

    @cached_property
    def key(self) -> str:
        """Return the name of the run's result file."""
        return hashlib.sha256(json.dumps(self.describe(), sort_keys=True).encode()).hexdigest()[:20]

    def describe(self) -> dict[str, Any]:
        """Return everything that determines the run, as JSON values."""
        described: dict[str, Any] = {**_described(self), "revision": REVISION}
        return described


@dataclass(frozen=True, kw_only=True)
class FederatedRun(Run):
    """One federation: clients with their pages, a rule, maybe attackers, and a number of rounds."""

    kind: ClassVar[str] = "federated"

    data: str
    """The name of the data set."""
    rule: Rule
    clients: int = 10
    alpha: float = 0.9
    """Concentration of the Dirichlet partition; small is skewed."""
    rounds: int = 100
    attack: Attack | None = None
    attackers: int = 0
    """How many clients attack: the first of a seeded permutation."""
    schedule: Schedule = Schedule()
    plan: TrainingPlan = TrainingPlan()
    steps: int = 0
    """Local steps of a round, whatever a client's number of pages; 0: as many as the plan's epochs have."""
    trusted: int = 100
    """Training pages that the server holds back, never more than a tenth: for FLTrust, and to validate with."""
    exclusive: str = ""
    """A class of which only a fifth of the clients have pages, and the server none: a new topic."""

    def __post_init__(self) -> None:
        if self.clients < 1 or self.rounds < 1:
            raise InputError(f"a run needs clients and rounds, at least one, not {self.clients} and {self.rounds}")
        if not 0 <= self.attackers <= self.clients:
            raise InputError(f"{self.attackers} attackers among {self.clients} clients: there can be 0 to all of them")
        if (self.attack is None) != (self.attackers == 0):
            raise InputError("a run has both an attack and attackers, or neither")
        if self.steps < 0 or self.trusted < 0:
            raise InputError(f"local steps and trusted pages are counts, not {self.steps} and {self.trusted}")
        if self.exclusive and self.exclusive not in NAMES:
            raise InputError(f"no class is called {self.exclusive!r}; there are: {', '.join(NAMES)}")
        if not self.alpha > 0:
            raise InputError(f"the concentration of the partition must be above 0, not {self.alpha}")

    @property
    def probes(self) -> dict[str, Attack]:
        """Return the attacks whose success is measured: the run's own, or, for the floor, both of the paper."""
        return {attack.name: attack for attack in ((self.attack,) if self.attack else (LabelFlip(), Backdoor()))}

    @property
    def title(self) -> str:
        """Return a few words for a progress bar."""
        attack = f"{self.attack.name} {self.attackers}/{self.clients}" if self.attack else "no attack"
        return f"{self.rule.name}, {attack}, seed {self.seed}"


def attackers_of(share: float, clients: int) -> int:
    """Return how many clients a share is: rounded, half up.

    >>> attackers_of(0.3, 10), attackers_of(0.5, 5)
    (3, 3)
    """
    return int(share * clients + 0.5 + 1e-9)


def paper_rule(name: str, attackers: int = 0, clients: int = 1, **settings: Any) -> Rule:
    """Return a rule as the paper ran it: the paper's rescaling, and rules that ask for it told how many attack."""
    if name == "reputation":
        settings = {"rescale": "paper", **settings}
    if name == "trimmed-mean":
        # beta is the share of attackers and stays below a half.
        settings = {"beta": min(attackers / clients, (clients - 1) // 2 / clients), **settings}
    if rule_class(name).takes_attackers:
        settings = {"attackers": attackers, **settings}
    return make_rule(name, **settings)


def _described(value: Any) -> Any:
    """Return a value as JSON; dataclasses with the name of what they are."""
    if is_dataclass(value) and not isinstance(value, type):
        kind = getattr(value, "kind", None) or getattr(value, "name", None) or type(value).__name__
        own = {item.name: _described(getattr(value, item.name)) for item in fields(value)}
        return {"is": kind if isinstance(kind, str) else type(value).__name__, **own}
    if isinstance(value, tuple | list):
        return [_described(item) for item in value]
    return value
