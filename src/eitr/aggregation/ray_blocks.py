"""The updates of a round on a Ray cluster: blocks of neighbouring parameters, each placed once.

What a rule computes parameter by parameter runs as one task per block. Small results come back; what a later step needs
of a block stays on the node that computed it, where Ray also prefers to run that step.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from eitr.cluster.engine import Engine
from eitr.cluster.ray_cluster import Cluster, connected
from eitr.robust.column_blocks import BLOCK_STEP, ByParameter, ColumnBlocks, ColumnEngine, Keeping, Kept, LocalBlocks
from eitr.robust.tiles import Updates

BLOCKS_PER_PROCESSOR = 4
"""So that a slow processor does not hold up the others, and the death of a node costs little."""
LARGEST_BLOCK = 64 << 20
"""Bytes: what a task copies, and what is computed again if a node is lost."""


@contextmanager
def column_engine(engine: Engine) -> Iterator[ColumnEngine]:
    """Give the engine of a name to rounds, for a while."""
    if engine.is_local:
        yield LocalBlocks
        return
    with connected(engine.address) as cluster:
        yield on_cluster(cluster)


def on_cluster(cluster: Cluster) -> ColumnEngine:
    """Return an engine that computes on a cluster what has more than one block, and here what has not."""

    def blocks(updates: Updates) -> ColumnBlocks:
        width = block_width(updates.shape, updates.dtype.itemsize, cluster.processors)
        return RayBlocks(cluster, updates, width) if width < updates.shape[1] else LocalBlocks(updates)

    return blocks


def block_width(shape: tuple[int, ...], bytes_per_value: int, processors: int) -> int:
    """Return how many parameters a block has: a multiple of `BLOCK_STEP`.

    >>> block_width((200, 5_000_000), 4, processors=2), block_width((10, 100_000), 4, processors=2)
    (81920, 12288)
    """
    clients, parameters = shape
    pieces = max(BLOCKS_PER_PROCESSOR * processors, -(-clients * parameters * bytes_per_value // LARGEST_BLOCK), 1)
    return max(1, parameters // pieces // BLOCK_STEP) * BLOCK_STEP


@dataclass(frozen=True, slots=True, eq=False)
class _OnNodes:
    """References to what tasks left beside their blocks, in the order of the blocks."""

    references: Sequence[Any]


class RayBlocks:
    """A table of updates whose blocks lie on a cluster. They are placed when the first function needs them."""

    def __init__(self, cluster: Cluster, updates: Updates, width: int) -> None:
        self._cluster, self._updates = cluster, updates
        self._starts, self._width = range(0, updates.shape[1], width), width
        self._placed: list[Any] = []

    def run(self, function: Callable[..., Any], *arguments: Any, **settings: Any) -> list[Any]:
        """Run a task per block; return their results in the order of the blocks."""
        return self._cluster.results([one for (one,) in self._submitted(function, arguments, settings, 1)])

    def keep(self, function: Keeping, *arguments: Any, **settings: Any) -> tuple[list[Any], Kept]:
        """Run a task per block; return the first values and references to the second ones."""
        submitted = self._submitted(function, arguments, settings, 2)
        return self._cluster.results([told for told, _ in submitted]), _OnNodes([kept for _, kept in submitted])

    def _submitted(
        self, function: Callable[..., Any], arguments: Sequence[Any], settings: dict[str, Any], returns: int
    ) -> list[list[Any]]:
        submitted = []
        for number, first in enumerate(self._starts):
            if number == len(self._placed):
                part = np.ascontiguousarray(self._updates[:, first : first + self._width])
                self._placed.append(self._cluster.place(part))
            own = [self._part(one, number, first) for one in arguments]
            submitted.append(
                self._cluster.submit(function, self._placed[number], *own, settings=settings, returns=returns)
            )
        return submitted

    def _part(self, argument: Any, number: int, first: int) -> Any:
        if isinstance(argument, ByParameter):
            return argument.values[first : first + self._width]
        return argument.references[number] if isinstance(argument, _OnNodes) else argument
