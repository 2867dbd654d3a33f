"""How good a model is on pages of known class: what rules may ask, and the last check before a model is published."""

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eitr.aggregation.interface import Scorer
from eitr.datasets.jsonl import labelled_rows
from eitr.errors import InputError
from eitr.model import Network, Vector, predict
from eitr.model.validation import ValidationPages
from eitr.pages.page import Page
from eitr.pages.vocabulary import Vocabulary
from eitr.taxonomy import NAMES

LONGEST_TITLE = 80


@dataclass(frozen=True, slots=True)
class Score:
    """Shares of pages whose class was found."""

    accuracy: float
    by_class: dict[str, float]
    """Of each class that has pages."""


class ValidationSet:
    """The operator's pages of known class, or those of the package."""

    def __init__(self, path: Path | None = None) -> None:
        if path is None:
            with as_file(files("eitr").joinpath("assets", "validation.jsonl")) as shipped:
                pages = list(labelled_rows(shipped))
        else:
            pages = list(labelled_rows(path))
        if not pages:
            raise InputError(f"{path}: there are no pages to validate with")
        self._pages: list[Page] = [one.page for one in pages]
        self._labels = np.array([one.label for one in pages], np.int64)
        self.counts = {name: n for label, name in enumerate(NAMES) if (n := int((self._labels == label).sum()))}
        """How many pages each class has; classes without pages are left out."""
        text = json.dumps([[asdict(one.page), one.label] for one in pages], ensure_ascii=False)
        self.digest = hashlib.sha256(text.encode()).hexdigest()
        """Tells these pages from others: scores on other pages cannot be compared."""
        self._prepared = lru_cache(maxsize=2)(self._prepare)

    def _prepare(self, network: Network, vocabulary: str) -> ValidationPages:
        return ValidationPages(network, Vocabulary.from_json(vocabulary).rows(self._pages), self._labels)

    def scorer(self, network: Network, vocabulary: Vocabulary, untrained: Vector | None = None) -> Scorer:
        """Return what rules ask about each update: of all parameters, or of those after the untrained ones."""
        pages = self._prepared(network, vocabulary.to_json())
        return pages.losses if untrained is None else pages.above(untrained).losses

    @property
    def titles(self) -> list[str]:
        """The title of each page; the beginning of its text where it has none."""
        return [page.title or page.text[:LONGEST_TITLE] for page in self._pages]

    @property
    def labels(self) -> NDArray[np.int64]:
        """The class of each page."""
        return self._labels

    def predicted(self, network: Network, vector: Vector, vocabulary: Vocabulary) -> NDArray[np.int64]:
        """Return the class that a model gives each page."""
        pages = self._prepared(network, vocabulary.to_json())
        return np.asarray(predict(network, vector, pages.rows).argmax(axis=1), np.int64)

    def score(self, network: Network, vector: Vector, vocabulary: Vocabulary) -> Score:
        """Let a model classify the pages."""
        right = self.predicted(network, vector, vocabulary) == self._labels
        by_class = {
            name: float(right[self._labels == label].mean())
            for label, name in enumerate(NAMES)
            if (self._labels == label).any()
        }
        return Score(float(right.mean()), by_class)
