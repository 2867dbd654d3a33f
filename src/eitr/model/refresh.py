"""A model for new words: which words make way, what is carried over, and how the weights of new words are learned.

A vocabulary ages: in 2019 no model knew "covid". A refresh keeps the number of words, because the layers are part of
the protocol. It has four steps, each a function: `refreshed_vocabulary` puts new words in the places of those that
matter least to the model; `carried` gives surviving words the weights that they have, and new ones 0, so that a new
word changes nothing yet but the length of a page's vector; `learned` trains the weights of the new words alone, on
pages that whoever refreshes may see; `converted` makes cover pages of the old vocabulary usable with the new one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eitr.errors import InputError
from eitr.model.classifier import Classifier
from eitr.model.examples import check_rows, checked_labels
from eitr.model.files import Model
from eitr.model.network import Network, Vector
from eitr.pages.pool import Pool, vocabulary_digest
from eitr.pages.sparse import SparseRows
from eitr.pages.vocabulary import Vocabulary

Floats = NDArray[np.float64]
LEAST_KNOWN = 3
"""A cover page with fewer known words hides nothing."""
LARGEST_IDF = 10.0
"""No new word weighs more than the rarest words of the shipped vocabulary, about 9; a word of few pages would."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningPlan:
    """How the weights of new words are learned: gradient descent over all pages, classes weighed alike."""

    steps: int = 200
    learning_rate: float = 5.0
    momentum: float = 0.9
    decay: float = 1e-4
    """Pulls the weights towards 0: a word of few pages learns little."""

    def __post_init__(self) -> None:
        if self.steps < 1 or not 0 < self.learning_rate < 100 or not 0 <= self.momentum < 1 or not 0 <= self.decay < 1:
            raise InputError("learning needs at least one step, a rate above 0, momentum and decay from 0 to below 1")


def unknown_terms(vocabulary: Vocabulary, terms: Sequence[str], most: int) -> list[str]:
    """Return the first so many terms that a vocabulary does not know, neither as a word nor as a form of one.

    >>> unknown_terms(Vocabulary(("fever",), np.ones(1), {"fevers": 0}), ["fevers", "covid", "masks"], 1)
    ['covid']
    """
    return [term for term in dict.fromkeys(terms) if not vocabulary.known([term])][:most]


def importance(classifier: Classifier) -> Floats:
    """Return how much one occurrence of each word can move the first layer: its IDF times the length of its weights."""
    first = classifier.model.network.split(classifier.model.vector)[0].kernel
    return np.asarray(classifier.vocabulary.idf * np.linalg.norm(first.astype(np.float64), axis=1))


def refreshed_vocabulary(classifier: Classifier, new: Vocabulary, *, size: int | None = None) -> Vocabulary:
    """Return the words of a classifier with those of `new` that it does not know in the places of the least important.

    Surviving words keep place, forms and IDF. New words have the IDF that `new` gives them, at most `LARGEST_IDF`, and
    the forms that it gives them. `size` is the number of words; as many as before by default.
    """
    old = classifier.vocabulary
    size = len(old) if size is None else size
    added = unknown_terms(old, new.words, size)
    order = np.argsort(importance(classifier), kind="stable")
    gone = set(order[: max(0, len(old) + len(added) - size)].tolist())
    if len(gone) >= len(old):
        raise InputError(f"{len(added)} new words leave no place for the old ones: take fewer")
    return replaced(old, gone, new, added)


def replaced(old: Vocabulary, gone: set[int], new: Vocabulary | None = None, added: Sequence[str] = ()) -> Vocabulary:
    """Return a vocabulary without the words at some places, and with words of another one after the surviving ones."""
    kept = [place for place in range(len(old)) if place not in gone]
    places = {place: position for position, place in enumerate(kept)}
    forms = {form: places[place] for form, place in old.forms.items() if place in places}
    idf, foreign = [float(old.idf[place]) for place in kept], set(old.foreign)
    words = [old.words[place] for place in kept]
    for word in added:
        assert new is not None
        place = new.words.index(word)
        for form, its in new.forms.items():
            if its == place and not old.known([form]) and form not in added:
                forms[form] = len(words)
                foreign |= {form} & new.foreign
        words.append(word)
        idf.append(min(float(new.idf[place]), LARGEST_IDF))
    return Vocabulary(tuple(words), np.array(idf), forms, old.version, frozenset(foreign & forms.keys()))


def carried(classifier: Classifier, vocabulary: Vocabulary) -> Classifier:
    """Return the classifier with another vocabulary: surviving words keep their weights, those of new words are 0.

    A word survives if it is a word of both. Where its IDF differs, its weights are scaled, so that an occurrence moves
    the first layer as before. Without the words that are gone, and with new ones, a page's vector has another length;
    a page that has neither is classified as before.
    """
    old, (network, vector) = classifier.vocabulary, classifier.model
    wider = Network((len(vocabulary), *network.layers[1:]))
    found = np.zeros(wider.size, np.float32)
    for mine, theirs in zip(wider.split(found)[1:], network.split(vector)[1:], strict=True):
        mine.kernel[:], mine.bias[:] = theirs
    before, after = network.split(vector)[0], wider.split(found)[0]
    after.bias[:] = before.bias
    places, known = shared_places(old, vocabulary)
    after.kernel[known] = before.kernel[places] * (old.idf[places] / vocabulary.idf[known])[:, None]
    return Classifier(Model(wider, found), vocabulary)


