"""What simulated people say about pages: `eitr.lab.runs.study` explains the model of error and where its numbers come
from.

A label depends on the seed, the person and the page alone: not on who else takes part, nor on the order of the pages.
Whether a page is clearly sensitive is a property of the page: all who find it doubtful find the same pages doubtful.
"""

from collections.abc import Sequence
from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eitr.lab.runs.study import KINDS, MALICIOUS, PersonKind, StudyRun
from eitr.model.random import LARGEST, key_of, permutation
from eitr.taxonomy import NAMES, NON_SENSITIVE

TOPIC = NAMES.index("health")
"""What a page that is not sensitive is called by those who find it so: the studies are about a disease."""


class Stream(IntEnum):
    """What random words are drawn for, apart from the streams of federations."""

    KIND = 31
    MALICIOUS = 32
    NOTION = 33
    CLARITY = 34
    LABEL = 35


def kinds_of(run: StudyRun) -> list[PersonKind]:
    """Return the kind of each person: whoever is malicious with a small share also is with a larger one."""
    kinds = [kind for kind, count in zip(run.people, _counts(run), strict=True) for _ in range(count)]
    found = dict(zip(permutation(key_of(run.seed, Stream.KIND), run.clients).tolist(), kinds, strict=True))
    replaced = permutation(key_of(run.seed, Stream.MALICIOUS), run.clients)[: run.attackers]
    found |= dict.fromkeys(replaced.tolist(), MALICIOUS)
    return [found[person] for person in range(run.clients)]


def place_of(kind: PersonKind) -> int:
    """Return the number by which results name a kind."""
    return [one.name for one in KINDS].index(kind.name)


def label_of(kind: PersonKind, seed: int, person: int, page: int, truth: int) -> int:
    """Return the class that a person gives to a page of the class `truth`."""
    sensitive = truth != NON_SENSITIVE
    if kind.name == MALICIOUS.name:
        return NON_SENSITIVE if sensitive else truth
    opposite = NON_SENSITIVE if sensitive else TOPIC
    if _chance(seed, Stream.LABEL, person, page, 0) < kind.opposite:
        return opposite
    if _chance(seed, Stream.LABEL, person, page, 1) < kind.slip:
        if _chance(seed, Stream.LABEL, person, page, 2) < 0.5:
            return opposite
        others = [label for label in range(len(NAMES)) if label != truth]
        return others[int(_chance(seed, Stream.LABEL, person, page, 3) * len(others))]
    doubtful = _chance(seed, Stream.NOTION, person) * (kind.narrow if sensitive else kind.wide)
    return opposite if _chance(seed, Stream.CLARITY, page) < doubtful else truth


def labels_of(kind: PersonKind, seed: int, person: int, pages: Sequence[int], truth: ArrayLike) -> NDArray[np.int64]:
    """Return the classes that a person gives to pages; `truth` has the class of each page of the study."""
    known = np.asarray(truth, np.int64)
    return np.array([label_of(kind, seed, person, page, int(known[page])) for page in pages], np.int64)


def _counts(run: StudyRun) -> list[int]:
    """Return how many people are of each kind: shares of all people, the largest remainders rounded up."""
    exact = np.array([kind.share * run.clients for kind in run.people])
    found = np.floor(exact + 1e-9).astype(np.int64)
    for place in np.argsort(found - exact, kind="stable")[: run.clients - int(found.sum())]:
        found[place] += 1
    return [int(count) for count in found]


def _chance(seed: int, *path: int) -> float:
    """Return a number from 0 to below 1, the same for the same path."""
    return key_of(seed, *path) / (LARGEST + 1)
