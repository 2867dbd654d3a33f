"""FLDetector: a client whose steps do not follow from its earlier ones is taken for an attacker."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from eitr.aggregation.interface import Floats, Result, Round, Rule, remember
from eitr.aggregation.rule_state import RuleState
from eitr.errors import InputError
from eitr.robust.combination import weighted_mean
from eitr.robust.gram import gram_by_blocks
from eitr.settings import setting

STEPS, PATH, KEPT, ERRORS = "steps", "path", "kept", "errors"
"""Names of the arrays in a state, one row per client:

steps   (clients, parameters - start): the client's last step.
path    (clients, models * columns): the last global models, newest last. They belong to no client, but a state holds
        nothing else, and can lose any client's row when he asks to be erased. So the parameters are cut into as many
        pieces as there are clients, and each row keeps one piece of all models: no more memory than the models
        take, and where a row is lost, only its piece of the path is, until the window has passed.
kept    (clients, 4): which piece the row keeps, counted from 1 (0: none), of how many, of how many models; and whether
        the client took part in the last round.
errors  (clients, window): how far the client was from what was predicted, relative to the mean, newest last.
"""
_LONGEST = 1000
_SAMPLES = 100
_EQUAL = 1e-9
"""Scores that differ by less than this share are equal."""
_SINGULAR = 1e-10


@dataclass(frozen=True, kw_only=True)
class FLDetector(Rule):
    """w = mean of the clients that are not suspect.

        prediction_i = last step_i + H (w_t - w_{t-1}),   H: L-BFGS from the last `window` pairs of moves and changes
        error_i = |step_i - prediction_i|, relative to the round's mean;   score_i = mean of the last `window` errors

    If the gap statistic says that the scores form more than one cluster, they are split in two, and those of the
    higher one are suspect. Nobody is before `patience` errors are known; a newcomer has the neutral score 1. The global
    step of a round is how far the global model moved. The publication bans suspects for good and starts the training
    anew; here they weigh nothing in that round, and are judged again in the next.

    >>> rng, rule = np.random.default_rng(0), FLDetector(patience=2)
    >>> state, base = rule.init(), np.zeros(20, dtype=np.float32)
    >>> for _ in range(4):
    ...     steps = 1 + rng.normal(0, [[0.1]] * 5 + [[3.0]], (6, 20))
    ...     state, result = rule.update(state, Round(base, (base + steps).astype(np.float32), list("abcdef")))
    ...     base = result.model
    >>> result.weights.tolist()
    [0.2, 0.2, 0.2, 0.2, 0.2, 0.0]

    Zhang et al., "FLDetector: Defending Federated Learning Against Model Poisoning Attacks via Detecting Malicious
    Clients", KDD 2022.
    """

    name: ClassVar[str] = "fldetector"
    summary: ClassVar[str] = "mean of the clients whose steps follow from their earlier ones"
    needs: ClassVar[frozenset[str]] = frozenset({"base"})
    remembers: ClassVar[Mapping[str, Any]] = {STEPS: np.float32, PATH: np.float32, KEPT: np.int64, ERRORS: np.float64}

    window: int = setting(10, "rounds that a score and the Hessian are made of", least=1, most=_LONGEST)
    patience: int = setting(10, "errors known before anybody is suspect (at most the window)", least=1, most=_LONGEST)
    start: int = setting(0, "first parameter of steps that are predicted and remembered", least=0, added_later=True)

    def private(self, *, seed: int, start: int) -> Self:
        """Return the rule that leaves out the parameters before `start`."""
        return replace(self, start=start)

    def _aggregate(self, state: RuleState, round: Round) -> tuple[RuleState, Result]:
        base, order = round.need("base")[self.start :], round.order
        rows = state.rows(round.ids)[order]
        _check_memory(state, len(base))
        steps = np.subtract(round.updates[order, self.start :], base, dtype=np.float32, casting="same_kind")
        path = np.vstack([_path(state, base), base.astype(np.float32)[None]])[-self.window - 2 :]
        errors = self.noted(_errors(state, rows, self.window), _current_errors(state, rows, steps, path))
        shares = np.empty(len(order))
        shares[order] = ~self.suspects(errors)
        weights = self.ramped(state, round, shares)
        state = remember(state, STEPS, rows, steps)
        state = state.with_memory(ERRORS, _replaced(state, rows, errors))
        return _with_path(state, rows, path), Result(weighted_mean(round.updates, order, weights), weights)

    def noted(self, errors: Floats, current: Floats) -> Floats:
        """Return the errors (clients, window) after a round in which they were `current` (clients,); NaN: unknown."""
        known = ~np.isnan(current)
        mean = current[known].mean() if known.any() else 0.0
        relative = np.where(known, current / mean if mean > 0 else 1.0, np.nan)
        return np.hstack([errors[:, 1:], relative[:, None]])

    def suspects(self, errors: Floats) -> NDArray[np.bool_]:
        """Say who is suspect, by the errors (clients, window) of the last rounds."""
        known = ~np.isnan(errors)
        counts = known.sum(axis=1)
        if counts.max() < min(self.patience, self.window):
            return np.zeros(len(errors), dtype=bool)
        sums = np.where(known, errors, 0.0).sum(axis=1)
        return outliers(np.where(counts > 0, sums / np.maximum(counts, 1), 1.0))


def prediction_errors(gram: Floats, clients: int) -> Floats:
    """Return |step_i - last step_i - H v|, v the last global step.

    `gram` holds the inner products of the clients' changes of step, and behind them those of the global steps, newest
    last: H v is a combination of global steps, so that nothing else is needed.
    """
    curve = hessian_product(gram[clients:, clients:])
    change = np.diag(gram)[:clients]
    squares = change - 2 * gram[:clients, clients:] @ curve + curve @ gram[clients:, clients:] @ curve
    return np.sqrt(np.maximum(squares, 0))


def hessian_product(gram: Floats) -> Floats:
    """Return H v as coefficients of the global steps s_1 .. s_K, whose inner products are given; v is the last.

    H is the compact form of L-BFGS (Byrd, Nocedal and Schnabel 1994) for moves s_k and changes of step
    y_k = s_{k+1} - s_k, k < K: the step made after a move is the next move. Without a pair, or at rest, H v is 0.

    >>> moves = np.array([1.0, 0.5])  # of one parameter: after a move of 1 the step changed by -0.5
    >>> float(hessian_product(np.outer(moves, moves)) @ moves)
    -0.25
    """
    size = len(gram)
    if size < 2 or gram[-1, -1] == 0 or gram[-2, -2] == 0:
        return np.zeros(size)
    moves = np.eye(size)[:-1]
    changes = np.eye(size)[1:] - moves
    last = np.eye(size)[-1]
    products = moves @ gram @ changes.T  # S^T Y
    sigma = products[-1, -1] / gram[-2, -2]
    lower = np.tril(products, -1)
    middle = np.block([[sigma * (moves @ gram @ moves.T), lower], [lower.T, -np.diag(np.diag(products))]])
    sides = np.vstack([sigma * moves, changes])
    inside = np.linalg.lstsq(middle, sides @ gram @ last, rcond=_SINGULAR)[0]
    return np.asarray(sigma * last - inside @ sides)


def outliers(scores: Floats) -> NDArray[np.bool_]:
    """Say who belongs to the upper of two clusters; nobody, where the gap statistic sees only one.

    Gap(k) = mean of log V_k of uniform samples - log V_k, V_k the squares left within k clusters. There is more than
    one if Gap(1) < Gap(2) - s_2, s_2 the error of the mean. Fewer than three clients form no clusters.

    >>> outliers(np.array([0.9, 1.0, 0.8, 3.0, 0.9, 1.1])).tolist()
    [False, False, False, True, False, False]

    Tibshirani, Walther and Hastie, "Estimating the number of clusters in a data set via the gap statistic", 2001.
    """
    nobody = np.zeros(len(scores), dtype=bool)
    spread = scores.max() - scores.min()
    if len(scores) < 3 or spread <= _EQUAL * abs(scores).max():
        return nobody
    relative = (scores - scores.min()) / spread
    one, two, limit = _two_clusters(np.sort(relative))
    expected_one, expected_two, error = _uniform_clusters(len(scores))
    if expected_one - np.log(one) < expected_two - np.log(two) - error:
        return np.asarray(relative > limit)
    return nobody


def _two_clusters(ascending: Floats) -> tuple[float, float, float]:
    """Return V_1, V_2 and the largest value of the lower cluster: the best of all splits, found exactly."""
    size = len(ascending)
    counts = np.arange(1, size)
    sums, squares = np.cumsum(ascending), np.cumsum(ascending**2)
    lower = squares[:-1] - sums[:-1] ** 2 / counts
    upper = squares[-1] - squares[:-1] - (sums[-1] - sums[:-1]) ** 2 / (size - counts)
    split = int(np.argmin(lower + upper))
    tiny = 1e-12  # rounding, and a logarithm
    one = max(float(squares[-1] - sums[-1] ** 2 / size), tiny)
    return one, max(float((lower + upper)[split]), tiny), float(ascending[split])


@lru_cache
def _uniform_clusters(size: int) -> tuple[float, float, float]:
    """Return the means of log V_1 and log V_2 over uniform samples of one size, and the error s_2 of the second."""
    rng = np.random.default_rng(size)
    logs = np.log([_two_clusters(np.sort(rng.random(size)))[:2] for _ in range(_SAMPLES)])
    means = logs.mean(axis=0)
    return float(means[0]), float(means[1]), float(logs[:, 1].std() * np.sqrt(1 + 1 / _SAMPLES))


def _check_memory(state: RuleState, parameters: int) -> None:
    """Refuse a memory of other models, and a file in which pieces of the path do not fit together."""
    before = state.memory.get(STEPS)
    if before is not None and before.shape[1] != parameters:
        raise InputError(f"the state remembers steps of {before.shape[1]} parameters, the updates have {parameters}")
    if (state.memory.get(KEPT) is None) != (state.memory.get(PATH) is None) or not _fits(state, parameters):
        raise InputError("the state's memory of global models is damaged; restore the file, or start anew without it")


def _fits(state: RuleState, parameters: int) -> bool:
    kept, path = state.memory.get(KEPT), state.memory.get(PATH)
    if kept is None or path is None:
        return True
    if kept.shape[1] != 4:
        return False
    holders = kept[kept[:, 0] > 0]
    if len(holders) == 0:
        return True
    of, models = (int(number) for number in holders[0, 1:3])
    return bool(
        (holders[:, 1:3] == holders[0, 1:3]).all()
        and holders[:, 0].max() <= of
        and 0 < models <= _LONGEST + 2
        and path.shape[1] == models * -(-parameters // of)
    )


def _current_errors(
    state: RuleState, rows: NDArray[np.int64], steps: NDArray[np.float32], path: NDArray[np.float32]
) -> Floats:
    """Return each client's error of this round; NaN for those who were not in the last."""
    errors = np.full(len(rows), np.nan)
    kept, before = state.memory.get(KEPT), state.memory.get(STEPS)
    there = np.flatnonzero(kept[rows, 3] if kept is not None else rows < 0)
    if before is None or len(there) == 0:
        return errors

    def changes_and_moves(part: slice) -> Floats:
        changes = np.subtract(steps[there, part], before[rows[there], part], dtype=np.float64)
        return np.vstack([changes, np.diff(path[:, part].astype(np.float64), axis=0)])

    gram = gram_by_blocks(changes_and_moves, len(there) + len(path) - 1, steps.shape[1])
    errors[there] = prediction_errors(gram, len(there))
    return errors


