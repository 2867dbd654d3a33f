"""A step without the part of it that works against pages of known class.

Honest people correct what is wrong and confirm little, so that their steps pull the model in one direction again and
again. At the limit of what it may lose, no length of such a step is allowed any more; most of it would do no harm.
"""

import numpy as np
from numpy.typing import NDArray

from eitr.model import Network, Vector
from eitr.model.private import PrivatePlan, clipped_sum, trained_from
from eitr.model.round_plan import RoundPlan
from eitr.model.validation import ValidationPages

Floats = NDArray[np.float64]
PASSES = 200
"""How often the multipliers are improved; they stop changing long before."""
UNCLIPPED = 1e12
"""Longer than the gradient of any page."""


def without_harm(network: Network, base: Vector, target: Vector, pages: ValidationPages, plan: RoundPlan) -> Vector:
    """Return the model nearest to the target of those whose step raises the mean loss of no class.

    To first order: of each class, the loss changes by the product of the step and the gradient at the base. This is the
    projection of Lopez-Paz and Ranzato, "Gradient episodic memory for continual learning", NeurIPS 2017, equation 8.
    Only trained parameters change.
    """
    layers = plan.layers if isinstance(plan, PrivatePlan) else len(network.shapes)
    first = trained_from(network, layers)
    gradients = []
    for label in np.unique(pages.labels):
        rows = pages.rows.take(np.flatnonzero(pages.labels == label))
        gradient = clipped_sum(network, base, rows, np.full(len(rows), label), layers=layers, clip=UNCLIPPED)
        if (length := float(np.linalg.norm(gradient))) > 0:
            gradients.append(gradient / length)
    step = np.asarray(target[first:], np.float64) - base[first:]
    result = base.copy()
    result[first:] += projected(step, np.array(gradients).reshape(-1, len(step))).astype(np.float32)
    return result


def projected(step: Floats, directions: Floats) -> Floats:
    """Return the step nearest to a given one whose products with some directions of length 1 are not positive.

    The multipliers of the conditions are found one at a time, in turn (Hildreth's method).

    >>> projected(np.array([1.0, 1.0]), np.array([[1.0, 0.0], [0.0, -1.0]])).tolist()
    [0.0, 1.0]
    """
    products, excess = directions @ directions.T, directions @ step
    multipliers = np.zeros(len(directions))
    for _ in range(PASSES):
        for place in range(len(directions)):
            change = excess[place] - products[place] @ multipliers
            multipliers[place] = max(0.0, multipliers[place] + change)
    return np.asarray(step - multipliers @ directions)
