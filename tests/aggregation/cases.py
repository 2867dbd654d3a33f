"""Rounds to try the rules on: ordinary, tied, adversarial and degenerate, and how many of them."""

import importlib
import sys
from dataclasses import dataclass
from importlib.util import find_spec, module_from_spec

import numpy as np
import pytest
from hypothesis import strategies as st

from eitr.aggregation import RULES, Round, make_rule
from eitr.testing import KINDS, client_names

ATTACKER_COUNT = ("multi-krum", "bulyan", "nnm", "dnc", "foundation-fl")
"""Rules that need the number of attackers."""
ALL_RULES = tuple(RULES)
WITHIN_RANGE = (
    *("reputation", "fedavg", "median", "trimmed-mean", "foolsgold", "residual"),
    *("multi-krum", "bulyan", "geometric-median", "dnc", "fldetector", "foundation-fl", "published-code"),
)
"""Rules whose result lies between the values sent; the others add to the base, or mix by matrix products."""
SHIFTING = (
    *("reputation", "fedavg", "median", "trimmed-mean"),
    *("multi-krum", "bulyan", "nnm", "dnc", "foundation-fl"),
)
"""Rules whose result moves with the values; the residual rule too, but for a term in its scale, and the geometric
median, but for distances so short beside the steps that they are rounding."""


names = client_names


def aggregate(rule_name: str, updates: np.ndarray, ids=None, state=None, *, counts=None, **chosen):
    """One round of a rule, with a base and a root where it needs them: (state, result).

    Rules that need the number of attackers are told 0, unless another one is chosen.
    """
    rule = make_rule(rule_name, **{**({"attackers": 0} if rule_name in ATTACKER_COUNT else {}), **chosen})
    parameters = updates.shape[1]
    base = np.zeros(parameters, dtype=updates.dtype)
    root = np.linspace(0.5, 1.0, parameters).astype(updates.dtype)
    ids = names(len(updates)) if ids is None else ids
    return rule.update(rule.init() if state is None else state, Round(base, updates, ids, 0, counts=counts, root=root))


def byzfl_aggregators():
    """ByzFL's rules, where it is installed; without its own start, which imports all of its training framework."""
    spec = find_spec("byzfl")
    if spec is None:
        pytest.skip("ByzFL is not installed")
    sys.modules.setdefault("byzfl", module_from_spec(spec))
    return importlib.import_module("byzfl.aggregators")


def assert_same_state(one, other):
    assert one.rule == other.rule
    assert one.clients == other.clients
    np.testing.assert_array_equal(one.rounds, other.rounds)
    assert one.rounds.dtype == other.rounds.dtype
    assert sorted(one.memory) == sorted(other.memory)
    for name, array in one.memory.items():
        assert array.dtype == other.memory[name].dtype
        np.testing.assert_array_equal(array, other.memory[name])


@dataclass(frozen=True)
class History:
    """Several rounds with clients that join, leave and return."""

    rounds: list[tuple[list[str], np.ndarray]]


@st.composite
def populations(draw, most_clients=12, most_parameters=20, least_clients=1, kinds=tuple(KINDS), dtype=None):
    """(clients, parameters) updates of one kind."""
    shape = (draw(st.integers(least_clients, most_clients)), draw(st.integers(1, most_parameters)))
    make = KINDS[draw(st.sampled_from(kinds))]
    kind = dtype or draw(st.sampled_from([np.float32, np.float64]))
    return make(np.random.default_rng(draw(st.integers(0, 2**32))), shape).astype(kind)


@st.composite
def histories(draw, most_rounds=6, kinds=tuple(KINDS), most_clients=9):
    everybody = names(draw(st.integers(1, most_clients)))
    parameters = draw(st.integers(1, 18))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rounds = []
    for _ in range(draw(st.integers(1, most_rounds))):
        present = draw(st.lists(st.sampled_from(everybody), min_size=1, unique=True))  # in any order
        make = KINDS[draw(st.sampled_from(kinds))]
        rounds.append((present, make(rng, (len(present), parameters)).astype(dtype)))
    return History(rounds)
