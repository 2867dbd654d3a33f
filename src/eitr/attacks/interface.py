"""What every attack has: it may change what an attacker trains on, how long it trains, and what it sends.

An attack on data works on batches: which rows a batch holds and how they are labelled. Rows that an attack makes (pages
with a trigger) are appended to the table of all rows before the run, so that a poisoned sample is nothing but another
row number. Everything is torch tensors on the device of the run; nothing is changed in place.
"""

from abc import ABC
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eitr.settings import check_settings, setting

if TYPE_CHECKING:
    import torch

    from eitr.datasets.interface import Examples
    from eitr.pages.sparse import SparseRows


class Batches(NamedTuple):
    """What the attackers of one federation train on in a round."""

    rows: "torch.Tensor"
    """(clients, steps, batch) int64: rows of the table; unused places of a short batch hold any row."""
    labels: "torch.Tensor"
    """(clients, steps, batch) int64."""
    sizes: "torch.Tensor"
    """(clients, steps) int64: how many places of each batch are in use; they come first."""
    rank: "torch.Tensor"
    """(clients, steps, batch) int64 below 2^32: a seeded random word for each *page* of each client, the same in every
    round, for attacks that poison a share of the pages."""


class Probe(NamedTuple):
    """How the success of an attack is measured: the share of these rows that the model gives the target label."""

    rows: NDArray[np.int64]
    """Rows of the extended table: numbers from `len(examples.rows)` on are rows that the attack made, in order."""
    target: int


@dataclass(frozen=True, kw_only=True)
class Attack(ABC):
    """A way to poison. Settings are checked when an attack is made."""

    name: ClassVar[str]
    summary: ClassVar[str]

    extra_epochs: int = setting(5, "local epochs beyond those of honest clients", least=0, most=10_000)

    def __post_init__(self) -> None:
        check_settings(self)

    def made_rows(self, examples: "Examples") -> "SparseRows | None":
        """Return rows to append to the table: row `len(examples.rows) + i` is the poisoned twin of row `i`."""
        return None

    def poison_batches(self, batches: Batches, twins: int) -> Batches:
        """Return what the attackers train on instead; row `r` has its poisoned twin at `r + twins`."""
        return batches

    def poison_update(self, base: "torch.Tensor", mine: "torch.Tensor") -> "torch.Tensor":
        """Return what the attackers send: `base` (parameters,), `mine` (attackers, parameters) as trained."""
        return mine

    def probe(self, examples: "Examples") -> Probe | None:
        """Return how success is measured on the test pages; None where only the accuracy can tell."""
        return None
