"""On and off: attackers that are honest for some rounds before each attack."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from eitr.attacks.any_round import ANY_ROUND
from eitr.attacks.interface import Attack
from eitr.attacks.wrapping import WrappingAttack
from eitr.settings import setting


@dataclass(frozen=True, kw_only=True)
class OnOff(WrappingAttack):
    """Honest for `rest` rounds, then the attack `of` for `strike` rounds, again and again.

    >>> attack = OnOff(rest=3, strike=2)
    >>> [round for round in range(1, 12) if attack.active(round)]
    [4, 5, 9, 10]

    Sun et al., "Defense of Trust Management Vulnerabilities in Distributed Networks", IEEE Communications Magazine
    2008: the on-off attack.
    """

    name: ClassVar[str] = "on-off"
    summary: ClassVar[str] = "honest for some rounds, then another attack for some"
    wrappable: ClassVar[Mapping[str, type[Attack]]] = ANY_ROUND

    # As long as the memory of the paper's rule: the last strike is forgotten when the next one comes.
    rest: int = setting(10, "honest rounds before each strike", least=0, most=1_000_000)
    strike: int = setting(2, "rounds of a strike", least=1, most=1_000_000)
    # A strike is short: it takes an attack that does its harm in a single round, as model replacement does.
    of: str = setting("scaling", "the attack", choices=tuple(ANY_ROUND))

    def active(self, round: int) -> bool:
        """Say whether a round is one of a strike."""
        return (round - 1) % (self.rest + self.strike) >= self.rest
