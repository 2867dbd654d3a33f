import itertools

import numpy as np
import pytest

from eitr.robust.lanes import LANES, aligned_rows
from eitr.robust.networks import exchange, middle, selection_network, sorting_network


def run(network, columns):
    """Run a network over (size, any number of) columns, a tile at a time."""
    columns = np.asarray(columns, dtype=np.float64)
    result = np.empty_like(columns)
    rows = aligned_rows(len(columns))
    for start in range(0, columns.shape[1], LANES):
        part = columns[:, start : start + LANES]
        rows[:, : part.shape[1]] = part
        rows[:, part.shape[1] :] = 0
        exchange(rows, network)
        result[:, start : start + LANES] = rows[:, : part.shape[1]]
    return result


@pytest.mark.parametrize("size", range(1, 10))
def test_a_network_sorts_all_zeros_and_ones_and_so_everything(size):
    # The zero-one principle: a network that sorts these sorts any input.
    columns = np.array(list(itertools.product([0.0, 1.0], repeat=size))).T
    assert (run(sorting_network(size), columns) == np.sort(columns, axis=0)).all()


@pytest.mark.parametrize("size", [16, 31, 100])
def test_larger_networks_sort_random_columns(size):
    columns = np.random.default_rng(size).integers(0, size, (size, LANES))
    assert (run(sorting_network(size), columns) == np.sort(columns, axis=0)).all()


@pytest.mark.parametrize("size", [1, 2, 3, 9, 10, 33, 64])
def test_a_selection_network_puts_the_wanted_positions_right_with_fewer_comparators(size):
    wanted = middle(size)
    columns = np.random.default_rng(size).normal(size=(size, LANES))
    network = selection_network(size, wanted)
    assert (run(network, columns)[list(wanted)] == np.sort(columns, axis=0)[list(wanted)]).all()
    assert len(network) <= len(sorting_network(size))


def test_networks_cannot_be_changed_by_those_who_share_them():
    with pytest.raises(ValueError, match="read-only"):
        sorting_network(5)[0, 0] = 3


def test_scratch_rows_start_on_cache_lines():
    assert all(aligned_rows(rows).ctypes.data % 64 == 0 for rows in (1, 3, 100))
