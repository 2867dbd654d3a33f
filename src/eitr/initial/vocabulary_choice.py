"""The choice of a vocabulary: a thousand words, and which further words count as one of them.

Simply counted, the words of pages that are not sensitive would crowd out those of the rare classes. So every class has
a share of its own. First come the words that we reserved, then those most typical of each class in the training rows
and in our sketches; inflections count as one word, and the other words of the lexicon share a place with words of their
subtopic.
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from eitr.initial.corpus import Labelled
from eitr.initial.forms import Inflections, forms_of, leftovers, named_groups
from eitr.initial.material import Material
from eitr.pages.ranking import Document, document_frequencies
from eitr.pages.vocabulary import Vocabulary
from eitr.taxonomy import NAMES

SIZE = 1000
SHARES = (150, 145, 140, 120, 160, 285)
"""How many of 1000 words each class contributes, if it can."""
LEAST_DOCUMENTS = 8
"""Rarer words of the training data are left out: they say more about one article than about a topic."""
LEAST_SOURCES = 4
"""So are words of fewer sources, if there are that many: they say more about a site than about a topic."""
SKETCH_WEIGHT = 0.5
"""How much the rate of a word in our sketches counts beside its rate in the training rows."""
SMOOTHING = 3.0 / 1400.0
"""Added to rates before they are compared: three pages of a class of the usual size."""
LEAST_SEEN = 2
"""A word of the rows that fewer of them have is not looked at as a form of another."""
LEAST_PURITY = 0.4
"""A word of the lexicon joins a group if at least this share of its use, with all classes weighted equally, is in the
lexicon's class."""
RAREST = 10
"""No word's inverse document frequency is larger than that of a word in so many training rows."""


def with_forms(rows: Sequence[Labelled], material: Material, size: int = SIZE) -> tuple[list[str], dict[str, int]]:
    """Return the words, their inflections counted as one, and which words count as which.

    The places that become free go to the groups of the lexicon's subtopics and to further words.
    """
    reserved = [word for words in material.reserved for word in words]
    frequencies = _frequencies(rows)
    known = _known_words(frequencies, material)
    inflections = Inflections(known, material, kept=reserved)
    base = inflections.base
    folded = [replace(row, words=tuple(map(base, row.words))) for row in rows]
    sketches = [[tuple(map(base, sketch)) for sketch in sketches] for sketches in material.sketches]
    ranked = [*map(base, reserved), *_ranked(folded, sketches, material.names, 2 * size)]
    candidates = list(dict.fromkeys(ranked))
    doubtful = _doubtful(folded, inflections)
    subtopics = sum(map(len, material.lexicon))
    left = leftovers(candidates[: size - subtopics], inflections, material, doubtful=doubtful)
    groups = named_groups(left, _frequencies(folded))
    members = {word for group in groups for word in group}
    words = [*candidates[: size - subtopics], *(group[0] for group in groups)]
    words += [word for word in candidates[size - subtopics :] if word not in members][: size - len(words)]
    return words, forms_of(words, groups, known, inflections, material)


def weighted(
    words: Sequence[str],
    rows: Sequence[Labelled],
    forms: Mapping[str, int] | None = None,
    foreign: Mapping[str, int] | None = None,
) -> Vocabulary:
    """Give the words their inverse document frequency in the rows, bounded for words the rows hardly know.

    A row counts for a word if it has the word or one of its forms, English ones (`forms`) or others (`foreign`).
    """
    foreign = foreign or {}
    forms = {**(forms or {}), **foreign}
    frequencies = document_frequencies([[words[forms[w]] if w in forms else w for w in row.words] for row in rows])
    bounded = {word: max(frequencies[word], RAREST) for word in words}
    vocabulary = Vocabulary.of(words, bounded, len(rows))
    return Vocabulary(vocabulary.words, vocabulary.idf.round(6), forms, foreign=frozenset(foreign))


def _ranked(
    rows: Sequence[Labelled], sketches: Sequence[Collection[Document]], names: Collection[str], size: int
) -> list[str]:
    """Return the balanced ranking of rows and sketches, names left out."""
    sketched = [document_frequencies(of_class) for of_class in sketches]
    candidates = {word for word, count in _frequencies(rows).items() if count >= LEAST_DOCUMENTS}
    candidates = (candidates & _widespread(rows)).union(*sketched).difference(names)
    rates = _rates(rows)
    for label, rate in enumerate(rates):
        for word, count in sketched[label].items():
            rate[word] = rate.get(word, 0.0) + SKETCH_WEIGHT * count / len(sketches[label])
    return _by_share(rates, candidates, size)


def _widespread(rows: Sequence[Labelled]) -> set[str]:
    """Return the words that enough sources use."""
    by_source: dict[str, set[str]] = {}
    for row in rows:
        by_source.setdefault(row.source, set()).update(row.words)
    sources = Counter(word for words in by_source.values() for word in words)
    return {word for word, count in sources.items() if count >= min(LEAST_SOURCES, len(by_source))}


def _known_words(frequencies: Mapping[str, int], material: Material) -> set[str]:
    """Return the words of which forms are made: of the rows, where they are no accident, and all of ours."""
    known = {word for word, count in frequencies.items() if count >= LEAST_SEEN} - material.names
    known.update(*material.reserved, *(sketch for sketches in material.sketches for sketch in sketches))
    known.update(*(material.words(label) for label in range(len(NAMES))))
    known.update(material.same, *material.same.values())
    return known


def _doubtful(rows: Sequence[Labelled], inflections: Inflections) -> set[str]:
    """Return the words of the lexicon that the rows use too much in other classes to let them join a group."""
    rates = _rates(rows)
    doubtful = set()
    for word, count in _frequencies(rows).items():
        label = inflections.class_of(word)
        if label is not None and count >= LEAST_DOCUMENTS:
            own, total = rates[label].get(word, 0.0), sum(rate.get(word, 0.0) for rate in rates)
            if own < LEAST_PURITY * total:
                doubtful.add(word)
    return doubtful


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
