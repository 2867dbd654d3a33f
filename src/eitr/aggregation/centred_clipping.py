"""Centred clipping: steps that lead far from the centre are shortened."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eitr.aggregation.interface import Floats
from eitr.aggregation.linear import LinearRule
from eitr.settings import setting

_NOTHING = 1e-300
"""Divides where a distance is 0."""


@dataclass(frozen=True, kw_only=True)
class CentredClipping(LinearRule):
    """v <- v + (1/M) sum_i (g_i - v) min(1, tau / |g_i - v|), some times; w = base + v, with steps g = w - base.

    The centre v starts at 0, the global model. The publication starts it at the last round's result, which fits the
    momenta that its clients send; ours send the outcome of a whole training, and the model is where it began. There
    tau is a number to be tuned; 0, the default, takes the round's median step length.

    >>> from eitr.aggregation import Round
    >>> base, updates = np.zeros(1, dtype=np.float32), np.array([[1], [2], [3], [90]], dtype=np.float32)
    >>> rule = CentredClipping(tau=2.0, iterations=1)
    >>> _, result = rule.update(rule.init(), Round(base, updates, ["a", "b", "c", "d"]))
    >>> result.model.tolist()
    [1.75]

    Karimireddy, He and Jaggi, "Learning from History for Byzantine Robust Optimization", ICML 2021.
    """

    name: ClassVar[str] = "centred-clipping"
    summary: ClassVar[str] = "mean of steps clipped around a centre"

    tau: float = setting(0.0, "longest distance from the centre (0: the round's median step length)", least=0.0)
    iterations: int = setting(3, "how often the centre is moved", least=1, most=100_000)

    def coefficients(self, gram: Floats) -> Floats:
        """Return c with v = sum_i c_i g_i; they sum to 1 at most, less where steps were shortened."""
        tau = self.tau or float(np.median(np.sqrt(np.diag(gram))))
        shares = np.zeros(len(gram))
        for _ in range(self.iterations):
            across = gram @ shares  # <v, g_i>
            distances = np.sqrt(np.maximum(shares @ across - 2 * across + np.diag(gram), 0))
            clip = np.minimum(1, tau / np.maximum(distances, _NOTHING))
            shares = shares * (1 - clip.mean()) + clip / len(gram)
        return shares
