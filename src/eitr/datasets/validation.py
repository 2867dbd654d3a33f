"""How good a model is on pages of known class: what rules may ask, and the last check before a model is published."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eitr.aggregation.interface import Scorer
from eitr.datasets.jsonl import labelled_rows
from eitr.errors import InputError
from eitr.model import Network, Vector
from eitr.model.validation import ValidationPages
from eitr.pages.page import Page
from eitr.pages.vocabulary import Vocabulary
from eitr.taxonomy import NAMES

LONGEST_TITLE = 80
Right = NDArray[np.bool_]
"""Of each validation page, whether a model finds its class."""
SPLIT = b"eitr validation pages, split 98"
"""What the hash that halves the pages begins with: one of those with which the package's pages are halved evenly in
every class."""


@dataclass(frozen=True, slots=True)
class Score:
    """Shares of pages whose class was found."""

    accuracy: float
    by_class: dict[str, float]
    """Of each class that has pages."""


class ValidationSet:
    """The operator's pages of known class, or those of the package.

    A hash of each page decides whether a server's rule sees it. By the others it is told whether updates were accepted
    that help on the first half alone. Pages that are added leave the halves of the others as they are.
    """

    def __init__(self, path: Path | None = None) -> None:
        if path is None:
            with as_file(files("eitr").joinpath("assets", "validation.jsonl")) as shipped:
                pages = list(labelled_rows(shipped))
        else:
            pages = list(labelled_rows(path))
        if not pages:
            raise InputError(f"{path}: there are no pages to validate with")
        self._pages: list[Page] = [one.page for one in pages]
        self.labels = np.array([one.label for one in pages], np.int64)
        """The index of each page's class."""
        self.shown = np.array([_shown(one.page) for one in pages])
        """Whether a server's rule sees the page; the gate alone judges by the others."""
        if self.shown.all() or not self.shown.any():  # so few pages that one half is empty
            self.shown[:] = True
        self.counts = {name: n for label, name in enumerate(NAMES) if (n := int((self.labels == label).sum()))}
        """How many pages each class has; classes without pages are left out."""
        text = json.dumps([[asdict(one.page), one.label] for one in pages], ensure_ascii=False)
        self.digest = hashlib.sha256(text.encode()).hexdigest()
        """Tells these pages from others: scores on other pages cannot be compared."""
        self._prepared = lru_cache(maxsize=2)(self._prepare)

    def _prepare(self, network: Network, vocabulary: str) -> ValidationPages:
        return ValidationPages(network, Vocabulary.from_json(vocabulary).rows(self._pages), self.labels)

    def scorer(self, network: Network, vocabulary: Vocabulary) -> Scorer:
        """Return what rules ask about each update."""
        return self._prepared(network, vocabulary.to_json()).losses

    @property
    def titles(self) -> list[str]:
        """The title of each page; the beginning of its text where it has none."""
        return [page.title or page.text[:LONGEST_TITLE] for page in self._pages]

    def predicted(self, network: Network, vector: Vector, vocabulary: Vocabulary) -> NDArray[np.int64]:
        """Return the class that a model gives each page."""
        return self._answers(network, vocabulary)(vector)

    def _answers(self, network: Network, vocabulary: Vocabulary) -> Callable[[Vector], NDArray[np.int64]]:
        pages = self._prepared(network, vocabulary.to_json())
        every = np.arange(len(self.labels), dtype=np.int64)
        return lambda vector: np.asarray(pages.logits(vector, every).argmax(axis=1), np.int64)

    def shown_pages(self, network: Network, vocabulary: Vocabulary) -> ValidationPages:
        """Return the pages that a server's rule sees."""
        pages = self._prepared(network, vocabulary.to_json())
        return ValidationPages(network, pages.rows.take(np.flatnonzero(self.shown)), self.labels[self.shown])

    def grader(self, network: Network, vocabulary: Vocabulary) -> Callable[[Vector], Right]:
        """Return a function that lets a model classify the pages, and returns which ones it gets right."""
        answers = self._answers(network, vocabulary)
        return lambda vector: np.asarray(answers(vector) == self.labels)

    def score(self, network: Network, vector: Vector, vocabulary: Vocabulary) -> Score:
        """Let a model classify the pages, and return the shares that it gets right."""
        return self.shares(self.grader(network, vocabulary)(vector))

    def shares(self, right: Right) -> Score:
        """Return the shares of pages that a model gets right."""
        by_class = {name: float(right[self.labels == NAMES.index(name)].mean()) for name in self.counts}
        return Score(float(right.mean()), by_class)


def _shown(page: Page) -> bool:
    return hashlib.sha256(SPLIT + page.content().encode()).digest()[0] % 2 == 0
