"""How far people agree who put the same pages into classes: Fleiss' kappa, pairs of raters, agreed labels.

A table of counts has a row for each page and a column for each class; an entry says how many raters gave the page this
class. Raters need not be the same for each page, nor equally many. A page with fewer than two ratings says nothing
about agreement and is left out.

    page agreement   P_i = sum_j n_ij (n_ij - 1) / (n_i (n_i - 1)),  the share of pairs of raters that agree
    by chance        p_j = mean_i n_ij / n_i,   P_e = sum_j p_j^2
    kappa            (mean_i P_i - P_e) / (1 - P_e)

For equally many ratings per page this is Fleiss' definition (Measuring nominal scale agreement among many raters,
Psychological Bulletin 76, 1971, 378-382). For others, Gwet (Handbook of Inter-Rater Reliability, 4th ed., 2014, section
2.4) has the same formulas, but takes p_j from pages with one rating, too. Here both means are over the same pages, so
that chance and agreement are about the same classes. Kappa is 1 for perfect agreement, 0 for that of chance, and
undefined (NaN) where all ratings name one class.
"""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eitr.errors import InputError

NOT_AGREED = -1
"""In agreed labels: a page whose raters do not agree."""


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """How far two raters agree on the pages that both have rated."""

    first: str
    second: str
    pages: int
    """How many pages both have rated."""
    agreement: float
    """The share of these pages to which both gave the same class; NaN if there are none."""
    kappa: float
    """Cohen's kappa: agreement beyond chance, by the two raters' own shares of classes; NaN where it is undefined."""


def fleiss_kappa(counts: ArrayLike) -> float:
    """Return Fleiss' kappa of a table of counts (pages, classes).

    >>> round(fleiss_kappa([[3, 0], [2, 1], [0, 3]]), 4)
    0.55
    """
    table = _rated_twice(counts)
    shares = (table / table.sum(axis=1, keepdims=True)).mean(axis=0)
    return _beyond_chance(float(page_agreement(table).mean()), float(shares @ shares))


def kappa_interval(counts: ArrayLike, *, seed: int = 0, draws: int = 2000, level: float = 0.95) -> tuple[float, float]:
    """Return the lower and the upper end of an interval for Fleiss' kappa: the percentile bootstrap over pages.

    Draws in which kappa is undefined, because all ratings name one class, are left out.
    """
    if draws < 1 or not 0 < level < 1:
        raise InputError("an interval needs at least one draw and a level between 0 and 1")
    table = _rated_twice(counts)
    agreement, shares = page_agreement(table), table / table.sum(axis=1, keepdims=True)
    # How often each page is in a draw of as many pages, over their number: a row for each draw.
    weights = np.random.default_rng(seed).multinomial(len(table), np.full(len(table), 1 / len(table)), size=draws)
    means = zip(weights @ agreement / len(table), weights @ shares / len(table), strict=True)
    values = [_beyond_chance(float(mean), float(share @ share)) for mean, share in means]
    defined = [value for value in values if not math.isnan(value)]
    if not defined:
        return math.nan, math.nan
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def page_agreement(counts: ArrayLike) -> NDArray[np.float64]:
    """Return for each page the share of its pairs of raters that agree; NaN for pages with fewer than two ratings.

    >>> page_agreement([[4, 0], [3, 1], [2, 2], [1, 0]]).round(2).tolist()
    [1.0, 0.5, 0.33, nan]
    """
    table = _checked(counts)
    ratings = table.sum(axis=1)
    pairs = ratings * (ratings - 1)
    agreeing = (table * (table - 1)).sum(axis=1)
    agreement = np.full(len(table), np.nan)
    np.divide(agreeing, pairs, out=agreement, where=pairs > 0)
    return agreement


def agreed_labels(counts: ArrayLike, least: float = 0.5) -> NDArray[np.int64]:
    """Return for each page the most frequent class if enough pairs of its raters agree, else `NOT_AGREED`.

    `least` is the smallest share of agreeing pairs: with 0.5, three of four raters must name the same class. Two
    classes that are equally frequent are no agreement.

    >>> agreed_labels([[4, 0], [1, 3], [2, 2], [1, 0]]).tolist()
    [0, 1, -1, -1]
    """
    if not 0 <= least <= 1:
        raise InputError("the least agreement must be from 0 to 1")
    table = _checked(counts)
    most = table.max(axis=1)
    unique = (table == most[:, None]).sum(axis=1) == 1
    # A comparison with NaN, the agreement of a page with fewer than two ratings, is false.
    agreed = unique & (page_agreement(table) >= least)
    return np.where(agreed, table.argmax(axis=1), NOT_AGREED)


def pairwise_agreement(ratings: Mapping[str, Mapping[int, str]]) -> list[PairAgreement]:
    """Return the agreement of every two raters, in the order of their names.

    `ratings` holds for each rater the class given to each page.

    >>> pair, = pairwise_agreement({"ann": {1: "health", 2: "politics"}, "bob": {1: "health", 2: "health"}})
    >>> pair.pages, pair.agreement, pair.kappa
    (2, 0.5, 0.0)
    """
    return [_pair(first, second, ratings) for first, second in itertools.combinations(sorted(ratings), 2)]


def _pair(first: str, second: str, ratings: Mapping[str, Mapping[int, str]]) -> PairAgreement:
    both = sorted(ratings[first].keys() & ratings[second].keys())
    if not both:
        return PairAgreement(first, second, 0, math.nan, math.nan)
    one, other = ([ratings[rater][page] for page in both] for rater in (first, second))
    agreement = sum(a == b for a, b in zip(one, other, strict=True)) / len(both)
    chance = sum(one.count(name) * other.count(name) for name in set(one)) / len(both) ** 2
    return PairAgreement(first, second, len(both), agreement, _beyond_chance(agreement, chance))


def _beyond_chance(agreement: float, chance: float) -> float:
    return math.nan if math.isclose(chance, 1.0, abs_tol=1e-12) else (agreement - chance) / (1 - chance)


def _rated_twice(counts: ArrayLike) -> NDArray[np.float64]:
    everything = _checked(counts)
    table: NDArray[np.float64] = everything[everything.sum(axis=1) >= 2]
    if not len(table):
        raise InputError("no page has two ratings, so there is no agreement to measure")
    return table


def _checked(counts: ArrayLike) -> NDArray[np.float64]:
    table = np.asarray(counts, np.float64)
    if table.ndim != 2 or 0 in table.shape:
        raise InputError("ratings are counted in a table with a row for each page and a column for each class")
    if not (np.isfinite(table) & (table >= 0) & (table == np.floor(table))).all():
        raise InputError("every count of ratings must be a whole number, at least 0")
    return table
