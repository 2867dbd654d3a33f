"""A vocabulary that no single party chooses: clients send the weights of their terms, the server ranks them.

What a report reveals to the server: up to `limit` terms of one client's pages, how weighty each is to this
client and in how many of its pages it occurs; neither pages, nor the order of words, nor which page a term
stood on. A rare term (a name, a diagnosis) can still tell on a person, and the server sees it: what is
promised is that it goes no further. A term that fewer than `min_clients` clients report is in no ranking,
no IDF and no error message.

A report may be hostile. Its weights are scaled to sum 1, so shouting does not help; the samples it claims
count up to five times the median claim; and a term needs `min_clients` supporters. Clients that act
together, at least `min_clients` of them, can still bring a term in.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from statistics import median

from eitr.errors import InputError
from eitr.pages.ranking import Document, best, document_frequencies, mean_weights
from eitr.pages.tokens import tokens
from eitr.pages.vocabulary import Vocabulary

MAX_TERMS = 5000
MAX_SAMPLES = 10_000_000
MAX_CLAIM = 5.0
"""How many times the median claim of samples a client counts for at most."""


@dataclass(frozen=True, slots=True)
class TermReport:
    """What one client says about its own pages."""

    samples: int
    """On how many pages the report rests."""
    weights: dict[str, float]
    """A term's share of the client's TF-IDF weight; at least 0, at most 1."""
    documents: dict[str, int]
    """On how many of the pages each of these terms occurs."""


def report(documents: Collection[Document], *, limit: int = 2000) -> TermReport:
    """Sum up a client's pages, each given by its tokens: its weightiest terms, at most `limit`.

    >>> report([["fever", "cough"], ["fever"]], limit=1)
    TermReport(samples=2, weights={'fever': 1.0}, documents={'fever': 2})
    """
    if not any(documents):
        raise InputError("a report needs at least one page that has words")
    means = mean_weights(documents)
    chosen = best(means, limit)
    total = math.fsum(means[term] for term in chosen)
    frequencies = document_frequencies(documents)
    return TermReport(
        samples=len(documents),
        weights={term: means[term] / total for term in chosen},
        documents={term: frequencies[term] for term in chosen},
    )


def rank(reports: Sequence[TermReport], *, size: int = 1000, min_clients: int = 3) -> list[str]:
    """Return the terms of the largest weight, averaged over clients by their shares of the samples.

    Raises `InputError`, naming the position of the report, when one is malformed.
    """
    _check_all(reports, min_clients)
    supporters = Counter(term for one in reports for term, weight in one.weights.items() if weight > 0)
    parts: defaultdict[str, list[float]] = defaultdict(list)
    for one, samples in zip(reports, _counted_samples(reports), strict=True):
        total = math.fsum(one.weights.values())
        for term, weight in one.weights.items():
            if supporters[term] >= min_clients:
                parts[term].append(samples * weight / total)
    # Dividing by the sum of all samples would make it an average and leave the order as it is.
    return best({term: math.fsum(shares) for term, shares in parts.items()}, size)


def agree(reports: Sequence[TermReport], *, size: int = 1000, min_clients: int = 3) -> Vocabulary:
    """Return the ranked terms with an IDF formed from the page counts that the clients sent.

    A client that counts for fewer samples than it claims has its page counts reduced in the same
    proportion. One that did not report a term counts as not having it, so the IDF of a term that is below
    the limit of some clients comes out a little high.
    """
    words = rank(reports, size=size, min_clients=min_clients)
    if not words:
        raise InputError(f"no term was reported by {min_clients} clients or more")
    counted = _counted_samples(reports)
    frequencies = {
        word: math.fsum(
            one.documents.get(word, 0) * samples / one.samples for one, samples in zip(reports, counted, strict=True)
        )
        for word in words
    }
    return Vocabulary.of(words, frequencies, math.fsum(counted))


def check_report(one: TermReport) -> None:
    """Refuse a report that is malformed; the message names no term."""
    fault = _fault(one)
    if fault:
        raise InputError(fault)


def _counted_samples(reports: Sequence[TermReport]) -> list[float]:
    most = MAX_CLAIM * median(one.samples for one in reports)
    return [min(float(one.samples), most) for one in reports]


def _check_all(reports: Sequence[TermReport], min_clients: int) -> None:
    if min_clients < 1:
        raise InputError("min_clients must be at least 1")
    if not reports:
        raise InputError("there are no reports to rank")
    for position, one in enumerate(reports):
        fault = _fault(one)
        if fault:
            raise InputError(f"report {position}: {fault}")


def _fault(one: TermReport) -> str | None:
    """Say what is wrong with a report, without naming a term: it may be the secret of one client."""
    if not _is_whole(one.samples) or not 1 <= one.samples <= MAX_SAMPLES:
        return f"samples must be a whole number from 1 to {MAX_SAMPLES}"
    if not 1 <= len(one.weights) <= MAX_TERMS:
        return f"there must be 1 to {MAX_TERMS} terms, not {len(one.weights)}"
    if one.weights.keys() != one.documents.keys():
        return "weights and documents must have the same terms"
    if not all(isinstance(weight, float) and 0.0 <= weight <= 1.0 for weight in one.weights.values()):
        return "every weight must be a number from 0 to 1"
    if not any(one.weights.values()):
        return "at least one weight must be above 0"
    if not all(_is_whole(count) and 1 <= count <= one.samples for count in one.documents.values()):
        return "every page count must be a whole number from 1 to the number of samples"
    if not all(isinstance(term, str) and tokens(term) == [term] for term in one.weights):
        return "a term is not a token"
    return None


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
