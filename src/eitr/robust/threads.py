"""Parameters are independent: split them over threads. Compiled kernels release the GIL."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from eitr.errors import InputError


def thread_count() -> int:
    """Return how many threads kernels use: `EITR_THREADS`, else the processors this process may run on."""
    asked = os.environ.get("EITR_THREADS")
    if asked is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not asked.isdecimal() or int(asked) < 1:
        raise InputError(f"EITR_THREADS must be a whole number of at least 1, not {asked!r}")
    return int(asked)


def over_ranges(work: Callable[[int, int], None], size: int, *, step: int) -> None:
    """Call `work(first, last)` on ranges that cover 0 .. size, each a multiple of `step` long but the last.

    A plain pool instead of numba's own threads: those may not be entered from two Python threads at once.
    """
    threads = thread_count()
    # Several ranges a thread, so that one slow core does not hold up the rest.
    pieces = max(1, min(4 * threads, -(-size // step))) if threads > 1 else 1
    length = -(-size // (pieces * step)) * step
    ranges = [(first, min(first + length, size)) for first in range(0, size, max(length, 1))]
    if len(ranges) == 1:
        work(*ranges[0])
        return
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(work, *piece) for piece in ranges]:
            done.result()
