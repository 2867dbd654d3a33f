"""Many clients are judged one column at a time: with the numbers of the tiles, to the last bit, and of an oracle."""

import numpy as np
import pytest

from eitr.compiled import JIT
from eitr.robust import detection
from eitr.robust.bucket_counts import BUCKETS, buckets, counts_of_row, exact_count, fill_buckets, tilt
from eitr.robust.column_slope import column_workspace, slope_of_column
from eitr.robust.sorted_columns import sorted_columns

from .columns import KINDS, make_columns

SETTINGS = {"varpi": 2.0, "delta": 0.1, "lambda_": 2.0}


def plain_slope(column):
    """Return the repeated median of all slopes of a sorted column, computed one by one."""
    size = len(column)
    runs = np.arange(size)[None, :] - np.arange(size)[:, None]
    others = ~np.eye(size, dtype=bool)
    slopes = (column[None, :] - column[:, None])[others] / runs[others]
    return float(np.median(np.median(slopes.reshape(size, size - 1), axis=1)))


def ties_and_tails(clients, rng):
    """Return columns of which shares just below and above a half are equal, and some with heavy tails."""
    bell = rng.normal(0.0, 0.05, (clients, 5))
    for column, share in enumerate((0.3, 0.49, 0.5, 0.51)):
        bell[: int(share * clients), column] = 0.01
    bell[:, 4] = rng.standard_t(1, clients)
    return bell


def wrong_slopes(clients, kinds=KINDS, factors=(0.5, 1.0, 1.5)):
    rng = np.random.default_rng(clients)
    columns = np.concatenate(
        [*(make_columns(kind, clients, 1, rng) for kind in kinds), ties_and_tails(clients, rng)], 1
    )
    work = column_workspace(clients)
    wrong = []
    for number, column in enumerate(np.sort(columns, axis=0).T):
        expected = plain_slope(column)
        # However far off the estimate is, also when it is none, the slope is exact.
        for estimate in (0.0, *(factor * expected for factor in factors)):
            found = slope_of_column(np.ascontiguousarray(column), estimate, work)
            if found != pytest.approx(expected, rel=1e-9, abs=1e-15):
                wrong.append((number, estimate, found, expected))
    return wrong


@pytest.mark.parametrize("clients", [3, 4, 10, 65, 66])
def test_slopes_are_those_of_all_pairs(clients):
    assert wrong_slopes(clients) == []


@pytest.mark.skipif(not JIT, reason="minutes without the JIT")
@pytest.mark.parametrize("clients", [300, 601, 1000])
def test_slopes_of_many_clients_are_those_of_all_pairs(clients):
    assert wrong_slopes(clients) == []


@pytest.mark.long
@pytest.mark.skipif(not JIT, reason="hours without the JIT")
@pytest.mark.parametrize("clients", [1501, 2000, 2001])
def test_slopes_of_very_many_clients_are_those_of_all_pairs(clients):
    assert wrong_slopes(clients) == []


def test_counts_in_buckets_bound_the_exact_ones_and_meet_where_they_decide():
    rng = np.random.default_rng(3)
    values = np.sort(np.concatenate([rng.normal(size=150), np.full(30, 0.2), 50 * rng.normal(size=20)]))
    work = buckets(len(values))
    for slope in (0.0, 0.005, 0.02, 0.3):
        tilt(values, slope, work.tilted)
        lowest, highest = np.quantile(work.tilted, [0.2, 0.8])
        fill_buckets(lowest, highest, work)
        assert work.bucket.max() < BUCKETS
        for rank in range(len(values)):
            exact = exact_count(rank, work.tilted)
            low, high = 99, 99
            least, most = counts_of_row(rank, low, high, work)
            assert least <= exact <= most
            assert (least > high) == (exact > high)
            assert (most <= low) == (exact <= low)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_columns_are_sorted_by_value_and_equal_values_by_client(kind):
    updates = np.array([[2.0, -0.0], [-1.5, -0.0], [2.0, 0.0], [-3.0, 0.0]], dtype=kind)
    values, clients = np.empty((2, 4)), np.empty((2, 4), dtype=np.int64)
    sorted_columns(updates, np.array([3, 1, 2, 0]), 0, values, clients)
    assert values.tolist() == [[-3.0, -1.5, 2.0, 2.0], [0.0, 0.0, 0.0, 0.0]]
    assert clients.tolist() == [[0, 1, 2, 3], [0, 1, 2, 3]]


def differences(monkeypatch, clients, parameters=19):
    """Return for which inputs tiles and columns judge differently, in anything."""
    different = []
    for rescale in ("median", "paper"):
        for kind in KINDS:
            if rescale == "paper" and kind in ("wild", "huge"):
                continue
            rng = np.random.default_rng(clients)
            values = np.clip(make_columns(kind, clients, parameters, rng), -1e6, 1e6)
            order = rng.permutation(clients)
            for dtype in (np.float32, np.float64):
                found = []
                for many in (clients + 1, clients):
                    monkeypatch.setattr(detection, "MANY", many)
                    found.append(detection.detect(values.astype(dtype), order, rescale=rescale, **SETTINGS))
                tiles, columns = found
                same = (
                    np.array_equal(tiles.accepted, columns.accepted)
                    and np.array_equal(tiles.median, columns.median)
                    and np.array_equal(tiles.rescaled, columns.rescaled)
                )
                if not same:
                    different.append((rescale, kind, dtype.__name__))
    return different


@pytest.mark.parametrize("clients", [3, 4, 5, 10, 33])
def test_columns_are_judged_as_tiles_are(monkeypatch, clients):
    assert differences(monkeypatch, clients) == []


@pytest.mark.skipif(not JIT, reason="minutes without the JIT")
@pytest.mark.parametrize("clients", [100, 301])
def test_columns_of_many_clients_are_judged_as_tiles_are(monkeypatch, clients):
    assert differences(monkeypatch, clients) == []


@pytest.mark.long
@pytest.mark.skipif(not JIT, reason="hours without the JIT")
def test_columns_of_a_thousand_clients_are_judged_as_tiles_are(monkeypatch):
    assert differences(monkeypatch, 1000) == []
