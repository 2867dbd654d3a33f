"""The batched rules in torch give what the rules of the CPU give, over all kinds of rounds."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from eitr.aggregation import make_rule
from eitr.aggregation.registry import rule_class
from eitr.errors import InputError
from eitr.lab.aggregation import batched
from tests.aggregation.cases import ALL_RULES, KINDS
from tests.examples import examples
from tests.lab.aggregation.comparison import assert_agreement, in_batch, make_rounds, named_case, one_round

SETTINGS = {
    "reputation": (
        {},
        {"rescale": "paper"},
        {"cutoff": True, "kappa": 0.8, "W": 20.0},
        {"rescale": "paper", "varpi": 0.3, "delta": 0.3, "lambda": 1.0, "s": 1},
        {"varpi": 0.2, "delta": 0.5, "s": 0, "c": 0.0, "a": 0.0},
    ),
    "trimmed-mean": ({}, {"beta": 0.0}, {"beta": 0.3}, {"beta": 0.49}),
    "residual": ({}, {"delta": 0.4, "lambda": 1.0}),
    "geometric-median": ({}, {"nu": 0.1, "iterations": 3}),
    "centred-clipping": ({}, {"tau": 0.3}, {"tau": 10.0, "iterations": 1}),
    "flame": ({"lambda": 0.0},),  # noise where others send next to nothing: test_defences.py
    "fldetector": ({"patience": 1}, {"patience": 2, "window": 3, "start": 3}, {}),
    "foolsgold": ({}, {"start": 3}),
    "published-code": ({}, {"delta": 0.4, "lambda": 1.0, "s": 1}, {"kappa": 0.8, "W": 20.0, "c": 0.1, "a": 0.0}),
    "foundation-fl": ({}, {"synthetic": 0.0}, {"synthetic": 1.2}),
}
"""Settings of the runs of one batch: they go round."""


REMEMBERING = [
    name if name in ("fused", "reputation") else pytest.param(name, marks=pytest.mark.long) for name in ALL_RULES
]
"""All rules; in the everyday tests those that remember most."""


def mixed(name: str, runs: int):
    chosen = SETTINGS.get(name, ({},))
    return [make_rule(name, **chosen[run % len(chosen)]) for run in range(runs)]


@pytest.mark.parametrize("name", ALL_RULES)
def test_every_kind_of_round_gives_the_cpus_result(name):
    for kind, clients in product(KINDS, (1, 2, 3, 4, 5, 10, 25)):
        with named_case(f"{kind}, {clients} clients"):
            rounds = make_rounds(5, clients, 11, seed=clients, kinds=(kind,))
            assert_agreement(mixed(name, 5), rounds, kernels="torch")


@pytest.mark.parametrize("name", ALL_RULES)
@given(st.integers(1, 14), st.integers(1, 20), st.integers(1, 6), st.integers(0, 2**32))
@example(13, 16, 6, 794701600)  # the last bit of a remembered step shows in the reputations of `fused`
@example(13, 11, 5, 381857264)  # clients so much alike that rounding once chose whom `fused` takes for the majority
@examples(40, 12)
def test_histories_of_runs_with_different_settings_agree_round_by_round(name, clients, parameters, rounds, seed):
    given_rounds = make_rounds(3, clients, parameters, rounds=rounds, seed=seed)
    assert_agreement(mixed(name, 3), given_rounds, kernels="torch")


@pytest.mark.parametrize("name", REMEMBERING)
@given(st.integers(1, 8), st.integers(1, 8), st.integers(1, 20), st.integers(1, 8), st.integers(0, 2**32))
@examples(40, 12)
def test_clients_that_come_and_go_are_remembered_as_on_the_cpu(name, clients, absent, parameters, rounds, seed):
    settings = {"rounds": rounds, "seed": seed, "population": clients + absent, "forget": 0.1}
    assert_agreement(mixed(name, 3), make_rounds(3, clients, parameters, **settings), kernels="torch")


@pytest.mark.parametrize("name", ALL_RULES)
def test_blocks_of_any_size_give_the_same(name, monkeypatch):
    rounds = make_rounds(5, 6, 40, rounds=2)
    whole = in_batch(mixed(name, 5), rounds)
    monkeypatch.setattr("eitr.lab.aggregation.blocks._BUDGET", {"cpu": 7000})
    for one, other in zip(whole, in_batch(mixed(name, 5), rounds), strict=True):
        np.testing.assert_allclose(one.models, other.models, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(one.weights, other.weights, rtol=0, atol=1e-9)


@pytest.mark.parametrize("population", [7, 11])
@pytest.mark.parametrize("name", ALL_RULES)
def test_going_on_from_a_memory_is_as_if_never_stopped(name, population):
    rounds = make_rounds(3, 7, 13, rounds=4, population=population)
    rules = mixed(name, 3)
    expected = in_batch(rules, rounds)
    first = batched(rules, 7, 13, "cpu", population=population)
    for index in range(2):
        one_round(first, rounds, index)
    saved = first.memory()
    one_round(first, rounds, 2)  # what happens after saving must not change what was saved
    second = batched(rules, 7, 13, "cpu", population=population)
    second.restore(saved)
    for index in (2, 3):
        outcome = one_round(second, rounds, index)
        assert torch.equal(outcome.models, expected[index].models)
        assert torch.equal(outcome.weights.nan_to_num(-1), expected[index].weights.nan_to_num(-1))


@pytest.mark.parametrize("name", ALL_RULES)
def test_inputs_are_left_as_they_were(name):
    rounds = make_rounds(2, 5, 9)
    before = [array.copy() for array in (rounds.updates, rounds.base, rounds.root, rounds.counts)]
    in_batch(mixed(name, 2), rounds)
    for now, then in zip((rounds.updates, rounds.base, rounds.root, rounds.counts), before, strict=True):
        np.testing.assert_array_equal(now, then)


@pytest.mark.parametrize("name", ALL_RULES)
def test_equal_updates_come_back_to_the_bit_with_equal_weights(name):
    updates = np.broadcast_to(np.random.default_rng(3).normal(size=17).astype(np.float32), (1, 2, 6, 17)).copy()
    rounds = make_rounds(2, 6, 17)
    base = np.zeros((2, 17), np.float32)
    rounds = replace(rounds, updates=updates, base=base, root=updates[0, :, 0], counts=np.ones((2, 6)))
    # Told of no attackers: a rule that expects some leaves clients out, although all are equal.
    told = {"attackers": 0} if rule_class(name).takes_attackers else {}
    (outcome,) = in_batch([make_rule(name, **told)] * 2, rounds)
    if name not in ("fltrust", "flame"):  # which add steps and noise to the base
        assert np.array_equal(outcome.models.numpy(), updates[0, :, 0])
    if name != "foundation-fl":  # which copies one of them
        np.testing.assert_allclose(outcome.weights.numpy(), 1 / 6)


def test_a_run_that_keeps_its_model_says_so_and_keeps_it_to_the_bit():
    rounds = make_rounds(2, 4, 8, kinds=("ordinary",))
    rounds.root[0] = rounds.base[0]
    (outcome,) = in_batch([make_rule("fltrust")] * 2, rounds)
    assert torch.isnan(outcome.weights[0]).all()
    assert np.array_equal(outcome.models[0].numpy(), rounds.base[0])
    assert outcome.weights[1].sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ([], "no runs"),
        ([make_rule("median", ramp=3)], "ramp"),
        ([make_rule("median"), make_rule("fedavg")], "one class"),
    ],
)
def test_rules_that_cannot_be_batched_are_refused(rules, words):
    with pytest.raises(InputError, match=words):
        batched(rules, 3, 4, "cpu")


def test_wrong_shapes_kernels_memories_and_a_missing_root_are_refused():
    rule = batched([make_rule("fltrust")], 3, 4, "cpu")
    base, counts = torch.zeros(1, 4), torch.ones(1, 3, dtype=torch.float64)
    with pytest.raises(InputError, match="shape"):
        rule.aggregate(base, torch.zeros(1, 3, 5), counts, base)
    with pytest.raises(InputError, match="trusted"):
        rule.aggregate(base, torch.zeros(1, 3, 4), counts, None)
    with pytest.raises(InputError, match="remembers"):
        rule.restore({"steps": base})
    with pytest.raises(InputError, match="must be"):
        batched([make_rule("foolsgold")], 3, 4, "cpu").restore({"steps": base, "rounds": torch.tensor(1)})
    with pytest.raises(InputError, match="kernels"):
        batched([make_rule("median")], 3, 4, "cpu", kernels="cuda")
    with pytest.raises(InputError, match="nothing to aggregate"):
        batched([make_rule("median")], 0, 4, "cpu")
    with pytest.raises(InputError, match="say which 3 of the 5 clients take part"):
        batched([make_rule("median")], 3, 4, "cpu", population=5).aggregate(base, torch.zeros(1, 3, 4), counts, None)
