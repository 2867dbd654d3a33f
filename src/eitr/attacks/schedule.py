"""When attackers attack: in every round, once, from some round on, or again and again."""

from dataclasses import dataclass
from typing import Self

from eitr.errors import InputError

_EXAMPLES = "every, once:3, from:3, loop:30 (rounds 30, 60, ...) or loop:40:10 (rounds 10, 50, 90, ...)"


@dataclass(frozen=True, slots=True)
class Schedule:
    """The rounds of an attack; rounds count from 1. In the others an attacker is an honest client.

    >>> loop = Schedule.parse("loop:40:10")
    >>> [round for round in range(1, 101) if loop.active(round)]
    [10, 50, 90]
    >>> Schedule.parse("once:3").active(4)
    False
    """

    kind: str = "every"
    start: int = 1
    period: int = 1

    def __post_init__(self) -> None:
        if self.kind not in ("every", "once", "from", "loop") or self.start < 1 or self.period < 1:
            raise InputError(f"not a schedule: {self}; write {_EXAMPLES}")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the short form, as on the command line."""
        kind, *numbers = text.split(":")
        if not all(number.isdecimal() and int(number) > 0 for number in numbers):
            raise InputError(f"not a schedule: {text!r}; write {_EXAMPLES}")
        match kind, [int(number) for number in numbers]:
            case "every", []:
                return cls()
            case (("once" | "from"), [start]):
                return cls(kind, start)
            case "loop", [period]:
                return cls(kind, period, period)
            case "loop", [period, start]:
                return cls(kind, start, period)
        raise InputError(f"not a schedule: {text!r}; write {_EXAMPLES}")

    def active(self, round: int) -> bool:
        """Say whether the attackers attack in a round."""
        match self.kind:
            case "every":
                return True
            case "once":
                return round == self.start
            case "from":
                return round >= self.start
        return round >= self.start and (round - self.start) % self.period == 0
