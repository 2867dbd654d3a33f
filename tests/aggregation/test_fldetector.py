from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eitr.aggregation import Round, make_rule
from eitr.aggregation.fldetector import PATH, hessian_product, outliers
from eitr.aggregation.rule_state import RuleState, state_bytes
from eitr.errors import InputError
from tests.aggregation.cases import aggregate, names
from tests.examples import examples


def lbfgs(S, Y, v):
    """H v by the compact form of L-BFGS, read plainly; columns of S and Y are moves and changes, newest last."""
    sigma = (Y[:, -1] @ S[:, -1]) / (S[:, -1] @ S[:, -1])
    products = S.T @ Y
    lower = np.tril(products, -1)
    middle = np.block([[sigma * S.T @ S, lower], [lower.T, -np.diag(np.diag(products))]])
    sides = np.hstack([sigma * S, Y])
    return sigma * v - sides @ np.linalg.solve(middle, sides.T @ v)


class Plain:
    """The publication's algorithm, read plainly, for a federation in which everybody always takes part."""

    def __init__(self, window):
        self.window, self.models, self.steps, self.errors = window, [], None, []

    def scores(self, base, updates):
        steps = np.float64(updates) - base
        self.models.append(np.float64(base))
        if self.steps is not None:
            moves = np.diff(self.models, axis=0)
            bent = 0.0
            if len(moves) > 1:
                pairs = slice(max(0, len(moves) - 1 - self.window), len(moves) - 1)
                bent = lbfgs(moves[:-1][pairs].T, np.diff(moves, axis=0)[pairs].T, moves[-1])
            distances = np.linalg.norm(steps - self.steps - bent, axis=1)
            self.errors.append(distances / distances.mean())
        self.steps = steps
        return np.mean(self.errors[-self.window :], axis=0) if self.errors else np.ones(len(steps))


def federation(rng, clients, parameters, rounds, *, wild=0, noise=0.01):
    """Bases and updates of a descent on a quadratic loss; the first `wild` clients step anywhere."""
    curve, goal = np.linspace(0.1, 0.6, parameters), rng.normal(size=(clients, parameters))
    base = np.zeros(parameters)
    for _ in range(rounds):
        steps = -curve * (base - goal) + noise * rng.normal(size=goal.shape)
        steps[:wild] = rng.normal(size=(wild, parameters))
        yield base.astype(np.float32), (base + steps).astype(np.float32)
        base = base + steps[wild:].mean(axis=0)


@examples(25, 6)
@given(st.integers(3, 8), st.integers(2, 5), st.integers(0, 2**32))
def test_scores_are_those_of_the_publication(clients, window, seed):
    rule = make_rule("fldetector", window=window, patience=1000)
    state, plain = rule.init(), Plain(window)
    for number, (base, updates) in enumerate(federation(np.random.default_rng(seed), clients, 40, 9)):
        state, _ = rule.update(state, Round(base, updates, names(clients), number))
        expected = plain.scores(base, updates)
        assert state.memory["errors"].shape == (clients, window)
        if number:
            found = np.nanmean(state.memory["errors"], axis=1)
            np.testing.assert_allclose(found, expected, rtol=2e-4)


def test_curvature_makes_predictions_better():
    *_, (base, updates) = rounds = list(federation(np.random.default_rng(0), 6, 30, 8, noise=0.0))
    moves = np.diff([one for one, _ in rounds], axis=0).astype(np.float64)
    change = (updates - base) - (rounds[-2][1] - rounds[-2][0])
    bent = hessian_product(moves @ moves.T) @ moves
    assert np.linalg.norm(change - bent) < 0.5 * np.linalg.norm(change)


@pytest.mark.parametrize("size", [0, 1, 2, 5])
def test_without_movement_nothing_bends(size):
    assert hessian_product(np.zeros((size, size))).tolist() == [0.0] * size


def test_clients_whose_steps_do_not_follow_are_dropped_once_patience_ends():
    rule = make_rule("fldetector", patience=4)
    state, weights = rule.init(), []
    for base, updates in federation(np.random.default_rng(1), 12, 60, 9, wild=3):
        state, result = rule.update(state, Round(base, updates, names(12)))
        weights.append(result.weights)
    for early in weights[:4]:
        np.testing.assert_allclose(early, 1 / 12)
    for late in weights[4:]:
        np.testing.assert_allclose(late, [0] * 3 + [1 / 9] * 9)


def test_a_federation_without_attackers_keeps_everybody_most_of_the_time():
    dropped = 0
    for seed in range(10):
        rule = make_rule("fldetector", patience=3)
        state = rule.init()
        for base, updates in federation(np.random.default_rng(seed), 20, 200, 6):
            state, result = rule.update(state, Round(base, updates, names(20)))
        dropped += int(np.count_nonzero(result.weights == 0))
    assert dropped < 0.25 * 200


def test_a_newcomer_and_one_who_returns_have_no_error_and_a_neutral_score():
    rule = make_rule("fldetector", window=3, patience=1)
    state = rule.init()
    ids = [names(5), names(5), [*names(4), "new"], [*names(5), "new"]]
    for here, (base, updates) in zip(ids, federation(np.random.default_rng(2), 6, 20, 4), strict=True):
        state, result = rule.update(state, Round(base, updates[: len(here)], here))
    errors = dict(zip(state.clients, ~np.isnan(state.memory["errors"]), strict=True))
    assert errors["client000"].tolist() == [True, True, True]
    assert errors["client004"].tolist() == [False, True, False]  # was away in the third round
    assert errors["new"].tolist() == [False, False, True]
    assert result.weights.min() >= 0


