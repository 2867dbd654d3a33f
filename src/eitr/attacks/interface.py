"""What every attack has: it may change what an attacker trains on, how long it trains, what it sends, and who it is.

An attack on data works on batches: which rows a batch holds and how they are labelled. Rows that an attack makes (pages
with a trigger) are appended to the table of all rows before the run, so that a poisoned sample is nothing but another
row number. An attack on the model works on a scene: what the attackers trained and what everybody else will send, for
the worst attacker knows it all. Everything is torch tensors on the device of the run; nothing is changed in place.
"""

from abc import ABC
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eitr import plugins
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


class Twins(NamedTuple):
    """Where the rows lie that an attack made: blocks as long as the pages, one after the other."""

    first: int
    """Where the first block begins; 0 for attacks that make no rows."""
    pages: int
    """How many rows a block has."""

    def of(self, rows: "torch.Tensor", block: "int | torch.Tensor" = 0) -> "torch.Tensor":
        """Return the twins of some pages in a block, or in the block that a tensor, broadcast, names for each."""
        return rows + (self.first + block * self.pages)


class Rehearsal(NamedTuple):
    """What the rule would make of a round."""

    model: "torch.Tensor"
    """(parameters,)."""
    reputation: NDArray[np.float64]
    """(clients,): attackers first, then the others; weights, for rules without a reputation."""


class Scene(NamedTuple):
    """What attackers know when they write what they send."""

    base: "torch.Tensor"
    """(parameters,): the global model of the round."""
    mine: "torch.Tensor"
    """(attackers, parameters): what each attacker trained, on poisoned data if the attack poisons it."""
    others: "torch.Tensor"
    """(others, parameters): what the honest clients will send."""
    previous: "torch.Tensor | None" = None
    """(parameters,): the global model of the round before; there is none in the first."""
    round: int = 1
    seed: int = 0
    """Of the attackers: the same in every round of a run."""
    rehearse: Callable[["torch.Tensor"], Rehearsal] | None = None
    """Given what the attackers would send, what the server's rule would make of it: for attackers that know the rule,
    its settings and its memory. Only the engine for processors has it."""
    harm: Callable[["torch.Tensor"], float] | None = None
    """The loss of a model (parameters,) on the attackers' own pages with their true labels; with `rehearse`."""


class Probe(NamedTuple):
    """How the success of an attack is measured: the share of these rows that the model gives the target label."""

    rows: NDArray[np.int64]
    """Rows of the extended table: numbers from `len(examples.rows)` on are rows that the attack made, in order."""
    target: int


@dataclass(frozen=True, kw_only=True)
class Attack(ABC):
    """A way to poison. Settings are checked when an attack is made."""

    plugin_group: ClassVar[str] = plugins.ATTACKS
    name: ClassVar[str]
    summary: ClassVar[str]
    needs_rehearsal: ClassVar[bool] = False
    """Whether `craft` needs `Scene.rehearse` and `Scene.harm`, which only the engine for processors has."""

    extra_epochs: int = setting(5, "local epochs beyond those of honest clients", least=0, most=10_000)

    def __post_init__(self) -> None:
        check_settings(self)

    def active(self, round: int) -> bool:
        """Say whether the attackers attack in a round that the run's schedule gives them; rounds count from 1."""
        return True

    def renews(self, round: int) -> bool:
        """Say whether the attackers come to a round as new clients, of whom nothing is known."""
        return False

    def made_rows(self, examples: "Examples") -> "SparseRows | None":
        """Return rows to append to the table: row `k * len(examples.rows) + i` is twin `k` of row `i`."""
        return None

    def poison_batches(self, batches: Batches, twins: Twins) -> Batches:
        """Return what the attackers train on instead; `twins.of(rows)` are the rows that the attack made of some."""
        return batches

    def craft(self, scene: Scene) -> "torch.Tensor":
        """Return what the attackers send, (attackers, parameters)."""
        return scene.mine

    @property
    def crafts(self) -> bool:
        """Whether the attackers send anything but what they trained."""
        return type(self).craft is not Attack.craft

    def probe(self, examples: "Examples") -> Probe | None:
        """Return how success is measured on the test pages; None where only the accuracy can tell."""
        return None
