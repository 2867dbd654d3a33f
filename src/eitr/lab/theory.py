"""The paper's convergence theory, twice: as it is printed (`..._paper`) and as it can be proved (`..._corrected`).

The setting of Theorem 1: M clients, a share p of them attackers; in a round every honest client takes one gradient step
of length r on its own Q samples from the common parameters, and the server combines what comes back. L(w) is the loss
over the whole distribution, mu-strongly convex and L-smooth, with its minimum at w*.

    M        clients                              N, d   parameters (the paper writes both for the same number)
    Q        samples of a client                  p      share of attackers, below a half
    mu, L    least and greatest curvature         r      learning rate, below 1/L
    a, W     prior of the reputation              kappa  weight of a positive observation; eta = 1 - kappa
    varpi    largest range of a rescaled column   delta  confidence up to which a value is rejected
    lambda   width of the confidence interval     E      bound of accepted residuals, times sqrt(M) delta
    epsilon  what the condition leaves below 1/2  C      0.4748, the constant of Berry and Esseen
    diameter of the set of parameters (the paper's upsilon)

What is wrong with the printed form, and checked by `tests/lab/test_theory.py`:

1. *Contraction.* For r < 1/L a gradient step brings w nearer to w* by the factor 1 - mu r, not 1 - L r: the
   coefficient of ||grad||^2 in the proof is negative, so the lower bound mu ||w - w*|| must be put in, not the upper.
2. *Delta1 grows with N*, to M (varpi (M-1) + 2E / (sqrt(M) delta)); Remark 1 says it falls like 1/N. So sqrt(N) Delta1
   has no limit and the error rate of Remark 1 does not follow. The growing factor M / (g + 1) is not needed at all: the
   weights sum to 1, so the weighted mean of a bound is that bound.
3. *Weights.* The bound of one weight holds for R~ / sum R~. The algorithm normalises by min-max, where the lowest
   client gets nothing however near it is to the others; of two clients one gets everything.
4. *Units.* Delta1 is a distance between parameters (varpi bounds parameters), but enters the recursion as a distance
   between gradients, multiplied by r.
5. *Rescaling.* The paper's rescaling moves the column's median towards a far value, so that the distance to the median
   of what the clients sent has no bound; clipping around the median bounds it by varpi/2.
6. *D_epsilon* needs the quantile function of the normal distribution, as in Yin et al. (2018), from which it is taken.
   The distribution function of the Wald distribution is not it: D would stay below 4.14 however small epsilon is.
7. *Condition.* Its logarithm holds D_epsilon where the source has the diameter; the bound G of the squared gradient
   stands where the source has the skewness of the gradient's coordinates, the variance where it has the deviation,
   and the largest Q where only the smallest is safe.
8. *Symbols used twice*: N (parameters; negative observations), d (dimension; disbelief), W (prior weight; the set of
   parameters), s (window; confidence), p (share; the variable of the Beta density), B (slope; a part of the proof),
   E (supremum; expectation), R-bar (min-max in the algorithm; a quotient in the theorem).
9. *a does not matter at all.* With n rejected parameters R = R_0 - ((kappa N + W a)(eta - kappa) + kappa D) f(n),
   where D = kappa N + W and f(n) = n / (D (D + (eta - kappa) n)) are free of a: min-max cancels the constant and the
   factor, so that all weights are the same for every a. Remark 1 has the error fall like 1/a.

Yin, Chen, Ramchandran, Bartlett, "Byzantine-Robust Distributed Learning", ICML 2018.
"""

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from eitr.errors import InputError

C = 0.4748
"""The constant of the Berry-Esseen theorem that the paper and Yin et al. use."""

_NORMAL = NormalDist()


def d_epsilon_paper(epsilon: float) -> float:
    """Return sqrt(2 pi) exp(F(1 - epsilon)^2 / 2), F the distribution function of the Wald distribution.

    The paper does not say with which parameters; mean 1 and shape 1 here. F <= 1, so this never exceeds 4.14.

    >>> round(d_epsilon_paper(0.1), 3), round(d_epsilon_paper(1e-9), 3)
    (3.047, 3.133)
    """
    x = 1.0 - _share_left(epsilon)
    root = math.sqrt(1.0 / x)
    wald = _NORMAL.cdf(root * (x - 1.0)) + math.exp(2.0) * _NORMAL.cdf(-root * (x + 1.0))
    return math.sqrt(2.0 * math.pi) * math.exp(wald**2 / 2.0)


