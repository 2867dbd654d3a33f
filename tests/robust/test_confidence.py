import numpy as np
import pytest

from eitr.robust.confidence import confidence_bound, leverage, residual_factor

from . import oracle


@pytest.mark.parametrize("clients", [2, 3, 10, 101])
def test_leverage_is_the_diagonal_of_the_hat_matrix_with_an_intercept(clients):
    np.testing.assert_allclose(leverage(clients), oracle.leverage(clients), atol=1e-9)


def test_the_smallest_and_the_largest_value_are_judged_alike():
    bound = confidence_bound(10, 2.0)
    np.testing.assert_allclose(bound, bound[::-1])


def test_a_single_client_has_no_leverage_to_speak_of():
    assert leverage(1).tolist() == [1.0]


def test_the_residual_factor_is_the_papers_37_over_25():
    assert residual_factor(10) == pytest.approx(37 / 25 * 14 / 9)


@pytest.mark.parametrize(("clients", "rejected"), [(10, 0.005), (100, 0.11)])
def test_honest_gaussian_values_are_rejected_as_often_as_specified(clients, rejected):
    from eitr.compiled import JIT
    from eitr.robust.detection import detect

    if not JIT:
        pytest.skip("needs thousands of parameters")
    updates = np.random.default_rng(0).normal(size=(clients, 4000)).astype(np.float32) * 0.5
    found = detect(updates, np.arange(clients), varpi=2.0, delta=0.1, lambda_=2.0, rescale="median")
    assert 1 - found.accepted.mean() == pytest.approx(rejected, rel=0.3)
