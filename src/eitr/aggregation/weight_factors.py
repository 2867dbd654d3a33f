"""A rule's result with weights that are multiplied by a number for each client."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from eitr.aggregation.interface import Floats, Result
from eitr.model.network import Vector


def with_weight_factors(result: Result, base: Vector, updates: NDArray[np.float32], factors: Floats) -> Result:
    """Return a result whose model is what the weights times `factors` make of the updates, where the rule has weights.

    Steps that are longer than usual get no more than the usual length here, because rules shorten such steps.
    """
    if result.weights is None:
        return result
    steps = np.asarray(updates - base, np.float64)
    lengths = np.linalg.norm(steps, axis=1)
    weights = (factors - 1) * result.weights
    weights *= np.minimum(1.0, np.median(lengths) / np.maximum(lengths, np.finfo(np.float64).tiny))
    return replace(result, model=np.asarray(result.model + weights @ steps, np.float32))
