"""Waiting for something to become true, with a limit that only a broken program reaches."""

import threading
import time
from collections.abc import Callable

LONGEST_SECONDS = 300.0
_never = threading.Event()


def until(true: Callable[[], bool], what: str = "the condition", seconds: float = LONGEST_SECONDS) -> None:
    """Ask again and again until something is true."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"{what} did not come true within {seconds:g} s"
        _never.wait(0.02)
