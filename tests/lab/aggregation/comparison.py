"""Several runs through the rules of the CPU, one by one, beside the batched rule: what the tests compare."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch

from eitr.aggregation import Round
from eitr.lab.aggregation import batched
from tests.aggregation.cases import KINDS, names
from tests.aggregation.oracle import BORDER, residual_confidences
from tests.robust import oracle

WEIGHTS = {"geometric-median": 1e-3}
"""How far apart weights may be, if not 1e-6: an iteration magnifies rounding, and many weights give the same model."""
REMEMBERED = {"fused": 1e-8}
"""How far apart reputations may be after the first round, if not 1e-9: `fused` remembers steps in float32, and where
the engines' sums lie on either side of a rounding border, that last bit makes 2e-9."""


@contextmanager
def named_case(name: str) -> Iterator[None]:
    """Name the case of a loop in the message of a test that fails in it."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in the case: {name}")
        raise


@dataclass(frozen=True)
class Rounds:
    """The rounds of several runs: updates (rounds, runs, clients, parameters) and what goes with them."""

    updates: np.ndarray
    base: np.ndarray
    root: np.ndarray
    counts: np.ndarray
    population: int
    present: np.ndarray
    """(rounds, runs, clients): who takes part, of so many clients in all."""
    forgotten: np.ndarray
    """(rounds, population): who comes to a round as a new client."""

    @property
    def all_present(self) -> bool:
        return self.population == self.updates.shape[2]


def make_rounds(
    runs, clients, parameters, *, rounds=1, seed=0, kinds=tuple(KINDS), population=None, forget=0.0
) -> Rounds:
    """Updates whose kind changes from run to run and round to round."""
    rng = np.random.default_rng(seed)
    updates = np.empty((rounds, runs, clients, parameters), dtype=np.float32)
    for round in range(rounds):
        for run in range(runs):
            updates[round, run] = KINDS[kinds[(round + run + seed) % len(kinds)]](rng, (clients, parameters))
    base = rng.normal(0, 0.1, (runs, parameters)).astype(np.float32)
    root = base + rng.normal(0, 0.1, (runs, parameters)).astype(np.float32)
    counts = rng.integers(0, 300, (runs, clients)) * (rng.random((runs, clients)) < 0.9)
    total = clients if population is None else population
    present = [[np.sort(rng.permutation(total)[:clients]) for _ in range(runs)] for _ in range(rounds)]
    forgotten = rng.random((rounds, total)) < forget
    return Rounds(updates, base, root, counts.astype(np.float64), total, np.array(present), forgotten)


def on_cpu(rules, rounds: Rounds):
    """Every round of every run by the rules of the CPU: [round][run] -> Result."""
    states = [rule.init() for rule in rules]
    everything = []
    everybody = names(rounds.population)
    for index, updates in enumerate(rounds.updates):
        results = []
        for run, rule in enumerate(rules):
            for client in np.flatnonzero(rounds.forgotten[index]):
                states[run] = states[run].without(everybody[client])
            ids = [everybody[client] for client in rounds.present[index, run]]
            # Rounds are counted from 1, as the engines and the batched rules do.
            given = Round(
                rounds.base[run], updates[run], ids, index + 1, counts=rounds.counts[run], root=rounds.root[run]
            )
            states[run], result = rule.update(states[run], given)
            results.append(result)
        everything.append(results)
    return everything


def in_batch(rules, rounds: Rounds, **options):
    """Every round by one batched rule: a list of Outcome."""
    clients, parameters = rounds.updates.shape[2:]
    rule = batched(rules, clients, parameters, "cpu", population=rounds.population, **options)
    return [one_round(rule, rounds, index) for index in range(len(rounds.updates))]


def one_round(rule, rounds: Rounds, index: int):
    for run in range(rule.runs):
        if rounds.forgotten[index].any():
            rule.forget(run, torch.from_numpy(np.flatnonzero(rounds.forgotten[index])))
    return rule.aggregate(
        torch.from_numpy(rounds.base),
        torch.from_numpy(rounds.updates[index]),
        torch.from_numpy(rounds.counts),
        torch.from_numpy(rounds.root),
        present=None if rounds.all_present else torch.from_numpy(rounds.present[index]),
    )


def is_clear(rule, updates) -> bool:
    """Whether no confidence is so near to delta that rounding decides."""
    if rule.name == "reputation":
        settings = {"varpi": rule.varpi, "lambda_": rule.lambda_, "rescale": rule.rescale}
        found = (oracle.confidences(column, **settings)[1] for column in updates.T)
    elif rule.name in ("residual", "published-code") and len(updates) >= 4:
        found = (residual_confidences(column, lambda_=rule.lambda_)[0] for column in updates.T)
    else:
        return True
    return all((np.abs(sure - rule.delta) > BORDER).all() for sure in found)


def assert_agreement(rules, rounds: Rounds, **options):
    """The batched rule gives, round by round, what the rules of the CPU give."""
    expected = on_cpu(rules, rounds)
    undecided = set()  # runs in which rounding decided something, which is remembered from there on
    for index, outcome in enumerate(in_batch(rules, rounds, **options)):
        for run, rule in enumerate(rules):
            if run in undecided:
                continue
            try:
                _assert_same(outcome, run, expected[index][run], rounds.updates[index, run], rule.name, index)
            except AssertionError:
                if is_clear(rule, rounds.updates[index, run]):
                    raise
                undecided.add(run)


def _assert_same(outcome, run, result, updates, rule, index):
    apart = REMEMBERED.get(rule, 1e-9) if index else 1e-9
    if result.negative is not None:
        np.testing.assert_array_equal(outcome.negative[run].numpy(), result.negative)
        np.testing.assert_allclose(outcome.reputation[run].numpy(), result.reputation, rtol=0, atol=apart)
    if result.weights is None:
        assert torch.isnan(outcome.weights[run]).all()
    else:
        np.testing.assert_allclose(outcome.weights[run].numpy(), result.weights, rtol=0, atol=WEIGHTS.get(rule, 1e-6))
    allowed = 1e-6 + 1e-6 * np.abs(updates).max(axis=0)
    np.testing.assert_array_less(np.abs(outcome.models[run].numpy().astype(np.float64) - result.model), allowed)
