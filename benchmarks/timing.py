"""Time all contenders side by side: each once per repeat, in a shuffled order, so that a busy moment hits everybody."""

import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.contenders import STRAIGHTFORWARD, TORCH_MEDIAN, Contender
from benchmarks.inputs import make_input

TABLE_NUMBERS = 25_000_000
"""Numbers in a table of updates by default: 100 MB, more than the caches of most processors hold."""
SLOPES = 200_000_000
"""Pairwise slopes the straightforward version computes in one call: some seconds, whatever the number of clients."""


@dataclass(frozen=True)
class Timing:
    """What one contender took at one number of clients."""

    contender: str
    clients: int
    parameters: int
    seconds: list[float]
    """Per million parameters, by repeat."""

    @property
    def median(self) -> float:
        """The median over the repeats."""
        return statistics.median(self.seconds)

    def times(self, other: "Timing") -> float:
        """Return how many times the other's seconds this took: the median of the ratios within each repeat."""
        return statistics.median(mine / yours for mine, yours in zip(self.seconds, other.seconds, strict=True))


@dataclass(frozen=True)
class Timings:
    """All contenders at one number of clients."""

    clients: int
    rows: list[Timing]

    def of(self, contender: str) -> Timing:
        """Return the timing of a contender."""
        return next(row for row in self.rows if row.contender == contender)

    @property
    def torch_median(self) -> Timing:
        """The timing of `torch.median`."""
        return self.of(TORCH_MEDIAN)

    @property
    def straightforward(self) -> Timing:
        """The timing of the straightforward version."""
        return self.of(STRAIGHTFORWARD)


def measure(
    contenders: Sequence[Contender],
    clients: int,
    *,
    parameters: int | None,
    repeats: int,
    seed: int,
    progress: Callable[[str], None],
) -> Timings:
    """Time the contenders at one number of clients; `progress` is told of each call."""
    parameters = parameters or TABLE_NUMBERS // clients
    few = max(1, min(parameters, SLOPES // clients**2))
    sizes = {False: parameters, True: few}
    kinds = {(contender.ties, contender.slow) for contender in contenders}
    tables = {(ties, slow): make_input(clients, sizes[slow], ties=ties, seed=seed) for ties, slow in kinds}
    _warm_up(contenders, clients, seed)
    seconds: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    shuffler = random.Random(seed)
    for _ in range(repeats):
        for contender in shuffler.sample(contenders, len(contenders)):
            progress(f"{clients} clients: {contender.name}")
            given = tables[contender.ties, contender.slow]
            start = time.perf_counter()
            contender.run(given)
            taken = time.perf_counter() - start
            seconds[contender.name].append(taken / given.updates.shape[1] * 1e6)
    return Timings(clients, [Timing(one.name, clients, sizes[one.slow], seconds[one.name]) for one in contenders])


def _warm_up(contenders: Sequence[Contender], clients: int, seed: int) -> None:
    """Run everybody once on a small table: compiles the kernels, builds their networks, starts the threads."""
    for contender in contenders:
        contender.run(make_input(clients, 256, ties=contender.ties, seed=seed))
