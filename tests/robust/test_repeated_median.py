import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import siegelslopes

from eitr.compiled import JIT
from eitr.robust.lanes import LANES, aligned_rows
from eitr.robust.repeated_median import SEARCH_FROM, repeated_median_slope, slope_workspace
from tests.examples import examples

from . import oracle
from .columns import KINDS, make_columns


def slopes(columns):
    """Return the slopes of (clients, LANES) columns after sorting them."""
    values, slope = aligned_rows(len(columns)), aligned_rows(1)
    values[:] = np.sort(columns, axis=0)
    repeated_median_slope(values, slope_workspace(len(columns)), slope)
    return slope[0].copy()


def assert_as_the_oracle(columns):
    found = slopes(columns)
    expected = np.array([oracle.repeated_median_slope(np.sort(column)) for column in columns.T])
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


@examples(150, 3)
@given(clients=st.integers(2, 60), kind=st.sampled_from(KINDS), seed=st.integers(0, 2**32 - 1))
def test_slopes_are_the_oracles_for_any_kind_of_column(clients, kind, seed):
    assert_as_the_oracle(make_columns(kind, clients, LANES, np.random.default_rng(seed)))


@pytest.mark.parametrize("clients", [SEARCH_FROM, SEARCH_FROM + 1, SEARCH_FROM + 2, 64, 101])
def test_slopes_are_right_on_both_sides_of_where_the_search_begins(clients):
    rng = np.random.default_rng(clients)
    mixed = np.concatenate([make_columns(kind, clients, 2, rng) for kind in KINDS], axis=1)[:, :LANES]
    assert_as_the_oracle(mixed)


@pytest.mark.skipif(not JIT, reason="thousands of columns take hours without the JIT")
def test_slopes_are_exact_over_thousands_of_columns():
    rng = np.random.default_rng(7)
    for kind in KINDS:
        for clients in (3, 4, 9, 25, 26, 47):
            for _ in range(4):
                assert_as_the_oracle(make_columns(kind, clients, LANES, rng))


@pytest.mark.long
@pytest.mark.skipif(not JIT, reason="a minute with the JIT")
def test_slopes_are_exact_for_many_clients():
    rng = np.random.default_rng(8)
    for kind in KINDS:
        for clients in (150, 200, 333):
            assert_as_the_oracle(make_columns(kind, clients, LANES, rng))


def test_slopes_agree_with_scipy_on_distinct_values():
    columns = np.random.default_rng(1).normal(size=(31, LANES))
    expected = [siegelslopes(np.sort(column), np.arange(31), method="hierarchical").slope for column in columns.T]
    np.testing.assert_allclose(slopes(columns), expected, rtol=1e-12)


def test_a_line_with_just_under_half_of_its_points_replaced_keeps_its_slope():
    columns = np.tile(0.5 * np.arange(41.0)[:, None], (1, LANES))
    columns[-19:] = 1e5 + np.arange(19)[:, None] ** 2
    np.testing.assert_allclose(slopes(columns), 0.5)


@pytest.mark.parametrize("clients", [4, 5, 30, 31])
def test_ties_of_more_than_half_give_slope_zero_exactly(clients):
    columns = np.random.default_rng(2).normal(size=(clients, LANES))
    columns[: clients // 2 + 2] = 0.25
    assert (slopes(columns) == 0).all()
