"""Siegel's repeated-median slope of one sorted column of many clients, exact, in nearly linear time.

The search is that of `repeated_median.py`, one column at a time. There a trial compares all pairs of rows, for sixteen
columns at once; here it counts in buckets (`bucket_counts.py`), and only the last few candidates are compared with all
other rows.
"""

from typing import NamedTuple

import numpy as np

from eitr.compiled import compiled
from eitr.robust.bucket_counts import Buckets, Column, Ranks, buckets, counts_of_row, exact_count, fill_buckets, tilt

FEW = 64
"""Up to so many candidates, counting them one by one is cheaper than filling buckets."""
LAST = 4
"""The search ends with so many candidates (twice as many for an odd number of clients), ..."""
LAST_TRIALS = 3
"""... or after so many trials in which candidates were counted one by one, ..."""
MOST_TRIALS = 24
"""... or after so many of all: ties can keep rows undecided for ever. What is left is computed."""
HALVED = 6
"""Every so many trials the bracket is halved, in case that interpolation does not get on."""
CHUNK = 64
"""Slopes that are looked at together for one that is near the bounds."""
STRIDE = 0.25
"""By how much B changes, relative to itself, with the share of rows: twice that of normally distributed values."""


class ColumnWorkspace(NamedTuple):
    """Scratch memory for columns of one size; one per thread."""

    buckets: Buckets
    candidates: Ranks
    """(clients,): the ranks of the rows whose inner median may be B, ascending. The next four belong to them."""
    least: Ranks
    """A lower bound of a candidate's slopes of at most the trial, and ..."""
    most: Ranks
    """... an upper one."""
    at_lower: Column
    """A candidate's slopes of at most the largest slope that is known to be below B, and ..."""
    at_upper: Column
    """... the smallest one known not to be below."""
    tilted: Column
    near: Ranks
    """Rows whose slopes to a candidate are near its inner median."""
    slopes: Column
    inner_medians: Column


def column_workspace(size: int) -> ColumnWorkspace:
    """Allocate the scratch memory for columns of `size` clients."""
    return ColumnWorkspace(
        buckets=buckets(size),
        candidates=np.empty(size, dtype=np.int64),
        least=np.empty(size, dtype=np.int64),
        most=np.empty(size, dtype=np.int64),
        at_lower=np.empty(size),
        at_upper=np.empty(size),
        tilted=np.empty(size),
        near=np.empty(size + 1, dtype=np.int64),
        slopes=np.empty(size),
        inner_medians=np.empty(size),
    )


@compiled
def slope_of_column(values: Column, estimate: float, work: ColumnWorkspace) -> float:
    """Return B of a sorted column of at least three rows, searched from an estimate on."""
    size = values.shape[0]
    if _mostly_tied(values):
        return 0.0
    for rank in range(size):
        work.candidates[rank] = rank
        work.at_lower[rank] = 0.0
        work.at_upper[rank] = size - 1.0
    outer_low, outer_high = (size - 1) // 2, size // 2
    last = LAST if size % 2 == 0 else 2 * LAST
    count, below = size, 0  # candidates, and rows whose inner median is known to be at most `lower`
    lower, upper = 0.0, np.inf
    trial = estimate if estimate > 0.0 else (values[size - 1] - values[0]) / (size - 1)
    one_by_one, unmoved = 0, 0
    for attempt in range(MOST_TRIALS):
        if count <= last or one_by_one == LAST_TRIALS:
            break
        one_by_one += count <= FEW
        _count(values, trial, count, work)
        decided_below, decided_above = _tally(size, count, work)
        at_most = below + decided_below
        above = size - below - count + decided_above
        if at_most > outer_high:
            upper, unmoved = trial, 0
            count = _keep(size, count, False, work)
        elif above >= size - outer_low:
            lower, below, unmoved = trial, at_most, 0
            count = _keep(size, count, True, work)
        else:  # between the two middle inner medians: B lies on both sides
            unmoved += 1
        if upper == np.inf:
            trial *= 1.0 + _step(at_most / size, attempt)
        elif lower == 0.0:
            trial /= 1.0 + _step(above / size, attempt)
        elif attempt % HALVED == HALVED - 1:
            trial = np.sqrt(lower * upper)
        else:
            trial = _interpolate(size, below, count, lower, upper, unmoved, work)
    _inner_medians(values, count, lower, upper, work)
    ordered = np.sort(work.inner_medians[:count])
    return float(0.5 * (ordered[outer_low - below] + ordered[outer_high - below]))