def _errors(state: RuleState, rows: NDArray[np.int64], window: int) -> Floats:
    """Return the remembered errors (clients, window); NaN where there was none."""
    found = np.full((len(rows), window), np.nan)
    before = state.memory.get(ERRORS)
    if before is not None:
        width = min(window, before.shape[1])
        found[:, window - width :] = before[rows, before.shape[1] - width :]
    return found


def _replaced(state: RuleState, rows: NDArray[np.int64], errors: Floats) -> Floats:
    """Return the errors of all clients, those of the round's clients new."""
    everybody = _errors(state, np.arange(len(state.clients)), errors.shape[1])
    everybody[rows] = errors
    return everybody


def _path(state: RuleState, base: NDArray[Any]) -> NDArray[np.float32]:
    """Return the remembered global models (models, parameters); a lost piece counts as not having moved."""
    kept, pieces = state.memory.get(KEPT), state.memory.get(PATH)
    if kept is None or pieces is None:
        return np.empty((0, len(base)), dtype=np.float32)
    holders = np.flatnonzero(kept[:, 0] > 0)
    models = int(kept[holders[0], 2]) if len(holders) else 0
    path = np.repeat(base.astype(np.float32)[None], models, axis=0)
    for row in holders:
        start, end = _piece(int(kept[row, 0]) - 1, int(kept[row, 1]), len(base))
        path[:, start:end] = pieces[row, : models * (end - start)].reshape(models, end - start)
    return path


def _with_path(state: RuleState, present: NDArray[np.int64], path: NDArray[np.float32]) -> RuleState:
    """Return the state with the path cut into one piece per client, and a note of who was present."""
    clients, (models, parameters) = len(state.clients), path.shape
    pieces = np.zeros((clients, models * -(-parameters // clients)), dtype=np.float32)
    kept = np.zeros((clients, 4), dtype=np.int64)
    kept[:, :3] = np.column_stack([np.arange(1, clients + 1), np.full(clients, clients), np.full(clients, models)])
    kept[present, 3] = 1
    for row in range(clients):
        start, end = _piece(row, clients, parameters)
        pieces[row, : models * (end - start)] = path[:, start:end].ravel()
    return state.with_memory(PATH, pieces).with_memory(KEPT, kept)


def _piece(number: int, of: int, parameters: int) -> tuple[int, int]:
    """Return where a piece of the parameters begins and ends."""
    width = -(-parameters // of)
    return min(number * width, parameters), min((number + 1) * width, parameters)
