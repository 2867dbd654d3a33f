"""What the reputation rule promises about its cost, and whether a run kept it."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.contenders import REPUTATION
from benchmarks.memory import Memory
from benchmarks.timing import Timings

FASTER_THAN_STRAIGHTFORWARD = {10: 3.0, 100: 25.0}
"""At least this many times faster than the straightforward version, by number of clients."""
COST_IN_MEDIANS = {10: 5.0, 100: 8.0}
"""At most this many times the seconds of `torch.median`, by number of clients."""
MEMORY = 1.0
"""At most this multiple of the input above it."""
MEMORY_CLIENTS, MEMORY_PARAMETERS = 100, 1_000_000
"""The size of the round for which the promise on memory is made."""


@dataclass(frozen=True)
class Verdict:
    """A promise and what was measured; None where the run did not measure it."""

    promise: str
    measured: float | None
    holds: bool | None

    def __str__(self) -> str:
        if self.measured is None:
            return f"not measured: {self.promise}"
        return f"{'holds' if self.holds else 'FAILS'}: {self.promise}: {self.measured:.2f}x"


def verdicts(timings: Sequence[Timings], memory: Sequence[Memory]) -> list[Verdict]:
    """Judge a run."""
    by_clients = {timing.clients: timing for timing in timings}
    found = []
    for clients, bound in FASTER_THAN_STRAIGHTFORWARD.items():
        faster = _faster(by_clients.get(clients))
        promise = f"at {clients} clients at least {bound:g}x faster than the straightforward version"
        found.append(Verdict(promise, faster, None if faster is None else faster >= bound))
    for clients, bound in COST_IN_MEDIANS.items():
        cost = _cost(by_clients.get(clients))
        promise = f"at {clients} clients at most {bound:g}x the time of torch.median"
        found.append(Verdict(promise, cost, None if cost is None else cost <= bound))
    share = _share(memory)
    promise = (
        f"at {MEMORY_CLIENTS} clients and {MEMORY_PARAMETERS:,} parameters "
        f"a peak of memory above the input of at most {MEMORY:g}x the input"
    )
    found.append(Verdict(promise, share, None if share is None else share <= MEMORY))
    return found


def _faster(timings: Timings | None) -> float | None:
    return None if timings is None else timings.straightforward.times(timings.of(REPUTATION))


def _cost(timings: Timings | None) -> float | None:
    return None if timings is None else timings.of(REPUTATION).times(timings.torch_median)


def _share(memory: Sequence[Memory]) -> float | None:
    promised = (REPUTATION, MEMORY_CLIENTS, MEMORY_PARAMETERS)
    return next((row.share for row in memory if (row.contender, row.clients, row.parameters) == promised), None)
