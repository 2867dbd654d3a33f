import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eitr.aggregation import Round, make_rule
from tests.aggregation.cases import aggregate, byzfl_aggregators, names, populations
from tests.examples import examples


def centred_clipping(steps, tau, iterations):
    """The formula, read plainly."""
    centre = np.zeros(steps.shape[1])
    for _ in range(iterations):
        away = steps - centre
        lengths = np.linalg.norm(away, axis=1)
        clip = [1.0 if length <= tau else tau / length for length in lengths]
        centre = centre + (away * np.array(clip)[:, None]).mean(axis=0)
    return centre


@examples(150, 40)
@given(populations(), st.sampled_from([0.01, 0.3, 5.0]), st.integers(1, 5))
def test_steps_are_clipped_around_a_centre_that_moves(updates, tau, iterations):
    base = np.linspace(-0.1, 0.1, updates.shape[1]).astype(updates.dtype)
    rule = make_rule("centred-clipping", tau=tau, iterations=iterations)
    _, result = rule.update(rule.init(), Round(base, updates, names(len(updates))))
    expected = base + centred_clipping(np.float64(updates) - base, tau, iterations)
    scale = 1e-5 if updates.dtype == np.float32 else 1e-7
    np.testing.assert_allclose(result.model, expected, rtol=0, atol=scale * (1 + np.abs(updates).max()))


@pytest.mark.parametrize("iterations", [1, 4])
@pytest.mark.parametrize("tau", [0.5, 100.0])
def test_byzfl_gives_the_same(tau, iterations):
    byzfl = byzfl_aggregators()
    updates = np.random.default_rng(0).normal(size=(9, 40))
    updates[:3] *= 40
    _, result = aggregate("centred-clipping", updates, tau=tau, iterations=iterations)
    expected = byzfl.CenteredClipping(L=iterations, tau=tau)(updates)
    np.testing.assert_allclose(result.model, expected, rtol=0, atol=1e-12)


def test_without_tau_the_median_length_bounds_the_step_of_an_attacker():
    updates = np.random.default_rng(1).normal(0, 0.1, (10, 100))
    honest = np.linalg.norm(updates, axis=1).max()
    updates[:3] += 10_000
    _, result = aggregate("centred-clipping", updates)
    assert np.linalg.norm(result.model) < 3 * honest
    assert (result.weights[:3] < 1 / 10).all()


def test_if_most_did_not_move_the_model_does_not_either():
    updates = np.zeros((5, 3))
    updates[0] = 7
    _, result = aggregate("centred-clipping", updates)
    assert result.model.tolist() == [0.0, 0.0, 0.0]
    assert result.weights.tolist() == [0.2] * 5
