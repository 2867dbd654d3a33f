"""How much is done at a time: blocks of runs and columns whose temporaries fit into a byte budget."""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

_BUDGET = {"cpu": 128 << 20, "cuda": 1 << 30}


class Block(NamedTuple):
    """Runs and columns (parameters) to be worked on together."""

    runs: slice
    columns: slice


def budget(device: torch.device) -> int:
    """Return how many bytes the temporaries of one block may take."""
    return _BUDGET.get(device.type, _BUDGET["cpu"])


def blocks(runs: int, columns: int, bytes_a_column: int, device: torch.device) -> Iterator[Block]:
    """Cover all runs and columns: whole runs together while they fit, else one run in pieces.

    >>> list(blocks(1, 5, 1 << 26, torch.device("cpu")))[0].columns
    slice(0, 2, None)
    """
    fitting = max(1, budget(device) // bytes_a_column)
    if fitting >= columns:
        step = fitting // columns
        for first in range(0, runs, step):
            yield Block(slice(first, min(first + step, runs)), slice(0, columns))
        return
    even = -(-columns // -(-columns // fitting))  # pieces of one size: a small last one would leave a device idle
    for run in range(runs):
        for first in range(0, columns, even):
            yield Block(slice(run, run + 1), slice(first, min(first + even, columns)))


def from_start(values: Tensor, start: Tensor, block: Block) -> Tensor:
    """Return the values of a block, (runs, rows, columns), with 0 for parameters before each run's `start` (runs,)."""
    if not start.any():
        return values
    columns = torch.arange(block.columns.start, block.columns.stop, device=values.device)
    return values * (columns >= start[block.runs, None])[:, None]


def run_groups(runs: int, bytes_a_run: int, device: torch.device) -> Iterator[slice]:
    """Split the runs into groups whose lasting temporaries fit into the budget; at least one run each."""
    step = max(1, budget(device) // max(1, bytes_a_run))
    for first in range(0, runs, step):
        yield slice(first, min(first + step, runs))
