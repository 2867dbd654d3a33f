"""Which words are worth a place in a vocabulary, judged in one place that sees all documents.

A document is the list of its tokens. Every ranking is a function of its own that returns words, best first;
`Vocabulary.of` makes a vocabulary of them.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence

from eitr.pages.logarithm import ln

Document = Sequence[str]


def document_frequencies(documents: Collection[Document]) -> Counter[str]:
    """Return in how many documents each word occurs.

    >>> document_frequencies([["fever", "fever"], ["fever", "cough"]])
    Counter({'fever': 2, 'cough': 1})
    """
    return Counter(word for document in documents for word in set(document))


def mean_weights(documents: Collection[Document]) -> dict[str, float]:
    """Return each word's weight (1 + ln tf) * (ln((1 + n) / (1 + df)) + 1), averaged over the n documents.

    The sum is exact before it is rounded, so the order of documents changes nothing and equal words are equal.
    """
    frequencies = document_frequencies(documents)
    damped: defaultdict[str, list[float]] = defaultdict(list)
    for document in documents:
        for word, count in Counter(document).items():
            damped[word].append(1.0 + ln(count))
    n = len(documents)
    return {
        word: math.fsum(terms) * (math.log((1 + n) / (1 + frequencies[word])) + 1) / n for word, terms in damped.items()
    }


def best(weights: Mapping[str, float], size: int) -> list[str]:
    """Return the words of the largest weights; of equal ones, the word that sorts first by code points."""
    return sorted(weights, key=lambda word: (-weights[word], word))[:size]


def most_weighty(documents: Collection[Document], size: int = 1000) -> list[str]:
    """Return the words whose TF-IDF weight, averaged over all documents, is largest.

    >>> most_weighty([["fever", "cough"], ["fever", "vote"], ["fever"]], size=2)
    ['fever', 'cough']
    """
    return best(mean_weights(documents), size)
