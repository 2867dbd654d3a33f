"""Rules that need the number of attackers, and that are not defined where these are too many."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from eitr.aggregation.interface import Result, Round, Rule
from eitr.aggregation.rule_state import RuleState
from eitr.errors import InputError
from eitr.settings import setting

UNKNOWN = -1
"""The setting `attackers` where nobody says how many there are."""
ASSUMED_SHARE = 0.3
"""The share of attackers that is then assumed: the usual one of the paper's experiments. Assuming too many costs some
honest updates, assuming too few lets attackers in."""


@dataclass(frozen=True, kw_only=True)
class AttackerCountRule(Rule):
    """A rule with the number f of attackers as a setting; f = 0 needs no more than one client."""

    takes_attackers: ClassVar[bool] = True

    attackers: int = setting(
        UNKNOWN,
        f"how many of the round's clients may be attackers; {UNKNOWN}: {ASSUMED_SHARE:.0%} of them, rounded up, or as "
        "many as the rule is defined for",
        least=UNKNOWN,
        most=1_000_000,
    )

    @classmethod
    def fewest(cls, attackers: int) -> int:
        """Return how many clients the rule needs: more than 2 f, for attackers to be fewer than the honest."""
        return 2 * attackers + 1

    @classmethod
    def defined(cls, clients: int, attackers: int) -> bool:
        """Say whether there are clients enough for so many attackers."""
        return attackers >= 0 and clients >= (cls.fewest(attackers) if attackers > 0 else 1)

    @classmethod
    def assumed(cls, clients: int) -> int:
        """Return how many attackers are assumed among so many clients where nobody says it."""
        attackers = math.ceil(ASSUMED_SHARE * clients - 1e-9)
        while not cls.defined(clients, attackers):
            attackers -= 1
        return attackers

    def for_clients(self, clients: int) -> Self:
        """Return the rule with a number of attackers for a round of so many clients; refuse too few of them."""
        if self.attackers == UNKNOWN:
            return replace(self, attackers=self.assumed(clients))
        if not self.defined(clients, self.attackers):
            raise InputError(
                f"the rule {self.name!r} needs at least {self.fewest(self.attackers)} clients where {self.attackers} "
                f"may be attackers, and the round has {clients}: set attackers lower, or wait for more clients"
            )
        return self

    def update(self, state: RuleState, round: Round) -> tuple[RuleState, Result]:
        """Combine the updates of a round; the result's notes say how many attackers were assumed, if they were."""
        state, result = super().update(state, round)
        if self.attackers == UNKNOWN:
            result = replace(result, notes={**result.notes, "assumed_attackers": self.assumed(len(round.ids))})
        return state, result
