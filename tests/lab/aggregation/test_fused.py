"""The fused rule for many runs decides, round by round, what the rule of the CPU decides."""

from typing import Any

import numpy as np
import pytest
import torch

from eitr.aggregation import Round, make_rule
from eitr.errors import InputError
from eitr.lab.aggregation import batched
from eitr.lab.aggregation.fused import BatchedFused
from tests.aggregation.cases import names
from tests.lab.aggregation.comparison import make_rounds

SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"ramp": 0, "s": 2, "seed": 2**200 + 3, "cap": 2.0, "start": 20},
    {"fading": 0.3, "kappa": 0.6, "without": "collusion", "ramp": 3},
    {"low": 0.2, "high": 0.9, "a": 0.2, "c": 0.1, "validation": False, "s": 14},
)
KINDS = ("ordinary", "shifted", "colluding", "far_away", "one_stands_out")
CLASSES = 3


def mixed(runs):
    return [make_rule("fused", **SETTINGS[run % len(SETTINGS)]) for run in range(runs)]


class Runs:
    """Several federations, on the CPU and in a batch, on the same updates."""

    def __init__(self, rules, clients, parameters, *, rounds=5, seed=0, kinds=KINDS, trusted=()):
        self.rules, self.clients, self.parameters = rules, clients, parameters
        self.given = make_rounds(len(rules), clients, parameters, rounds=rounds, seed=seed, kinds=kinds)
        self.given.updates[:] += self.given.base[:, None]
        self.states = [rule.init() for rule in rules]
        rng = np.random.default_rng(seed)
        self.pages = {run: rng.normal(0, 1, (CLASSES, parameters)).astype(np.float32) for run in trusted}

    def scorer(self, run):
        """The loss of class c is a bend along a direction of its own; the last class has no pages."""
        if run not in self.pages:
            return None

        def losses(vectors):
            found = np.logaddexp(0, np.asarray(vectors, np.float64) @ np.asarray(self.pages[run], np.float64).T)
            found[:, -1] = np.nan
            return found

        return losses

    def tensor_scorer(self, run):
        scorer = self.scorer(run)
        return None if scorer is None else lambda vectors: torch.from_numpy(scorer(vectors.numpy()))

    def batch(self):
        return batched(self.rules, self.clients, self.parameters, "cpu")

    def on_cpu(self, index):
        found = []
        for run, rule in enumerate(self.rules):
            given = Round(
                self.given.base[run],
                self.given.updates[index, run],
                names(self.clients),
                counts=self.given.counts[run],
                scorer=self.scorer(run),
            )
            self.states[run], result = rule.update(self.states[run], given)
            found.append(result)
        return found

    def in_batch(self, batch, index):
        base, updates, counts = (
            torch.from_numpy(table) for table in (self.given.base, self.given.updates[index], self.given.counts)
        )
        return batch.aggregate(base, updates, counts, None, [self.tensor_scorer(run) for run in range(len(self.rules))])

    def forget(self, run, client):
        self.states[run] = self.states[run].without(names(self.clients)[client])

    def assert_same_round(self, outcome, results):
        for run, result in enumerate(results):
            np.testing.assert_array_equal(outcome.negative[run], result.negative)
            np.testing.assert_allclose(outcome.reputation[run], result.reputation, rtol=0, atol=1e-6)
            np.testing.assert_allclose(outcome.weights[run], result.weights, rtol=0, atol=1e-5)
            allowed = 1e-6 + 1e-5 * np.abs(result.model).max()
            np.testing.assert_allclose(outcome.models[run], result.model, rtol=0, atol=allowed)

    def assert_same_memory(self, batch):
        for run, (rule, state) in enumerate(zip(self.rules, self.states, strict=True)):
            history, sums = state.memory["reputations"], state.memory["sketch"]
            np.testing.assert_allclose(batch.history[run, :, : rule.s + 1], history, rtol=0, atol=1e-6)
            np.testing.assert_allclose(batch.sums[run], sums, rtol=1e-4, atol=1e-4 * np.abs(sums).max())


