"""The yardstick: what a person would see on pages of sources that the model was not trained on.

A topic is shown, a page called not sensitive, or neither, by the rule of `eitr.model.answer`; the model of version 0.1
had two answers only. Every number is a mean over sources, so that a large source does not hide the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eitr.initial.corpus import Labelled
from eitr.initial.sources import SOURCES, UNLABELLED, Kind
from eitr.model.answer import answer, least_threshold
from eitr.taxonomy import NAMES, NON_SENSITIVE

THRESHOLDS = (
    0.3,
    0.35,
    0.4,
    0.45,
    0.5,
    0.55,
    0.6,
    0.65,
    0.7,
    0.75,
    0.8,
    0.85,
    0.9,
    0.925,
    0.95,
    0.97,
    0.98,
    0.99,
    0.995,
)
CONFIDENCES = (0.9, 0.95, 0.99)
FEWEST = 10
"""A source counts for a number if it has at least so many pages to measure it by."""
LENGTHS: tuple[tuple[str, int, float], ...] = (
    ("headline", 0, 15),
    ("below 50 words", 15, 50),
    ("below 300 words", 50, 300),
    ("300 words and more", 300, np.inf),
)
"""By the number of tokens, which do not include stop words."""
ENGLISH = "en"
LEAST_RECALL = 0.8
LEAST_RECALL_OF_A_TOPIC = 0.7
MOST_FALSE_ALARMS = {Kind.ORDINARY: 0.02, Kind.DIFFICULT: 0.12}
MOST_FALSE_ALARMS_IN_OTHER_LANGUAGES = 0.08
LEAST_RIGHT = 0.98
"""The goals. The last one is for classes that are given with more than the highest of `CONFIDENCES`."""

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Verdicts:
    """What a model said about labelled pages; one entry per page in every array."""

    probabilities: NDArray[np.float32]
    """Shape (pages, classes)."""
    labels: NDArray[np.int64]
    sources: NDArray[np.str_]
    languages: NDArray[np.str_]
    lengths: NDArray[np.int64]
    least: NDArray[np.float64]
    """The lowest threshold that may be chosen for the page; infinity where no topic may be shown."""
    harmless: Mask
    """Whether the page is called not sensitive if no topic is shown; otherwise the model cannot tell."""

    @classmethod
    def of(
        cls, probabilities: NDArray[np.float32], pages: Sequence[Labelled], known: Sequence[int] | None = None
    ) -> "Verdicts":
        """Put the probabilities beside what is known about the pages.

        `known` is the number of words of each page that the model knows; without it the model has two answers only.
        """
        least = np.zeros(len(pages))
        harmless = np.ones(len(pages), np.bool_)
        for place, count in enumerate(known or ()):
            language = pages[place].read_language
            least[place] = least_threshold(language, count)
            harmless[place] = answer(probabilities[place].tolist(), language, count).topic == NON_SENSITIVE
        return cls(
            probabilities,
            np.array([page.label for page in pages], np.int64),
            np.array([page.source for page in pages]),
            np.array([page.language for page in pages]),
            np.array([len(page.words) for page in pages], np.int64),
            least,
            harmless,
        )

    @classmethod
    def joined(cls, parts: Sequence["Verdicts"]) -> "Verdicts":
        """Return the verdicts of several parts as one."""
        columns = [column.name for column in fields(cls)]
        return cls(*(np.concatenate([getattr(part, column) for part in parts]) for column in columns))

    def where(self, mask: Mask) -> "Verdicts":
        """Return the verdicts on some of the pages."""
        return Verdicts(*(getattr(self, column.name)[mask] for column in fields(self)))

    @property
    def labelled(self) -> "Verdicts":
        """Those on pages whose class somebody has checked."""
        return self.where(self.sources != UNLABELLED)

    def shown(self, threshold: float) -> NDArray[np.int64]:
        """Return the class that the badge shows; "not sensitive" stands for no badge.

        >>> probabilities = np.array([[0.7, 0.3, 0, 0, 0, 0], [0.4, 0.3, 0, 0, 0, 0.3]], np.float32)
        >>> Verdicts.of(probabilities, [Labelled((), 0, "", "")] * 2).shown(0.6).tolist()
        [0, 5]
        """
        sure = self.probabilities.max(axis=1) >= np.maximum(threshold, self.least)
        return np.where(sure, self.probabilities.argmax(axis=1), NON_SENSITIVE)


def measure(verdicts: Verdicts, threshold: float) -> dict[str, Any]:
    """Return all numbers, for a JSON file."""
    labelled = verdicts.labelled
    english = labelled.where(labelled.languages == ENGLISH)
    other = labelled.where(labelled.languages != ENGLISH)
    unlabelled = verdicts.where(verdicts.sources == UNLABELLED)
    return {
        "threshold": threshold,
        "pages": len(verdicts.labels),
        "english": headline_numbers(english, threshold),
        "other_languages": headline_numbers(other, threshold, fewest=1),
        "by_source": _by_source(english, threshold),
        "by_language": {
            str(language): headline_numbers(labelled.where(labelled.languages == language), threshold, fewest=1)
            for language in np.unique(labelled.languages)
        },
        "by_length": {
            name: headline_numbers(english.where((low <= english.lengths) & (english.lengths < high)), threshold)
            for name, low, high in LENGTHS
        },
        "unlabelled_letters": {
            str(language): _share(unlabelled.where(unlabelled.languages == language).shown(threshold) != NON_SENSITIVE)
            for language in np.unique(unlabelled.languages)
        },
        "lowest_threshold": (lowest := lowest_threshold(english)),
        "at_lowest_threshold": None if lowest is None else headline_numbers(english, lowest),
        "curve": [{"threshold": at} | headline_numbers(english, at) for at in THRESHOLDS],
        "calibration": calibration(english),
    }


def headline_numbers(verdicts: Verdicts, threshold: float, fewest: int = FEWEST) -> dict[str, Any]:
    """Return recall by topic and false alarms by kind of source, each the mean over sources."""
    shown = verdicts.shown(threshold)
    recall = {
        name: _mean_over_sources(verdicts, verdicts.labels == label, shown == label, fewest)
        for label, name in enumerate(NAMES)
        if label != NON_SENSITIVE
    }
    harmless = verdicts.labels == NON_SENSITIVE
    alarms = {
        str(kind): _mean_over_sources(verdicts, harmless & _of_kind(verdicts, kind), shown != NON_SENSITIVE, fewest)
        for kind in Kind
    }
    alarms["all"] = _mean_over_sources(verdicts, harmless, shown != NON_SENSITIVE, fewest)
    measured = [share for share in recall.values() if share is not None]
    return {
        "recall": recall,
        "mean_recall": float(np.mean(measured)) if measured else None,
        "false_alarms": alarms,
        "called_harmless": _mean_over_sources(
            verdicts, ~harmless, (shown == NON_SENSITIVE) & verdicts.harmless, fewest
        ),
    }


def lowest_threshold(verdicts: Verdicts) -> float | None:
    """Return the lowest threshold with no more false alarms than the goals allow; None if there is none below 1."""
    for threshold in np.arange(0.3, 0.996, 0.005):
        alarms = headline_numbers(verdicts, float(threshold))["false_alarms"]
        if all((alarms[kind] or 0) <= most for kind, most in MOST_FALSE_ALARMS.items()):
            return round(float(threshold), 3)
    return None


def calibration(verdicts: Verdicts) -> dict[str, Any]:
    """Return how often a class given with high confidence is right, and the reliability of all confidences.

    "shown" are the sensitive topics alone: what a person sees.
    """
    guess = verdicts.probabilities.argmax(axis=1)
    confidence = verdicts.probabilities.max(axis=1)
    right = guess == verdicts.labels
    sensitive = guess != NON_SENSITIVE
    bins = np.minimum((confidence * 10).astype(int), 9)
    return {
        "right_above": {
            str(least): {
                "all": _mean_over_sources(verdicts, confidence > least, right, FEWEST),
                "shown": _mean_over_sources(verdicts, (confidence > least) & sensitive, right, FEWEST),
                "pages": int((confidence > least).sum()),
                "right_of_pages": _share(right[confidence > least]),
                "right_of_shown_pages": _share(right[(confidence > least) & sensitive]),
            }
            for least in CONFIDENCES
        },
        "reliability": [
            {
                "confidence": float(confidence[bins == place].mean()),
                "right": float(right[bins == place].mean()),
                "pages": int((bins == place).sum()),
            }
            for place in np.unique(bins)
        ],
    }


def _by_source(verdicts: Verdicts, threshold: float) -> dict[str, dict[str, Any]]:
    """Return for each source its kind, its pages, and how often its pages get the right badge or a wrong one."""
    found: dict[str, dict[str, Any]] = {}
    for source in np.unique(verdicts.sources):
        here = verdicts.where(verdicts.sources == source)
        shown = here.shown(threshold)
        found[str(source)] = {
            "kind": str(SOURCES[str(source)].kind),
            "pages": len(here.labels),
            "false_alarms": _share(shown[here.labels == NON_SENSITIVE] != NON_SENSITIVE),
            "recall": {
                name: float((shown[here.labels == label] == label).mean())
                for label, name in enumerate(NAMES)
                if label != NON_SENSITIVE and (here.labels == label).any()
            },
        }
    return found


def _of_kind(verdicts: Verdicts, kind: Kind) -> Mask:
    return np.isin(verdicts.sources, [name for name, source in SOURCES.items() if source.kind == kind])


def _mean_over_sources(verdicts: Verdicts, counted: Mask, hit: Mask, fewest: int) -> float | None:
    """Return the mean over sources of the share of counted pages that are hits; None if no source has enough."""
    shares = [
        float(hit[here].mean())
        for source in np.unique(verdicts.sources)
        if (here := counted & (verdicts.sources == source)).sum() >= fewest
    ]
    return float(np.mean(shares)) if shares else None


def _share(hits: Mask) -> float | None:
    return float(hits.mean()) if len(hits) else None
