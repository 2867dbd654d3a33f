"""The strongly convex problem: its constants, its minimum, and runs on it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from eitr.aggregation import make_rule
from eitr.errors import InputError
from eitr.lab.runs.convex import ConvexRun
from eitr.lab.simulation import synthetic
from eitr.lab.simulation.context import Context
from eitr.lab.simulation.convex import Logistic, compute, median_residual

CPU = Context(device=torch.device("cpu"))
RUN = ConvexRun(rule=make_rule("reputation"), rounds=12)


@pytest.fixture
def problem() -> Logistic:
    rng = np.random.default_rng(0)
    features = rng.standard_normal((300, 4))
    return Logistic(features, np.where(features[:, 0] + rng.standard_normal(300) > 0, 1.0, -1.0))


def loss(problem: Logistic, w: Any) -> float:
    margins = problem.labels * (problem.features @ w)
    return float(np.logaddexp(0, -margins).mean() + problem.regularisation / 2 * (w**2).sum())


def test_gradient_and_hessian_are_derivatives_of_the_loss(problem: Logistic) -> None:
    w, tiny = np.array([0.3, -0.2, 0.5, 0.1]), 1e-5
    steps = tiny * np.eye(4)
    slopes = [(loss(problem, w + step) - loss(problem, w - step)) / (2 * tiny) for step in steps]
    np.testing.assert_allclose(problem.gradient(w), slopes, atol=1e-8)
    np.testing.assert_allclose(problem.each(w).mean(axis=0), problem.gradient(w), atol=1e-12)
    bends = [(problem.gradient(w + step) - problem.gradient(w - step)) / (2 * tiny) for step in steps]
    np.testing.assert_allclose(problem.hessian(w), bends, atol=1e-8)


def test_every_curvature_lies_between_mu_and_l(problem: Logistic) -> None:
    for scale in (0.0, 1.0, 30.0):
        curvatures = np.linalg.eigvalsh(problem.hessian(scale * np.ones(4)))
        assert problem.regularisation - 1e-12 <= curvatures.min()
        assert curvatures.max() <= problem.smoothness + 1e-12
    assert np.linalg.eigvalsh(problem.hessian(np.zeros(4))).max() == pytest.approx(problem.smoothness)


def test_the_minimum_has_no_gradient_to_twelve_digits(problem: Logistic) -> None:
    assert np.linalg.norm(problem.gradient(problem.minimum())) <= 1e-12


def test_several_problems_at_once_are_the_problems_one_by_one(problem: Logistic) -> None:
    both = Logistic(np.stack([problem.features, 2 * problem.features]), np.stack([problem.labels, -problem.labels]))
    w = np.array([0.3, -0.2, 0.5, 0.1])
    ones = [Logistic(both.features[i], both.labels[i]) for i in range(2)]
    np.testing.assert_allclose(both.gradient(w), [one.gradient(w) for one in ones])
    assert both.smoothness == pytest.approx(max(one.smoothness for one in ones))


def test_a_run_is_the_same_every_time_and_another_with_another_seed() -> None:
    first, second, other = compute(RUN, CPU), compute(RUN, CPU), compute(replace(RUN, seed=1), CPU)
    assert all(np.array_equal(first[name], second[name]) for name in first)
    assert not np.array_equal(first["distance"], other["distance"])
    assert first["distance"].shape == (13,)
    assert first["from_median"].shape == (12,)


def test_the_median_of_the_updates_is_no_farther_off_than_the_honest_gradients_allow() -> None:
    for poison in ("flip", "scale", "arbitrary"):
        arrays = compute(replace(RUN, poison=poison), CPU)
        assert (arrays["median_error"] <= arrays["r"] * arrays["honest_error"] + 1e-9).all()


def test_clipping_withstands_what_the_papers_rescaling_does_not() -> None:
    clipped = compute(replace(RUN, poison="arbitrary"), CPU)
    printed = compute(replace(RUN, poison="arbitrary", rule=make_rule("reputation", rescale="paper")), CPU)
    assert clipped["distance"][-1] < clipped["distance"][0]
    assert printed["distance"][-1] > 1000 * printed["distance"][0]


def test_the_batched_rule_gives_the_same_run(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = compute(RUN, CPU)
    monkeypatch.setattr(synthetic, "JIT", False)
    np.testing.assert_allclose(compute(RUN, CPU)["distance"], compiled["distance"], atol=0.02)


def test_the_median_residual_is_that_of_the_repeated_median_line() -> None:
    rng = np.random.default_rng(3)
    updates = rng.normal(0, 0.3, (7, 5))
    columns = np.sort(updates, axis=0).T
    expected = 0.0
    for column in columns:
        slope = np.median(
            [np.median([(column[j] - column[i]) / (j - i) for j in range(7) if j != i]) for i in range(7)]
        )
        level = column - slope * np.arange(7)
        expected = max(expected, float(np.median(np.abs(level - np.median(level)))))
    assert median_residual(updates, make_rule("reputation")) == pytest.approx(expected)
    assert median_residual(updates[:2], make_rule("reputation")) == 0.0
    updates[0] = 1e5
    for rescale in ("median", "paper"):
        assert median_residual(updates, make_rule("reputation", rescale=rescale)) < 2.0


@pytest.mark.parametrize("wrong", [{"rounds": 0}, {"poison": "salt"}, {"attackers": 10}, {"attackers": 0}])
def test_a_run_that_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        replace(RUN, **wrong)


def test_a_run_that_diverges_ends_with_an_infinite_distance() -> None:
    run = replace(RUN, poison="scale", seed=2, rounds=100, rule=make_rule("reputation", rescale="paper"))
    arrays = compute(run, CPU)
    assert np.isinf(arrays["distance"][-1])
    assert np.isnan(arrays["from_median"][-1])
    assert len(arrays["distance"]) == 101


def test_a_run_says_what_it_is() -> None:
    assert RUN.share == 0.3
    assert "flip" in RUN.title
