"""Steps 3 to 6: from a sorted column to how far each rank lies off the robust line.

    line        B = repeated median of the slopes,  A = median_i (w_i - B x_i)
    residual    r_i = w_i - B x_i - A
    scale       tau = 1.48 (M+4)/(M-1) median|r| + 1e-7 + 2.4e-7 median|w|
    normalised  e_i = r_i / tau
    leverage    h_i = 1/M + (x_i - mean x)^2 / sum_k (x_k - mean x)^2
    confidence  s_i = min(1, lambda sqrt(2/M) sqrt(1 - h_i) / |e_i|),  1 where e_i = 0     (the paper's eq. for s)

The hat matrix is that of the design [1, x], with an intercept: without it the smallest and the largest value would
be judged differently. The two constants in tau keep float32 rounding from condemning clients that agree.
"""

import numpy as np
from numpy.typing import NDArray

ABSOLUTE_SCALE = 1e-7
RELATIVE_SCALE = 2.4e-7


def leverage(size: int) -> NDArray[np.float64]:
    """Return the diagonal of the hat matrix for ranks 0 .. size-1.

    >>> leverage(3).round(4).tolist()
    [0.8333, 0.3333, 0.8333]
    """
    if size == 1:
        return np.ones(1)
    offset = np.arange(size) - (size - 1) / 2
    return np.asarray(1 / size + offset**2 / (offset**2).sum())


def confidence_bound(size: int, lambda_: float) -> NDArray[np.float64]:
    """Return lambda sqrt(2/M) sqrt(1 - h_i) by rank: the confidence is this over |e|, at most 1.

    >>> confidence_bound(3, 2.0).round(4).tolist()
    [0.6667, 1.3333, 0.6667]
    """
    return np.asarray(lambda_ * np.sqrt(2 / size) * np.sqrt(np.clip(1 - leverage(size), 0, None)))


def residual_factor(size: int) -> float:
    """Return 1.48 (M+4)/(M-1), which turns the median absolute residual into a standard deviation."""
    return 1.48 * (size + 4) / (size - 1)
