"""Federations on web pages: the run, and the rules as the paper ran them."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from eitr.aggregation.interface import Rule
from eitr.aggregation.registry import make_rule, rule_class
from eitr.attacks.backdoor import Backdoor
from eitr.attacks.interface import Attack
from eitr.attacks.label_flip import LabelFlip
from eitr.attacks.schedule import Schedule
from eitr.errors import InputError
from eitr.lab.runs.private_training import NEEDS_START, PrivateTraining
from eitr.lab.runs.run import Run, added_later
from eitr.lab.runs.start import RANDOM
from eitr.model.plan import TrainingPlan
from eitr.taxonomy import NAMES

EXCLUSIVE_SHARE = 0.2
"""The share of the honest clients that own all pages of the exclusive class."""


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
    attacker_epochs: int = added_later(0)
    """Local epochs of attackers in all, where the plan's are those of honest clients; 0: the plan's and those that the
    attack adds. With `steps`, attackers take as many more or fewer steps as they train more or fewer epochs."""
    trusted: int = 100
    """Training pages that the server holds back, never more than a tenth: for FLTrust, and to validate with."""
    exclusive: str = ""
    """A class of which only a fifth of the clients have pages, and the server none: a new topic."""
    participation: float = added_later(1.0)
    """The share of the clients that takes part in a round, drawn anew for every round. `attackers` counts those among
    all clients, so how many of them take part in a round is a matter of chance."""
    start: str = added_later(RANDOM)
    """The name of the model that training starts from: see `StartModel`."""
    training: PrivateTraining | None = added_later(None)  # noqa: RUF009
    """How clients train; None: the paper's way. The private way takes one step, whatever `plan`, `steps` and the
    epochs of attackers say."""

    def __post_init__(self) -> None:
        if self.clients < 1 or self.rounds < 1:
            raise InputError(f"a run needs clients and rounds, at least one, not {self.clients} and {self.rounds}")
        if not 0 <= self.attackers <= self.clients:
            raise InputError(f"{self.attackers} attackers among {self.clients} clients: there can be 0 to all of them")
        if (self.attack is None) != (self.attackers == 0):
            raise InputError("a run has both an attack and attackers, or neither")
        if self.steps < 0 or self.trusted < 0:
            raise InputError(f"local steps and trusted pages are counts, not {self.steps} and {self.trusted}")
        if self.attacker_epochs < 0:
            raise InputError(f"the epochs of attackers are a count, not {self.attacker_epochs}")
        if self.attacker_epochs and self.attack is None:
            raise InputError("a run without attackers has no epochs of attackers: leave attacker_epochs at 0")
        if self.exclusive and self.exclusive not in NAMES:
            raise InputError(f"no class is called {self.exclusive!r}; there are: {', '.join(NAMES)}")
        if self.training is not None and self.start == RANDOM:
            raise InputError(NEEDS_START)
        if not self.alpha > 0:
            raise InputError(f"the concentration of the partition must be above 0, not {self.alpha}")
        if not 0 < self.participation <= 1:
            raise InputError(f"the participation is a share of the clients, above 0 up to 1, not {self.participation}")

    @property
    def participants(self) -> int:
        """Return how many clients take part in a round, at least one."""
        return participants_of(self.participation, self.clients)

    @property
    def probes(self) -> dict[str, Attack]:
        """Return the attacks whose success is measured: the run's own, or, for the floor, both of the paper."""
        return {attack.name: attack for attack in ((self.attack,) if self.attack else (LabelFlip(), Backdoor()))}

    @property
    def epochs_of_attackers(self) -> int:
        """Return how many local epochs attackers train in a round in which they attack."""
        return self.attacker_epochs or self.plan.epochs + (self.attack.extra_epochs if self.attack else 0)

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


def participants_of(participation: float, clients: int) -> int:
    """Return how many clients take part in a round: rounded, half up, at least one.

    >>> participants_of(0.02, 1000), participants_of(0.01, 10)
    (20, 1)
    """
    return max(1, attackers_of(participation, clients))


def expected_attackers(attackers: int, clients: int, participants: int) -> int:
    """Return how many attackers to expect among the participants of a round: rounded, half up.

    >>> expected_attackers(300, 1000, 20), expected_attackers(3, 10, 10)
    (6, 3)
    """
    return attackers_of(attackers / clients, participants)


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


def exclusive_owners(attacker: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the clients that own all pages of the exclusive class: the first fifth of the honest ones."""
    honest = np.flatnonzero(~attacker)
    return honest[: max(1, round(EXCLUSIVE_SHARE * len(honest)))]
