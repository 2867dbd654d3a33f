"""The step that cover pages cause on average: exactly the mean over all draws."""

from itertools import combinations

import numpy as np
import pytest

from eitr.model import Network
from eitr.model.private import PrivatePlan, clipped_sum, expected_cover_step, gradient_lengths, private_step
from eitr.pages.sparse import SparseRows

NETWORK = Network((6, 5, 4, 3))
VECTOR = NETWORK.initial(3)
POOL = SparseRows(
    np.array([0, 2, 3, 5, 7, 8]),
    np.array([0, 3, 1, 2, 5, 0, 4, 3], np.int32),
    np.array([0.6, 0.8, 1, 0.8, 0.6, 0.6, 0.8, 1], np.float32),
    6,
)
LABELS = np.array([0, 2, 1, 2, 0])
OWN = (SparseRows(np.array([0, 1]), np.array([4], np.int32), np.array([1], np.float32), 6), [1])


def plan(layers: int, cover: int) -> PrivatePlan:
    lengths = gradient_lengths(NETWORK, VECTOR, POOL, LABELS, layers=layers)
    return PrivatePlan(layers=layers, cover_pages=cover, clip=float(np.median(lengths)), learning_rate=0.3, noise=0.0)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("cover", [1, 2, 5])
def test_it_is_the_mean_over_all_draws(layers: int, cover: int) -> None:
    asked = plan(layers, cover)
    steps = [
        -asked.learning_rate
        * clipped_sum(NETWORK, VECTOR, POOL.take(chosen), LABELS[list(chosen)], layers=layers, clip=asked.clip)
        for chosen in combinations(range(len(LABELS)), cover)
    ]
    found = expected_cover_step(NETWORK, VECTOR, POOL, LABELS, asked)
    np.testing.assert_allclose(found, np.mean(steps, axis=0), rtol=1e-12, atol=1e-15)


def test_without_cover_pages_there_is_none() -> None:
    assert not expected_cover_step(NETWORK, VECTOR, POOL, LABELS, plan(1, 0)).any()


@pytest.mark.parametrize("layers", [1, 2])
def test_what_is_left_of_an_update_are_the_own_pages(layers: int) -> None:
    asked = plan(layers, len(LABELS))  # the whole pool is drawn: there is only one draw
    update = private_step(NETWORK, VECTOR, OWN, (POOL, LABELS), asked)
    alone = private_step(NETWORK, VECTOR, OWN, None, asked)
    expected = expected_cover_step(NETWORK, VECTOR, POOL, LABELS, asked)
    trained = len(expected)
    np.testing.assert_allclose(update[-trained:] - expected, alone[-trained:], atol=1e-7)
    assert np.abs(expected).max() > 1e-3
