"""The natural logarithm of a whole number, the same to the last bit on every machine.

Mathematical libraries differ in the last bit (the C library and JavaScript engines do so for one in a hundred
of the first 200,000 whole numbers). Here only additions, multiplications and divisions occur, which IEEE 754
fixes, in a fixed order.
"""

from functools import lru_cache

LN_2 = 0.6931471805599453
TERMS = 20
"""Of the series; for a mantissa below 2, the first one left out is smaller than the last bit."""


@lru_cache(maxsize=4096)
def ln(number: int) -> float:
    """Return ln of a number from 1 on: exponent * ln 2 + 2 artanh((mantissa - 1) / (mantissa + 1)).

    >>> ln(1), ln(2), ln(3)
    (0.0, 0.6931471805599453, 1.0986122886681096)
    """
    mantissa, exponent = float(number), 0
    while mantissa >= 2.0:
        mantissa, exponent = mantissa / 2.0, exponent + 1
    ratio = (mantissa - 1.0) / (mantissa + 1.0)
    square = ratio * ratio
    series = 0.0
    for term in range(TERMS - 1, -1, -1):
        series = series * square + 1.0 / (2 * term + 1)
    return exponent * LN_2 + 2.0 * ratio * series
