import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eitr.compiled import JIT
from eitr.robust.combination import combine, weighted_mean
from eitr.robust.detection import detect
from tests.examples import examples

from . import oracle
from .columns import KINDS, make_columns, tables

SETTINGS = {"varpi": 2.0, "delta": 0.1, "lambda_": 2.0}


def found_in(updates, rescale="median", order=None, **changed):
    order = np.arange(len(updates)) if order is None else order
    return detect(updates, order, rescale=rescale, **{**SETTINGS, **changed})


def assert_as_the_oracle(updates, rescale, **changed):
    """Same decisions, except where a confidence is within 1e-5 of delta; same medians; same rectified mean."""
    found = found_in(updates, rescale, **changed)
    chosen = {**SETTINGS, **changed}
    equal = np.ones(len(updates))
    mean = combine(updates, found, np.arange(len(updates)), equal)
    for n, column in enumerate(updates.T):
        rectified, accepted, confidence, median = oracle.rectify(column, rescale=rescale, **chosen)
        clear = np.abs(confidence - chosen["delta"]) > 1e-5
        assert (found.accepted[clear, n] == accepted[clear]).all()
        assert found.median[n] == pytest.approx(median, rel=1e-6, abs=1e-6)
        if clear.all():
            assert mean[n] == pytest.approx(rectified.mean(), rel=1e-5, abs=1e-5)


@examples(250, 5)
@given(tables())
def test_decisions_are_the_oracles_when_clipping_to_the_median(updates):
    assert_as_the_oracle(updates, "median")


@examples(150, 3)
@given(tables(largest=25, kinds=[kind for kind in KINDS if kind not in ("wild", "huge")]))
def test_decisions_are_the_oracles_with_the_papers_rescaling(updates):
    assert_as_the_oracle(updates, "paper")


@examples(100, 2)
@given(
    tables(largest=12),
    st.sampled_from([0.01, 0.5, 0.99]),
    st.sampled_from([0.3, 5.0]),
    st.sampled_from([0.05, 100.0]),
)
def test_decisions_are_the_oracles_for_other_settings(updates, delta, lambda_, varpi):
    assert_as_the_oracle(updates, "median", delta=delta, lambda_=lambda_, varpi=varpi)


@pytest.mark.parametrize("rescale", ["median", "paper"])
def test_many_clients_are_judged_as_the_oracle_judges_them(rescale):
    updates = make_columns("shifted", 64, 20, np.random.default_rng(3)).astype(np.float32)
    assert_as_the_oracle(updates, rescale)


@pytest.mark.long
@pytest.mark.skipif(not JIT, reason="a minute with the JIT")
@pytest.mark.parametrize("kind", KINDS)
def test_two_hundred_clients_are_judged_as_the_oracle_judges_them(kind):
    updates = np.clip(make_columns(kind, 200, 24, np.random.default_rng(4)), -1e6, 1e6).astype(np.float32)
    assert_as_the_oracle(updates, "median")


@examples(150, 3)
@given(tables(), st.integers(0, 2**32 - 1))
def test_who_arrives_first_does_not_matter(updates, seed):
    arrival = np.random.default_rng(seed).permutation(len(updates))
    found = found_in(updates)
    # The same clients in another order of rows; `order` still lists them by id.
    other = found_in(np.ascontiguousarray(updates[arrival]), order=np.argsort(arrival))
    assert (other.accepted == found.accepted[arrival]).all()
    assert (other.median == found.median).all()


@examples(150, 3)
@given(tables())
def test_counts_add_up_and_inputs_stay_as_they_are(updates):
    before = updates.copy()
    for rescale in ("median", "paper"):
        found = found_in(updates, rescale)
        assert (found.positive + found.negative == updates.shape[1]).all()
        assert (found.positive == found.accepted.sum(axis=1)).all()
    assert (updates == before).all()


def test_the_papers_rescaling_gives_back_rescaled_values_and_clipping_none():
    updates = np.array([[0.0], [0.1], [0.2], [9.0]], dtype=np.float32)
    assert found_in(updates).rescaled is None
    np.testing.assert_allclose(
        found_in(updates, "paper").rescaled[:, 0], oracle.rescale_by_deviation(updates[:, 0], 2.0), rtol=1e-6
    )


@pytest.mark.parametrize("clients", [1, 2])
def test_one_or_two_clients_are_always_believed(clients):
    updates = np.array([[0.0, 5.0], [9.0, -5.0]], dtype=np.float32)[:clients]
    assert found_in(updates).accepted.all()


def test_clients_that_agree_up_to_rounding_are_all_accepted():
    # Guards against judging float32 rounding noise: without the constants in tau some of these are rejected.
    rng = np.random.default_rng(5)
    updates = np.float32(0.7) * (1 + np.float32(6e-8) * rng.integers(-1, 2, (50, 400)).astype(np.float32))
    assert found_in(updates).accepted.all()


@examples(150, 3)
@given(tables(), st.integers(0, 2**32 - 1))
def test_a_combination_lies_between_the_smallest_and_the_largest_value_sent(updates, seed):
    weights = np.random.default_rng(seed).random(len(updates)) + 1e-3
    order = np.arange(len(updates))
    for rescale in ("median", "paper"):
        for model in (
            combine(updates, found_in(updates, rescale), order, weights),
            weighted_mean(updates, order, weights),
        ):
            assert (model >= updates.min(axis=0)).all()
            assert (model <= updates.max(axis=0)).all()
            assert model.dtype == updates.dtype


def test_equal_values_combine_to_that_value_exactly():
    updates = np.full((7, 3), 0.1)
    weights = np.random.default_rng(6).random(7)
    assert (combine(updates, found_in(updates), np.arange(7), weights) == 0.1).all()
    assert (weighted_mean(updates, np.arange(7), weights) == 0.1).all()
