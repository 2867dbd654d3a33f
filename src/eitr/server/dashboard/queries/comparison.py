"""Two versions of the model compared: what each makes of the validation pages, and which pages changed."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from eitr.datasets.validation import ValidationSet
from eitr.model import Network
from eitr.pages.vocabulary import Vocabulary
from eitr.server.dashboard.queries.models import VersionSummary
from eitr.server.dashboard.queries.rounds import Compared
from eitr.server.db.tables import ModelRow, VocabularyRow
from eitr.taxonomy import TOPICS

MOST_PAGES = 100
"""Pages in a list of those that changed."""
Labels = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ChangedPage:
    """A validation page that one of two versions classifies rightly."""

    title: str
    label: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ConfusionRow:
    """How many pages of a class a version puts into each class."""

    title: str
    counts: list[int]
    place: int
    """Where the right class is among the counts."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two versions make of the same pages."""

    pages: int
    accuracy: list[Compared]
    """Of all pages, then of each class that has pages."""
    before: list[ConfusionRow]
    after: list[ConfusionRow]
    worse: list[ChangedPage]
    """Right before, wrong now."""
    better: list[ChangedPage]
    """Wrong before, right now."""
    elsewhere: int
    """How many pages are wrong in both, and in another way."""


def comparison(session: Session, pages: ValidationSet, before: int, after: int) -> Comparison | None:
    """Return what two versions make of the validation pages; None if the parameters of one are no longer kept."""
    found = [_predicted(session, pages, version) for version in (before, after)]
    old, new = found
    if old is None or new is None:
        return None
    labels = pages.labels
    was_right, is_right = old == labels, new == labels
    changed = _changed(pages.titles, labels, old, new)
    return Comparison(
        pages=len(labels),
        accuracy=_accuracies(labels, was_right, is_right),
        before=_confusion(labels, old),
        after=_confusion(labels, new),
        worse=[changed[place] for place in np.flatnonzero(was_right & ~is_right)],
        better=[changed[place] for place in np.flatnonzero(~was_right & is_right)],
        elsewhere=int((~was_right & ~is_right & (old != new)).sum()),
    )


def stored(before: VersionSummary, after: VersionSummary) -> list[Compared]:
    """Return the accuracies that were noted when the two versions were published."""
    found = [Compared("All pages", before.accuracy, after.accuracy)]
    for topic in TOPICS:
        one = Compared(
            topic.title, (before.class_accuracy or {}).get(topic.name), (after.class_accuracy or {}).get(topic.name)
        )
        if one.before is not None or one.after is not None:
            found.append(one)
    return found


def _predicted(session: Session, pages: ValidationSet, version: int) -> Labels | None:
    model = session.get_one(ModelRow, version)
    if not model.weights:
        return None
    words = Vocabulary.from_json(session.get_one(VocabularyRow, model.vocabulary).content.decode())
    vector = np.frombuffer(model.weights, "<f4").astype(np.float32)
    return pages.predicted(Network(tuple(model.layers)), vector, words)


def _accuracies(labels: Labels, before: NDArray[np.bool_], after: NDArray[np.bool_]) -> list[Compared]:
    found = [Compared("All pages", float(before.mean()), float(after.mean()))]
    for place, topic in enumerate(TOPICS):
        own = labels == place
        if own.any():
            found.append(Compared(topic.title, float(before[own].mean()), float(after[own].mean())))
    return found


def _confusion(labels: Labels, predicted: Labels) -> list[ConfusionRow]:
    return [
        ConfusionRow(topic.title, np.bincount(predicted[labels == place], minlength=len(TOPICS)).tolist(), place)
        for place, topic in enumerate(TOPICS)
        if (labels == place).any()
    ]


def _changed(titles: list[str], labels: Labels, before: Labels, after: Labels) -> list[ChangedPage]:
    names = [topic.title for topic in TOPICS]
    return [
        ChangedPage(title, names[label], names[old], names[new])
        for title, label, old, new in zip(titles, labels, before, after, strict=True)
    ]