def test_scores_that_do_not_differ_accuse_nobody():
    assert not outliers(np.full(9, 0.7)).any()
    assert not outliers(np.full(9, 0.7) + 1e-12 * np.arange(9)).any()
    assert not outliers(np.array([1.0, 5.0])).any()
    assert not outliers(np.array([1.0])).any()


@pytest.mark.parametrize("bad", [1, 3, 8])
def test_two_clusters_of_scores_are_told_apart_from_one(bad):
    rng = np.random.default_rng(bad)
    scores = rng.normal(0.8, 0.05, 20)
    scores[:bad] += 1
    assert outliers(scores).tolist() == [True] * bad + [False] * (20 - bad)
    assert sum(outliers(np.random.default_rng(seed).random(20)).any() for seed in range(100)) < 25


def test_the_split_is_the_best_of_all():
    scores = np.random.default_rng(3).random(15)
    scores[:4] += 2
    found = outliers(scores)
    left = lambda mask: sum(((part - part.mean()) ** 2).sum() for part in (scores[mask], scores[~mask]))  # noqa: E731
    assert all(left(found) <= left(scores > limit) + 1e-12 for limit in np.sort(scores)[:-1])


def test_the_memory_of_models_is_bounded_and_every_row_keeps_a_piece():
    rule = make_rule("fldetector", window=2)
    state = rule.init()
    for base, updates in federation(np.random.default_rng(4), 5, 23, 9):
        state, _ = rule.update(state, Round(base, updates, names(5)))
        assert state.memory[PATH].shape[1] <= 4 * 5  # four models, five of 23 parameters


def test_who_is_erased_takes_a_piece_of_the_path_with_him_and_no_more():
    rounds = list(federation(np.random.default_rng(5), 6, 24, 8))
    rule = make_rule("fldetector")
    state = rule.init()
    for base, updates in rounds[:-1]:
        state, _ = rule.update(state, Round(base, updates, names(6)))
    rows, (base, updates) = [0, 1, 2, 4, 5], rounds[-1]
    here = [names(6)[row] for row in rows]
    erased, _ = rule.update(state.without("client003"), Round(base, updates[rows], here))
    whole, _ = rule.update(state, Round(base, updates[rows], here))
    errors, expected = erased.memory["errors"][:, -1], whole.memory["errors"][rows, -1]
    np.testing.assert_allclose(errors, expected, rtol=0.5)
    assert not np.array_equal(errors, expected)
    assert b"client003" not in state_bytes(erased)


def test_a_longer_or_shorter_window_goes_on_with_what_is_remembered():
    rounds = list(federation(np.random.default_rng(6), 4, 10, 7))
    for first, second in ((2, 5), (5, 2)):
        rule, later = make_rule("fldetector", window=first), make_rule("fldetector", window=second)
        state = rule.init()
        for base, updates in rounds[:-1]:
            state, _ = rule.update(state, Round(base, updates, names(4)))
        base, updates = rounds[-1]
        state, _ = later.update(state, Round(base, updates, names(4)))
        assert state.memory["errors"].shape == (4, second)
        assert np.isnan(state.memory["errors"]).sum() == (4 * 2 if second == 5 else 0)


def test_a_model_of_another_size_is_refused_also_by_a_state_that_does_not_say_its_size():
    state, _ = aggregate("fldetector", np.ones((2, 3)))
    with pytest.raises(InputError, match="steps of 3 parameters, the updates have 4"):
        aggregate("fldetector", np.ones((2, 4)), None, replace(state, parameters=0))


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_few_clients_that_all_do_the_same_are_never_accused(size):
    state = None
    for _ in range(12):
        state, result = aggregate("fldetector", np.full((size, 4), 0.25), None, state, patience=1)
        np.testing.assert_allclose(result.weights, 1 / size)
        assert result.model.tolist() == [0.25] * 4


@pytest.mark.parametrize(
    "damage",
    [
        lambda kept: kept * [1, 1, 3, 1],
        lambda kept: kept * [1, 9, 1, 1],
        lambda kept: kept * [9, 1, 1, 1],
        lambda kept: kept + np.eye(3, 4, 2, dtype=np.int64),
        lambda kept: kept[:, :3],
        lambda kept: kept * [1, 1, -1, 1],
    ],
)
def test_pieces_that_do_not_fit_together_are_refused(damage):
    state = None
    for _ in range(3):
        state, _ = aggregate("fldetector", np.ones((3, 10)), None, state)
    broken = state.with_memory("kept", np.asarray(damage(state.memory["kept"])))
    with pytest.raises(InputError, match="damaged"):
        aggregate("fldetector", np.ones((3, 10)), None, broken)
    unreadable = RuleState("fldetector", state.clients, state.rounds, {PATH: state.memory[PATH]})
    with pytest.raises(InputError, match="damaged"):
        aggregate("fldetector", np.ones((3, 10)), None, unreadable)


def test_if_all_who_kept_the_path_are_gone_it_begins_anew():
    state, _ = aggregate("fldetector", np.ones((1, 4)), ["gone"])
    state, result = aggregate("fldetector", np.ones((2, 4)), ["a", "b"], state.without("gone"))
    assert result.weights.tolist() == [0.5, 0.5]
    assert state.memory["kept"][:, 2].tolist() == [1, 1]