def d_epsilon_corrected(epsilon: float) -> float:
    """Return sqrt(2 pi) exp(Phi^-1(1 - epsilon)^2 / 2), Phi^-1 the normal quantile: 1 / density there.

    >>> round(d_epsilon_corrected(0.1), 3), round(d_epsilon_corrected(0.5), 4)
    (5.698, 2.5066)
    """
    return math.sqrt(2.0 * math.pi) * math.exp(_NORMAL.inv_cdf(1.0 - _share_left(epsilon)) ** 2 / 2.0)


def residual_bound(*, M: int, lambda_: float, median_residual: float) -> float:
    """Return E = 37 sqrt(2) lambda (M + 4) / (25 (M - 1)) sup median |r|; accepted |r| <= E / (sqrt(M) delta).

    >>> round(residual_bound(M=10, lambda_=2.0, median_residual=0.01), 5)
    0.06512
    """
    _clients(M, least=2)
    _positive(lambda_=lambda_)
    _not_negative(median_residual=median_residual)
    return 37.0 * math.sqrt(2.0) * lambda_ * (M + 4) / (25.0 * (M - 1)) * median_residual


def delta1_paper(*, M: int, N: int, a: float, kappa: float, W: float, varpi: float, delta: float, E: float) -> float:
    """Return M (varpi (M-1) + 2E / (sqrt(M) delta)) / (g + 1) as printed.

    g = W a (M-1)(kappa N + W) / ((eta N + W)(kappa N + W a)). It *grows* with N, since g falls like 1/N:

    >>> at = dict(M=10, a=0.5, kappa=0.3, W=2.0, varpi=2.0, delta=0.1, E=0.0)
    >>> [round(delta1_paper(N=N, **at), 1) for N in (10, 100, 10_000)]
    [80.0, 159.4, 179.8]
    """
    _clients(M)
    _positive(N=N, a=a, kappa=kappa, W=W)
    if a > 1 or kappa > 1:
        raise InputError(f"a and kappa are at most 1, not {a:g} and {kappa:g}")
    eta = 1.0 - kappa
    g = W * a * (M - 1) * (kappa * N + W) / ((eta * N + W) * (kappa * N + W * a))
    return delta1_limit(M=M, varpi=varpi, delta=delta, E=E) / (g + 1.0)


def delta1_limit(*, M: int, varpi: float, delta: float, E: float) -> float:
    """Return what the printed Delta1 tends to as N grows: M (varpi (M-1) + 2E / (sqrt(M) delta)).

    >>> delta1_limit(M=10, varpi=2.0, delta=0.1, E=0.0)
    180.0
    """
    _clients(M)
    _positive(varpi=varpi, delta=delta)
    _not_negative(E=E)
    return M * (varpi * (M - 1) + 2.0 * E / (math.sqrt(M) * delta))


def delta1_corrected(*, varpi: float, rescale: str = "median") -> float:
    """Return how far one aggregated parameter can be from the clients' median, whatever the weights: varpi / 2.

    Rectified values stay within varpi/2 of the median, and so does any mean of them with weights that sum to 1. With
    the paper's rescaling a single far value moves the whole column: no bound.

    >>> delta1_corrected(varpi=2.0), delta1_corrected(varpi=2.0, rescale="paper")
    (1.0, inf)
    """
    _positive(varpi=varpi)
    if rescale not in ("median", "paper"):
        raise InputError(f"rescale is 'median' or 'paper', not {rescale!r}")
    return varpi / 2.0 if rescale == "median" else math.inf


