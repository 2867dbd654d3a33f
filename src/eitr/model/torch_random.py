"""The random words of `eitr.model.random` on torch tensors: the same numbers, on any device, many at a time."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

WORDS = 2**32
"""How many words there are."""

_MASK = WORDS - 1


def draw(key: "Tensor", counter: "Tensor") -> "Tensor":
    """Return the words at `counter` of the sequences `key`, both int64 within 32 bits; shapes are broadcast.

    Products of two 32-bit numbers wrap around in 64 bits, which leaves the low 32 as they should be.

    >>> import torch
    >>> from eitr.model.random import draw as draw_one
    >>> draw(torch.tensor(1), torch.arange(2)).tolist() == [draw_one(1, 0), draw_one(1, 1)]
    True
    """
    return _mix(_mix((counter + 0x9E3779B9) & _MASK) ^ key)


def uniform(key: "Tensor", counter: "Tensor") -> "Tensor":
    """Return numbers strictly between 0 and 1, float64: (word + 1/2) / 2^32.

    >>> import torch
    >>> uniform(torch.tensor(1), torch.arange(2)).round(decimals=3).tolist()
    [0.434, 0.822]
    """
    return (draw(key, counter).double() + 0.5) / WORDS


def normal(key: "Tensor", counter: "Tensor") -> "Tensor":
    """Return standard normal numbers, float32: the quantile of a uniform one, so that each takes a word.

    The words are the same on every device; the quantile is computed in float64 and rounded, which hides nearly all of
    what devices make differently of a logarithm. None is beyond 6.4 standard deviations.

    >>> import torch
    >>> [round(number, 3) for number in normal(torch.tensor(1), torch.arange(2)).tolist()]
    [-0.167, 0.923]
    """
    import torch

    numbers: Tensor = torch.special.ndtri(uniform(key, counter))
    return numbers.float()


def _mix(word: "Tensor") -> "Tensor":
    word = word ^ (word >> 16)
    word = (word * 0x85EBCA6B) & _MASK
    word = word ^ (word >> 13)
    word = (word * 0xC2B2AE35) & _MASK
    return word ^ (word >> 16)
