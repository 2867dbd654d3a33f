"""The formulas of Theorem 1, Corollary 1 and Remark 1, and the faults of the printed ones."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import invgauss, norm

from eitr.aggregation import Round, make_rule
from eitr.errors import InputError
from eitr.lab import theory

USUAL: dict[str, Any] = {"a": 0.5, "kappa": 0.3, "W": 2.0, "varpi": 2.0, "delta": 0.1}


@pytest.mark.parametrize(("epsilon", "known"), [(0.5, math.sqrt(2 * math.pi)), (0.1, 5.6982), (0.025, 17.1101)])
def test_d_epsilon_is_one_over_the_normal_density_at_the_quantile(epsilon: float, known: float) -> None:
    assert theory.d_epsilon_corrected(epsilon) == pytest.approx(1 / norm.pdf(norm.ppf(1 - epsilon)))
    assert theory.d_epsilon_corrected(epsilon) == pytest.approx(known, rel=1e-4)


def test_the_printed_d_epsilon_is_bounded_where_the_true_one_has_no_bound() -> None:
    for epsilon in (0.4, 0.1, 1e-3, 1e-9):
        wald = invgauss.cdf(1 - epsilon, 1.0)
        assert theory.d_epsilon_paper(epsilon) == pytest.approx(math.sqrt(2 * math.pi) * math.exp(wald**2 / 2))
        assert theory.d_epsilon_paper(epsilon) < 4.14
    assert theory.d_epsilon_corrected(1e-9) > 1e7


def test_gradient_descent_contracts_by_one_minus_mu_r_and_not_by_one_minus_l_r() -> None:
    mu, L, r = 0.01, 1.0, 0.9
    w = np.array([1.0, 0.0])
    for _ in range(20):
        w = w - r * np.array([mu, L]) * w  # the loss mu/2 w_0^2 + L/2 w_1^2, with its minimum at 0
    distance = float(np.linalg.norm(w))
    zero: dict[str, Any] = {"t": 20, "start": 1.0, "N": 2, "delta1": 0.0, "delta2": 0.0}
    assert distance == pytest.approx(0.83, abs=0.005)
    assert theory.bound_paper(L=L, r=r, **zero) < 1e-19
    assert theory.bound_corrected(mu=mu, L=L, r=r, **zero) == pytest.approx(distance)


def test_the_printed_delta1_grows_with_n_to_its_limit() -> None:
    sizes = [1, 10, 100, 1000, 10**6, 10**9]
    values = [theory.delta1_paper(M=10, N=N, E=0.2, **USUAL) for N in sizes]
    limit = theory.delta1_limit(M=10, varpi=2.0, delta=0.1, E=0.2)
    assert values == sorted(values)
    assert values[-1] == pytest.approx(limit)
    by_root = [math.sqrt(N) * value for N, value in zip(sizes, values, strict=True)]
    assert by_root[-1] / by_root[-2] == pytest.approx(math.sqrt(1000), rel=1e-3)  # it has no limit
    assert theory.rate_paper(M=10, N=10**6, p=0.3, Q=100, **USUAL) < theory.rate_paper(
        M=10, N=10, p=0.3, Q=100, **USUAL
    )
    more, fewer = (theory.rate_corrected(M=10, N=N, p=0.3, Q=100, mu=0.1, r=1.0, varpi=2.0) for N in (10**6, 10))
    assert more > fewer


def test_the_factor_of_the_printed_delta1_never_helps() -> None:
    # The weights sum to 1, so varpi (M-1) + 2E / (sqrt(M) delta) itself is a bound; the printed one is not smaller.
    for N in (1, 20, 10_000):
        assert (
            theory.delta1_paper(M=10, N=N, E=0.2, **USUAL) >= theory.delta1_limit(M=10, varpi=2, delta=0.1, E=0.2) / 10
        )


def test_min_max_gives_a_client_less_than_the_quotient_of_the_theorem_ever_could() -> None:
    updates = np.zeros((5, 40))
    updates[:] = np.linspace(0.0, 0.01, 5)[:, None]
    updates[1:, :20] += np.array([0.9, 0.0, 0.0, 0.0])[:, None]
    rule = make_rule("reputation")
    _, result = rule.update(rule.init(), Round(None, updates, list("abcde")))
    assert result.weights is not None
    N, M, a, kappa, W = 40, 5, 0.5, 0.3, 2.0
    lowest, highest = W * a / ((1 - kappa) * N + W), (kappa * N + W * a) / (kappa * N + W)
    assert result.weights.min() < lowest / (lowest + (M - 1) * highest)  # the smallest share that R~ / sum R~ can be


def test_the_prior_a_never_changes_a_weight() -> None:
    weights = []
    for a in (0.0, 0.1, 0.9, 1.0):
        rng = np.random.default_rng(0)
        rule = make_rule("reputation", a=a)
        state = rule.init()
        for _ in range(4):
            updates = rng.standard_t(2, (10, 50))
            state, result = rule.update(state, Round(None, updates, [f"{i}" for i in range(10)]))
        weights.append(result.weights)
    np.testing.assert_allclose(weights[1:], [weights[0]] * 3, atol=1e-12)
    assert np.ptp(weights[0]) > 0.05


def test_aggregation_stays_within_the_corrected_delta1_of_the_median_and_the_papers_rescaling_does_not() -> None:
    updates = np.random.default_rng(1).normal(0, 0.05, (10, 30))
    updates[:3] += 1e4
    off = {}
    for rescale in ("median", "paper"):
        rule = make_rule("reputation", rescale=rescale)
        _, result = rule.update(rule.init(), Round(None, updates, [f"{i}" for i in range(10)]))
        off[rescale] = np.abs(result.model - np.median(updates, axis=0)).max()
    assert off["median"] <= theory.delta1_corrected(varpi=2.0)
    assert off["paper"] > theory.delta1_limit(
        M=10, varpi=2.0, delta=0.1, E=7.0
    )  # E cannot be more: |residual| <= varpi


def test_the_median_of_all_gradients_is_between_honest_ones() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        honest, exact = rng.normal(0, 1, (6, 4)), rng.normal(0, 0.1, 4)
        everybody = np.vstack([honest, rng.normal(0, 100, (4, 4))])
        off = np.linalg.norm(np.median(everybody, axis=0) - exact)
        assert off <= theory.delta2_from_gradients(honest, exact)


def test_the_corrected_delta2_is_infinite_where_the_condition_leaves_nothing() -> None:
    at: dict[str, Any] = {"Q": 500, "p": 0.1, "d": 2, "L": 1.0, "diameter": 4.0, "skewness": 2.0}
    assert theory.condition_corrected(M=20, **at) < 0
    assert theory.delta2_corrected(M=20, deviation=1.0, **at) == math.inf
    assert (
        0 < theory.delta2_corrected(M=4000, deviation=1.0, **at) < theory.delta2_corrected(M=400, deviation=1.0, **at)
    )


def test_the_corollary_follows_from_the_bound() -> None:
    known: dict[str, Any] = {"mu": 0.1, "r": 0.9, "N": 4, "delta1": 1e-4, "delta2": 1e-3}
    rounds = math.ceil(theory.rounds_corrected(start=1.0, L=1.0, **known))
    assert rounds > 1
    radius = theory.radius_corrected(**known)
    assert theory.bound_corrected(t=rounds, start=1.0, L=1.0, **known) <= radius
    printed: dict[str, Any] = {"L": 1.0, "N": 4, "delta1": 1e-4, "delta2": 1e-3}
    rounds = math.ceil(theory.rounds_paper(start=1.0, r=0.5, **printed))
    assert theory.bound_paper(t=rounds, start=1.0, r=0.5, **printed) <= theory.radius_paper(**printed)
    assert theory.rounds_paper(start=1.0, L=1.0, r=0.5, N=4, delta1=0.0, delta2=0.0) == math.inf


BOUND: dict[str, Any] = {"t": 1, "start": 1.0, "L": 2.0, "N": 1, "delta1": 0.0, "delta2": 0.0}
RATE: dict[str, Any] = {"M": 10, "N": 10, "Q": 10, **USUAL}


@pytest.mark.parametrize(
    ("call", "settings"),
    [
        (theory.bound_paper, {**BOUND, "r": 0.5}),
        (theory.bound_corrected, {**BOUND, "r": 0.5, "mu": 0.1}),
        (theory.bound_corrected, {**BOUND, "r": 0.1, "mu": 0.0}),
        (theory.bound_corrected, {**BOUND, "r": 0.1, "mu": 3.0}),
        (theory.bound_paper, {**BOUND, "r": 0.1, "t": -1}),
        (theory.bound_paper, {**BOUND, "r": 0.1, "start": float("nan")}),
        (theory.rate_paper, {**RATE, "p": 0.5}),
        (theory.rate_paper, {**RATE, "p": -0.1}),
        (theory.rate_paper, {**RATE, "p": 0.1, "N": 0}),
        (theory.delta1_paper, {"M": 0, "N": 1, "E": 0.0, **USUAL}),
        (theory.delta1_paper, {"M": 2, "N": 1, "E": 0.0, **USUAL, "a": 1.5}),
        (theory.delta1_corrected, {"varpi": 0.0}),
        (theory.delta1_corrected, {"varpi": 1.0, "rescale": "other"}),
        (theory.d_epsilon_corrected, {"epsilon": 0.0}),
        (theory.d_epsilon_paper, {"epsilon": 0.6}),
        (theory.residual_bound, {"M": 1, "lambda_": 2.0, "median_residual": 1.0}),
        (theory.delta2_from_gradients, {"honest": [1.0], "exact": [1.0]}),
    ],
)
def test_bad_arguments_are_refused(call: Any, settings: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        call(**settings)