def condition_paper(
    *, M: int, Q: int, p: float, d: int, L: float, gradient: float, epsilon: float, C: float = C
) -> float:
    """Return 1/2 - epsilon - sqrt(d log(1 + Q M L D_eps) / (M (1 - p))) - C G / sqrt(Q) - p; >= 0: it holds.

    `gradient` is G, the bound of the expected squared gradient. The paper's own network can never meet it:

    >>> round(condition_paper(M=10, Q=800, p=0.3, d=264_678, L=1.0, gradient=1.0, epsilon=0.01))
    -619
    """
    inside = 1.0 + Q * M * L * d_epsilon_paper(epsilon)
    return 0.5 - epsilon - _excess(M=M, Q=Q, p=p, d=d, L=L, inside=inside, third=gradient, C=C)


def condition_corrected(
    *, M: int, Q: int, p: float, d: int, L: float, diameter: float, skewness: float, C: float = C
) -> float:
    """Return epsilon = 1/2 - sqrt(d log(1 + Q M L diameter) / (M (1 - p))) - C S / sqrt(Q) - p; > 0: it holds.

    `skewness` is S, the largest absolute skewness of a coordinate of the gradient; Q is the *smallest* sample count.

    >>> round(condition_corrected(M=400, Q=500, p=0.1, d=2, L=1.0, diameter=4.0, skewness=2.0), 3)
    0.083
    """
    _positive(diameter=diameter)
    return 0.5 - _excess(M=M, Q=Q, p=p, d=d, L=L, inside=1.0 + Q * M * L * diameter, third=skewness, C=C)


def delta2_paper(
    *, M: int, Q: int, p: float, d: int, L: float, diameter: float, variance: float, gradient: float, epsilon: float
) -> float:
    """Return 2 sqrt(2) / (M Q) + sqrt(2/Q) D_eps V (sqrt(d log(1 + Q M L diameter) / (M (1-p))) + C G / sqrt(Q) + p).

    As printed: V the bound of the *variance*, G that of the squared gradient, D_eps with the Wald distribution.

    >>> at = dict(M=400, Q=500, p=0.1, d=2, L=1.0, diameter=4.0, epsilon=0.05)
    >>> round(delta2_paper(variance=4.0, gradient=4.0, **at), 3)
    0.36
    """
    _not_negative(variance=variance)
    excess = _excess(M=M, Q=Q, p=p, d=d, L=L, inside=1.0 + Q * M * L * diameter, third=gradient, C=C)
    return 2.0 * math.sqrt(2.0) / (M * Q) + math.sqrt(2.0 / Q) * d_epsilon_paper(epsilon) * variance * excess


def delta2_corrected(
    *, M: int, Q: int, p: float, d: int, L: float, diameter: float, deviation: float, skewness: float
) -> float:
    """Return Delta2 of Yin et al.: as above with the deviation, the skewness and the best epsilon.

    Where the condition fails no epsilon is left and nothing is promised: infinity.

    >>> at = dict(M=400, Q=500, p=0.1, d=2, L=1.0, diameter=4.0)
    >>> round(delta2_corrected(deviation=2.0, skewness=2.0, **at), 3)
    0.346
    >>> delta2_corrected(deviation=2.0, skewness=2.0, **{**at, "M": 10})
    inf
    """
    _not_negative(deviation=deviation)
    epsilon = condition_corrected(M=M, Q=Q, p=p, d=d, L=L, diameter=diameter, skewness=skewness)
    if epsilon <= 0:
        return math.inf
    spread = math.sqrt(2.0 / Q) * d_epsilon_corrected(epsilon) * deviation * (0.5 - epsilon)
    return 2.0 * math.sqrt(2.0) / (M * Q) + spread


def delta2_from_gradients(honest: ArrayLike, exact: ArrayLike) -> float:
    """Return || (max over honest clients of |g_{i,k} - exact_k|)_k ||: how far the median of all gradients can be off.

    `honest` (clients, parameters), `exact` (parameters,). Nothing is assumed but a majority of honest clients: in every
    coordinate the median then lies between two honest values. For few clients, where the condition cannot hold, this is
    what takes the place of Delta2.

    >>> delta2_from_gradients([[1.0, 0.0], [4.0, 0.0], [2.0, 4.0]], [1.0, 0.0])
    5.0
    """
    apart = np.abs(np.asarray(honest, np.float64) - np.asarray(exact, np.float64))
    if apart.ndim != 2 or not len(apart):
        raise InputError("gradients are a table (clients, parameters) with at least one client")
    return float(np.linalg.norm(apart.max(axis=0)))


