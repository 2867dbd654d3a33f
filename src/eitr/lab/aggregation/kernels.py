# mypy: ignore-errors
# (Triton's language is not Python's: its kernels have no types that a checker could know.)
"""Triton kernels: ranks, repeated-median slopes, residuals and means, many columns side by side.

A column is one parameter of one run over all clients. A program is one warp on `WIDTH` neighbouring columns: what it
compares, it compares row by row, so that a row is read once and compared with `ROWS` others that stay in registers. No
program waits for another and none reads what another thread of it wrote: the steps are separate launches.

Comparisons run in float32, on values centred on the median of the column. What they select (a pair of rows, a row) is
then evaluated in float64 from the updates themselves. A column where the rounding of float32 could change the outcome
(too many rows undecided, a selection at the edge of what the search excluded, residuals tiny beside the values)
is flagged, and the same kernels do it again with `PRECISE`, entirely in float64.

Sorted columns lie in a table (clients, total), `total` = runs x columns of the block; state lies in vectors (total,).
"""

try:
    import triton
    import triton.language as tl
except ImportError:  # so that this file can be read, by doctest for one, where nothing can run it

    class _Absent:
        jit = staticmethod(lambda function: function)
        constexpr = staticmethod(lambda value: value)

    triton = tl = _Absent

NOISE = tl.constexpr(2.5e-7)
"""Four roundings of float32: what a difference of two centred values can be off, relative to the larger."""
HUGE = tl.constexpr(3.0e38)
BEYOND = tl.constexpr(2.0e38)
"""HUGE marks an end of a bracket that is not known yet; BEYOND lies outside all values."""

SLOPE = tl.constexpr(0)
TILTED = tl.constexpr(1)
RESIDUAL = tl.constexpr(2)
MAGNITUDE = tl.constexpr(3)


@triton.jit
def _is_less(one, two):
    """1 where one < two, else 0: the sign of the difference. Added up, two instructions; a comparison takes five."""
    return ((one - two).to(tl.uint32, bitcast=True) >> 31).to(tl.int32)


