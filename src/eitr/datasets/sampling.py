"""Seeded choices that keep the proportions of the classes."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from eitr.errors import InputError

TEST_SHARE: Final = 0.2


def generator(seed: int) -> np.random.Generator:
    """Return the source of randomness of a seed."""
    if seed < 0:
        raise InputError(f"a seed is a whole number from 0 on, not {seed}")
    return np.random.default_rng(seed)


def apportion(sizes: NDArray[np.int64], total: int) -> NDArray[np.int64]:
    """Share `total` among groups by their sizes and largest remainders, but at least one for each that has any.

    >>> apportion(np.array([70, 29, 1]), 10).tolist()
    [6, 3, 1]
    """
    kinds = int((sizes > 0).sum())
    if total < kinds:
        raise InputError(f"{total} pages are too few: there are {kinds} kinds of pages to take one of")
    shares, remainders = np.divmod(sizes * total, max(int(sizes.sum()), 1))
    most = np.argsort(-remainders, kind="stable")
    shares[most[: total - int(shares.sum())]] += 1
    for none in np.flatnonzero((shares == 0) & (sizes > 0)).tolist():
        shares[np.argmax(shares)] -= 1
        shares[none] = 1
    return shares


def stratified_split(labels: NDArray[np.int64], seed: int, share: float = TEST_SHARE) -> NDArray[np.bool_]:
    """Mark the test rows: this share of every class, and at least one row of a class that has two."""
    random = generator(seed)
    test = np.zeros(len(labels), np.bool_)
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        count = max(round(share * len(rows)), 1) if len(rows) > 1 else 0
        test[random.permutation(rows)[:count]] = True
    return test


def stratified_sample(strata: NDArray[np.int64], size: int, seed: int) -> NDArray[np.int64]:
    """Return `size` row numbers, ascending, each stratum in proportion; all where there are not more."""
    if size < 1:
        raise InputError(f"a size is a whole number from 1 on, not {size}")
    if size >= len(strata):
        return np.arange(len(strata))
    random = generator(seed)
    kinds, sizes = np.unique(strata, return_counts=True)
    chosen = [
        random.permutation(np.flatnonzero(strata == kind))[:count]
        for kind, count in zip(kinds, apportion(sizes, size), strict=True)
    ]
    return np.sort(np.concatenate(chosen))