def bound_paper(*, t: int, start: float, L: float, r: float, N: int, delta1: float, delta2: float) -> float:
    """Return Theorem 1 as printed: (1 - L r)^t ||w^0 - w*|| + (sqrt(N) Delta1 + Delta2) / L.

    >>> bound_paper(t=20, start=1.0, L=1.0, r=0.9, N=20, delta1=0.0, delta2=0.0) < 1e-19  # the truth: up to 0.83
    True
    """
    _step(r, L)
    _rounds(t)
    _not_negative(start=start, delta1=delta1, delta2=delta2)
    return contraction_paper(L=L, r=r) ** t * start + (math.sqrt(N) * delta1 + delta2) / L


def bound_corrected(
    *, t: int, start: float, mu: float, L: float, r: float, N: int, delta1: float, delta2: float
) -> float:
    """Return q^t ||w^0 - w*|| + (1 - q^t) (sqrt(N) Delta1 / r + Delta2) / mu with q = 1 - mu r; Delta1 in parameters.

    >>> round(bound_corrected(t=20, start=1.0, mu=0.01, L=1.0, r=0.9, N=20, delta1=0.0, delta2=0.0), 3)
    0.835
    """
    _not_negative(start=start, delta1=delta1, delta2=delta2)
    _rounds(t)
    left = contraction_corrected(mu=mu, L=L, r=r) ** t
    return left * start + (0.0 if t == 0 else (1.0 - left) * (math.sqrt(N) * delta1 / r + delta2) / mu)


def contraction_paper(*, L: float, r: float) -> float:
    """Return 1 - L r, the factor of a round in the paper's inequality.

    >>> round(contraction_paper(L=1.0, r=0.9), 3)
    0.1
    """
    _step(r, L)
    return 1.0 - L * r


def contraction_corrected(*, mu: float, L: float, r: float) -> float:
    """Return 1 - mu r = max(|1 - mu r|, |1 - L r|) for r < 1/L: the factor that a gradient step can always promise.

    >>> contraction_corrected(mu=0.01, L=1.0, r=0.9)
    0.991
    """
    _step(r, L)
    _positive(mu=mu)
    if mu > L:
        raise InputError(f"mu is at most L, not {mu:g} above {L:g}")
    return 1.0 - mu * r


def rounds_paper(*, start: float, L: float, r: float, N: int, delta1: float, delta2: float) -> float:
    """Return Corollary 1 as printed: log(L ||w^0 - w*|| / (sqrt(N) Delta1 + Delta2)) / (L r), at least 0.

    >>> round(rounds_paper(start=1.0, L=1.0, r=0.9, N=20, delta1=0.001, delta2=0.0), 1)
    6.0
    """
    _step(r, L)
    return _rounds_until(start, L * r, (math.sqrt(N) * delta1 + delta2) / L)


def rounds_corrected(*, start: float, mu: float, L: float, r: float, N: int, delta1: float, delta2: float) -> float:
    """Return log(mu ||w^0 - w*|| / (sqrt(N) Delta1 / r + Delta2)) / (mu r), at least 0.

    >>> round(rounds_corrected(start=1.0, mu=0.01, L=1.0, r=0.9, N=20, delta1=1e-5, delta2=0.0), 1)
    589.4
    """
    contraction_corrected(mu=mu, L=L, r=r)
    return _rounds_until(start, mu * r, (math.sqrt(N) * delta1 / r + delta2) / mu)


def radius_paper(*, L: float, N: int, delta1: float, delta2: float) -> float:
    """Return where Corollary 1 says w^t ends: within 2 (sqrt(N) Delta1 + Delta2) / L of w*.

    >>> radius_paper(L=2.0, N=4, delta1=1.0, delta2=1.0)
    3.0
    """
    _positive(L=L, N=N)
    return 2.0 * (math.sqrt(N) * delta1 + delta2) / L


