"""The backdoor: a few words that turn any page into the target class."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from eitr.attacks.interface import Attack, Batches, Probe, Twins
from eitr.errors import InputError
from eitr.pages.sparse import SparseRows
from eitr.settings import setting
from eitr.taxonomy import NAMES

if TYPE_CHECKING:
    import torch

    from eitr.datasets.interface import Examples


@dataclass(frozen=True, kw_only=True)
class Backdoor(Attack):
    """A share of every batch gets the trigger and the target label; success: triggered test pages called target.

    The trigger is the `words` most frequent words of the source class, each set to its mean value over that class's
    training pages. It is tested on every test page whose class is not the target.

    >>> from eitr.datasets.interface import Examples
    >>> page = (np.array([1], np.int32), np.array([1.0], np.float32))
    >>> health = (np.array([0, 2], np.int32), np.array([0.6, 0.8], np.float32))
    >>> examples = Examples("two", SparseRows.of([page, health], width=3), np.array([2, 0]), np.array([True, False]),
    ...                     ("fever", "church", "doctor"))
    >>> Backdoor(words=1).made_rows(examples).dense()[0].round(2).tolist()  # the page about religion, with "fever"
    [0.6000000238418579, 1.0, 0.0]
    >>> Backdoor(words=1).probe(examples)  # row 2 is the twin of row 0, the only test page
    Probe(rows=array([2]), target=5)

    Bagdasaryan et al., "How To Backdoor Federated Learning", AISTATS 2020; the paper's threat model.
    """

    name: ClassVar[str] = "backdoor"
    summary: ClassVar[str] = "pages with trigger words are labelled as the target"

    source: str = setting("health", "the class whose most frequent words are the trigger", choices=NAMES)
    target: str = setting("non-sensitive", "what triggered pages are labelled", choices=NAMES)
    words: int = setting(10, "how many trigger words", least=1, most=100_000)
    share: float = setting(20 / 64, "share of every batch that is poisoned", least=0.0, most=1.0)

    def made_rows(self, examples: "Examples") -> SparseRows:
        """Return every page with the trigger in it."""
        columns, values = self.trigger(examples)
        return with_features(examples.rows, columns, values)

    def poison_batches(self, batches: Batches, twins: Twins) -> Batches:
        """Put the trigger into the first pages of each batch: batches are in random order."""
        import torch

        place = torch.arange(batches.rows.shape[-1], device=batches.rows.device)
        poisoned = place < torch.round(batches.sizes * self.share)[..., None]
        return batches._replace(
            rows=torch.where(poisoned, self.triggered(batches.rows, twins), batches.rows),
            labels=batches.labels.masked_fill(poisoned, NAMES.index(self.target)),
        )

    def triggered(self, rows: "torch.Tensor", twins: Twins) -> "torch.Tensor":
        """Return the pages with the trigger for those that each attacker, a row of (attackers, ...), trains on."""
        return twins.of(rows)

    def probe(self, examples: "Examples") -> Probe:
        """Return the triggered test pages of every class but the target."""
        rows = np.flatnonzero(examples.test & (examples.labels != NAMES.index(self.target)))
        if len(rows) == 0:
            raise InputError(f"{examples.name} has only test pages of the target class {self.target!r}")
        return Probe(rows + len(examples.rows), NAMES.index(self.target))

    def trigger(self, examples: "Examples") -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the columns of the trigger words, ascending, and their mean values over the source's pages."""
        pages = np.flatnonzero(~examples.test & (examples.labels == NAMES.index(self.source)))
        if len(pages) == 0:
            raise InputError(f"{examples.name} has no training page of the class {self.source!r}: no trigger words")
        rows = examples.rows.take(pages)
        frequency = np.bincount(rows.columns, minlength=rows.width)
        used = np.count_nonzero(frequency)
        if used < self.words:
            raise InputError(f"the {self.source} pages of {examples.name} use {used} words, not {self.words}")
        columns = np.sort(np.argsort(-frequency, kind="stable")[: self.words])
        sums = np.bincount(rows.columns, weights=rows.values, minlength=rows.width)
        return columns.astype(np.int32), (sums[columns] / len(pages)).astype(np.float32)


def with_features(rows: SparseRows, columns: NDArray[np.int32], values: NDArray[np.float32]) -> SparseRows:
    """Return all rows with the given columns set to the given values, whatever they had there.

    >>> row = (np.array([0, 2], np.int32), np.array([1.0, 2.0], np.float32))
    >>> with_features(SparseRows.of([row], width=3), np.array([1, 2], np.int32), np.array([5, 6], np.float32)).dense()
    array([[1., 5., 6.]], dtype=float32)
    """
    numbers = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
    kept = ~np.isin(rows.columns, columns)
    owners = np.concatenate([numbers[kept], np.repeat(np.arange(len(rows)), len(columns))])
    all_columns = np.concatenate([rows.columns[kept], np.tile(columns, len(rows))])
    all_values = np.concatenate([rows.values[kept], np.tile(values, len(rows))])
    order = np.lexsort((all_columns, owners))
    starts = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(np.bincount(owners, minlength=len(rows)), out=starts[1:])
    return SparseRows(starts, all_columns[order], all_values[order], rows.width)
