"""A problem on which Theorem 1 can be checked: strongly convex, smooth, its minimum known to twelve digits.

L2-regularised logistic regression. The distribution is a drawn pool of samples, and a client's data are Q draws from it
with replacement: independent and identically distributed, as the theorem wants, with an expected loss that is a sum we
can compute. mu is the regularisation (the curvature of the logistic loss can come arbitrarily near 0), L the
regularisation plus a quarter of the largest eigenvalue of the second moments, over the pool and every client.

In a round each client takes one full-batch gradient step of length 0.9/L from the common parameters, and the real rule
combines what they send. Four ways to poison: `none`; `flip`, the gradient of the client's data with all labels
changed; `scale`, five times the honest step, backwards; `arbitrary`, 10,000 added to every parameter, since the theorem
allows attackers to send anything.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eitr.aggregation.interface import LARGEST, Rule
from eitr.errors import InputError
from eitr.lab.results.store import Arrays
from eitr.lab.runs.convex import ConvexRun
from eitr.lab.simulation.context import Context
from eitr.lab.simulation.synthetic import aggregation
from eitr.lab.theory import delta2_from_gradients
from eitr.robust.rescale import rescale_by_deviation

Floats = NDArray[np.float64]
SCALE, FAR = -5.0, 1e4
STEP = 0.9
"""The learning rate, times L."""
POOL = 5000
REGULARISATION = 0.1
MOMENTS = 15
"""Points of plain gradient descent at which the moments of the gradient are taken; it has all but arrived then."""
SIGNAL = 2.0
"""Standard deviation of the true logit, whatever the number of parameters."""


@dataclass(frozen=True, slots=True)
class Logistic:
    """f(w) = mean log(1 + exp(-y x.w)) + regularisation/2 |w|^2, with labels y of -1 and 1; or several such f at once.

    >>> problem = Logistic(np.array([[2.0]]), np.array([1.0]))
    >>> float(problem.gradient(np.zeros(1))[0]), problem.smoothness
    (-1.0, 1.1)
    """

    features: Floats
    """(samples, parameters), or (problems, samples, parameters)."""
    labels: Floats
    """(samples,), or (problems, samples)."""
    regularisation: float = REGULARISATION

    def each(self, w: Floats) -> Floats:
        """Return the gradient of every sample: (..., samples, parameters)."""
        return np.asarray(self._pull(w)[..., None] * self.features + self.regularisation * w)

    def gradient(self, w: Floats) -> Floats:
        """Return the gradient of f: (..., parameters)."""
        mean = (self._pull(w)[..., None, :] @ self.features)[..., 0, :] / self.labels.shape[-1]
        return np.asarray(mean + self.regularisation * w)

    def _pull(self, w: Floats) -> Floats:
        return -self.labels * _logistic(-self.labels * (self.features @ w))

    def hessian(self, w: Floats) -> Floats:
        """Return the matrix of second derivatives, of a single problem."""
        chance = _logistic(self.features @ w)
        curved = (chance * (1.0 - chance))[:, None] * self.features
        return np.asarray(self.features.T @ curved / len(self.labels) + self.regularisation * np.eye(len(w)))

    @property
    def smoothness(self) -> float:
        """Return L: no Hessian has a larger eigenvalue, since the logistic function's slope is at most 1/4."""
        moments = np.swapaxes(self.features, -1, -2) @ self.features / self.labels.shape[-1]
        return float(np.linalg.eigvalsh(moments).max() / 4.0 + self.regularisation)

    def minimum(self, tolerance: float = 1e-12) -> Floats:
        """Return w*, by Newton's method, each step halved until the gradient shrinks."""
        w = np.zeros(self.features.shape[1])
        size = np.linalg.norm(self.gradient(w))
        for _ in range(100):
            if size <= tolerance:
                return w
            step = np.linalg.solve(self.hessian(w), self.gradient(w))
            while np.linalg.norm(self.gradient(w - step)) >= size and np.linalg.norm(step) > tolerance:
                step = step / 2.0
            w = w - step
            size = np.linalg.norm(self.gradient(w))
        raise InputError(f"the minimum was not found: the gradient is still {size:g}")


