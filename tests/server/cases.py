"""Many cases in one test: the report of a failure names its case."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def naming(*case: object) -> Iterator[None]:
    """Add the case to whatever fails within."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"case: {', '.join(repr(one)[:200] for one in case)}")
        raise