@compiled
def _mostly_tied(values: Column) -> bool:
    """Say whether ties alone decide that B = 0: a block of equal values that outnumbers the middle of all medians."""
    size = values.shape[0]
    block = max((size - 1) // 2 + 2, size // 2 + 1)
    tied = False
    for first in range(size - block + 1):
        tied |= values[first] == values[first + block - 1]
    return tied


@compiled
def _step(share: float, attempt: int) -> float:
    """Return how far to go, relative to a trial that has that share of the rows on one side, to get past the middle.

    Used until both sides are bounded. The first step is small, since an estimate is close, the next ones are larger.
    """
    return (abs(0.5 - share) + 0.01) * STRIDE * 3.0**attempt


@compiled
def _count(values: Column, trial: float, count: int, work: ColumnWorkspace) -> None:
    """Write bounds of the number of each candidate's slopes of at most the trial."""
    size, tilted = values.shape[0], work.buckets.tilted
    tilt(values, trial, tilted)
    if count <= FEW:
        for candidate in range(count):
            work.least[candidate] = exact_count(work.candidates[candidate], tilted)
            work.most[candidate] = work.least[candidate]
        return
    # Buckets lie where the candidates are. At first these are all rows, and outliers would stretch the range.
    skipped = size // 8 if count == size else 0
    lowest, highest = np.inf, -np.inf
    for candidate in range(skipped, count - skipped):
        here = tilted[work.candidates[candidate]]
        lowest, highest = min(lowest, here), max(highest, here)
    fill_buckets(lowest, highest, work.buckets)
    for candidate in range(count):
        work.least[candidate], work.most[candidate] = counts_of_row(
            work.candidates[candidate], (size - 2) // 2, (size - 1) // 2, work.buckets
        )


@compiled
def _tally(size: int, count: int, work: ColumnWorkspace) -> tuple[int, int]:
    """Return how many candidates have an inner median of at most the trial, and how many one above it."""
    inner_low, inner_high = (size - 2) // 2, (size - 1) // 2
    at_most, above = 0, 0
    for candidate in range(count):
        at_most += work.least[candidate] > inner_high
        above += work.most[candidate] <= inner_low
    return at_most, above


@compiled
def _keep(size: int, count: int, above: bool, work: ColumnWorkspace) -> int:
    """Keep the candidates whose inner medians may be on one side of the trial; return how many they are."""
    inner_low, inner_high = (size - 2) // 2, (size - 1) // 2
    kept = 0
    for candidate in range(count):
        least, most = work.least[candidate], work.most[candidate]
        # Always written, counted only when kept: without a branch the processor has nothing to mispredict.
        work.candidates[kept] = work.candidates[candidate]
        work.at_lower[kept] = 0.5 * (least + most) if above else work.at_lower[candidate]
        work.at_upper[kept] = work.at_upper[candidate] if above else 0.5 * (least + most)
        kept += least <= inner_high if above else most > inner_low
    return kept


@compiled
def _interpolate(
    size: int, below: int, count: int, lower: float, upper: float, unmoved: int, work: ColumnWorkspace
) -> float:
    """Choose the next trial: just past the middle, on the side where more candidates are left.

    Where a candidate's inner median lies is estimated from its counts at both bounds. Aiming past the middle is what
    lets a bound move: a trial that splits the rows exactly in half moves none, and the next one aims farther.
    """
    for candidate in range(count):
        rise = work.at_upper[candidate] - work.at_lower[candidate]
        share = (0.5 * (size - 1) - work.at_lower[candidate]) / max(rise, 1.0)
        work.inner_medians[candidate] = lower + (upper - lower) * min(max(share, 0.0), 1.0)
    before, behind = (size - 1) // 2 - below, below + count - size // 2 - 1
    past = 2 + count // 16
    aim = max(before - past, 0) if before > behind else min(size // 2 - below + past, count - 1)
    trial = np.partition(work.inner_medians[:count], aim)[aim]
    trial += ((lower if before > behind else upper) - trial) * (1.0 - 0.5**unmoved)
    return float(trial if lower < trial < upper else 0.5 * (lower + upper))


@compiled
def _inner_medians(values: Column, count: int, lower: float, upper: float, work: ColumnWorkspace) -> None:
    """Write the medians of the candidates' slopes to all other rows, which are expected between the bounds."""
    size = values.shape[0]
    upper = min(upper, values[size - 1] - values[0])  # no slope is larger
    # Of an odd number of clients the two slopes in the middle may lie on both sides of a bound.
    tilt(values, lower * (1.0 - 4.0 / size), work.buckets.tilted)
    tilt(values, upper * (1.0 + 4.0 / size), work.tilted)
    for candidate in range(count):
        work.inner_medians[candidate] = _inner_median(values, work.candidates[candidate], work)


@compiled
def _inner_median(values: Column, rank: int, work: ColumnWorkspace) -> float:
    """Return the median of a row's slopes, given the column tilted by slopes that are below and above it as a rule."""
    size, by_lower, by_upper = values.shape[0], work.buckets.tilted, work.tilted
    near = _collect(by_upper, by_lower, rank, 0, rank, 0, work.near)
    near = _collect(by_lower, by_upper, rank, rank + 1, size, near, work.near)
    less = exact_count(rank, by_upper) - near
    low, high = (size - 2) // 2 - less, (size - 1) // 2 - less
    if low < 0 or high >= near:
        low, high, near = low + less, high + less, size - 1
        for place in range(size - 1):
            work.near[place] = place + (place >= rank)
    for place in range(near):
        other = work.near[place]
        work.slopes[place] = (values[other] - values[rank]) / (other - rank)
    ordered = np.partition(np.partition(work.slopes[:near], low), high)
    return float(0.5 * (ordered[low] + ordered[high]))


@compiled
def _collect(floor: Column, ceiling: Column, rank: int, first: int, last: int, found: int, near: Ranks) -> int:
    """Append the rows that are not below `rank` in `floor` and not above it in `ceiling`; return how many there are."""
    least, most = floor[rank], ceiling[rank]
    for start in range(first, last, CHUNK):
        stop = min(start + CHUNK, last)
        floor_part, ceiling_part, inside = floor[start:stop], ceiling[start:stop], np.int32(0)
        for place in range(stop - start):
            inside += np.int32((floor_part[place] >= least) & (ceiling_part[place] <= most))
        if inside > 0:  # rare: what is above is compiled to SIMD instructions, this is not
            for place in range(start, stop):
                near[found] = place
                found += (floor[place] >= least) & (ceiling[place] <= most)
    return found
