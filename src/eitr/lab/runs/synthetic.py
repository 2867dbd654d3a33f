"""Federations of drawn updates, with attackers of known strength.

An honest update is a common mean plus Gaussian noise. An attacker's is the same with a share of its parameters shifted
by some multiples of that noise: the same parameters, in the same direction, for all attackers and in every attack, as
poisoned data would pull all of them to the same place.

Where the strength comes from: ten clients (Dirichlet 0.9) trained the network of the paper (264,678 parameters,
learning rate 0.01) on pages made from the News Category Dataset, and one of them flipped labels. In units of the honest
spread, its parameters in round 3 lay 0.8 off (median), 10 % of them 2.8 or more and 1 % of them 7.1 or more; for three
attackers, and for the backdoor, less. The rule rejected 5 % of that client's values and 4 % of the honest ones.
`POLLUTED` errs on the detector's side: 10 % of the parameters, 5 off. `BLATANT` shifts every parameter: the most
visible attack of that size. A column's range stays far below varpi, so that both ways of rescaling agree.
"""

from dataclasses import dataclass
from typing import ClassVar

from eitr.aggregation.interface import Rule
from eitr.attacks.schedule import Schedule
from eitr.errors import InputError
from eitr.lab.runs.run import Run

POLLUTED, BLATANT = 0.1, 1.0
"""Shares of the parameters that an attacker shifts."""


@dataclass(frozen=True, kw_only=True)
class SyntheticRun(Run):
    """One federation of drawn updates. Attackers are the first clients of a seeded permutation, a schedule each."""

    kind: ClassVar[str] = "synthetic"

    rule: Rule
    parameters: int = 20
    clients: int = 10
    rounds: int = 20
    schedules: tuple[Schedule, ...] = ()
    """When each attacker attacks; in the other rounds it is honest."""
    share: float = POLLUTED
    """The share of its parameters that an attacker shifts."""
    shift: float = 5.0
    """By how many times the honest noise."""
    noise: float = 0.05
    """Standard deviation of honest parameters over the clients."""

    def __post_init__(self) -> None:
        if min(self.parameters, self.clients, self.rounds) < 1:
            raise InputError("a run needs parameters, clients and rounds, at least one of each")
        if len(self.schedules) > self.clients:
            raise InputError(
                f"{len(self.schedules)} attackers among {self.clients} clients: there can be 0 to all of them"
            )
        if not (0 <= self.share <= 1 and self.noise > 0):
            raise InputError("the share of shifted parameters lies between 0 and 1, and the noise is above 0")

    @property
    def title(self) -> str:
        """Return a few words for a progress bar."""
        return f"{self.parameters:,} parameters, {len(self.schedules)}/{self.clients} attack, seed {self.seed}"

    @property
    def shifted(self) -> int:
        """Return how many parameters an attacker shifts: rounded, half up."""
        return int(self.share * self.parameters + 0.5 + 1e-9)