@triton.jit
def rank_columns(
    updates,
    ordered,
    ranks,
    run_stride,
    client_stride,
    columns,
    total,
    M: tl.constexpr,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """Rank every value in its column, equal values by client; write sorted columns, and ranks by client."""
    run = tl.program_id(1)
    column = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    inside = column < columns
    source = updates + run.to(tl.int64) * run_stride + column
    flat = run * columns + column
    for first in range(0, M, ROWS):
        row = first + tl.arange(0, ROWS)
        valid = (row < M)[:, None] & inside[None, :]
        value = tl.load(source[None, :] + row.to(tl.int64)[:, None] * client_stride, mask=valid, other=0.0)
        # Clients before the block come before a value unless they are larger; those behind it if they are less.
        rank = tl.zeros([ROWS, WIDTH], tl.int32) + first
        pointer = source
        for _ in range(first):
            there = tl.load(pointer, mask=inside, other=0.0)
            rank -= _is_less(value, there[None, :])
            pointer += client_stride
        for other in range(first, first + ROWS):
            there = tl.load(pointer, mask=inside & (other < M), other=0.0)
            before = (there[None, :] < value) | ((there[None, :] == value) & (row > other)[:, None])
            rank += (before & (other < M)).to(tl.int32)
            pointer += client_stride
        for _ in range(first + ROWS, M):
            there = tl.load(pointer, mask=inside, other=0.0)
            rank += _is_less(there[None, :], value)
            pointer += client_stride
        tl.store(ordered + (rank * total + flat[None, :]), value, mask=valid)
        tl.store(ranks + (row[:, None] * total + flat[None, :]), rank.to(tl.int16), mask=valid)


@triton.jit
def _clipped(value, middle, low, high):
    """The offset from the middle, clipped: the type is that of the middle."""
    return tl.minimum(tl.maximum(value.to(middle.dtype) - middle, low), high)


@triton.jit
def _frame(ordered, flat, inside, reach, total, M: tl.constexpr):
    """Return the median and the limits in float64, then all three in float32, where the median is rounded."""
    below = tl.load(ordered + ((M - 1) // 2) * total + flat, mask=inside, other=0.0)
    above = tl.load(ordered + (M // 2) * total + flat, mask=inside, other=0.0)
    middle = 0.5 * (below.to(tl.float64) + above.to(tl.float64))
    rounded = middle.to(tl.float32)
    shift = middle - rounded.to(tl.float64)
    return middle, -reach, reach, rounded, (shift - reach).to(tl.float32), (shift + reach).to(tl.float32)


@triton.jit
def start_search(
    ordered,
    reach,
    trial,
    lower,
    upper,
    split_low,
    split_high,
    below,
    beyond,
    slot_low,
    slot_high,
    left,
    columns,
    total,
    M: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """Begin: all rows are candidates, none where ties alone make the slope 0; the first trial is a typical rise.

    The rise is the median of nine, each over a third of the ranks.
    """
    flat = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    inside = flat < total
    limit = tl.load(reach + flat // columns, mask=inside, other=1.0)
    _, _, _, middle, low, high = _frame(ordered, flat, inside, limit, total, M)
    BLOCK: tl.constexpr = M // 2 + 1 if M % 2 == 0 else M // 2 + 2
    tied = flat < 0
    for first in range(M - BLOCK + 1):
        one = tl.load(ordered + first * total + flat, mask=inside, other=0.0)
        two = tl.load(ordered + (first + BLOCK - 1) * total + flat, mask=inside, other=0.0)
        tied = tied | (_clipped(one, middle, low, high) == _clipped(two, middle, low, high))
    THIRD: tl.constexpr = M // 3
    guess = tl.zeros([WIDTH], tl.float32)
    for mine in range(9):
        place = ((2 * mine + 1) * (M - THIRD)) // 18
        one = tl.load(ordered + place * total + flat, mask=inside, other=0.0)
        two = tl.load(ordered + (place + THIRD) * total + flat, mask=inside, other=0.0)
        rise = _clipped(two, middle, low, high) - _clipped(one, middle, low, high)
        rank = tl.zeros([WIDTH], tl.int32)
        for theirs in range(9):
            place = ((2 * theirs + 1) * (M - THIRD)) // 18
            one = tl.load(ordered + place * total + flat, mask=inside, other=0.0)
            two = tl.load(ordered + (place + THIRD) * total + flat, mask=inside, other=0.0)
            other = _clipped(two, middle, low, high) - _clipped(one, middle, low, high)
            rank += ((other < rise) | ((other == rise) & (theirs < mine))).to(tl.int32)
        guess = tl.where(rank == 4, rise / THIRD, guess)
    one = _clipped(tl.load(ordered + flat, mask=inside, other=0.0), middle, low, high)
    two = _clipped(tl.load(ordered + (M - 1) * total + flat, mask=inside, other=0.0), middle, low, high)
    guess = tl.where(guess > 0, guess, (two - one) / (M - 1))
    nothing = tl.zeros([WIDTH], tl.int32)
    tl.store(trial + flat, guess, mask=inside)
    tl.store(lower + flat, nothing.to(tl.float32), mask=inside)
    tl.store(upper + flat, nothing.to(tl.float32) + HUGE, mask=inside)
    tl.store(split_low + flat, nothing.to(tl.float32) + HUGE, mask=inside)
    tl.store(split_high + flat, nothing.to(tl.float32), mask=inside)
    tl.store(below + flat, nothing, mask=inside)
    tl.store(beyond + flat, nothing, mask=inside)
    tl.store(slot_low + flat, nothing - 1, mask=inside)
    tl.store(slot_high + flat, nothing - 1, mask=inside)
    tl.store(left + flat, tl.where(tied, 0, M), mask=inside)


@triton.jit
def try_slopes(
    ordered,
    reach,
    trial,
    lower,
    upper,
    split_low,
    split_high,
    below,
    beyond,
    slot_low,
    slot_high,
    left,
    counts,
    listing,
    amount,
    columns,
    total,
    attempt,
    stretch,
    FEW: tl.constexpr,
    M: tl.constexpr,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
    LISTED: tl.constexpr,
):
    """One trial: count every row's slopes of at most the trial, narrow the bracket, choose the next trial."""
    INNER_LOW: tl.constexpr = (M - 2) // 2
    INNER_HIGH: tl.constexpr = (M - 1) // 2
    OUTER_LOW: tl.constexpr = (M - 1) // 2
    OUTER_HIGH: tl.constexpr = M // 2
    amount_here = total
    if LISTED:
        amount_here = tl.load(amount)
    for tile in range(tl.program_id(0), tl.cdiv(amount_here, WIDTH), tl.num_programs(0)):
        flat = tile * WIDTH + tl.arange(0, WIDTH)
        inside = flat < amount_here
        if LISTED:
            flat = tl.load(listing + flat, mask=inside, other=0)
        limit = tl.load(reach + flat // columns, mask=inside, other=1.0)
        _, _, _, middle, low, high = _frame(ordered, flat, inside, limit, total, M)
        b = tl.load(trial + flat, mask=inside, other=0.0)
        source = ordered + flat
        at_most = tl.zeros([WIDTH], tl.int32)
        above = tl.zeros([WIDTH], tl.int32)
        for first in range(0, M, ROWS):
            row = first + tl.arange(0, ROWS)
            valid = (row < M)[:, None] & inside[None, :]
            value = tl.load(source[None, :] + row[:, None] * total, mask=valid, other=0.0)
            here = _clipped(value, middle[None, :], low[None, :], high[None, :])
            here = here - b[None, :] * row.to(tl.float32)[:, None]
            # A slope is at most the trial unless the pair rises after tilting: count those, and the row's own.
            count = tl.zeros([ROWS, WIDTH], tl.int32) + (M - 1)
            pointer = source
            for other in range(first):
                there = _clipped(tl.load(pointer, mask=inside, other=0.0), middle, low, high) - b * other
                count -= _is_less(there[None, :], here)
                pointer += total
            for other in range(first, first + ROWS):
                there = tl.load(pointer, mask=inside & (other < M), other=0.0)
                there = _clipped(there, middle, low, high) - b * other
                rising = tl.where((row < other)[:, None], there[None, :] - here, here - there[None, :])
                rising = tl.where((row != other)[:, None] & (other < M), rising, 0.0)
                count -= _is_less(0.0, rising)
                pointer += total
            for other in range(first + ROWS, M):
                there = _clipped(tl.load(pointer, mask=inside, other=0.0), middle, low, high) - b * other
                count -= _is_less(here, there[None, :])
                pointer += total
            at_most += tl.sum((valid & (count > INNER_HIGH)).to(tl.int32), axis=0)
            above += tl.sum((valid & (count <= INNER_LOW)).to(tl.int32), axis=0)
            tl.store(counts + (row[:, None] * total + flat[None, :]), count.to(counts.dtype.element_ty), mask=valid)

        active = inside & (tl.load(left + flat, mask=inside, other=0) > FEW)
        left_end = tl.load(lower + flat, mask=inside, other=0.0)
        right_end = tl.load(upper + flat, mask=inside, other=0.0)
        first_split = tl.load(split_low + flat, mask=inside, other=0.0)
        last_split = tl.load(split_high + flat, mask=inside, other=0.0)
        under = tl.load(below + flat, mask=inside, other=0)
        over = tl.load(beyond + flat, mask=inside, other=0)
        to_upper = at_most > OUTER_HIGH
        to_lower = (above >= M - OUTER_LOW) & (at_most <= OUTER_HIGH)
        between = (at_most <= OUTER_HIGH) & (above < M - OUTER_LOW)
        right_end = tl.where(to_upper, b, right_end)
        over = tl.where(to_upper, above, over)
        left_end = tl.where(to_lower, b, left_end)
        under = tl.where(to_lower, at_most, under)
        first_split = tl.where(between, tl.minimum(first_split, b), first_split)
        last_split = tl.where(between, tl.maximum(last_split, b), last_split)
        remaining = M - under - over

        # Until both sides are bounded: a small step, since the first trial is usually close, then ever larger ones.
        up = b * (1.03 + 0.3 * (0.5 - at_most.to(tl.float32) / M)) * stretch
        down = b * (0.98 - 0.25 * (0.5 - above.to(tl.float32) / M)) / stretch
        # Then just past the middle, on the side where more candidates are left: that is what lets a bound move.
        lowest = under
        highest = under + remaining
        downwards = (OUTER_LOW - lowest) > (highest - OUTER_HIGH - 1)
        aim = tl.where(downwards, OUTER_LOW - 1, OUTER_HIGH + 2)
        from_right = downwards & (first_split < right_end)
        from_left = (downwards == 0) & (last_split > left_end)
        b_right = tl.where(from_right, first_split, right_end)
        highest = tl.where(from_right, OUTER_HIGH, highest)
        b_left = tl.where(from_left, last_split, left_end)
        lowest = tl.where(from_left, OUTER_HIGH, lowest)
        share = ((aim - lowest).to(tl.float32) + 0.5) / ((highest - lowest).to(tl.float32) + 1.0)
        share = tl.minimum(tl.maximum(share, 0.03), 0.97)
        wide = (b_left > 0) & (4.0 * b_left < b_right)
        ratio = tl.where(wide, b_right / tl.where(wide, b_left, 1.0), 1.0)
        between_them = tl.where(wide, b_left * tl.exp2(share * tl.log2(ratio)), b_left + (b_right - b_left) * share)
        following = tl.where(right_end >= HUGE, up, tl.where(left_end == 0.0, down, between_them))

        number = (tl.zeros([WIDTH], tl.float32) + attempt).to(tl.int32)
        tl.store(trial + flat, following, mask=active)
        tl.store(lower + flat, left_end, mask=active)
        tl.store(upper + flat, right_end, mask=active)
        tl.store(split_low + flat, first_split, mask=active)
        tl.store(split_high + flat, last_split, mask=active)
        tl.store(below + flat, under, mask=active)
        tl.store(beyond + flat, over, mask=active)
        tl.store(slot_low + flat, number, mask=active & to_lower)
        tl.store(slot_high + flat, number, mask=active & to_upper)
        tl.store(left + flat, remaining, mask=active)


@triton.jit
def pick_candidates(
    counts,
    slot_low,
    slot_high,
    left,
    candidates,
    total,
    FEW: tl.constexpr,
    M: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """List the rows that no trial decided, for columns where they are few; -1 ends a list."""
    flat = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    inside = flat < total
    low = tl.load(slot_low + flat, mask=inside, other=-1)
    high = tl.load(slot_high + flat, mask=inside, other=-1)
    remaining = tl.load(left + flat, mask=inside, other=0)
    chosen = inside & (remaining > 0) & (remaining <= FEW)
    size = tl.full([1], M, tl.int64) * total
    low_counts = counts + (low.to(tl.int64) * size + flat)
    high_counts = counts + (high.to(tl.int64) * size + flat)
    number = tl.zeros([WIDTH], tl.int32)
    for row in range(M):
        at_low = tl.load(low_counts, mask=chosen & (low >= 0), other=0).to(tl.int32)
        at_high = tl.load(high_counts, mask=chosen & (high >= 0), other=M).to(tl.int32)
        undecided = chosen & (at_low <= (M - 1) // 2) & (at_high > (M - 2) // 2) & (number < FEW)
        tl.store(candidates + (number * total + flat), tl.zeros([WIDTH], tl.int32) + row, mask=undecided)
        number += undecided.to(tl.int32)
        low_counts += total
        high_counts += total
    for place in range(FEW):
        tl.store(candidates + (place * total + flat), tl.zeros([WIDTH], tl.int32) - 1, mask=inside & (place >= number))


@triton.jit
def _value(raw, other, here, inverse, middle, low, high, slope, intercept, KIND: tl.constexpr):
    """What is selected among: slopes to a row, tilted values, absolute residuals or magnitudes, at one rank."""
    offset = _clipped(raw, middle, low, high)
    if KIND == SLOPE:
        found = (offset - here) * inverse
    elif KIND == TILTED:
        found = offset - slope * other
    elif KIND == RESIDUAL:
        found = tl.abs(offset - slope * other - intercept)
    else:
        found = tl.abs(offset + middle)
    return found


@triton.jit
def _select(
    source,
    total,
    inside,
    row,
    here,
    middle,
    low,
    high,
    slope,
    intercept,
    guess,
    second_guess,
    KIND: tl.constexpr,
    ORDER: tl.constexpr,
    NEXT: tl.constexpr,
    M: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """Return the ranks at which the values of order ORDER and NEXT (ORDER or one more) lie.

    A trial value t splits a column; the largest value up to t and the smallest beyond it are kept. Both ends of the
    bracket are thus values of the column, they come closer in each step, and when they meet they are the one sought.
    """
    KNOWS_ROW: tl.constexpr = KIND == SLOPE
    bottom = tl.zeros([WIDTH], middle.dtype) - HUGE
    top = tl.zeros([WIDTH], middle.dtype) + HUGE
    after = top
    fewer = tl.zeros([WIDTH], tl.int32)
    more = tl.zeros([WIDTH], tl.int32) + M
    top_at = tl.zeros([WIDTH], tl.int32)
    after_at = tl.zeros([WIDTH], tl.int32)
    searching = inside
    step = 0
    pending = tl.max(searching.to(tl.int32), axis=0)
    while pending > 0:
        share = (ORDER - fewer + 0.5).to(middle.dtype) / tl.maximum(more - fewer, 1).to(middle.dtype)
        share = tl.minimum(tl.maximum(share, 0.1), 0.9)
        bounded = (bottom > -HUGE) & (top < HUGE)
        trial = bottom + tl.where(bounded, top - bottom, 0.0) * share
        # Values over orders of magnitude: halve those.
        product = tl.where(bounded, bottom, 0.0) * tl.where(bounded, top, 0.0)
        wide = (product > 0) & (tl.maximum(tl.abs(bottom), tl.abs(top)) > 4.0 * tl.minimum(tl.abs(bottom), tl.abs(top)))
        geometric = tl.sqrt(tl.where(wide, product, 1.0))
        trial = tl.where(wide, tl.where(top > 0, geometric, -geometric), trial)
        trial = tl.where((trial < top) & (trial >= bottom), trial, bottom)
        trial = tl.where(top < HUGE, trial, BEYOND)
        trial = tl.where(bottom > -HUGE, trial, -BEYOND)
        trial = tl.where(step == 0, guess, tl.where(step == 1, second_guess, trial))
        count = tl.zeros([WIDTH], tl.int32)
        largest = tl.zeros([WIDTH], middle.dtype) - HUGE
        smallest = tl.zeros([WIDTH], middle.dtype) + HUGE
        largest_at = tl.zeros([WIDTH], tl.int32)
        smallest_at = tl.zeros([WIDTH], tl.int32)
        pointer = source
        for other in range(M):
            raw = tl.load(pointer, mask=inside, other=0.0)
            inverse = 1.0
            if KNOWS_ROW:
                gap = other - row
                inverse = 1.0 / (gap + (gap == 0).to(tl.int32)).to(middle.dtype)
            value = _value(raw, other, here, inverse, middle, low, high, slope, intercept, KIND)
            under = value <= trial
            over = value > trial
            if KNOWS_ROW:
                under = under & (row != other)
                over = over & (row != other)
            count += under.to(tl.int32)
            larger = under & (value > largest)
            largest = tl.where(larger, value, largest)
            largest_at = tl.where(larger, other, largest_at)
            smaller = over & (value < smallest)
            smallest = tl.where(smaller, value, smallest)
            smallest_at = tl.where(smaller, other, smallest_at)
            pointer += total
        to_top = searching & (count > ORDER) & (largest <= top)
        to_bottom = searching & (count <= ORDER) & (smallest >= bottom)
        top = tl.where(to_top, largest, top)
        top_at = tl.where(to_top, largest_at, top_at)
        more = tl.where(to_top, count, more)
        after = tl.where(to_top, smallest, after)
        after_at = tl.where(to_top, smallest_at, after_at)
        bottom = tl.where(to_bottom, smallest, bottom)
        fewer = tl.where(to_bottom, count, fewer)
        searching = searching & (bottom < top)
        step += 1
        pending = tl.max(searching.to(tl.int32), axis=0)
    next_at = top_at
    if NEXT > ORDER:
        next_at = tl.where(more > NEXT, top_at, after_at)
    return top_at, next_at


@triton.jit
def _exactly(ordered, at, total, flat, inside, middle, low, high):
    """The clipped offset of rank `at`, in float64."""
    return _clipped(tl.load(ordered + (at * total + flat), mask=inside, other=0.0), middle, low, high)


@triton.jit
def inner_medians(
    ordered,
    reach,
    candidates,
    lower,
    upper,
    inner,
    error,
    listing,
    amount,
    columns,
    total,
    M: tl.constexpr,
    WIDTH: tl.constexpr,
    LISTED: tl.constexpr,
    PRECISE: tl.constexpr,
):
    """Write the median slope from a row to all others: of every row if PRECISE, else of the listed candidates."""
    ORDER: tl.constexpr = (M - 2) // 2
    NEXT: tl.constexpr = (M - 1) // 2
    slot = tl.program_id(1)
    amount_here = total
    if LISTED:
        amount_here = tl.load(amount)
    for tile in range(tl.program_id(0), tl.cdiv(amount_here, WIDTH), tl.num_programs(0)):
        flat = tile * WIDTH + tl.arange(0, WIDTH)
        inside = flat < amount_here
        if LISTED:
            flat = tl.load(listing + flat, mask=inside, other=0)
        limit = tl.load(reach + flat // columns, mask=inside, other=1.0)
        middle, low, high, middle32, low32, high32 = _frame(ordered, flat, inside, limit, total, M)
        if PRECISE:
            row = slot
            chosen = inside
            here = _exactly(ordered, row, total, flat, inside, middle, low, high)
            quarter = _exactly(ordered, M // 4, total, flat, inside, middle, low, high)
            opposite = _exactly(ordered, M - 1 - M // 4, total, flat, inside, middle, low, high)
            guess = (opposite - quarter) / (M - 1 - 2 * (M // 4))
            one, two = _select(
                ordered + flat, total, chosen, row, here, middle, low, high, here, here, guess, 1.3 * guess,
                SLOPE, ORDER, NEXT, M, WIDTH,
            )  # fmt: skip
        else:
            row = tl.load(candidates + (slot * total + flat), mask=inside, other=-1)
            chosen = inside & (row >= 0)
            row = tl.maximum(row, 0)
            raw = tl.load(ordered + (row * total + flat), mask=inside, other=0.0)
            here32 = _clipped(raw, middle32, low32, high32)
            guess32 = tl.load(lower + flat, mask=inside, other=0.0)
            second32 = tl.minimum(tl.load(upper + flat, mask=inside, other=0.0), BEYOND)
            one, two = _select(
                ordered + flat, total, chosen, row, here32, middle32, low32, high32, here32, here32, guess32, second32,
                SLOPE, ORDER, NEXT, M, WIDTH,
            )  # fmt: skip
            here = _exactly(ordered, row, total, flat, inside, middle, low, high)
        first = _exactly(ordered, one, total, flat, inside, middle, low, high)
        second = _exactly(ordered, two, total, flat, inside, middle, low, high)
        gap = (one - row).to(tl.float64)
        gap = tl.where(gap == 0, 1.0, gap)
        next_gap = (two - row).to(tl.float64)
        next_gap = tl.where(next_gap == 0, 1.0, next_gap)
        found = 0.5 * ((first - here) / gap + (second - here) / next_gap)
        tl.store(inner + (slot * total + flat), tl.where(chosen, found, HUGE), mask=inside)
        if PRECISE == 0:
            size = tl.maximum(tl.abs(first), tl.abs(second)) + tl.abs(here)
            off = size * NOISE / tl.minimum(tl.abs(gap), tl.abs(next_gap))
            tl.store(error + (slot * total + flat), off.to(tl.float32), mask=inside)


@triton.jit
def outer_medians(
    ordered,
    reach,
    inner,
    error,
    lower,
    upper,
    below,
    slot_low,
    left,
    slope,
    slope_error,
    flagged,
    listing,
    amount,
    columns,
    total,
    SIZE: tl.constexpr,
    FEW: tl.constexpr,
    M: tl.constexpr,
    WIDTH: tl.constexpr,
    LISTED: tl.constexpr,
    PRECISE: tl.constexpr,
):
    """Write the slope B: the median of the inner medians. Flag columns whose search may have dropped a wrong row."""
    amount_here = total
    if LISTED:
        amount_here = tl.load(amount)
    for tile in range(tl.program_id(0), tl.cdiv(amount_here, WIDTH), tl.num_programs(0)):
        flat = tile * WIDTH + tl.arange(0, WIDTH)
        inside = flat < amount_here
        if LISTED:
            flat = tl.load(listing + flat, mask=inside, other=0)
        want_low = tl.zeros([WIDTH], tl.int32) + (M - 1) // 2
        want_high = tl.zeros([WIDTH], tl.int32) + M // 2
        if PRECISE == 0:
            under = tl.load(below + flat, mask=inside, other=0)
            want_low -= under
            want_high -= under
        one = tl.zeros([WIDTH], tl.float64)
        two = tl.zeros([WIDTH], tl.float64)
        off = tl.zeros([WIDTH], tl.float32)
        for mine in range(SIZE):
            value = tl.load(inner + (mine * total + flat), mask=inside, other=0.0)
            rank = tl.zeros([WIDTH], tl.int32)
            for theirs in range(SIZE):
                other = tl.load(inner + (theirs * total + flat), mask=inside, other=0.0)
                rank += ((other < value) | ((other == value) & (theirs < mine))).to(tl.int32)
            one = tl.where(rank == want_low, value, one)
            two = tl.where(rank == want_high, value, two)
            if PRECISE == 0:
                mistake = tl.load(error + (mine * total + flat), mask=inside, other=0.0)
                off = tl.where((rank == want_low) | (rank == want_high), tl.maximum(off, mistake), off)
        if PRECISE:
            tl.store(slope + flat, 0.5 * (one + two), mask=inside)
        else:
            limit = tl.load(reach + flat // columns, mask=inside, other=1.0)
            _, _, _, middle, low, high = _frame(ordered, flat, inside, limit, total, M)
            first = _clipped(tl.load(ordered + flat, mask=inside, other=0.0), middle, low, high)
            last = _clipped(tl.load(ordered + ((M - 1) * total + flat), mask=inside, other=0.0), middle, low, high)
            margin = (tl.maximum(tl.abs(first), tl.abs(last)) * NOISE).to(tl.float64)
            remaining = tl.load(left + flat, mask=inside, other=0)
            bounded = tl.load(slot_low + flat, mask=inside, other=-1) >= 0
            left_end = tl.load(lower + flat, mask=inside, other=0.0).to(tl.float64)
            right_end = tl.load(upper + flat, mask=inside, other=0.0).to(tl.float64)
            doubtful = (remaining > FEW) | (bounded & (one < left_end + margin)) | (two > right_end - margin)
            tied = remaining == 0
            tl.store(slope + flat, tl.where(tied, 0.0, 0.5 * (one + two)), mask=inside)
            tl.store(slope_error + flat, tl.where(tied, 0.0, off), mask=inside)
            tl.store(flagged + flat, ((tied == 0) & doubtful).to(tl.int8), mask=inside)


@triton.jit
def fit_lines(
    ordered,
    reach,
    slope,
    slope_error,
    flagged,
    tolerance,
    middles,
    intercepts,
    scales,
    listing,
    amount,
    columns,
    total,
    factor,
    M: tl.constexpr,
    WIDTH: tl.constexpr,
    REWEIGHT: tl.constexpr,
    LISTED: tl.constexpr,
    PRECISE: tl.constexpr,
):
    """Write median, intercept A and scale tau of each column. Flag columns that float32 cannot settle.

    REWEIGHT is the residual rule: the line runs through the middle, and tau leaves out the smallest residual.
    """
    MIDDLE: tl.constexpr = (M - 1) // 2
    MIDDLE_NEXT: tl.constexpr = M // 2
    SPREAD: tl.constexpr = (M - 2) // 2 + 1 if REWEIGHT else (M - 1) // 2
    SPREAD_NEXT: tl.constexpr = (M - 1) // 2 + 1 if REWEIGHT else M // 2
    amount_here = total
    if LISTED:
        amount_here = tl.load(amount)
    for tile in range(tl.program_id(0), tl.cdiv(amount_here, WIDTH), tl.num_programs(0)):
        flat = tile * WIDTH + tl.arange(0, WIDTH)
        inside = flat < amount_here
        if LISTED:
            flat = tl.load(listing + flat, mask=inside, other=0)
        run = flat // columns
        limit = tl.load(reach + run, mask=inside, other=1.0)
        middle, low, high, middle32, low32, high32 = _frame(ordered, flat, inside, limit, total, M)
        if PRECISE:
            m, lo, hi = middle, low, high
        else:
            m, lo, hi = middle32, low32, high32
        source = ordered + flat
        b = tl.load(slope + flat, mask=inside, other=0.0)
        tilt = b.to(m.dtype)
        if REWEIGHT:
            a = b * (-0.5 * (M - 1))
        else:
            guess = tilt * (-0.5 * (M - 1))
            one, two = _select(
                source, total, inside, 0, m, m, lo, hi, tilt, m, guess - 0.5 * tilt, guess + 0.5 * tilt,
                TILTED, MIDDLE, MIDDLE_NEXT, M, WIDTH,
            )  # fmt: skip
            first = _exactly(ordered, one, total, flat, inside, middle, low, high) - b * one.to(tl.float64)
            second = _exactly(ordered, two, total, flat, inside, middle, low, high) - b * two.to(tl.float64)
            a = 0.5 * (first + second)
        # In float32 offsets are taken from the rounded median: the line moves along.
        line = (a + (middle - m.to(tl.float64))).to(m.dtype)
        one, two = _select(
            source, total, inside, 0, m, m, lo, hi, tilt, line, tilt, 4.0 * tilt,
            RESIDUAL, SPREAD, SPREAD_NEXT, M, WIDTH,
        )  # fmt: skip
        first = _exactly(ordered, one, total, flat, inside, middle, low, high) - b * one.to(tl.float64) - a
        second = _exactly(ordered, two, total, flat, inside, middle, low, high) - b * two.to(tl.float64) - a
        tau = factor * (0.5 * (tl.abs(first) + tl.abs(second))) + 1e-7
        # Where all values have one sign, the median magnitude is that of the median.
        least = _exactly(ordered, 0, total, flat, inside, middle, low, high) + middle
        most = _exactly(ordered, M - 1, total, flat, inside, middle, low, high) + middle
        mixed = inside & (least < 0) & (most > 0)
        near = tl.abs(m)
        one, two = _select(
            source, total, mixed, 0, m, m, lo, hi, tilt, line, near, near + tilt * (0.25 * M),
            MAGNITUDE, MIDDLE, MIDDLE_NEXT, M, WIDTH,
        )  # fmt: skip
        first = _exactly(ordered, one, total, flat, inside, middle, low, high) + middle
        second = _exactly(ordered, two, total, flat, inside, middle, low, high) + middle
        magnitude = tl.where(mixed, 0.5 * (tl.abs(first) + tl.abs(second)), tl.abs(middle))
        tau += 2.4e-7 * magnitude
        tl.store(middles + flat, middle, mask=inside)
        tl.store(intercepts + flat, a, mask=inside)
        tl.store(scales + flat, tau, mask=inside)
        if PRECISE == 0:
            # A residual can be off by the slope's error at the far ends and by roundings of the tilted values.
            doubt = tl.load(slope_error + flat, mask=inside, other=0.0).to(tl.float64) * (0.5 * M)
            doubt += tl.abs(b) * (2.0 * NOISE * M)
            allowed = tl.load(tolerance + run, mask=inside, other=1.0) * tau
            before = tl.load(flagged + flat, mask=inside, other=0) != 0
            tl.store(flagged + flat, (before | (doubt > allowed)).to(tl.int8), mask=inside)


@triton.jit
def accept_values(
    updates,
    ranks,
    reach,
    delta,
    bounds,
    middles,
    slope,
    intercepts,
    scales,
    accepted,
    run_stride,
    client_stride,
    accepted_run_stride,
    columns,
    total,
    M: tl.constexpr,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """Write, by client, whether the confidence of a value is above delta."""
    run = tl.program_id(1)
    column = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    inside = column < columns
    flat = run * columns + column
    source = updates + run.to(tl.int64) * run_stride + column
    target = accepted + run.to(tl.int64) * accepted_run_stride + column
    limit = tl.load(reach + run)
    least = tl.load(delta + run)
    middle = tl.load(middles + flat, mask=inside, other=0.0)
    b = tl.load(slope + flat, mask=inside, other=0.0)
    a = tl.load(intercepts + flat, mask=inside, other=0.0)
    tau = tl.load(scales + flat, mask=inside, other=1.0)
    for first in range(0, M, ROWS):
        row = first + tl.arange(0, ROWS)
        valid = (row < M)[:, None] & inside[None, :]
        step = row.to(tl.int64)[:, None] * client_stride
        value = tl.load(source[None, :] + step, mask=valid, other=0.0).to(tl.float64) - middle[None, :]
        value = tl.minimum(tl.maximum(value, -limit), limit)
        rank = tl.load(ranks + (row[:, None] * total + flat[None, :]), mask=valid, other=0).to(tl.int32)
        residual = tl.abs(value - b[None, :] * rank.to(tl.float64) - a[None, :])
        bound = tl.load(bounds + run * M + rank, mask=valid, other=1.0)
        inner = least * residual < bound * tau[None, :]
        tl.store(target[None, :] + step, inner.to(tl.int8), mask=valid)


@triton.jit
def _confidence(source, ranks, step, row, valid, flat, total, bounds, run, middle, b, a, tau, M: tl.constexpr):
    """Return the confidence of a value, the line at its rank and the value, by client, in float64."""
    value = tl.load(source[None, :] + step, mask=valid, other=0.0).to(tl.float64)
    rank = tl.load(ranks + (row[:, None] * total + flat[None, :]), mask=valid, other=0).to(tl.int32)
    line = b[None, :] * rank.to(tl.float64) + a[None, :]
    residual = tl.abs(value - middle[None, :] - line)
    bound = tl.load(bounds + run * M + rank, mask=valid, other=1.0) * tau[None, :]
    outside = residual > bound
    sure = tl.where(outside, bound / tl.where(outside, residual, 1.0), 1.0)
    return tl.where(valid, sure, 0.0), line + middle[None, :], value


@triton.jit
def reweight_values(
    updates,
    ranks,
    delta,
    bounds,
    middles,
    slope,
    intercepts,
    scales,
    restricted,
    scores,
    run_stride,
    client_stride,
    restricted_run_stride,
    columns,
    total,
    M: tl.constexpr,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """Write updates with values of low confidence put on the line, and per tile each client's part of its score."""
    run = tl.program_id(1)
    column = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    inside = column < columns
    flat = run * columns + column
    source = updates + run.to(tl.int64) * run_stride + column
    target = restricted + run.to(tl.int64) * restricted_run_stride + column
    least = tl.load(delta + run)
    middle = tl.load(middles + flat, mask=inside, other=0.0)
    b = tl.load(slope + flat, mask=inside, other=0.0)
    a = tl.load(intercepts + flat, mask=inside, other=0.0)
    tau = tl.load(scales + flat, mask=inside, other=1.0)
    mean = tl.zeros([WIDTH], tl.float64)
    for first in range(0, M, ROWS):
        row = first + tl.arange(0, ROWS)
        valid = (row < M)[:, None] & inside[None, :]
        step = row.to(tl.int64)[:, None] * client_stride
        sure, _, _ = _confidence(source, ranks, step, row, valid, flat, total, bounds, run, middle, b, a, tau, M)
        mean += tl.sum(sure, axis=0)
    mean = mean / M
    square = tl.zeros([WIDTH], tl.float64)
    for first in range(0, M, ROWS):
        row = first + tl.arange(0, ROWS)
        valid = (row < M)[:, None] & inside[None, :]
        step = row.to(tl.int64)[:, None] * client_stride
        sure, _, _ = _confidence(source, ranks, step, row, valid, flat, total, bounds, run, middle, b, a, tau, M)
        distance = tl.where(valid, sure - mean[None, :], 0.0)
        square += tl.sum(distance * distance, axis=0)
    deviation = tl.sqrt(square / M)
    part = scores + (run * tl.num_programs(0) + tl.program_id(0)) * M
    for first in range(0, M, ROWS):
        row = first + tl.arange(0, ROWS)
        valid = (row < M)[:, None] & inside[None, :]
        step = row.to(tl.int64)[:, None] * client_stride
        sure, line, value = _confidence(source, ranks, step, row, valid, flat, total, bounds, run, middle, b, a, tau, M)
        tl.store(part + row, tl.sum(sure * deviation[None, :], axis=1), mask=row < M)
        tl.store(target[None, :] + step, tl.where(sure < least, line, value).to(tl.float32), mask=valid)


@triton.jit
def mean_values(
    values,
    shares,
    origin,
    reach,
    accepted,
    models,
    run_stride,
    client_stride,
    accepted_run_stride,
    accepted_client_stride,
    columns,
    M: tl.constexpr,
    WIDTH: tl.constexpr,
    RECTIFY: tl.constexpr,
):
    """Write the weighted mean of each column around its origin (RECTIFY: of rectified values around the median)."""
    run = tl.program_id(1)
    column = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    inside = column < columns
    source = values + run.to(tl.int64) * run_stride + column
    flat = run.to(tl.int64) * columns + column
    limit = tl.load(reach + run)
    if RECTIFY:
        verdict = accepted + run.to(tl.int64) * accepted_run_stride + column
        middle = tl.load(origin + flat, mask=inside, other=0.0)
    else:
        verdict = source
        middle = tl.load(source, mask=inside, other=0.0).to(tl.float64)
    total = tl.zeros([WIDTH], tl.float64)
    lowest = tl.zeros([WIDTH], tl.float64) + HUGE
    highest = tl.zeros([WIDTH], tl.float64) - HUGE
    for client in range(M):
        value = tl.load(source, mask=inside, other=0.0).to(tl.float64)
        value = tl.minimum(tl.maximum(value, middle - limit), middle + limit)
        if RECTIFY:
            value = tl.where(tl.load(verdict, mask=inside, other=0) != 0, value, middle)
            verdict += accepted_client_stride
        total += tl.load(shares + run * M + client) * (value - middle)
        lowest = tl.minimum(lowest, value)
        highest = tl.maximum(highest, value)
        source += client_stride
    mean = tl.minimum(tl.maximum(middle + total, lowest), highest)
    tl.store(models + flat, mean.to(tl.float32), mask=inside)


@triton.jit
def middle_values(
    ordered,
    drop,
    models,
    model_run_stride,
    columns,
    total,
    M: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """Write the mean of each sorted column without its first and last `drop` values."""
    run = tl.program_id(1)
    column = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    inside = column < columns
    flat = run * columns + column
    dropped = tl.load(drop + run)
    lowest = tl.load(ordered + (dropped * total + flat), mask=inside, other=0.0).to(tl.float64)
    highest = tl.load(ordered + ((M - 1 - dropped) * total + flat), mask=inside, other=0.0).to(tl.float64)
    source = ordered + dropped * total + flat
    summed = tl.zeros([WIDTH], tl.float64)
    for _ in range(M - 2 * dropped):
        summed += tl.load(source, mask=inside, other=0.0).to(tl.float64) - lowest
        source += total
    mean = lowest + summed / (M - 2 * dropped)
    mean = tl.minimum(tl.maximum(mean, lowest), highest)
    tl.store(models + run.to(tl.int64) * model_run_stride + column, mean.to(tl.float32), mask=inside)
