"""Whole numbers with the discrete Gaussian distribution, exactly and from the operating system's random generator.

Noise in floating-point numbers does not give the privacy that is proved for real numbers: its last bits tell what it
was added to (Mironov, "On significance of the least significant bits for differential privacy", 2012). Here everything
is a whole number, and no probability is rounded. The algorithms are those of Canonne, Kamath and Steinke, "The discrete
Gaussian for differential privacy", 2020, who also prove that this noise protects as well as the continuous one.
"""

import secrets
from collections.abc import Callable

Below = Callable[[int], int]
"""Returns a uniform whole number from 0 to below its argument; of a source that nobody can predict."""


def discrete_gaussian(deviation: int, count: int, below: Below = secrets.randbelow) -> list[int]:
    """Return independent numbers x, each drawn with a probability in proportion to exp(-x² / (2 deviation²)).

    >>> len(discrete_gaussian(1000, 3))
    3
    """
    return [_gaussian(deviation, below) for _ in range(count)]


def _gaussian(deviation: int, below: Below) -> int:
    """Algorithm 3: draw from a discrete Laplace distribution, and accept with the ratio of the two densities."""
    scale = deviation + 1
    variance = deviation**2
    while True:
        drawn = _laplace(scale, below)
        if _happens_exp((abs(drawn) * scale - variance) ** 2, 2 * variance * scale**2, below):
            return drawn


def _laplace(scale: int, below: Below) -> int:
    """Algorithm 2: return x with a probability in proportion to exp(-|x| / scale)."""
    while True:
        rest = below(scale)
        if not _happens_exp(rest, scale, below):
            continue
        wholes = 0
        while _happens_exp(1, 1, below):
            wholes += 1
        size, negative = rest + scale * wholes, below(2) == 1
        if size or not negative:  # zero must not come twice as often
            return -size if negative else size


def _happens_exp(numerator: int, denominator: int, below: Below) -> bool:
    """Algorithm 1: return True with the probability exp(-numerator / denominator)."""
    while numerator > denominator:
        if not _happens_exp(1, 1, below):
            return False
        numerator -= denominator
    tries = 1
    while below(denominator * tries) < numerator:
        tries += 1
    return tries % 2 == 1
