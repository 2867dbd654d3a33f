"""How many examples Hypothesis tries."""

from hypothesis import settings

from eitr.compiled import JIT


def examples(compiled: int, plain: int) -> settings:
    """So many examples in `make test-long`, with the JIT on and with it off, where a round takes twenty times as long.

    `make test` takes fewer: the share that its profile, in `tests/conftest.py`, takes of 100.
    """
    many = compiled if JIT else plain
    return settings(max_examples=max(2, many * settings().max_examples // 100))
