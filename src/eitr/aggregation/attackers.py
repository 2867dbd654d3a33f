"""Rules that are told how many clients attack, and that are not defined when these are too many."""

from dataclasses import dataclass

from eitr.aggregation.interface import Rule
from eitr.errors import InputError
from eitr.settings import setting


@dataclass(frozen=True, kw_only=True)
class ToldAttackers(Rule):
    """A rule with the number f of attackers as a setting; f = 0 asks for no more than one client."""

    attackers: int = setting(0, "how many of the round's clients may be attackers", least=0, most=1_000_000)

    @classmethod
    def fewest(cls, attackers: int) -> int:
        """Return how many clients the rule needs: more than 2 f, for attackers to be fewer than the honest."""
        return 2 * attackers + 1

    @classmethod
    def defined(cls, clients: int, attackers: int) -> bool:
        """Say whether there are clients enough for so many attackers."""
        return attackers >= 0 and clients >= (cls.fewest(attackers) if attackers > 0 else 1)


def need_enough(rule: Rule, clients: int) -> None:
    """Refuse a round of too few clients for the attackers that a rule is told to expect."""
    if isinstance(rule, ToldAttackers) and not rule.defined(clients, rule.attackers):
        raise InputError(
            f"the rule {rule.name!r} needs at least {rule.fewest(rule.attackers)} clients where {rule.attackers} may "
            f"be attackers, and the round has {clients}: set attackers lower, or wait for more clients"
        )