def compute(run: ConvexRun, context: Context) -> Arrays:
    """Compute a run.

    Over rounds, from round 0 on: `distance` ||w^t - w*||; `exact`, the same for plain gradient descent on the pool.
    Over rounds: `from_median` ||w^t - median of the updates||, which Lemma 2 bounds; `median_error` ||median of the
    updates - an exact step||, which r Delta2 bounds; `honest_error`, the Delta2 that the honest gradients give.
    Numbers: `mu`, `L`, `r`; `residual`, the largest median residual of a column; along the path of plain gradient
    descent the largest `variance` and squared `gradient` of a sample and `skewness` of a coordinate; `diameter`, of a
    ball around w* that holds the start. After a run has diverged the distance is infinite and the errors NaN.
    """
    rng = np.random.default_rng([run.seed, run.parameters, run.clients, run.samples])
    pool, clients = _problem(run, rng)
    best = pool.minimum()
    smoothness = max(pool.smoothness, clients.smoothness)
    rate = STEP / smoothness
    bad = np.isin(np.arange(run.clients), rng.permutation(run.clients)[: run.attackers])
    flipped = Logistic(clients.features[bad], -clients.labels[bad])
    aggregate = aggregation(run.rule, run.clients, run.parameters, context.device)
    w = np.zeros(run.parameters)
    path = _descent(pool, rate, run.rounds)
    series: dict[str, list[float]] = {
        "distance": [float(np.linalg.norm(w - best))],
        "exact": [float(np.linalg.norm(point - best)) for point in path],
        "from_median": [],
        "median_error": [],
        "honest_error": [],
    }
    residual = 0.0
    for index in range(run.rounds):
        gradients = clients.gradient(w)
        updates = w - rate * gradients
        if run.attackers:
            updates[bad] = _poisoned(run.poison, w, rate, gradients[bad], flipped)
        if np.abs(updates).max() > LARGEST:  # no rule takes such updates: the run has diverged
            break
        median, exact = np.median(updates, axis=0), pool.gradient(w)
        series["median_error"].append(float(np.linalg.norm(median - (w - rate * exact))))
        series["honest_error"].append(delta2_from_gradients(gradients[~bad], exact))
        residual = max(residual, median_residual(updates, run.rule))
        w = np.asarray(aggregate(w, updates).model, np.float64)
        series["distance"].append(float(np.linalg.norm(w - best)))
        series["from_median"].append(float(np.linalg.norm(w - median)))
        context.on_progress(run, index + 1, run.rounds, float("nan"))
    for name, values in series.items():
        missing = run.rounds + (name in ("distance", "exact")) - len(values)
        values += [math.inf if name == "distance" else math.nan] * missing
    moments = np.max([_moments(pool.each(point)) for point in path[:MOMENTS]], axis=0)
    numbers = dict(zip(("variance", "gradient", "skewness"), moments.tolist(), strict=True))
    numbers |= {"mu": REGULARISATION, "L": smoothness, "r": rate, "residual": residual}
    numbers["diameter"] = 2.0 * series["distance"][0]
    return {name: np.array(value, np.float64) for name, value in (series | numbers).items()}


def _descent(problem: Logistic, rate: float, rounds: int) -> list[Floats]:
    """Return the points of plain gradient descent from 0, the start included."""
    path = [np.zeros(problem.features.shape[1])]
    for _ in range(rounds):
        path.append(path[-1] - rate * problem.gradient(path[-1]))
    return path


def _problem(run: ConvexRun, rng: np.random.Generator) -> tuple[Logistic, Logistic]:
    """Return the pool, which is the distribution, and the clients' samples of it."""
    features = rng.standard_normal((POOL, run.parameters))
    truth = rng.standard_normal(run.parameters)
    truth *= SIGNAL / np.linalg.norm(truth)
    labels = np.where(rng.random(POOL) < _logistic(features @ truth), 1.0, -1.0)
    drawn = rng.integers(POOL, size=(run.clients, run.samples))
    return Logistic(features, labels), Logistic(features[drawn], labels[drawn])


def _poisoned(poison: str, w: Floats, rate: float, gradients: Floats, flipped: Logistic) -> Floats:
    """Return what the attackers send, given their honest gradients and their data with other labels."""
    match poison:
        case "flip":
            return w - rate * flipped.gradient(w)
        case "scale":
            return w - SCALE * rate * gradients
    return w - rate * gradients + FAR


def _moments(gradients: Floats) -> Floats:
    """Return E|g - Eg|^2, E|g|^2 and the largest E|g_k - E g_k|^3 / sd^3 of a coordinate, g a sample's gradient."""
    centred = gradients - gradients.mean(axis=0)
    variance = (centred**2).mean(axis=0)
    third = (np.abs(centred) * centred * centred).mean(axis=0)
    skewness = (third / np.maximum(variance, 1e-300) ** 1.5).max()
    return np.array([variance.sum(), (gradients**2).sum(axis=1).mean(), skewness])


def median_residual(updates: Floats, rule: Rule) -> float:
    """Return the largest, over the parameters, median |residual| from the repeated-median line of the rescaled column.

    >>> from eitr.aggregation import make_rule
    >>> median_residual(np.array([[0.0], [0.1], [0.2], [0.9]]), make_rule("reputation"))  # the line 0, 0.1, 0.2, 0.3
    0.0
    """
    clients = len(updates)
    if clients < 3:
        return 0.0
    columns = np.ascontiguousarray(np.sort(updates, axis=0).T)
    for column in columns:
        _rescale(column, rule)
    columns.sort(axis=1)
    rank = np.arange(clients)
    apart = rank[None] - rank[:, None] + np.eye(clients)
    slopes = (columns[:, None] - columns[:, :, None]) / apart
    # Without the diagonal: of the flat matrix, drop the first element and then the last of every M + 1.
    others = slopes.reshape(-1, clients**2)[:, 1:].reshape(-1, clients - 1, clients + 1)[:, :, :-1]
    inner = np.median(others.reshape(-1, clients, clients - 1), axis=2)
    level = columns - np.median(inner, axis=1)[:, None] * rank
    residuals = np.abs(level - np.median(level, axis=1)[:, None])
    return float(np.median(residuals, axis=1).max())


def _rescale(column: Floats, rule: Rule) -> None:
    """Bound the range of one sorted column, in place, the rule's way."""
    varpi, way = getattr(rule, "varpi"), getattr(rule, "rescale")  # noqa: B009
    if way == "paper":
        if column[-1] - column[0] > varpi:
            rescale_by_deviation(column, np.arange(len(column), dtype=np.float64), varpi)
    else:
        middle = np.median(column)
        np.clip(column, middle - varpi / 2, middle + varpi / 2, out=column)


def _logistic(logit: Floats) -> Floats:
    """Return 1 / (1 + exp(-logit)), without overflow."""
    small = np.exp(-np.abs(logit))
    return np.asarray(np.where(logit >= 0, 1.0, small) / (1.0 + small))
