"""The Triton kernels, run by Triton's interpreter on the CPU, give what the rules of the CPU give."""

import os

import numpy as np
import pytest
import torch

from eitr.aggregation import make_rule
from tests.aggregation.cases import ALL_RULES, KINDS
from tests.lab.aggregation.comparison import assert_agreement, in_batch, make_rounds
from tests.lab.aggregation.test_agreement import mixed
from tests.robust import oracle

os.environ.setdefault("TRITON_INTERPRET", "1")  # read when the kernels are first imported
pytest.importorskip("triton", reason="Triton is not installed: the kernels cannot run")


@pytest.mark.parametrize("name", ALL_RULES)
@pytest.mark.parametrize("clients", [1, 2, 3, 4, 7])
def test_a_few_clients_give_the_cpus_result(name, clients):
    kinds = tuple(KINDS)
    assert_agreement(mixed(name, len(kinds)), make_rounds(len(kinds), clients, 9, seed=clients), kernels="triton")


@pytest.mark.slow  # the interpreter takes a minute or two
@pytest.mark.parametrize("name", ["reputation", "residual", "trimmed-mean"])
def test_slopes_found_by_search_give_the_cpus_result(name):
    kinds = tuple(KINDS)
    assert_agreement(mixed(name, len(kinds)), make_rounds(len(kinds), 34, 9, seed=5), kernels="triton")


@pytest.mark.slow
@pytest.mark.parametrize("clients", [33, 34])
def test_slopes_are_those_of_the_oracle(clients):
    from eitr.lab.aggregation.launch import fit_columns

    rng = np.random.default_rng(clients)
    half_tied = rng.normal(0, 0.1, (clients, 10))
    half_tied[: clients // 2] = 0.25
    updates = np.concatenate([*(make(rng, (clients, 9)) for make in KINDS.values()), half_tied], axis=1)
    updates = updates.astype(np.float32)
    one = torch.ones(1, dtype=torch.float64)
    lines = fit_columns(torch.from_numpy(updates)[None], one, 1e-5 * one, reweight=False)
    for n, column in enumerate(updates.T):
        slope = oracle.repeated_median_slope(np.sort(oracle.clip_to_median(column, 2.0)))
        assert lines.slope[n].item() == pytest.approx(slope, rel=1e-6, abs=1e-9)


def test_the_same_input_gives_the_same_bits():
    rounds = make_rounds(2, 10, 20, kinds=("shifted",))
    rules = [make_rule("reputation")] * 2
    (one,), (other,) = (in_batch(rules, rounds, kernels="triton") for _ in range(2))
    assert torch.equal(one.models, other.models)
    assert torch.equal(one.weights, other.weights)
