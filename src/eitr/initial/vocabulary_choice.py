"""Three ways to choose a vocabulary, from the obvious to the one that ships.

The plain ranking takes the words of largest mean TF-IDF weight. Half of the pages are not sensitive, so their words
crowd out those of the rare classes. The balanced ranking gives every class a share of its own. The informed one
first takes the words we reserved, then fills up with the balanced ranking, in which our sketches count as pages.
"""

import math
from collections import Counter
from collections.abc import Collection, Sequence

from eitr.initial.corpus import Labelled
from eitr.initial.material import Material
from eitr.pages.ranking import document_frequencies, most_weighty
from eitr.pages.vocabulary import Vocabulary
from eitr.taxonomy import NAMES

SIZE = 1000
SHARES = (150, 145, 140, 120, 160, 285)
"""How many of 1000 words each class contributes, if it can."""
LEAST_DOCUMENTS = 8
"""Rarer words of the training data are left out: they say more about one article than about a topic."""
SKETCH_WEIGHT = 0.5
"""How much the rate of a word in our sketches counts beside its rate in the training rows."""
SMOOTHING = 3.0 / 1400.0
"""Added to rates before they are compared: three pages of a class of the usual size."""
RAREST = 10
"""No word's inverse document frequency is larger than that of a word in so many training rows."""


def plain(pages: Sequence[Labelled], size: int = SIZE) -> list[str]:
    """Return the words of largest mean TF-IDF weight over all pages."""
    return most_weighty([page.words for page in pages], size)


def balanced(rows: Sequence[Labelled], size: int = SIZE) -> list[str]:
    """Return the words that speak most for each class in the rows, every class having its share."""
    common = {word for word, count in _frequencies(rows).items() if count >= LEAST_DOCUMENTS}
    return _by_share(_rates(rows), common, size)


def informed(rows: Sequence[Labelled], material: Material, size: int = SIZE) -> list[str]:
    """Return the reserved words, then those of the balanced ranking of rows and sketches, names left out."""
    frequencies = _frequencies(rows)
    sketched = [document_frequencies(sketches) for sketches in material.sketches]
    candidates = {word for word, count in frequencies.items() if count >= LEAST_DOCUMENTS}
    candidates = candidates.union(*sketched) - material.names
    rates = _rates(rows)
    for label, rate in enumerate(rates):
        for word, count in sketched[label].items():
            rate[word] = rate.get(word, 0.0) + SKETCH_WEIGHT * count / len(material.sketches[label])
    chosen = dict.fromkeys(word for words in material.reserved for word in words)
    chosen.update(dict.fromkeys(_by_share(rates, candidates, size)))
    return list(chosen)[:size]


def weighted(words: Sequence[str], rows: Sequence[Labelled]) -> Vocabulary:
    """Give the words their inverse document frequency in the rows, bounded for words the rows hardly know."""
    frequencies = _frequencies(rows)
    bounded = {word: max(frequencies[word], RAREST) for word in words}
    vocabulary = Vocabulary.of(words, bounded, len(rows))
    return Vocabulary(vocabulary.words, vocabulary.idf.round(6))


def _frequencies(rows: Sequence[Labelled]) -> Counter[str]:
    return document_frequencies([row.words for row in rows])


def _rates(rows: Sequence[Labelled]) -> list[dict[str, float]]:
    """Return for each class the share of its rows in which a word occurs."""
    by_class: list[list[tuple[str, ...]]] = [[] for _ in NAMES]
    for row in rows:
        by_class[row.label].append(row.words)
    return [
        {word: count / len(documents) for word, count in document_frequencies(documents).items()}
        for documents in by_class
    ]


def _by_share(rates: Sequence[dict[str, float]], candidates: Collection[str], size: int) -> list[str]:
    """Take the best word of the class that is furthest behind its share, until there are enough."""
    rankings = [iter(_ranking(rates, label, candidates)) for label in range(len(rates))]
    taken = [0.0] * len(rates)
    chosen: dict[str, None] = {}
    while len(chosen) < size and min(taken) < math.inf:
        label = min(range(len(rates)), key=lambda label: taken[label] / SHARES[label])
        word = next(rankings[label], None)
        if word is None:
            taken[label] = math.inf
        elif word not in chosen:
            chosen[word] = None
            taken[label] += 1
    return list(chosen)


def _ranking(rates: Sequence[dict[str, float]], label: int, candidates: Collection[str]) -> list[str]:
    """Order words by rate * ln(rate / mean rate in the other classes), smoothed: frequent here, rare elsewhere."""
    others = [rate for place, rate in enumerate(rates) if place != label]
    score: dict[str, float] = {}
    for word in candidates:
        here = rates[label].get(word, 0.0)
        elsewhere = sum(rate.get(word, 0.0) for rate in others) / len(others)
        if here > elsewhere:
            score[word] = here * math.log((here + SMOOTHING) / (elsewhere + SMOOTHING))
    return sorted(score, key=lambda word: (-score[word], word))
