"""Where columns are computed: in this process, or wherever blocks of neighbouring parameters have been placed.

Most of what rules compute is computed parameter by parameter. A rule passes such a function to the `ColumnBlocks` of
its round, which call it on every block of the table of updates. In this process there is one block, the whole table,
and the function uses threads (`threads.py`). An engine for several machines has many blocks, on other machines.

The numbers are the same to the last bit however the table is cut: blocks begin at multiples of `BLOCK_STEP`, where also
tiles, pieces and cache blocks of all kernels begin, and what is summed over parameters is summed by whoever asked, in
the order of the parameters.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from eitr.robust.tiles import Updates

BLOCK_STEP = 4096
"""A multiple of the parameters that kernels take at a time: 16 in a tile, 512 in a mean, 4096 in a sum of scores."""


@dataclass(frozen=True, slots=True, eq=False)
class ByParameter:
    """An argument with one number per parameter, (parameters,): each block gets its own part."""

    values: NDArray[Any]


Keeping = Callable[..., tuple[Any, Any]]
"""A function of a block that returns what to tell, and what to keep beside the block."""


class Kept(Protocol):
    """What a function left beside each block, for a later function on the same blocks."""


class ColumnBlocks(Protocol):
    """A table (clients, parameters), in blocks of neighbouring parameters.

    Functions are those of a module, as other machines import them by name. They get the block first. Among the other
    arguments, `ByParameter` and `Kept` stand for the part that belongs to the block.
    """

    def run(self, function: Callable[..., Any], *arguments: Any, **settings: Any) -> list[Any]:
        """Return what a function returns for each block, in the order of the parameters."""

    def keep(self, function: Keeping, *arguments: Any, **settings: Any) -> tuple[list[Any], Kept]:
        """Call a function that returns two values: return the first ones, and leave the second where the block is."""


ColumnEngine = Callable[[Updates], ColumnBlocks]
"""Makes the blocks of a round."""


class LocalBlocks:
    """The whole table as one block, in this process."""

    def __init__(self, updates: Updates) -> None:
        self._updates = updates

    def run(self, function: Callable[..., Any], *arguments: Any, **settings: Any) -> list[Any]:
        """Call the function on the table."""
        return [function(self._updates, *_plain(arguments), **settings)]

    def keep(self, function: Keeping, *arguments: Any, **settings: Any) -> tuple[list[Any], Kept]:
        """Call the function on the table and keep its second value."""
        told, kept = function(self._updates, *_plain(arguments), **settings)
        return [told], _LocalKept(kept)


@dataclass(frozen=True, slots=True, eq=False)
class _LocalKept:
    value: Any


def _plain(arguments: Iterable[Any]) -> list[Any]:
    values = (one.value if isinstance(one, _LocalKept) else one for one in arguments)
    return [one.values if isinstance(one, ByParameter) else one for one in values]


def joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return the parts of all blocks as one array, without a copy if there is one block.

    >>> joined([np.array([1, 2]), np.array([3])]).tolist()
    [1, 2, 3]
    """
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
