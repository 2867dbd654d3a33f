"""How well a classifier does on labelled pages, beside what guessing would reach.

Accuracy alone misleads where one class is frequent: always naming it scores its share. `majority_share` is this score,
`balanced_accuracy` weighs each class alike, and `auc` is the probability that a positive page has a higher score than a
negative one, a tie counted as one half (Fawcett, An introduction to ROC analysis, Pattern Recognition Letters 27,
2006, 861-874).
"""

from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eitr.errors import InputError

Floats = NDArray[np.float64]


def roc(truth: ArrayLike, scores: ArrayLike) -> tuple[Floats, Floats]:
    """Return the points of the ROC curve, from (0, 0) to (1, 1): the rate of false alarms and the rate of hits.

    `truth` is true where a page is positive, `scores` grow with the probability that it is. Pages with equal scores are
    one step of the curve.

    >>> false_alarms, hits = roc([True, True, False, False], [0.9, 0.4, 0.4, 0.1])
    >>> false_alarms.tolist(), hits.tolist()
    ([0.0, 0.0, 0.5, 1.0], [0.0, 0.5, 1.0, 1.0])
    """
    positive, values = _checked_scores(truth, scores)
    order = np.argsort(-values, kind="stable")
    last_of_its_score = np.append(np.diff(values[order]) != 0, True)
    hits = np.cumsum(positive[order])[last_of_its_score]
    false_alarms = np.cumsum(~positive[order])[last_of_its_score]
    return np.append(0.0, false_alarms / (~positive).sum()), np.append(0.0, hits / positive.sum())


def auc(truth: ArrayLike, scores: ArrayLike) -> float:
    """Return the area under the ROC curve.

    >>> auc([True, True, False, False], [0.9, 0.4, 0.4, 0.1])
    0.875
    """
    false_alarms, hits = roc(truth, scores)
    return float((np.diff(false_alarms) * (hits[1:] + hits[:-1]) / 2).sum())


def balanced_accuracy(truth: Sequence[Hashable], predicted: Sequence[Hashable]) -> float:
    """Return the mean over the classes that occur in `truth` of the share of their pages that are predicted rightly.

    >>> balanced_accuracy(["health", "health", "health", "politics"], ["health", "health", "health", "health"])
    0.5
    """
    _check_pairs(truth, predicted)
    pages = Counter(truth)
    right = Counter(label for label, answer in zip(truth, predicted, strict=True) if label == answer)
    return sum(right[label] / pages[label] for label in pages) / len(pages)


def majority_share(truth: Sequence[Hashable]) -> float:
    """Return the accuracy of always naming the most frequent class.

    >>> majority_share(["health", "health", "health", "politics"])
    0.75
    """
    if not len(truth):
        raise InputError("there are no labels")
    return max(Counter(truth).values()) / len(truth)


def confusion(
    truth: Sequence[Hashable], predicted: Sequence[Hashable], classes: Sequence[Hashable]
) -> NDArray[np.int64]:
    """Return how often a page of each class (row) was predicted to have each class (column).

    >>> confusion(["health", "politics", "health"], ["health", "health", "politics"], ["health", "politics"]).tolist()
    [[1, 1], [1, 0]]
    """
    _check_pairs(truth, predicted)
    places = {name: place for place, name in enumerate(classes)}
    if unknown := {*truth, *predicted} - places.keys():
        raise InputError(f"{min(map(str, unknown))!r} is none of the classes")
    table = np.zeros((len(places), len(places)), np.int64)
    for label, answer in zip(truth, predicted, strict=True):
        table[places[label], places[answer]] += 1
    return table


def _checked_scores(truth: ArrayLike, scores: ArrayLike) -> tuple[NDArray[np.bool_], Floats]:
    positive, values = np.asarray(truth, np.bool_), np.asarray(scores, np.float64)
    if positive.ndim != 1 or positive.shape != values.shape:
        raise InputError("there must be one score for each page")
    if np.isnan(values).any():
        raise InputError("a score is NaN")
    if positive.all() or not positive.any():
        raise InputError("a ROC curve needs a page that is positive and one that is not")
    return positive, values


def _check_pairs(truth: Sequence[Hashable], predicted: Sequence[Hashable]) -> None:
    if len(truth) != len(predicted) or not len(truth):
        raise InputError("there must be one prediction for each label, and at least one label")
