"""Siegel's repeated-median slope of sorted columns, exact, for `LANES` columns side by side.

For a sorted column w and ranks x = 0 .. M-1:

    B = median_i  median_{j != i}  (w_j - w_i) / (x_j - x_i)

Computing all inner medians costs M selections among M slopes. For more than a few clients most of them can be
told apart from B without being computed: tilt the column by a trial slope b, u_j = w_j - b x_j; a slope from row i is
at most b exactly when the pair is not in ascending order after tilting (u_j <= u_i for j behind i, u_j >= u_i for j
before i). Counting those pairs says on which side of b the inner median of row i lies. A few trials leave a
handful of undecided rows, the *candidates*, and only their inner medians are computed, exactly.

Siegel, "Robust regression using repeated medians", Biometrika 69 (1982).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eitr.compiled import compiled
from eitr.robust.lanes import (
    LANES,
    add,
    aligned_rows,
    both,
    divide,
    equal,
    less,
    less_equal,
    load,
    multiply,
    splat,
    store,
    subtract,
    where,
)
from eitr.robust.networks import Comparators, exchange, selection_network, sorting_network

Rows = NDArray[np.float64]
"""(rows, LANES), C-contiguous."""

SEARCH_FROM = 24
"""Up to this many clients all inner medians are computed: trials would cost more than they save (measured)."""
FEW = 6
"""The search ends when no lane has more candidates than this (than twice this for an odd number of clients)."""
COUNT_ALL_FROM = 0.4
"""Share of the rows from which counting all of them, pair by pair, is cheaper than counting them one by one."""
PAST = 1
"""How many rows beyond the middle a trial aims."""
MOST_TRIALS = 14
"""Ties can keep rows undecided for ever; then the remaining ones are computed, however many there are."""


@compiled
def _few(size: int) -> int:
    """How many candidates are few: with an odd M inner medians are means of two slopes, and trials that fall
    between the two leave the row undecided.
    """
    return FEW if size % 2 == 0 else 2 * FEW


class SlopeWorkspace(NamedTuple):
    """Scratch memory and networks for columns of one size; one per thread."""

    tilted: Rows
    slopes: Rows
    counts: Rows
    candidate_rank: Rows
    candidate_value: Rows
    inner_medians: Rows
    trial: Rows
    """(1, LANES): the slope on trial in each lane."""
    split: Rows
    """(2, LANES): the smallest and the largest trial known to lie between the two middle inner medians."""
    tally: Rows
    """(3, LANES): candidates at most the trial, candidates above it, candidates."""
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    below: NDArray[np.int64]
    """(LANES,): rows whose inner median is known to be at most `lower`."""
    candidates: NDArray[np.int64]
    row_network: Comparators
    """Puts the middle of a row's M-1 slopes (and one infinity for the row itself) in place."""
    rise_network: Comparators
    """Puts the median of the M - M//3 rises over a third of the ranks in place."""
    all_network: Comparators
    few_network: Comparators


