import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eitr.aggregation import Round, make_rule
from eitr.errors import InputError
from tests.aggregation import oracle
from tests.aggregation.cases import names, populations
from tests.examples import examples


def trust(updates, base, root, **chosen):
    rule = make_rule("fltrust", **chosen)
    return rule.update(rule.init(), Round(base, updates, names(len(updates)), root=root))[1]


@examples(200, 60)
@given(populations(), st.integers(0, 2**32))
def test_steps_are_rescaled_to_the_roots_and_weighed_by_their_cosine_to_it(updates, seed):
    rng = np.random.default_rng(seed)
    base, root = rng.normal(0, 0.1, (2, updates.shape[1])).astype(updates.dtype)
    result = trust(updates, base, root)
    model, weights = oracle.fltrust(base, updates, root)
    assert result.model.dtype == updates.dtype
    np.testing.assert_allclose(result.model, model, atol=1e-6 if updates.dtype == np.float32 else 1e-12)
    if weights is None:
        assert result.weights is None
        assert "no client is trusted" in result.notes["kept"]
    else:
        np.testing.assert_allclose(result.weights, weights, atol=1e-9)
        assert result.notes == {}


def test_when_nobody_is_trusted_the_global_model_is_kept():
    base, root = np.array([1.0, 2.0]), np.array([2.0, 2.0])
    result = trust(np.array([[0.0, 2.0], [-3.0, 2.0]]), base, root)
    assert result.model.tolist() == [1.0, 2.0]
    assert result.weights is None
    assert result.notes["kept"].endswith("no client is trusted")


def test_when_the_root_did_not_move_the_global_model_is_kept():
    base = np.array([1.0, 2.0])
    result = trust(np.array([[5.0, 2.0]]), base, base.copy())
    assert result.model.tolist() == [1.0, 2.0]
    assert result.weights is None
    assert result.notes["kept"].endswith("the root step has no length")


def test_a_client_that_did_not_move_earns_no_trust():
    base, root = np.zeros(2), np.array([1.0, 0.0])
    result = trust(np.array([[0.0, 0.0], [2.0, 0.0]]), base, root)
    assert result.weights.tolist() == [0.0, 1.0]
    assert result.model.tolist() == [1.0, 0.0]


def test_a_huge_step_counts_no_more_than_the_roots():
    base, root = np.zeros(3), np.array([0.0, 0.5, 0.0])
    result = trust(np.array([[0.0, 1e6, 0.0], [0.0, 0.1, 0.0]]), base, root)
    np.testing.assert_allclose(result.model, [0.0, 0.5, 0.0])


def test_base_and_root_of_another_precision_are_taken_as_they_are():
    base, root = np.zeros(2, dtype=np.float64), np.array([1.0, 0.0], dtype=np.float32)
    assert trust(np.array([[3.0, 0.0]], dtype=np.float32), base, root).model.dtype == np.float32
    assert trust(np.array([[3.0, 0.0]]), base, root).model.dtype == np.float64


def test_a_ramp_reduces_the_trust_in_newcomers():
    rule = make_rule("fltrust", ramp=2)
    base, root, update = np.zeros(2), np.array([1.0, 1.0]), np.array([[1.0, 0.0], [0.0, 1.0]])
    state, _ = rule.update(rule.init(), Round(base, update[:1], ["old"], root=root))
    _, result = rule.update(state, Round(base, update, ["old", "new"], root=root))
    np.testing.assert_allclose(result.weights, [2 / 3, 1 / 3])


@pytest.mark.parametrize(
    ("base", "root", "missing"),
    [
        (None, np.ones(3), "needs the global parameters of the round .*--global"),
        (np.ones(3), None, "needs parameters trained on trusted data .*--root"),
    ],
)
def test_base_and_root_are_needed(base, root, missing):
    with pytest.raises(InputError, match=missing):
        trust(np.ones((2, 3)), base, root)
