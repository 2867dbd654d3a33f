import math
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eitr.datasets import dirichlet_partition, plot_partition
from eitr.errors import InputError
from eitr.taxonomy import NAMES

LABELS = np.random.default_rng(0).integers(0, 6, 3000)
alphas = st.one_of(st.floats(1e-6, 1e6), st.sampled_from([5e-324, 1e-300, 1e-3, 1e300, 1e308, math.inf]))


@given(st.lists(st.integers(0, 5), min_size=1, max_size=120), st.data(), alphas, st.integers(0, 2**32))
def test_every_row_has_exactly_one_client_and_every_client_a_row(labels, data, alpha, seed):
    clients = data.draw(st.integers(1, len(labels)))
    parts = dirichlet_partition(np.array(labels), clients, alpha, seed)
    assert len(parts) == clients
    assert all(len(part) > 0 for part in parts)
    assert all((np.diff(part) > 0).all() and part.dtype == np.int64 for part in parts)
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(labels)))


@given(st.integers(0, 1000), alphas)
def test_a_seed_always_gives_the_same_partition(seed, alpha):
    first, again = (dirichlet_partition(LABELS[:200], 7, alpha, seed) for _ in range(2))
    assert all(np.array_equal(one, two) for one, two in zip(first, again, strict=True))


@pytest.mark.parametrize("alpha", [0.1, 1.0, math.inf])
def test_another_seed_gives_another_partition(alpha):
    first, other = (dirichlet_partition(LABELS, 7, alpha, seed) for seed in (0, 1))
    assert any(not np.array_equal(one, two) for one, two in zip(first, other, strict=True))


def skew(alpha):
    """How far, on average, the classes of a client are from those of all."""
    overall = np.bincount(LABELS, minlength=6) / len(LABELS)
    parts = dirichlet_partition(LABELS, 20, alpha, seed=3)
    return np.mean([np.abs(np.bincount(LABELS[part], minlength=6) / len(part) - overall).sum() for part in parts])


def test_the_smaller_alpha_the_less_alike_the_clients():
    amounts = [skew(alpha) for alpha in (0.05, 0.5, 5.0, 500.0)]
    assert amounts == sorted(amounts, reverse=True)
    assert amounts[0] > 1
    assert amounts[-1] < 0.15


def test_shares_of_a_class_follow_the_dirichlet_distribution():
    # The share of one of n clients has the mean 1/n and the variance (1/n)(1 - 1/n)/(n alpha + 1).
    labels, clients, alpha = np.zeros(10_000, np.int64), 4, 0.7
    draws = [dirichlet_partition(labels, clients, alpha, seed) for seed in range(400)]
    shares = np.array([[len(part) / len(labels) for part in parts] for parts in draws])
    assert np.allclose(shares.mean(0), 0.25, atol=0.05)
    expected = 0.25 * 0.75 / (clients * alpha + 1)
    assert np.allclose(shares.var(0), expected, rtol=0.25)


def test_an_infinite_alpha_deals_the_rows_out_evenly():
    sizes = [len(part) for part in dirichlet_partition(LABELS, 7, math.inf, seed=0)]
    assert max(sizes) - min(sizes) <= 1


def test_empty_clients_get_their_row_from_the_largest():
    parts = dirichlet_partition(np.zeros(50, np.int64), 40, 1e-3, seed=0)
    sizes = sorted(len(part) for part in parts)
    assert sizes[0] == 1
    assert sum(sizes) == 50


@pytest.mark.parametrize(
    ("clients", "alpha", "seed", "said"),
    [
        (0, 1.0, 0, "at least one client"),
        (3001, 1.0, 0, "3001 clients are more than the 3000 rows"),
        (2, 0.0, 0, "alpha must be above 0"),
        (2, -1.0, 0, "alpha must be above 0"),
        (2, math.nan, 0, "alpha must be above 0"),
        (2, 1.0, -1, "seed"),
    ],
)
def test_settings_that_make_no_sense_are_errors(clients, alpha, seed, said):
    with pytest.raises(InputError, match=said):
        dirichlet_partition(LABELS, clients, alpha, seed)


def test_the_picture_shows_every_class_and_is_always_the_same(tmp_path):
    pytest.importorskip("matplotlib")
    parts = dirichlet_partition(LABELS, 10, 0.5, seed=0)
    for name in ("a.svg", "b.svg"):
        plot_partition(LABELS, parts, NAMES, tmp_path / name)
    drawn = (tmp_path / "a.svg").read_text()
    assert drawn == (tmp_path / "b.svg").read_text()
    assert ElementTree.fromstring(drawn).tag.endswith("svg")
    assert all(name in drawn for name in NAMES)
    assert "date" not in drawn
    # Five of the six classes have lines or dots over their colour.
    assert drawn.count("<pattern") == 5