@pytest.mark.parametrize("clients", [1, 3, 10, *(pytest.param(many, marks=pytest.mark.long) for many in (2, 4, 25))])
@pytest.mark.parametrize("trusted", [(), (0, 2, 3), (0, 1, 2, 3)], ids=["nobody", "some", "all"])
def test_runs_with_different_settings_agree_over_rounds(clients, trusted):
    runs = Runs(mixed(4), clients, 60, seed=clients, trusted=trusted)
    batch = runs.batch()
    for index in range(5):
        runs.assert_same_round(runs.in_batch(batch, index), runs.on_cpu(index))
    runs.assert_same_memory(batch)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_round_agrees(kind):
    runs = Runs(mixed(4), 9, 40, kinds=(kind,), trusted=(0, 1))
    batch = runs.batch()
    for index in range(5):
        runs.assert_same_round(runs.in_batch(batch, index), runs.on_cpu(index))


@pytest.mark.parametrize("parameters", [4095, 4096, 4097, 9000])
def test_vectors_as_long_as_the_projection_and_longer_agree(parameters):
    runs = Runs(mixed(2), 6, parameters, rounds=2, trusted=(0,))
    batch = runs.batch()
    for index in range(2):
        runs.assert_same_round(runs.in_batch(batch, index), runs.on_cpu(index))
    runs.assert_same_memory(batch)


def test_rounds_with_added_noise_agree():
    noise, parameters, clients = 0.05, 198, 8
    rng, rules = np.random.default_rng(6), mixed(2)
    batch = BatchedFused(rules, clients, parameters, torch.device("cpu"), added_noise=noise)
    base, states = np.zeros(parameters, np.float32), [rule.init() for rule in rules]
    for number in range(3):
        updates = rng.normal(0, noise, (2, clients, parameters)).astype(np.float32)
        updates[0, :3, -6:] += 0.2
        updates[1, :3] = updates[1, :1]
        alike = torch.ones((2, clients), dtype=torch.float64)
        found = batch.aggregate(torch.zeros(2, parameters), torch.from_numpy(updates), alike, None, [None, None])
        for run, rule in enumerate(rules):
            given = Round(base, updates[run], names(clients), number, counts=alike[run].numpy(), added_noise=noise)
            states[run], result = rule.update(states[run], given)
            np.testing.assert_allclose(found.reputation[run], result.reputation, rtol=0, atol=1e-6)
            np.testing.assert_allclose(found.weights[run], result.weights, rtol=0, atol=1e-5)


def test_there_is_something_to_agree_on():
    runs = Runs(mixed(4), 10, 60, trusted=(0, 1, 2, 3))
    found = [result for index in range(5) for result in runs.on_cpu(index)]
    assert any((result.weights == 0).any() for result in found)
    assert any(np.ptp(result.weights) > 0.01 for result in found)
    asked = [result.notes["opinions"]["client000"]["validation"]["uncertainty"] < 1 for result in found[:4]]
    assert asked == [True, True, True, False]


def test_steps_of_no_length_and_updates_that_are_all_the_same_agree():
    runs = Runs(mixed(4), 7, 30, rounds=3, trusted=(0, 1))
    runs.given.updates[0] = runs.given.base[:, None]
    runs.given.updates[1] = runs.given.updates[1, :, :1]
    batch = runs.batch()
    for index in range(3):
        outcome = runs.in_batch(batch, index)
        runs.assert_same_round(outcome, runs.on_cpu(index))
        if index == 0:
            assert np.array_equal(outcome.models, runs.given.base)


