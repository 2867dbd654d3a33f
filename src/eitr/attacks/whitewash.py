"""Whitewashing: attackers that leave and come back as new clients, without their bad reputation."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from eitr.attacks.any_round import ANY_ROUND
from eitr.attacks.interface import Attack
from eitr.attacks.wrapping import WrappingAttack
from eitr.settings import setting


@dataclass(frozen=True, kw_only=True)
class Whitewash(WrappingAttack):
    """The attack `of` in every round; after every `period` rounds all attackers come back as new clients.

    >>> attack = Whitewash(period=3)
    >>> [round for round in range(1, 12) if attack.renews(round)]
    [4, 7, 10]

    Feldman et al., "Free-Riding and Whitewashing in Peer-to-Peer Systems", IEEE Journal on Selected Areas in
    Communications 2006.
    """

    name: ClassVar[str] = "whitewash"
    summary: ClassVar[str] = "another attack, by clients that become new ones again and again"
    wrappable: ClassVar[Mapping[str, type[Attack]]] = ANY_ROUND

    period: int = setting(10, "rounds under one name", least=1, most=1_000_000)
    # Easy to see, so that a name is worth nothing soon: what is tested is what a new name is worth.
    of: str = setting("sign-flip", "the attack", choices=tuple(ANY_ROUND))

    def renews(self, round: int) -> bool:
        """Say whether the attackers come to a round under new names."""
        return round > 1 and (round - 1) % self.period == 0
