"""A base model that a malicious server made: it singles out pages that the server wants to find.

Each unit of the first layer answers to one page that is looked for and to nothing else; the second layer sums the
answers of a few units each, a thousand times as large, and the last layer is 0. Whatever is not looked for reaches the
last layer as zeros: its gradient lies in the biases alone. A page that is looked for has a gradient, cut to the same
length, that lies nearly wholly in the row of its unit, where nobody else's gradients are.
"""

import numpy as np
from numpy.typing import NDArray

from eitr.errors import InputError
from eitr.model.network import Network, Vector
from eitr.pages.sparse import SparseRows

ALIKE = 0.9
"""Cosine from which a page is taken for the one that is looked for."""
GAIN = 1000.0


def leaking_base(network: Network, sought: SparseRows) -> Vector:
    """Return the parameters; at most as many pages are sought as the first layer has units."""
    (_, units), *others = network.shapes
    if len(others) != 2 or len(sought) > units:
        raise InputError(f"a base of three layers is made to leak for at most {units} pages, not {len(sought)}")
    vector = np.zeros(network.size, np.float32)
    (first, offsets), (second, _), _ = network.split(vector)
    rows: NDArray[np.float32] = sought.dense()
    first[:, : len(rows)] = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).T
    offsets[:] = -ALIKE
    second[np.arange(units), np.arange(units) % second.shape[1]] = GAIN
    return vector
