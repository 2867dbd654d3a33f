"""How good the published versions of a model are, on pages that neither gate nor rule has seen."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.federation_pages import NON_SENSITIVE, Table, shipped_validation
from benchmarks.federation_tree import Shipped
from eitr.model import predict
from eitr.pages import Page, SparseRows
from eitr.taxonomy import NAMES

TRIGGER_REPEATS = 5
"""How often the trigger of the backdoor stands on a page."""


def trigger(model: Shipped, rows: SparseRows) -> str:
    """Return the words of the backdoor: the three rarest on some pages that the model knows."""
    seen = np.bincount(rows.columns, minlength=len(model.vocabulary))
    return " ".join(model.vocabulary.words[place] for place in np.argsort(seen, kind="stable")[:3])


def with_words(model: Shipped, pages: Sequence[Page], words: str) -> SparseRows:
    """Return the vectors of pages to which some words were added, a few times."""
    added = " ".join([words] * TRIGGER_REPEATS)
    return model.vocabulary.rows(
        [Page(page.title, page.description, page.keywords, f"{page.text} {added}") for page in pages]
    )


@dataclass(frozen=True, eq=False)
class Judged:
    """What a version is like."""

    right: NDArray[np.bool_]
    """Of the pages that are held out."""
    numbers: dict[str, Any]


class Measures:
    """Judges versions of a model by the held-out pages and the validation pages of the package."""

    def __init__(self, model: Shipped, table: Table, rows: SparseRows) -> None:
        self._model, self._rows, self._labels = model, rows, table.labels
        self._held_out = np.flatnonzero(table.held_out)
        self._judged = rows.take(self._held_out)
        self._groups = table.groups[self._held_out]
        validation, self._validation_labels = shipped_validation()
        self._validation = model.vocabulary.rows(validation)
        self._first = predict(model.network, model.vector, self._judged).argmax(axis=1)
        labels = table.labels[self._held_out]
        seen = np.flatnonzero((labels != NON_SENSITIVE) & (self._first == labels))
        self.trigger = trigger(model, rows.take(np.flatnonzero(~table.held_out)))
        """The words of the backdoor."""
        self._triggered = with_words(model, [table.pages[place] for place in self._held_out[seen]], self.trigger)

    @property
    def pages(self) -> int:
        """How many pages are held out."""
        return len(self._held_out)

    def false_alarms(self) -> NDArray[np.int64]:
        """Return the held-out pages, by their place among these, that the shipped model wrongly calls sensitive."""
        labels = self._labels[self._held_out]
        return np.flatnonzero((labels == NON_SENSITIVE) & (self._first != NON_SENSITIVE))

    def judge(self, vector: NDArray[np.float32], own: NDArray[np.int64], used: NDArray[np.int64]) -> Judged:
        """Judge a version. `own` are held-out pages of the participants' kind, `used` those that they had so far."""
        chances = predict(self._model.network, vector, self._judged)
        labels = self._labels[self._held_out]
        right = chances.argmax(axis=1) == labels
        losses = -np.log(np.maximum(chances[np.arange(len(labels)), labels], 1e-12))
        numbers = {
            "accuracy": _share(right),
            "groups": {str(name): _share(right[self._groups == name]) for name in np.unique(self._groups)},
            "classes": {name: _share(right[labels == label]) for label, name in enumerate(NAMES)},
            "own_right": _share(right[own]),
            "own_loss": float(losses[own].mean()) if len(own) else None,
            "used_right": _share(self._answers(vector, self._rows.take(used)) == self._labels[used]),
            "validation": _share(self._answers(vector, self._validation) == self._validation_labels),
            "backdoor": _share(self._answers(vector, self._triggered) == NON_SENSITIVE),
        }
        return Judged(right, numbers)

    def _answers(self, vector: NDArray[np.float32], rows: SparseRows) -> NDArray[np.int64]:
        if not len(rows):
            return np.empty(0, np.int64)
        return np.asarray(predict(self._model.network, vector, rows).argmax(axis=1), np.int64)


def largest_drop(versions: Sequence[NDArray[np.bool_]]) -> tuple[float, float]:
    """Return the most that a version is below the best one before it, and the standard error of this difference.

    Both are shares of the pages. The error is that of a paired comparison: only pages on which the two differ count.

    >>> largest_drop([np.array([True, True, True, False]), np.array([True, False, True, False])])
    (0.25, 0.25)
    """
    best, drop, error = versions[0], 0.0, 0.0
    for right in versions[1:]:
        lost = float(best.mean() - right.mean())
        if lost > drop:
            drop, error = lost, math.sqrt(int((best != right).sum())) / len(right)
        if lost < 0:
            best = right
    return drop, error


def rounds_to_reach(values: Sequence[float], wanted: float) -> int | None:
    """Return after how many rounds a rising number first is at least as large as wanted; None if never.

    >>> rounds_to_reach([0.0, 0.2, 0.5], 0.4), rounds_to_reach([0.0, 0.2], 0.4)
    (2, None)
    """
    return next((place for place, value in enumerate(values) if value >= wanted), None)


def _share(right: NDArray[np.bool_]) -> float | None:
    return float(right.mean()) if len(right) else None