def test_whoever_comes_back_under_a_new_name_is_forgotten_in_that_run_alone():
    runs = Runs(mixed(4), 8, 50, rounds=6, trusted=(1,))
    batch = runs.batch()
    for index in range(6):
        if index in (2, 4):
            batch.forget(1, torch.tensor([0, 5]))
            batch.forget(2, torch.tensor([5]))
            for run, client in ((1, 0), (1, 5), (2, 5)):
                runs.forget(run, client)
        runs.assert_same_round(runs.in_batch(batch, index), runs.on_cpu(index))
        rounds = (~torch.isnan(batch.history[:3, 5])).sum(dim=1).tolist()
        since = index + 1 if index < 2 else index - 1 if index < 4 else index - 3
        assert rounds == [index + 1, min(since, 3), since]
    runs.assert_same_memory(batch)


@pytest.mark.parametrize("kept", [[0, 1, 2, 3], [1, 2], [3, 1], [2]])
def test_runs_go_on_from_their_memories_in_another_batch(kept):
    runs = Runs(mixed(4), 7, 45, rounds=6, trusted=(0, 1, 2))
    batch = runs.batch()
    for index in range(3):
        runs.in_batch(batch, index)
    saved = [batch.memory_of(run) for run in kept]
    assert [part["history"].shape[1] for part in saved] == [runs.rules[run].s + 1 for run in kept]
    other = batched([runs.rules[run] for run in kept], 7, 45, "cpu")
    other.restore_runs(saved)
    for index in (3, 4, 5):
        whole = runs.in_batch(batch, index)
        part = other.aggregate(
            torch.from_numpy(runs.given.base[kept]),
            torch.from_numpy(runs.given.updates[index][kept]),
            torch.from_numpy(runs.given.counts[kept]),
            None,
            [runs.tensor_scorer(run) for run in kept],
        )
        for name in ("models", "weights", "negative", "reputation"):
            assert torch.equal(getattr(part, name), getattr(whole, name)[kept]), name


def test_a_whole_memory_goes_on_and_saving_is_no_window():
    runs = Runs(mixed(4), 6, 33, rounds=4)
    batch = runs.batch()
    runs.in_batch(batch, 0)
    saved = batch.memory()
    expected = [runs.in_batch(batch, index) for index in (1, 2)]
    other = runs.batch()
    other.restore(saved)
    for index, outcome in zip((1, 2), expected, strict=True):
        again = runs.in_batch(other, index)
        assert torch.equal(again.models, outcome.models)
        assert torch.equal(again.reputation, outcome.reputation)


def test_memories_of_another_shape_are_refused():
    batch = batched(mixed(1), 3, 5, "cpu")
    memory = batch.memory()
    with pytest.raises(InputError, match="remembers"):
        batch.restore({"sums": memory["sums"]})
    with pytest.raises(InputError, match="'sums' must be"):
        batch.restore({**memory, "sums": memory["sums"][:, :, :7]})


def test_a_ramp_is_taken_and_the_rules_keep_it():
    batch = batched([make_rule("fused", ramp=7)], 3, 5, "cpu")
    assert batch.rules[0].ramp == 7


def test_runs_side_by_side_do_not_change_each_other():
    runs = Runs(mixed(4), 6, 40, rounds=3, trusted=(0, 2))
    together = runs.batch()
    alone = [batched([rule], 6, 40, "cpu") for rule in runs.rules]
    for index in range(3):
        outcome = runs.in_batch(together, index)
        for run, single in enumerate(alone):
            part = slice(run, run + 1)
            found = single.aggregate(
                torch.from_numpy(runs.given.base[part]),
                torch.from_numpy(runs.given.updates[index][part]),
                torch.from_numpy(runs.given.counts[part]),
                None,
                [runs.tensor_scorer(run)],
            )
            assert torch.equal(found.models[0], outcome.models[run])
            assert torch.equal(found.weights[0], outcome.weights[run])


def test_inputs_are_left_as_they_were():
    runs = Runs(mixed(2), 5, 20, rounds=1, trusted=(0,))
    before = [table.copy() for table in (runs.given.updates, runs.given.base, runs.given.counts)]
    runs.in_batch(runs.batch(), 0)
    for now, then in zip((runs.given.updates, runs.given.base, runs.given.counts), before, strict=True):
        np.testing.assert_array_equal(now, then)