def slope_workspace(size: int) -> SlopeWorkspace:
    """Allocate the scratch memory for columns of `size` clients."""
    rises = size - size // 3
    return SlopeWorkspace(
        tilted=aligned_rows(size),
        slopes=aligned_rows(size),
        counts=aligned_rows(size),
        candidate_rank=aligned_rows(size),
        candidate_value=aligned_rows(size),
        inner_medians=aligned_rows(max(size, _few(size))),
        trial=aligned_rows(1),
        split=aligned_rows(2),
        tally=aligned_rows(3),
        lower=np.empty(LANES),
        upper=np.empty(LANES),
        below=np.empty(LANES, dtype=np.int64),
        candidates=np.empty(LANES, dtype=np.int64),
        row_network=selection_network(size, ((size - 2) // 2, (size - 1) // 2)),
        rise_network=selection_network(rises, (rises // 2,)),
        all_network=sorting_network(size),
        few_network=sorting_network(_few(size)),
    )


@compiled
def repeated_median_slope(values: Rows, work: SlopeWorkspace, slope: Rows) -> None:
    """Write B of each lane's sorted column into `slope` (1, LANES). Needs at least two rows."""
    _start(values, work)
    if values.shape[0] > SEARCH_FROM:
        _search(values, work)
    _finish(values, work, slope)


@compiled
def _start(values: Rows, work: SlopeWorkspace) -> None:
    """Make every row a candidate, except in lanes where ties alone decide that B = 0.

    Rows that share their value have slope 0 to each other. A block of ties that outnumbers the middle of every
    inner and of the outer median makes B exactly 0: common in practice (a word that most clients never saw leaves
    its weights where they were), and the one case in which trials never separate the rows.
    """
    size = values.shape[0]
    block = max((size - 1) // 2 + 2, size // 2 + 1)
    for lane in range(LANES):
        work.candidates[lane] = size
        work.below[lane] = 0
        for first in range(size - block + 1):
            if values[first, lane] == values[first + block - 1, lane]:
                work.candidates[lane] = 0
                break
    for row in range(size):
        store(work.candidate_rank, row, splat(float(row)))
        store(work.candidate_value, row, load(values, row))


@compiled
def _search(values: Rows, work: SlopeWorkspace) -> None:
    """Shrink each lane's candidates by trials until there are few."""
    size = values.shape[0]
    few = _few(size)
    _first_trial(values, work)
    for attempt in range(MOST_TRIALS):
        most = _most_candidates(work)
        if most <= few:
            break
        trial = load(work.trial, 0)
        for row in range(size):
            store(work.tilted, row, subtract(load(values, row), multiply(trial, splat(float(row)))))
        if most > COUNT_ALL_FROM * size:
            _count_all(work)
            if attempt > 0:
                _pick_candidates(work)
        else:
            _count_candidates(size, most, work)
        _tally(size, most, work)
        for lane in range(LANES):
            if work.candidates[lane] > few:
                _narrow(size, lane, attempt, work)


@compiled
def _most_candidates(work: SlopeWorkspace) -> int:
    most = 0
    for lane in range(LANES):
        most = max(most, work.candidates[lane])
    return most


@compiled
def _first_trial(values: Rows, work: SlopeWorkspace) -> None:
    """Start at the median rise over a third of the ranks: it lies within a few per cent of B for most columns."""
    size = values.shape[0]
    third = size // 3
    for row in range(size - third):
        store(work.slopes, row, subtract(load(values, row + third), load(values, row)))
    exchange(work.slopes, work.rise_network)
    for lane in range(LANES):
        work.lower[lane] = 0.0
        work.upper[lane] = np.inf
        work.split[0, lane] = np.inf
        work.split[1, lane] = 0.0
        work.trial[0, lane] = work.slopes[(size - third) // 2, lane] / third
        if work.trial[0, lane] <= 0.0:
            work.trial[0, lane] = (values[size - 1, lane] - values[0, lane]) / (size - 1)


@compiled
def _count_all(work: SlopeWorkspace) -> None:
    """Count, for every row, its slopes of at most the trial; each pair is looked at once and counts for both rows.

    Two rows at a time: what limits the speed is writing the counts of the rows behind.
    """
    size = work.tilted.shape[0]
    one, zero = splat(1.0), splat(0.0)
    for row in range(size):
        store(work.counts, row, zero)
    for row in range(0, size - 1, 2):
        first, second = load(work.tilted, row), load(work.tilted, row + 1)
        found = where(less_equal(second, first), one, zero)
        first_count = add(load(work.counts, row), found)
        second_count = add(load(work.counts, row + 1), found)
        for behind in range(row + 2, size):
            there = load(work.tilted, behind)
            found_first = where(less_equal(there, first), one, zero)
            found_second = where(less_equal(there, second), one, zero)
            first_count = add(first_count, found_first)
            second_count = add(second_count, found_second)
            store(work.counts, behind, add(load(work.counts, behind), add(found_first, found_second)))
        store(work.counts, row, first_count)
        store(work.counts, row + 1, second_count)


@compiled
def _pick_candidates(work: SlopeWorkspace) -> None:
    """Reduce the counts of all rows to those of each lane's candidates (whose ranks ascend, so in place)."""
    for lane in range(LANES):
        for candidate in range(work.candidates[lane]):
            work.counts[candidate, lane] = work.counts[int(work.candidate_rank[candidate, lane]), lane]


@compiled
def _count_candidates(size: int, most: int, work: SlopeWorkspace) -> None:
    """Count the slopes of at most the trial for each lane's candidates, whose ranks differ from lane to lane."""
    trial = load(work.trial, 0)
    one = splat(1.0)
    zero = splat(0.0)
    for candidate in range(most):
        first, last = size, 0
        for lane in range(LANES):
            if candidate < work.candidates[lane]:
                rank = int(work.candidate_rank[candidate, lane])
                first = min(first, rank)
                last = max(last, rank)
        ranks = load(work.candidate_rank, candidate)
        here = subtract(load(work.candidate_value, candidate), multiply(trial, ranks))
        count = zero
        for row in range(first):
            count = add(count, where(less_equal(here, load(work.tilted, row)), one, zero))
        for row in range(first, last + 1):
            # A rise and a run of opposite signs: the slope is at most the trial. True for the row itself, too.
            rise = subtract(load(work.tilted, row), here)
            run = subtract(splat(float(row)), ranks)
            count = add(count, where(less_equal(multiply(rise, run), zero), one, zero))
        for row in range(last + 1, size):
            count = add(count, where(less_equal(load(work.tilted, row), here), one, zero))
        store(work.counts, candidate, subtract(count, one))


@compiled
def _tally(size: int, most: int, work: SlopeWorkspace) -> None:
    """Count, per lane, the candidates whose inner median is at most the trial, and those where it is above."""
    inner_low, inner_high = splat((size - 2) // 2 + 0.5), splat((size - 1) // 2 + 0.5)
    one, zero = splat(1.0), splat(0.0)
    for lane in range(LANES):
        work.tally[2, lane] = work.candidates[lane]
    candidates = load(work.tally, 2)
    at_most, above = zero, zero
    for candidate in range(most):
        count = load(work.counts, candidate)
        valid = less(splat(float(candidate)), candidates)
        at_most = add(at_most, where(both(valid, less(inner_high, count)), one, zero))
        above = add(above, where(both(valid, less(count, inner_low)), one, zero))
    store(work.tally, 0, at_most)
    store(work.tally, 1, above)


@compiled
def _narrow(size: int, lane: int, attempt: int, work: SlopeWorkspace) -> None:
    """Use one lane's counts: move a bound to the trial and drop the rows it decides, then choose the next trial."""
    inner_low, inner_high = (size - 2) // 2, (size - 1) // 2
    outer_low, outer_high = (size - 1) // 2, size // 2
    trial = work.trial[0, lane]
    at_most = work.below[lane] + int(work.tally[0, lane])
    above = size - work.below[lane] - work.candidates[lane] + int(work.tally[1, lane])
    if at_most > outer_high:
        work.upper[lane] = trial
        _drop(lane, work, -1.0, float(inner_low))
    elif above >= size - outer_low:
        work.lower[lane] = trial
        work.below[lane] = at_most
        _drop(lane, work, float(inner_high), float(size))
    else:  # between the two middle inner medians: B lies on both sides
        work.split[0, lane] = min(work.split[0, lane], trial)
        work.split[1, lane] = max(work.split[1, lane], trial)
    # Until both sides are bounded: a small step, since the first trial is usually close, then ever larger ones.
    if work.upper[lane] == np.inf:
        work.trial[0, lane] = trial * (1.03 + 0.3 * (0.5 - at_most / size)) * 2.0 ** (attempt * attempt)
    elif work.lower[lane] == 0.0:
        work.trial[0, lane] = trial * (0.98 - 0.25 * (0.5 - above / size)) * 0.5 ** (attempt * attempt)
    else:
        work.trial[0, lane] = _interpolate(size, lane, work)


@compiled
def _drop(lane: int, work: SlopeWorkspace, after: float, to: float) -> None:
    """Drop the lane's candidates whose count lies in (after, to]."""
    kept = 0
    for candidate in range(work.candidates[lane]):
        # Always written, counted only when kept: without a branch the processor has nothing to mispredict.
        work.candidate_rank[kept, lane] = work.candidate_rank[candidate, lane]
        work.candidate_value[kept, lane] = work.candidate_value[candidate, lane]
        count = work.counts[candidate, lane]
        kept += (count <= after) | (count > to)
    work.candidates[lane] = kept


@compiled
def _interpolate(size: int, lane: int, work: SlopeWorkspace) -> float:
    """Choose the next trial: just past the middle, on the side where more candidates are left.

    Aiming past the middle is what lets a bound move: a trial that splits the rows exactly in half moves none.
    """
    outer_low, outer_high = (size - 1) // 2, size // 2
    first = work.below[lane]
    last = first + work.candidates[lane]
    left, right = work.lower[lane], work.upper[lane]
    if outer_low - first > last - outer_high - 1:
        aim = outer_low - PAST
        if work.split[0, lane] < right:
            right, last = work.split[0, lane], outer_high
    else:
        aim = outer_high + 1 + PAST
        if work.split[1, lane] > left:
            left, first = work.split[1, lane], outer_high
    share = min(max((aim - first + 0.5) / (last - first + 1.0), 0.03), 0.97)
    if 0.0 < 4.0 * left < right:
        return float(left * (right / left) ** share)  # the slopes span orders of magnitude
    return float(left + (right - left) * share)


@compiled
def _finish(values: Rows, work: SlopeWorkspace, slope: Rows) -> None:
    """Compute the candidates' inner medians and pick the outer median among them."""
    size = values.shape[0]
    few = _few(size)
    most = _most_candidates(work)
    for candidate in range(most):
        _inner_median(values, candidate, work)
    padded = few if most <= few else size
    for candidate in range(padded):
        for lane in range(LANES):
            if candidate >= work.candidates[lane]:
                work.inner_medians[candidate, lane] = np.inf
    exchange(work.inner_medians, work.few_network if most <= few else work.all_network)
    for lane in range(LANES):
        slope[0, lane] = 0.0
        if work.candidates[lane] > 0:
            low = work.inner_medians[(size - 1) // 2 - work.below[lane], lane]
            high = work.inner_medians[size // 2 - work.below[lane], lane]
            slope[0, lane] = 0.5 * (low + high)


@compiled
def _inner_median(values: Rows, candidate: int, work: SlopeWorkspace) -> None:
    """Write the median of a candidate row's slopes to all other rows."""
    size = values.shape[0]
    ranks = load(work.candidate_rank, candidate)
    here = load(work.candidate_value, candidate)
    infinity = splat(np.inf)
    for row in range(size):
        position = splat(float(row))
        pair = divide(subtract(load(values, row), here), subtract(position, ranks))
        # The row's slope to itself is 0/0: sorted to the end it is out of the way.
        store(work.slopes, row, where(equal(position, ranks), infinity, pair))
    exchange(work.slopes, work.row_network)
    middle = add(load(work.slopes, (size - 2) // 2), load(work.slopes, (size - 1) // 2))
    store(work.inner_medians, candidate, multiply(middle, splat(0.5)))
