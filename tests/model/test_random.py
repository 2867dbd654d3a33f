import json
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eitr.errors import InputError
from eitr.model import kernels
from eitr.model.random import LARGEST, Stream, draw, key_of, permutation, words

from .golden import DIRECTORY, random_cases

WORD = st.integers(0, LARGEST)
MANY = 1 << 16


def bits(drawn: np.ndarray) -> np.ndarray:
    """One row a word, one column a bit."""
    return (drawn[:, None] >> np.arange(32, dtype=np.uint32)) & 1


def test_the_golden_file_is_what_the_code_computes() -> None:
    assert json.loads((DIRECTORY / "random.json").read_text()) == random_cases()


@settings(deadline=None)
@given(WORD, WORD)
def test_compiled_array_and_plain_draws_are_the_same(key: int, counter: int) -> None:
    word = draw(key, counter)
    assert 0 <= word <= LARGEST
    assert int(draw(key, np.array([counter], np.uint32))[0]) == word
    assert int(kernels.draw(key, counter)) == word


@settings(deadline=None)
@given(WORD, st.lists(WORD, min_size=2, unique=True))
def test_two_places_of_one_sequence_never_share_a_word(key: int, counters: list[int]) -> None:
    assert len({draw(key, counter) for counter in counters}) == len(counters)


@pytest.mark.parametrize("key", [0, 1, 0x80000000, LARGEST])
def test_every_bit_is_set_half_of_the_time(key: int) -> None:
    share = bits(words(key, MANY)).mean(axis=0)
    assert np.abs(share - 0.5).max() < 5 * 0.5 / np.sqrt(MANY)


@pytest.mark.parametrize("distance", [1, 2, 256, 16384])
def test_neighbouring_counters_are_uncorrelated_in_every_pair_of_bits(distance: int) -> None:
    signs = bits(words(key_of(1, Stream.DROPOUT, 0, 0), MANY + distance)) * 2.0 - 1.0
    correlation = signs[:-distance].T @ signs[distance:] / MANY
    assert np.abs(correlation).max() < 6 / np.sqrt(MANY)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (key_of(1, Stream.DROPOUT, 0, 0), key_of(1, Stream.DROPOUT, 1, 0)),
        (key_of(1, Stream.DROPOUT, 0, 0), key_of(1, Stream.DROPOUT, 0, 1)),
        (key_of(1, Stream.DROPOUT, 5, 0), key_of(2, Stream.DROPOUT, 5, 0)),
        (key_of(1, Stream.SHUFFLE, 0), key_of(1, Stream.SHUFFLE, 1)),
        (0, 1),
        (0, 0x80000000),
    ],
)
def test_streams_are_uncorrelated_in_every_pair_of_bits(one: int, other: int) -> None:
    signs, others = (bits(words(key, MANY)) * 2.0 - 1.0 for key in (one, other))
    assert np.abs(signs.T @ others / MANY).max() < 6 / np.sqrt(MANY)


def test_words_fill_their_range_evenly() -> None:
    counts = np.bincount(words(key_of(3, Stream.INITIAL), MANY) >> 24, minlength=256)
    chi_square = float(((counts - MANY / 256) ** 2 / (MANY / 256)).sum())
    assert 150 < chi_square < 370  # 255 degrees of freedom, five standard deviations


@settings(deadline=None)
@given(WORD, st.integers(0, 300), st.integers(0, 400))
def test_a_permutation_is_one_and_its_start_does_not_depend_on_how_much_is_taken(
    key: int, size: int, take: int
) -> None:
    order = permutation(key, size)
    assert sorted(order.tolist()) == list(range(size))
    assert permutation(key, size, take).tolist() == order[:take].tolist()


def test_every_order_of_four_is_equally_likely() -> None:
    orders = [tuple(permutation(key_of(9, Stream.SHUFFLE, epoch), 4).tolist()) for epoch in range(12_000)]
    counts = np.array([orders.count(order) for order in set(orders)])
    assert len(counts) == 24
    assert np.abs(counts - 500).max() < 5 * np.sqrt(500)


def test_a_seed_beyond_32_bits_is_refused() -> None:
    for seed in (-1, LARGEST + 1):
        with pytest.raises(InputError, match="seed must be between"):
            key_of(seed, Stream.INITIAL)


def test_a_numpy_seed_counts_like_a_plain_one() -> None:
    assert key_of(np.int32(5), Stream.SHUFFLE, 3) == key_of(5, Stream.SHUFFLE, 3)  # type: ignore[arg-type]


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="the JIT is off")
def test_the_compiled_draw_is_compiled() -> None:
    kernels.draw(1, 1)
    assert kernels.draw.signatures
