"""The batched forms of rules that are told of attackers, that add noise or that remember where the model was."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from eitr.aggregation import RULES, Round, make_rule
from eitr.aggregation.interface import Result
from eitr.aggregation.linear import LinearRule
from eitr.aggregation.rule_state import RuleState
from eitr.errors import InputError
from eitr.lab.aggregation import batched
from eitr.lab.aggregation.gram import BatchedLinear
from eitr.lab.aggregation.one_by_one import OneByOne
from tests.aggregation.cases import ATTACKER_COUNT, KINDS, names
from tests.examples import examples
from tests.lab.aggregation.comparison import assert_agreement, in_batch, make_rounds, named_case, one_round


def told(name, runs, clients):
    """Rules of a batch, each told of another number of attackers."""
    possible = [f for f in range(clients) if RULES[name].defined(clients, f)]
    return [make_rule(name, attackers=possible[run % len(possible)]) for run in range(runs)]


@pytest.mark.parametrize("name", ATTACKER_COUNT)
def test_every_kind_of_round_with_any_number_of_attackers_gives_the_cpus_result(name):
    # Where clients differ by a millionth of their steps ("tiny"), inner products cannot tell who is nearer.
    kinds = [kind for kind in KINDS if kind != "tiny"]
    for kind, clients in product(kinds, (1, 3, 5, 7, 11, 20)):
        with named_case(f"{kind}, {clients} clients"):
            rounds = make_rounds(6, clients, 23, seed=clients, kinds=(kind,))
            assert_agreement(told(name, 6, clients), rounds, kernels="torch")


@pytest.mark.parametrize("name", ATTACKER_COUNT)
@given(st.integers(1, 14), st.integers(12, 40), st.integers(0, 2**32))
@examples(40, 15)
def test_any_round_with_any_number_of_attackers_gives_the_cpus_result(name, clients, parameters, seed):
    kinds = ("ordinary", "shifted", "colluding", "constant", "one_stands_out", "far_away")
    given_rounds = make_rounds(4, clients, parameters, seed=seed, kinds=kinds)
    assert_agreement(told(name, 4, clients), given_rounds, kernels="torch")


@pytest.mark.parametrize("name", ATTACKER_COUNT)
def test_blocks_of_any_size_give_the_same_with_attackers(name, monkeypatch):
    rounds, rules = make_rounds(5, 11, 40, kinds=("ordinary", "shifted")), told(name, 5, 11)
    (whole,) = in_batch(rules, rounds)
    monkeypatch.setattr("eitr.lab.aggregation.blocks._BUDGET", {"cpu": 9000})
    (pieces,) = in_batch(rules, rounds)
    np.testing.assert_allclose(whole.models, pieces.models, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(whole.weights, pieces.weights, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ATTACKER_COUNT)
def test_too_many_attackers_are_refused_before_the_first_round(name):
    with pytest.raises(InputError, match="set attackers lower"):
        batched([make_rule(name), make_rule(name, attackers=4)], 8, 5, "cpu")


def test_any_rule_that_decides_by_inner_products_has_a_batched_form():
    class Longest(LinearRule):
        """Half of the longest step."""

        name = "longest"

        def coefficients(self, gram):
            return 0.5 * (np.arange(len(gram)) == np.diag(gram).argmax())

    rounds = make_rounds(2, 4, 6, kinds=("ordinary",))
    rule = batched([Longest()] * 2, 4, 6, "cpu")
    assert type(rule) is BatchedLinear
    outcome = one_round(rule, rounds, 0)
    steps = rounds.updates[0] - rounds.base[:, None]
    longest = np.linalg.norm(steps, axis=2).argmax(axis=1)
    expected = rounds.base + 0.5 * steps[[0, 1], longest]
    np.testing.assert_allclose(outcome.models, expected, rtol=0, atol=1e-6)
    assert outcome.weights[[0, 1], longest].tolist() == [1.0, 1.0]


def unregistered(name):
    """Return a rule that does what one of the registry does, but has no batched form."""
    return type(f"Unregistered{RULES[name].__name__}", (RULES[name],), {})


@pytest.mark.parametrize("name", ["foolsgold", "fused", "fltrust", "reputation"])
def test_a_rule_without_a_batched_form_runs_one_by_one_and_agrees(name):
    kind = unregistered(name)
    rules = [kind(), kind(ramp=2)]
    rounds = make_rounds(2, 5, 9, rounds=3, kinds=("ordinary", "shifted"))
    assert type(batched(rules, 5, 9, "cpu")) is OneByOne
    assert_agreement(rules, rounds)


@pytest.mark.parametrize("name", ["foolsgold", "fldetector"])
def test_a_rule_that_runs_one_by_one_goes_on_from_its_memory_and_forgets(name):
    rules = [unregistered(name)()] * 2
    rounds = make_rounds(2, 5, 9, rounds=4, kinds=("ordinary",))
    expected = in_batch(rules, rounds)
    for memory, restore in (("memory", "restore"), ("memory_of", "restore_runs")):
        first, second = batched(rules, 5, 9, "cpu"), batched(rules, 5, 9, "cpu")
        for index in (0, 1):
            one_round(first, rounds, index)
        saved = first.memory() if memory == "memory" else [first.memory_of(run) for run in (0, 1)]
        one_round(first, rounds, 2)  # what happens after saving must not change what was saved
        getattr(second, restore)(saved)
        for index in (2, 3):
            assert torch.equal(one_round(second, rounds, index).models, expected[index].models)
    anew = batched(rules, 5, 9, "cpu")
    anew.restore_runs([first.memory_of(run) for run in (0, 1)])
    anew.forget(0, torch.arange(5))
    assert anew.memory_of(0)["client_rounds"].tolist() == []
    assert anew.memory_of(1)["client_rounds"].tolist() == [3] * 5
    with pytest.raises(InputError, match="of 0 clients, not of 5"):
        batched(rules, 5, 9, "cpu").restore(anew.memory())


def test_noise_is_that_of_the_cpu_round_by_round():
    rules = [make_rule("flame", **{"lambda": 0.05}), make_rule("flame", seed=3), make_rule("flame", **{"lambda": 0.0})]
    assert_agreement(rules, make_rounds(3, 7, 50, rounds=3, kinds=("ordinary", "shifted")), kernels="torch")


def test_noise_goes_on_from_a_memory_in_another_batch():
    rounds = make_rounds(2, 5, 30, rounds=3, kinds=("ordinary",))
    rules = [make_rule("flame", **{"lambda": 0.1}), make_rule("flame", seed=1)]
    expected = in_batch(rules, rounds)
    first = batched(rules, 5, 30, "cpu")
    one_round(first, rounds, 0)
    second = batched(rules[::-1], 5, 30, "cpu")
    second.restore_runs([first.memory_of(1), first.memory_of(0)])
    turned = replace(rounds, updates=np.ascontiguousarray(rounds.updates[:, ::-1]), base=rounds.base[::-1].copy())
    assert torch.equal(one_round(second, turned, 1).models.flip(0), expected[1].models)


class Descents:
    """Several federations that go downhill under FLDetector, on the CPU and in a batch, on the same updates."""

    def __init__(self, rules, clients, parameters, seed):
        self.rules, self.clients, self.rng = rules, clients, np.random.default_rng(seed)
        self.goal = self.rng.normal(size=(len(rules), clients, parameters))
        self.curve = np.linspace(0.1, 0.5, parameters)
        self.base = np.zeros((len(rules), parameters), dtype=np.float32)
        self.states: list[RuleState] = [rule.init() for rule in rules]

    def updates(self):
        steps = self.curve * (self.goal - self.base[:, None]) + self.rng.normal(0, 0.02, self.goal.shape)
        steps[:, :2] = self.rng.normal(size=steps[:, :2].shape)
        return (self.base[:, None] + steps).astype(np.float32)

    def round(self, batch):
        """One round by both; the model of the CPU is where the next starts."""
        updates, base = self.updates(), self.base.copy()
        outcome = batch.aggregate(
            torch.from_numpy(base), torch.from_numpy(updates), torch.ones(updates.shape[:2]), None
        )
        results: list[Result] = []
        for run, rule in enumerate(self.rules):
            self.states[run], result = rule.update(
                self.states[run], Round(base[run], updates[run], names(self.clients))
            )
            self.base[run] = result.model
            results.append(result)
        return outcome, results

    def forget(self, run, client):
        self.states[run] = self.states[run].without(names(self.clients)[client])


RULES_OF_DESCENTS: tuple[dict[str, Any], ...] = (
    {},
    {"window": 3, "patience": 2},
    {"window": 5, "patience": 1},
    {"window": 12},
)


def assert_same_round(outcome, results):
    for run, result in enumerate(results):
        np.testing.assert_allclose(outcome.weights[run], result.weights, rtol=0, atol=1e-9)
        np.testing.assert_allclose(outcome.models[run], result.model, rtol=0, atol=1e-6)


def assert_same_errors(batch, descents):
    for run, state in enumerate(descents.states):
        window = descents.rules[run].window
        np.testing.assert_allclose(batch.errors[run, :, -window:], state.memory["errors"], rtol=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_the_detector_agrees_over_many_rounds_with_different_windows(seed):
    rules = [make_rule("fldetector", **chosen) for chosen in RULES_OF_DESCENTS]
    batch, descents = batched(rules, 9, 31, "cpu"), Descents(rules, 9, 31, seed)
    dropped = 0
    for _ in range(16):
        outcome, results = descents.round(batch)
        assert_same_round(outcome, results)
        dropped += int((outcome.weights == 0).sum())
        assert_same_errors(batch, descents)
    assert dropped > 0  # else there was nothing to agree on


def test_the_detector_goes_on_from_memories_in_another_batch():
    rules = [make_rule("fldetector", **chosen) for chosen in RULES_OF_DESCENTS]
    batch, descents = batched(rules, 8, 20, "cpu"), Descents(rules, 8, 20, 4)
    for _ in range(6):
        descents.round(batch)
    for kept in ([0, 1, 2, 3], [1, 2], [3, 1]):
        other = batched([rules[run] for run in kept], 8, 20, "cpu")
        other.restore_runs([batch.memory_of(run) for run in kept])
        twin = Descents([rules[run] for run in kept], 8, 20, 5)
        twin.states, twin.base = [descents.states[run] for run in kept], descents.base[kept].copy()
        for _ in range(5):
            assert_same_round(*twin.round(other))
            assert_same_errors(other, twin)


def test_the_detector_forgets_who_comes_back_under_a_new_name():
    rules = [make_rule("fldetector", patience=2, window=4), make_rule("fldetector", patience=2)]
    batch: Any = batched(rules, 7, 24, "cpu")
    descents = Descents(rules, 7, 24, 6)
    for number in range(9):
        if number in (3, 6):
            batch.forget(1, torch.tensor([0, 4]))
            for client in (0, 4):
                descents.forget(1, client)
        assert_same_round(*descents.round(batch))
        assert bool(torch.isnan(batch.errors[1, 4, -1])) == (number in (0, 3, 6))
