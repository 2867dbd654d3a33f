"""Which pages each person of a study labels: drawn with a seed, the same in the server and in the lab.

Every person p has shares u_p ~ Dirichlet(alpha) over the groups, which are the classes or the topics of the pages. A
page is drawn in two steps: a group by these shares, then a page of the group. No person gets a page twice. When a group
has no page left, the shares of the others decide.
"""

import math
from collections.abc import Collection, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from eitr.errors import InputError

ALPHA: Final = 0.9
"""The concentration that the paper divides pages with."""
EACH: Final = 20
"""How many pages a person gets unless a study says otherwise."""


def draw_tasks(
    groups: Sequence[str], people: int, each: int, alpha: float, seed: int, *, least_ratings: int = 0
) -> list[list[int]]:
    """Return, for each person, the positions of their pages in `groups`, in the order in which they come.

    With `least_ratings`, pages that fewer people have than that come first, so that as few people as possible cover all
    pages. A draw then depends on those before it; without, it depends on the seed and the person's number alone.

    >>> draw_tasks(["health", "health", "religion"], 2, 2, math.inf, seed=0, least_ratings=1)
    [[2, 0], [1, 2]]
    """
    counts = [0] * len(groups)
    drawn = []
    for person in range(people):
        mine = draw_person(groups, each, alpha, seed, person, counts, least_ratings=least_ratings)
        for page in mine:
            counts[page] += 1
        drawn.append(mine)
    return drawn


def draw_person(
    groups: Sequence[str],
    each: int,
    alpha: float,
    seed: int,
    person_number: int,
    counts: Sequence[int] | None = None,
    *,
    least_ratings: int = 0,
    excluded: Collection[int] = (),
) -> list[int]:
    """Return one person's pages. `counts` says how many people have each page, and is used with `least_ratings` only.

    `excluded` pages, such as dead ones, are not drawn. Fewer than `each` pages come if there are not more.
    """
    _check(each, alpha, seed, person_number, least_ratings)
    random = np.random.default_rng((seed, person_number))
    names, of = _numbered(groups)
    shares = _shares(len(names), alpha, random)
    left = np.ones(len(groups), np.bool_)
    left[list(excluded)] = False
    needed = np.zeros(len(groups), np.int64)
    if least_ratings and counts is not None:
        needed = np.maximum(least_ratings - np.asarray(counts, np.int64), 0)
    drawn: list[int] = []
    while len(drawn) < each and left.any():
        page = _one(of, shares, _most_needed(of, left, needed), random)
        left[page] = False
        drawn.append(page)
    return drawn


def draw_replacement(
    groups: Sequence[str],
    replaced: int,
    given: Collection[int],
    alpha: float,
    seed: int,
    person_number: int,
    *,
    excluded: Collection[int] = (),
) -> int | None:
    """Return a page in place of one that is dead or broken: of its group, or of another one if that has none left.

    `given` are all pages that the person ever had: none of them comes again. None if no page is left.
    """
    _check(1, alpha, seed, person_number, 0)
    names, of = _numbered(groups)
    shares = _shares(len(names), alpha, np.random.default_rng((seed, person_number)))
    left = np.ones(len(groups), np.bool_)
    left[[*given, *excluded]] = False
    if not left.any():
        return None
    alike = left & (of == of[replaced])
    random = np.random.default_rng((seed, person_number, len(set(given))))
    return _one(of, shares, alike if alike.any() else left, random)


def _check(each: int, alpha: float, seed: int, person_number: int, least_ratings: int) -> None:
    for name, value, least in (
        ("pages for each person", each, 1),
        ("seed", seed, 0),
        ("number of a person", person_number, 0),
        ("least number of ratings", least_ratings, 0),
    ):
        if value < least:
            raise InputError(f"the {name} must be a whole number from {least} on, not {value}")
    if not alpha > 0:
        raise InputError(f"alpha must be above 0, not {alpha:g}")


def _numbered(groups: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    """Return the groups in alphabetical order, and the number of each page's group."""
    names = sorted(set(groups))
    numbers = {name: number for number, name in enumerate(names)}
    return names, np.array([numbers[group] for group in groups], np.int64)


def _shares(count: int, alpha: float, random: np.random.Generator) -> NDArray[np.float64]:
    if math.isinf(alpha) or not count:
        return np.ones(count)
    shares = random.dirichlet(np.full(count, alpha))
    # Near the largest and the smallest numbers there are, the draws are not shares any more.
    return shares if abs(shares.sum() - 1) < 1e-6 else np.ones(count)


def _most_needed(of: NDArray[np.int64], left: NDArray[np.bool_], needed: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return the pages that may come next: in each group those that need most ratings, if any page needs some."""
    wanted = left & (needed > 0)
    if not wanted.any():
        return left
    most = np.zeros(of.max() + 1, np.int64)
    np.maximum.at(most, of[wanted], needed[wanted])
    found: NDArray[np.bool_] = wanted & (needed == most[of])
    return found


def _one(
    of: NDArray[np.int64], shares: NDArray[np.float64], allowed: NDArray[np.bool_], random: np.random.Generator
) -> int:
    """Draw a group by the shares of those that have an allowed page, then an allowed page of it."""
    there = np.unique(of[allowed])
    weights = shares[there]
    if not weights.sum() > 0:  # the person's shares of all that is left are too small for a number
        weights = np.ones(len(there))
    place = np.searchsorted(np.cumsum(weights), random.random() * weights.sum(), side="right")
    group = there[min(int(place), len(there) - 1)]
    pages = np.flatnonzero(allowed & (of == group))
    return int(pages[int(random.random() * len(pages))])
