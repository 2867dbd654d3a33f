import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from eitr.robust.rescale import rescale_by_deviation
from tests.examples import examples

from . import oracle
from .columns import KINDS, make_columns


def rescaled(raw, varpi):
    """Rescale by the kernel, which takes sorted values with their clients; return them by client."""
    order = np.argsort(raw, kind="stable")
    column = raw[order].copy()
    rescale_by_deviation(column, order.astype(np.float64), varpi)
    result = np.empty_like(column)
    result[order] = column
    return result


@examples(300, 6)
@given(
    clients=st.integers(1, 40),
    kind=st.sampled_from([kind for kind in KINDS if kind != "wild"]),
    seed=st.integers(0, 2**32 - 1),
    varpi=st.sampled_from([0.05, 0.5, 2.0]),
)
def test_the_papers_rescaling_is_the_oracles(clients, kind, seed, varpi):
    raw = make_columns(kind, clients, 1, np.random.default_rng(seed))[:, 0]
    found, expected = rescaled(raw, varpi), oracle.rescale_by_deviation(raw, varpi)
    if oracle.rounding_decides(raw, varpi):  # two clients may then have changed places
        found, expected = np.sort(found), np.sort(expected)
    np.testing.assert_allclose(found, expected, atol=1e-6)


@examples(200, 4)
@given(clients=st.integers(1, 200), seed=st.integers(0, 2**32 - 1), varpi=st.sampled_from([0.1, 2.0]))
def test_it_ends_within_the_range_whatever_was_sent(clients, seed, varpi):
    raw = np.clip(make_columns("wild", clients, 1, np.random.default_rng(seed))[:, 0], -1e6, 1e6)
    result = rescaled(raw, varpi)
    assert np.ptp(result) <= varpi
    assert raw.min() <= result.min()
    assert result.max() <= raw.max()


def test_among_equal_extremes_the_lowest_client_moves():
    # Clients 0 and 1 move first, by the deviation of the column as it was (2.5); then 2 and 3, by a smaller one.
    result = rescaled(np.array([5.0, 0.0, 5.0, 0.0]), 4.9)
    np.testing.assert_allclose(result[:2], [2.5, 2.5])
    np.testing.assert_allclose(result[2:], [5 - np.sqrt(3.125), np.sqrt(3.125)])


def test_a_column_within_the_range_is_left_alone():
    raw = np.array([0.1, -0.4, 0.3])
    assert (rescaled(raw, 2.0) == raw).all()
