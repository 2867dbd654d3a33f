"""A random generator that Python, numba and TypeScript compute bit for bit alike.

It is a hash of a key and a counter, in 32-bit integers only: the word for any place (a step, a layer, a
sample, a unit) is computed by itself, in any order and on any device, and no state has to travel. It serves
shuffling, dropout and initial weights; it is not for secrets.
"""

from enum import IntEnum
from typing import Any, Final, overload

import numpy as np
from numpy.typing import NDArray

from eitr.errors import InputError

LARGEST: Final = 0xFFFFFFFF
"""The largest word, and the mask that keeps a number within 32 bits."""

Words = NDArray[np.uint32]


class Stream(IntEnum):
    """What a word is drawn for: the first number after the seed, so that no two uses share words."""

    INITIAL = 1
    SHUFFLE = 2
    DROPOUT = 3


@overload
def draw(key: int, counter: int) -> int: ...
@overload
def draw(key: int, counter: Words) -> Words: ...
def draw(key: int, counter: Any) -> Any:
    """Return the 32-bit word at `counter` of the sequence named by `key`: `mix(key ^ mix(counter + golden))`.

    `mix` is the finaliser of MurmurHash3 (Appleby, public domain), a bijection in which every input bit moves
    every output bit. The function stands alone, on plain operators, so that numba compiles it as it is.

    >>> hex(draw(1, 0)), hex(draw(1, 1))
    ('0x6f0b28e6', '0xd2745ae2')
    """
    word = (counter + 0x9E3779B9) & 0xFFFFFFFF
    word = word ^ (word >> 16)
    word = (word * 0x85EBCA6B) & 0xFFFFFFFF
    word = word ^ (word >> 13)
    word = (word * 0xC2B2AE35) & 0xFFFFFFFF
    word = word ^ (word >> 16)
    word = word ^ key
    word = word ^ (word >> 16)
    word = (word * 0x85EBCA6B) & 0xFFFFFFFF
    word = word ^ (word >> 13)
    word = (word * 0xC2B2AE35) & 0xFFFFFFFF
    return word ^ (word >> 16)


def check_seed(seed: int) -> None:
    """Refuse a seed that is not a whole number of 32 bits."""
    if not 0 <= seed <= LARGEST:
        raise InputError(f"the seed must be between 0 and {LARGEST}, not {seed}")


def key_of(seed: int, *path: int) -> int:
    """Return the key of the sequence at `path` below `seed`: each number of the path is drawn in turn.

    >>> key_of(7, Stream.SHUFFLE, 0) == draw(draw(7, 2), 0)
    True
    """
    check_seed(seed)
    result = int(seed)
    for number in path:
        result = draw(result, int(number))
    return result


def words(key: int, count: int) -> Words:
    """Return the first `count` words of a sequence.

    >>> [int(word) for word in words(1, 2)] == [draw(1, 0), draw(1, 1)]
    True
    """
    return draw(key, np.arange(count, dtype=np.uint32))


def permutation(key: int, size: int, take: int | None = None) -> NDArray[np.int64]:
    """Return the first `take` numbers (all by default) of a random order of `0 .. size-1`.

    Fisher-Yates from the front: place `i` swaps with place `i + floor(word_i * (size - i) / 2^32)`. The
    chance of a row is off the uniform by a factor within `1 ± size / 2^32`, for a million rows one in four
    thousand, and no choice needs a second draw.

    >>> permutation(1, 5).tolist()
    [2, 4, 0, 3, 1]
    >>> permutation(1, 5, take=2).tolist()
    [2, 4]
    """
    count = size if take is None else min(take, size)
    remaining = np.arange(size, size - count, -1, dtype=np.uint64)
    offsets = (words(key, count).astype(np.uint64) * remaining) >> np.uint64(32)
    order = list(range(size))
    for place, offset in enumerate(offsets.tolist()):
        other = place + offset
        order[place], order[other] = order[other], order[place]
    return np.array(order[:count], np.int64)


def sorted_order(key: int, size: int, take: int | None = None) -> NDArray[np.int64]:
    """Return the first `take` numbers (all by default) of another random order of `0 .. size-1`: words are sorted.

    The lab's engines shuffle this way, for it is one operation for all clients.

    >>> sorted_order(1, 5).tolist()
    [2, 3, 4, 0, 1]
    """
    return np.argsort(words(key, size), kind="stable")[:take]
