"""The hole in the paper's rescaling stays understood: what attackers gain by a shift is expected cell by cell.

Ten clients, honest spread 0.05 (see `benchmarks/rescaling_hole.py`). The expectations are reasoned, not recorded:

- Shift 0.02: within the honest spread. Nobody can see it: hardly any value is rejected, the few that are decide the
  weights, and the error stays well below the honest spread.
- Shift 0.3 and 1: the range stays below varpi = 2, so both ways of rescaling are (nearly) the same. A shift of six
  spreads is seen up to 30 %; at 40 % the line can still be laid through both groups, and only 1 and more are seen.
- Shift 3 and more under `median`: values are clipped to the median +- 1, so every such shift is as visible as 1 or
  more, and harms by at most the attackers' weight times 1.
- Shift 3 under `paper`: the range is just beyond varpi. With 10 and 20 % the attackers are still seen and have no
  weight, but honest values have been moved and the model is wrong all the same. With 30 % they are not seen. With 40 %
  it is the honest clients that are rejected: worse than the plain mean.
- Shift 50 and 10,000 under `paper`: the column's mean is kept and everything ends in a range of varpi around it. The
  attackers are not seen and keep about their share, and the error is that of the plain mean, share times shift, give
  or take varpi/2.
"""

import itertools
from statistics import mean
from typing import NamedTuple

import pytest

from benchmarks.rescaling_hole import ATTACKERS, CLIENTS, RESCALINGS, SHIFTS, Cell, as_markdown, measure_cell

PARAMETERS, SEEDS = 500, 5
VARPI = 2.0


class Expected(NamedTuple):
    """Bounds on means over the seeds, lowest and highest."""

    weight: tuple[float, float]
    error: tuple[float, float]
    rejected: tuple[float, float]
    """Share of the attackers' values."""


def _unseen(error: float) -> Expected:
    return Expected(weight=(0.0, 0.6), error=(0.0, error), rejected=(0.0, 0.02))


def _seen(weight: float, error: float, rejected: float) -> Expected:
    return Expected(weight=(0.0, weight), error=(0.0, error), rejected=(rejected, 1.0))


def _plain_mean(share: float, shift: float) -> Expected:
    low, high = share * shift - VARPI / 2, share * shift + VARPI / 2
    return Expected(weight=(0.8 * share, 1.7 * share), error=(low, high), rejected=(0.0, 0.005))


# By attackers and shift; below varpi the same for both ways of rescaling.
SMALL = {
    (1, 0.02): _unseen(0.02),
    (2, 0.02): _unseen(0.02),
    (3, 0.02): _unseen(0.02),
    (4, 0.02): _unseen(0.02),
    (1, 0.3): _seen(0.01, 0.001, 0.7),
    (2, 0.3): _seen(0.02, 0.003, 0.3),
    (3, 0.3): _seen(0.08, 0.02, 0.05),
    (4, 0.3): _unseen(0.15),
    (1, 1.0): _seen(0.01, 0.001, 0.99),
    (2, 1.0): _seen(0.01, 0.001, 0.99),
    (3, 1.0): _seen(0.02, 0.005, 0.7),
    (4, 1.0): _seen(0.10, 0.10, 0.05),
}
LARGE = {
    ("median", 1, 3.0): _seen(0.01, 0.001, 0.99),
    ("median", 2, 3.0): _seen(0.01, 0.001, 0.99),
    ("median", 3, 3.0): _seen(0.02, 0.005, 0.7),
    ("median", 4, 3.0): _seen(0.05, 0.05, 0.05),
    ("median", 1, 50.0): _seen(0.01, 0.001, 0.99),
    ("median", 2, 50.0): _seen(0.01, 0.001, 0.99),
    ("median", 3, 50.0): _seen(0.02, 0.005, 0.7),
    ("median", 4, 50.0): _seen(0.05, 0.05, 0.05),
    ("median", 1, 10_000.0): _seen(0.01, 0.001, 0.99),
    ("median", 2, 10_000.0): _seen(0.01, 0.001, 0.99),
    ("median", 3, 10_000.0): _seen(0.02, 0.005, 0.7),
    ("median", 4, 10_000.0): _seen(0.05, 0.05, 0.05),
    ("paper", 1, 3.0): Expected(weight=(0.0, 0.01), error=(0.03, 0.10), rejected=(0.9, 1.0)),
    ("paper", 2, 3.0): Expected(weight=(0.0, 0.02), error=(0.20, 0.40), rejected=(0.1, 0.5)),
    ("paper", 3, 3.0): Expected(weight=(0.28, 0.35), error=(0.85, 0.95), rejected=(0.0, 0.005)),
    ("paper", 4, 3.0): Expected(weight=(0.6, 1.0), error=(1.3, 1.8), rejected=(0.0, 0.005)),
    ("paper", 1, 50.0): _plain_mean(0.1, 50.0),
    ("paper", 2, 50.0): _plain_mean(0.2, 50.0),
    ("paper", 3, 50.0): _plain_mean(0.3, 50.0),
    ("paper", 4, 50.0): _plain_mean(0.4, 50.0),
    ("paper", 1, 10_000.0): _plain_mean(0.1, 10_000.0),
    ("paper", 2, 10_000.0): _plain_mean(0.2, 10_000.0),
    ("paper", 3, 10_000.0): _plain_mean(0.3, 10_000.0),
    ("paper", 4, 10_000.0): _plain_mean(0.4, 10_000.0),
}
EXPECTED = {
    **{(rescale, *attack): cell for rescale in RESCALINGS for attack, cell in SMALL.items()},
    **LARGE,
}


@pytest.fixture(scope="module")
def cells() -> dict[tuple[str, int, float], Cell]:
    return {key: measure_cell(*key, parameters=PARAMETERS, seeds=SEEDS) for key in EXPECTED}


def test_every_cell_of_the_table_has_an_expectation():
    assert set(EXPECTED) == set(itertools.product(RESCALINGS, ATTACKERS, SHIFTS))


def test_attackers_gain_what_is_expected(cells):
    unexpected = {
        (key, what): (low, mean(found), high)
        for key, expected in EXPECTED.items()
        for what, found, (low, high) in zip(
            expected._fields, (cells[key].weights, cells[key].errors, cells[key].rejected), expected, strict=True
        )
        if not low <= mean(found) <= high
    }
    assert unexpected == {}


def test_plain_mean_errs_by_share_times_shift(cells):
    for attackers, shift in itertools.product(ATTACKERS, (1.0, 3.0, 50.0, 10_000.0)):
        error = mean(cells["median", attackers, shift].mean_errors)
        assert error == pytest.approx(attackers / CLIENTS * shift, abs=0.01), (attackers, shift)


def test_median_is_a_hundred_times_closer_than_paper_under_a_large_shift(cells):
    for attackers, shift in itertools.product(ATTACKERS, (50.0, 10_000.0)):
        ours, paper = (mean(cells[rescale, attackers, shift].errors) for rescale in ("median", "paper"))
        assert 100 * ours < paper, (attackers, shift)


def test_table_has_a_row_for_each_attack(cells):
    lines = as_markdown(list(cells.values())).splitlines()
    assert len([line for line in lines if line.startswith("| ")]) == 2 + len(ATTACKERS) * len(SHIFTS)
    assert any(line.startswith("| 30%") and " 10,000 |" in line for line in lines)