def shared_places(old: Vocabulary, new: Vocabulary) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of the words that both vocabularies have: in the old one, and in the new one."""
    places = {word: place for place, word in enumerate(old.words)}
    both = [(places[word], place) for place, word in enumerate(new.words) if word in places]
    pairs = np.array(both, np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def learned(
    classifier: Classifier, new: Sequence[int], rows: SparseRows, labels: ArrayLike, plan: LearningPlan | None = None
) -> Classifier:
    """Return the classifier with the weights of some words learned from pages; all other parameters stay.

    `new` holds the places of these words. Every class that the pages have counts as much as any other.
    """
    plan = plan or LearningPlan()
    network, vector = classifier.model
    check_rows(network, rows)
    truth = checked_labels(network, rows, labels)
    result = vector.copy()
    if not len(new):
        return classifier
    places = np.asarray(new, np.int64)
    kernel = network.split(result)[0].kernel
    weights = kernel[places].astype(np.float64)
    velocity = np.zeros_like(weights)
    slopes = _Slopes(network, vector, places, rows, truth)
    for _ in range(plan.steps):
        velocity = plan.momentum * velocity - plan.learning_rate * (slopes.of(weights) + plan.decay * weights)
        weights = weights + velocity
    kernel[places] = weights.astype(np.float32)
    if not np.isfinite(result).all():
        raise InputError("the weights of new words are not finite: take a smaller learning rate")
    return Classifier(Model(network, result), classifier.vocabulary)


class _Slopes:
    """The slopes of the mean loss of some pages by the weights of some words, with all other parameters fixed."""

    def __init__(
        self, network: Network, vector: Vector, places: NDArray[np.int64], rows: SparseRows, truth: NDArray[np.int64]
    ) -> None:
        self._layers = [(kernel.astype(np.float64), bias.astype(np.float64)) for kernel, bias in network.split(vector)]
        # Pages without any of the words have no slopes; they count in the weights of the classes only.
        entries = np.isin(rows.columns, places)
        having = np.unique(np.repeat(np.arange(len(rows)), np.diff(rows.starts))[entries])
        dense = rows.take(having).dense().astype(np.float64)
        self._new = dense[:, places]
        dense[:, places] = 0.0
        self._fixed = dense @ self._layers[0][0] + self._layers[0][1]
        counts = np.bincount(truth, minlength=network.outputs)
        self._truth = truth[having]
        self._share = 1.0 / (counts[self._truth] * np.count_nonzero(counts))

    def of(self, weights: Floats) -> Floats:
        """Return the slopes (words, units of the first layer)."""
        given = [np.maximum(self._fixed + self._new @ weights, 0.0)]
        for kernel, bias in self._layers[1:-1]:
            given.append(np.maximum(given[-1] @ kernel + bias, 0.0))
        kernel, bias = self._layers[-1]
        logits = given[-1] @ kernel + bias
        error = np.exp(logits - logits.max(axis=1, keepdims=True))
        error /= error.sum(axis=1, keepdims=True)
        error[np.arange(len(error)), self._truth] -= 1.0
        error *= self._share[:, None]
        for (kernel, _), units in zip(self._layers[:0:-1], given[::-1], strict=True):
            error = (error @ kernel.T) * (units > 0)
        return np.asarray(self._new.T @ error)


def converted(pool: Pool, old: Vocabulary, new: Vocabulary) -> Pool:
    """Return a pool's pages as vectors of another vocabulary, without the words that only one of both has.

    A pool holds vectors, not words, so nobody can say which new words its pages have: they are taken to have none.
    Pages with too few known words are left out.
    """
    if pool.vocabulary != vocabulary_digest(old.to_json().encode()):
        raise InputError("the pool of cover pages belongs to another vocabulary than the model")
    places, known = shared_places(old, new)
    target = np.full(len(old), -1, np.int64)
    target[places] = known
    scale = np.zeros(len(old))
    scale[places] = new.idf[known] / old.idf[places]
    found, labels = [], []
    for page, label in enumerate(pool.labels):
        entries = slice(pool.rows.starts[page], pool.rows.starts[page + 1])
        columns, values = pool.rows.columns[entries], pool.rows.values[entries]
        survives = target[columns] >= 0
        if survives.sum() < LEAST_KNOWN:
            continue
        moved, weights = target[columns[survives]], values[survives] * scale[columns[survives]]
        order = np.argsort(moved)
        found.append((moved[order].astype(np.int32), (weights[order] / np.linalg.norm(weights)).astype(np.float32)))
        labels.append(int(label))
    if not found:
        raise InputError("no cover page has words of the new vocabulary")
    digest = vocabulary_digest(new.to_json().encode())
    return Pool.of(SparseRows.of(found, width=len(new)), labels, digest)
