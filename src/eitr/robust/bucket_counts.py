"""Count the inversions of a tilted column for each of its rows, in time that grows with the number of rows.

`repeated_median.py` says why they are wanted: row i has a slope of at most b to row j exactly when the two are not in
ascending order in u_j = w_j - b x_j. Here the u are put into buckets of equal width, and the rows are taken one after
the other. Two tables, of buckets and of groups of buckets, hold how many of the rows so far lie in higher ones: taking
a row changes one line of each table, and asking for its number reads one entry of each. Rows in one bucket may be in
any order: they are compared one by one, or, where they are many, the count stays between two bounds.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eitr.compiled import compiled
from eitr.robust.lanes import LINE, add_line, aligned_lines

Column = NDArray[np.float64]
Ranks = NDArray[np.int64]
Counts = NDArray[np.int32]

SIDE = LINE
BUCKETS = SIDE**2
CROWDED = 64
"""In a bucket with so many rows they are not compared with each other."""
_BITS = SIDE.bit_length() - 1


class Buckets(NamedTuple):
    """Scratch memory for columns of one size; one per thread."""

    tilted: Column
    bucket: NDArray[np.uint16]
    """(clients,): the bucket of each tilted value; they ascend with the values."""
    before: Counts
    """(clients,): twice the rows before this one in higher buckets, plus those in the same bucket."""
    coarse: Counts
    """(1, 32): twice the rows in higher groups of 32 buckets."""
    fine: Counts
    """(32, 32): twice the rows in higher buckets of the same group, plus those in the bucket itself."""
    members: Counts
    """(clients,): the ranks in each bucket, one bucket after the other."""
    begins: Counts
    """(BUCKETS,): where the members of each bucket begin, and ..."""
    ends: Counts
    """... end."""
    lower_entries: Counts
    """(32, 32): what a row in some group adds to `coarse`: 2 for each lower entry."""
    entries: Counts
    """(32, 32): what a row in some bucket adds to its line of `fine`: 2 for each lower entry, 1 for its own."""


def buckets(size: int) -> Buckets:
    """Allocate the scratch memory for columns of `size` clients."""
    lower, own = aligned_lines(SIDE), aligned_lines(SIDE)
    lower[:] = 2 * np.tri(SIDE, k=-1)
    own[:] = lower + np.eye(SIDE)
    return Buckets(
        tilted=np.empty(size),
        bucket=np.empty(size, dtype=np.uint16),
        before=np.empty(size, dtype=np.int32),
        coarse=aligned_lines(1),
        fine=aligned_lines(SIDE),
        members=np.empty(size, dtype=np.int32),
        begins=np.empty(BUCKETS, dtype=np.int32),
        ends=np.empty(BUCKETS, dtype=np.int32),
        lower_entries=lower,
        entries=own,
    )


@compiled
def tilt(values: Column, slope: float, tilted: Column) -> None:
    """Write u_j = w_j - b x_j."""
    for rank in range(values.shape[0]):
        tilted[rank] = values[rank] - slope * rank


@compiled
def fill_buckets(lowest: float, highest: float, work: Buckets) -> None:
    """Put the tilted values into buckets, in the order of ranks; values outside the range go to the ends."""
    width = highest - lowest
    scale = (BUCKETS - 2) / width if width > 1e-290 else 0.0
    for rank in range(work.tilted.shape[0]):
        # Subtracting, multiplying, adding and rounding down keep the order, whatever they round.
        work.bucket[rank] = int(min(max((work.tilted[rank] - lowest) * scale + 1.0, 0.0), BUCKETS - 1.0))
    work.coarse[:] = 0
    work.fine[:] = 0
    _share_out(work)
    for rank in range(work.tilted.shape[0]):
        bucket = work.bucket[rank]
        group, entry = bucket >> _BITS, bucket & SIDE - 1
        work.before[rank] = work.coarse[0, group] + work.fine[group, entry]
        work.members[work.ends[bucket]] = rank
        work.ends[bucket] += 1
        add_line(work.coarse, 0, work.lower_entries, group)
        add_line(work.fine, group, work.entries, entry)


@compiled
def _share_out(work: Buckets) -> None:
    """Set where the members of each bucket begin; `ends` starts there as well."""
    work.begins[:] = 0
    for rank in range(work.tilted.shape[0]):
        work.begins[work.bucket[rank]] += 1
    first = np.int32(0)
    for bucket in range(BUCKETS):
        first, work.begins[bucket] = first + work.begins[bucket], first
        work.ends[bucket] = work.begins[bucket]


@compiled
def counts_of_row(rank: int, low: int, high: int, work: Buckets) -> tuple[int, int]:
    """Return bounds of the number of a row's slopes that are at most the one the column is tilted by.

    What matters is whether it is at most `low`, above `high`, or neither: the bounds meet only where needed to tell.

    With G the other rows in higher buckets and E those in the same one, and G', E' the ones among them that come
    before: (M - 1 - G - E) - (x - G' - E') rows behind are in lower buckets, and G' rows before in higher ones.
    """
    bucket = work.bucket[rank]
    group, entry = bucket >> _BITS, bucket & SIDE - 1
    same = work.ends[bucket] - work.begins[bucket] - 1
    higher = (work.coarse[0, group] + work.fine[group, entry] - same - 1) >> 1
    count = work.tilted.shape[0] - 1 - higher - same - rank + work.before[rank]
    if same > CROWDED or count > high or count + same <= low:
        return count, count + same
    here = work.tilted[rank]
    for place in range(work.begins[bucket], work.ends[bucket]):
        other = work.members[place]
        there = work.tilted[other]
        count += (other < rank) & (there >= here) | (other > rank) & (there <= here)
    return count, count


@compiled
def exact_count(rank: int, tilted: Column) -> int:
    """Return the number of a row's slopes that are at most the one the column is tilted by."""
    here, count = tilted[rank], np.int32(0)  # short, so that more of them are counted at once
    before, behind = tilted[:rank], tilted[rank + 1 :]
    for other in range(before.shape[0]):
        count += np.int32(before[other] >= here)
    for other in range(behind.shape[0]):
        count += np.int32(behind[other] <= here)
    return int(count)
