import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eitr.robust.order_statistics import trimmed_mean, weighted_median
from tests.examples import examples

from .columns import tables


@examples(150, 3)
@given(tables())
def test_with_equal_weights_it_is_the_ordinary_median(updates):
    found = weighted_median(updates, np.arange(len(updates)), np.full(len(updates), 1 / len(updates)))
    expected = np.median(updates.astype(np.float64), axis=0).astype(updates.dtype)
    np.testing.assert_array_equal(found, expected)


@examples(150, 3)
@given(tables(largest=8), st.lists(st.integers(0, 4), min_size=8, max_size=8).filter(any))
def test_a_client_of_weight_three_counts_as_three_clients(updates, repeats):
    repeats = np.array(repeats[: len(updates)])
    if repeats.sum() == 0:
        repeats[0] = 1
    repeated = np.repeat(updates, repeats, axis=0).astype(np.float64)
    found = weighted_median(updates, np.arange(len(updates)), repeats.astype(float))
    # Shares such as 1/3 are rounded, so half may be missed by a hair: then a neighbour of the median is right too.
    lower = np.sort(repeated, axis=0)[(len(repeated) - 1) // 2]
    upper = np.sort(repeated, axis=0)[len(repeated) // 2]
    slack = 1e-6 * np.abs(repeated).max(axis=0)
    assert (found >= lower - slack).all()
    assert (found <= upper + slack).all()


@examples(150, 3)
@given(tables(), st.integers(0, 2**32 - 1))
def test_a_trimmed_mean_is_the_weighted_mean_of_the_middle(updates, seed):
    rng = np.random.default_rng(seed)
    weights = rng.random(len(updates)) + 0.1
    drop = int(rng.integers(0, (len(updates) - 1) // 2 + 1))
    found = trimmed_mean(updates, np.arange(len(updates)), weights, drop)
    for n, column in enumerate(updates.astype(np.float64).T):
        kept = np.argsort(column, kind="stable")[drop : len(column) - drop]
        expected = (column[kept] * weights[kept]).sum() / weights[kept].sum()
        assert found[n] == pytest.approx(expected, rel=1e-6, abs=1e-9)
