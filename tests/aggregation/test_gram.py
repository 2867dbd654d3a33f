"""Inner products, and the ranks made of them, that nothing but the clients decides."""

import numpy as np
import pytest
from hypothesis import given

from eitr.robust.gram import gram_of_steps, ranked, squared_distances
from tests.aggregation.cases import populations
from tests.examples import examples


@examples(100, 30)
@given(populations())
def test_products_and_distances_are_those_of_the_steps(updates):
    base = np.linspace(-1, 1, updates.shape[1]).astype(updates.dtype)
    order = np.random.default_rng(0).permutation(len(updates))
    steps = (updates.astype(np.float64) - base)[order]
    gram = gram_of_steps(updates, base, order)
    scale = 1 + (steps**2).sum(axis=1).max()
    np.testing.assert_allclose(gram, steps @ steps.T, rtol=0, atol=1e-13 * scale)
    distances = ((steps[:, None] - steps) ** 2).sum(axis=2)
    np.testing.assert_allclose(squared_distances(gram), distances, rtol=0, atol=1e-11 * scale)


def test_more_parameters_than_a_block_are_summed_whole():
    updates = np.random.default_rng(0).normal(size=(3, (1 << 19) // 3 + 1000)).astype(np.float32)
    steps = updates.astype(np.float64)
    gram = gram_of_steps(updates, np.zeros(updates.shape[1]), np.arange(3))
    np.testing.assert_allclose(gram, steps @ steps.T, rtol=1e-12, atol=1e-8)


def test_who_comes_first_does_not_change_a_bit():
    rng = np.random.default_rng(1)
    updates, base = rng.normal(size=(7, 9000)).astype(np.float32), rng.normal(size=9000).astype(np.float32)
    order = rng.permutation(7)
    np.testing.assert_array_equal(
        gram_of_steps(updates, base, np.arange(7)), gram_of_steps(updates[order], base, np.argsort(order))
    )


def test_twins_are_at_distance_0_whatever_rounding_says():
    row = np.random.default_rng(2).normal(size=5001) * 1e3
    gram = gram_of_steps(np.tile(row, (9, 1)), np.zeros(5001), np.arange(9))
    assert (squared_distances(gram * (1 + 1e-15 * np.arange(9))) == 0).all()


@pytest.mark.parametrize("noise", [0.0, 1e-14, -1e-14])
def test_values_within_a_hair_keep_the_order_of_clients(noise):
    values = np.array([2.0, 1.0 + noise, 1.0, 0.5, 1.0 - noise])
    assert ranked(values, 1e-12).tolist() == [3, 1, 2, 4, 0]
    assert ranked(np.stack([values, -values]), 1e-12).tolist() == [[3, 1, 2, 4, 0], [0, 1, 2, 4, 3]]


def test_a_chain_of_hairs_is_one_rank():
    assert ranked(np.array([3.0, 2.0, 1.0]), 1.5).tolist() == [0, 1, 2]
