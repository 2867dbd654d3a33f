import numpy as np
from hypothesis import given

from eitr.compiled import JIT
from eitr.robust.reweighting import reweight
from tests.examples import examples

from . import oracle
from .columns import tables


def judged(column, delta=0.1, lambda_=2.0):
    """One parameter by the book: (confidence times deviation, restricted value), by client."""
    column = np.asarray(column, dtype=np.float64)
    size = len(column)
    order = np.argsort(column, kind="stable")
    w, x = column[order], np.arange(size)
    slope = oracle.repeated_median_slope(w)
    line = slope * x + np.median(w) - slope * (size - 1) / 2
    residual = w - line
    scale = np.median(np.sort(np.abs(residual))[1:])
    tau = 1.48 * (size + 4) / (size - 1) * scale + 1e-7 + 2.4e-7 * np.median(np.abs(w))
    e = np.abs(residual) / tau
    bound = lambda_ * np.sqrt(2 / size) * np.sqrt(1 - oracle.leverage(size))
    confidence = np.where(e > 0, np.minimum(1, bound / np.where(e > 0, e, 1)), 1)
    score, restricted = np.empty(size), np.empty(size)
    score[order] = confidence * confidence.std()
    restricted[order] = np.where(confidence < delta, line, w)
    return score, restricted, np.abs(confidence - delta).min() > 1e-5


@examples(150, 3)
@given(tables().filter(lambda updates: len(updates) >= 4 and np.abs(updates).max() < 1e4))
def test_scores_and_restricted_values_are_those_of_the_book(updates):
    found = reweight(updates, np.arange(len(updates)), delta=0.1, lambda_=2.0)
    expected = [judged(column) for column in updates.T]
    np.testing.assert_allclose(found.scores, sum(score for score, _, _ in expected), rtol=1e-5, atol=1e-5)
    for n, (_, restricted, clear) in enumerate(expected):
        if clear:
            np.testing.assert_allclose(found.restricted[:, n], restricted, rtol=1e-5, atol=1e-5)


def test_scores_do_not_depend_on_the_number_of_threads(monkeypatch):
    updates = np.random.default_rng(0).normal(size=(5, 9000 if JIT else 40)).astype(np.float32)
    scores = []
    for threads in ("1", "3"):
        monkeypatch.setenv("EITR_THREADS", threads)
        scores.append(reweight(updates, np.arange(5), delta=0.1, lambda_=2.0).scores)
    assert (scores[0] == scores[1]).all()