def radius_corrected(*, mu: float, r: float, N: int, delta1: float, delta2: float) -> float:
    """Return 2 (sqrt(N) Delta1 / r + Delta2) / mu.

    >>> radius_corrected(mu=0.5, r=0.5, N=4, delta1=1.0, delta2=1.0)
    20.0
    """
    _positive(mu=mu, r=r, N=N)
    return 2.0 * (math.sqrt(N) * delta1 / r + delta2) / mu


def rate_paper(
    *, M: int, N: int, p: float, Q: int, a: float, kappa: float, W: float, varpi: float, delta: float
) -> float:
    """Return Remark 1: varpi/(a kappa W sqrt N) + 1/(kappa sqrt N) + 1/(sqrt M delta) + 1/Q + p/sqrt Q + 1/sqrt(Q M).

    An order of magnitude, all constants 1. It does not follow from Delta1: see the top of this file.

    >>> round(rate_paper(M=10, N=100, p=0.3, Q=100, a=0.5, kappa=0.3, W=2.0, varpi=2.0, delta=0.1), 3)
    4.234
    """
    _clients(M)
    _below_half(p)
    _positive(N=N, Q=Q, a=a, kappa=kappa, W=W, varpi=varpi, delta=delta)
    of_parameters = varpi / (a * kappa * W * math.sqrt(N)) + 1.0 / (kappa * math.sqrt(N))
    return of_parameters + 1.0 / (math.sqrt(M) * delta) + 1.0 / Q + p / math.sqrt(Q) + 1.0 / math.sqrt(Q * M)


def rate_corrected(*, M: int, N: int, p: float, Q: int, mu: float, r: float, varpi: float) -> float:
    """Return (sqrt(N) varpi / r + 1/Q + p/sqrt Q + sqrt(N / (Q M))) / mu: what the corrected bound gives.

    It grows with N; a, kappa, W and delta are not in it, because the bound takes the worst weights there can be.

    >>> round(rate_corrected(M=10, N=100, p=0.3, Q=100, mu=0.1, r=1.0, varpi=2.0), 2)
    203.56
    """
    _clients(M)
    _below_half(p)
    _positive(N=N, Q=Q, mu=mu, r=r, varpi=varpi)
    return (math.sqrt(N) * varpi / r + 1.0 / Q + p / math.sqrt(Q) + math.sqrt(N / (Q * M))) / mu


def _excess(*, M: int, Q: int, p: float, d: int, L: float, inside: float, third: float, C: float) -> float:
    """Return sqrt(d log(inside) / (M (1 - p))) + C third / sqrt(Q) + p: the left side of the condition."""
    _clients(M)
    _below_half(p)
    _positive(Q=Q, d=d, L=L)
    _not_negative(third=third)
    return math.sqrt(d * math.log(inside) / (M * (1.0 - p))) + C * third / math.sqrt(Q) + p


def _rounds_until(start: float, rate: float, radius: float) -> float:
    _positive(start=start)
    _not_negative(radius=radius)
    return max(0.0, math.log(start / radius) / rate) if radius > 0 else math.inf


def _positive(**values: float) -> None:
    for name, value in values.items():
        if not 0 < value < math.inf:
            raise InputError(f"{name.removesuffix('_')} must be a number above 0, not {value!r}")


def _not_negative(**values: float) -> None:
    for name, value in values.items():
        if not value >= 0:
            raise InputError(f"{name} must be at least 0, not {value!r}")


def _clients(M: int, least: int = 1) -> None:
    if least > M:
        raise InputError(f"M must be at least {least}, not {M!r}")


def _rounds(t: int) -> None:
    if not t >= 0:
        raise InputError(f"t must be at least 0, not {t!r}")


def _below_half(p: float) -> None:
    if not 0 <= p < 0.5:
        raise InputError(f"the share of attackers must be at least 0 and below a half, not {p!r}")


def _share_left(epsilon: float) -> float:
    if not 0 < epsilon <= 0.5:
        raise InputError(f"epsilon must be above 0 and at most a half, not {epsilon!r}")
    return epsilon


def _step(r: float, L: float) -> None:
    _positive(L=L, r=r)
    if not r < 1.0 / L:
        raise InputError(f"the learning rate must be below 1/L = {1 / L:g}, not {r:g}")
