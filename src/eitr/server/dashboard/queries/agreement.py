"""What the raters of a study agree on."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from eitr.errors import InputError
from eitr.server.domain.study.pages_list import StudyPage
from eitr.statistics.agreement import (
    NOT_AGREED,
    PairAgreement,
    agreed_labels,
    fleiss_kappa,
    kappa_interval,
    pairwise_agreement,
)
from eitr.taxonomy import NAMES

LEAST_AGREEMENT = 0.5
"""The share of pairs of raters that must agree on a page whose class counts as agreed."""


@dataclass(frozen=True, slots=True)
class Kappa:
    """Fleiss' kappa with an interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class RatedPage:
    """A page and how it was rated."""

    id: int
    url: str
    counts: dict[str, int]
    """How many raters chose each class, those that somebody chose."""
    agreed: str | None
    decided: str | None
    """What somebody decided where raters disagree, or did before they agreed."""

    @property
    def label(self) -> str | None:
        """The class that counts: a decision does only as long as raters disagree."""
        return self.agreed or self.decided


@dataclass(frozen=True, slots=True)
class Agreement:
    """All of it."""

    kappa: Kappa | None
    """None if no page has two ratings, or all ratings name one class."""
    pairs: list[PairAgreement]
    """Of raters who have rated a page both."""
    pages: list[RatedPage]
    """Those with at least two ratings."""

    @property
    def disputed(self) -> list[RatedPage]:
        """The pages that raters do not agree on, those that nobody decided about first."""
        return sorted((one for one in self.pages if one.agreed is None), key=lambda one: one.decided is not None)

    @property
    def labels(self) -> dict[int, str]:
        """The agreed set: the class by page."""
        return {one.id: one.label for one in self.pages if one.label is not None}


def agreement(
    pages: list[StudyPage], ratings: Mapping[str, Mapping[int, str]], decisions: Mapping[int, str]
) -> Agreement:
    """Return how far raters agree."""
    chosen = {page.id: [labels[page.id] for labels in ratings.values() if page.id in labels] for page in pages}
    rated = [page for page in pages if len(chosen[page.id]) >= 2]
    counts = np.array([[chosen[page.id].count(name) for name in NAMES] for page in rated]).reshape(-1, len(NAMES))
    agreed = agreed_labels(counts, LEAST_AGREEMENT) if rated else np.empty(0, int)
    found = [
        RatedPage(
            page.id,
            page.url,
            {name: chosen[page.id].count(name) for name in NAMES if name in chosen[page.id]},
            None if label == NOT_AGREED else NAMES[label],
            decisions.get(page.id),
        )
        for page, label in zip(rated, agreed, strict=True)
    ]
    pairs = [pair for pair in pairwise_agreement(ratings) if pair.pages]
    return Agreement(_kappa(counts), pairs, found)


def _kappa(counts: np.ndarray) -> Kappa | None:
    try:
        found = Kappa(fleiss_kappa(counts), *kappa_interval(counts))
    except InputError:
        return None
    return None if math.isnan(found.value) else found
