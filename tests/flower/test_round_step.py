"""A round: bad replies count against their nodes, and the order of replies counts for nothing."""

import itertools

import numpy as np
import pytest

from eitr.aggregation import RULES, make_rule
from eitr.flower.round_step import Reply, combine

MODEL = {"kernel": np.zeros((4, 5), np.float32), "bias": np.zeros(5, np.float32), "seen": np.array(7)}
NODES = [f"node{number}" for number in range(6)]


def reply(number, examples=10, **changed):
    rng = np.random.default_rng(number)
    arrays = {
        "kernel": rng.normal(0, 0.1, (4, 5)).astype(np.float32),
        "bias": rng.normal(0, 0.1, 5).astype(np.float32),
        "seen": np.array(8),
    }
    return Reply({**arrays, **changed}, examples)


def replies(count=6):
    return {node: reply(number) for number, node in enumerate(NODES[:count])}


def test_a_bad_reply_lowers_the_reputation_and_leaves_the_model_of_the_others():
    rule = make_rule("reputation")
    expected = combine(rule, rule.init(), MODEL, replies(5), number=1)
    bad = {
        "sent a NaN": reply(9, bias=np.full(5, np.nan, np.float32)),
        "sent an infinity": reply(9, bias=np.full(5, np.inf, np.float32)),
        "sent a number of magnitude 1e+07, above 1e+06": reply(9, bias=np.full(5, 1e7, np.float32)),
        "claims -1 samples: a count is a number of at least 0": reply(9, examples=-1),
        "sent no array record": "sent no array record",
    }
    for reason, sent in bad.items():
        found = combine(rule, rule.init(), MODEL, {**replies(5), "node5": sent}, number=1)
        assert found.refused == {"node5": reason}
        assert all(np.array_equal(found.model[name], expected.model[name]) for name in MODEL)
        assert rule.standing(found.state, "node5") < 0.1 < rule.standing(found.state, "node0")


def test_arrays_of_other_names_or_shapes_are_bad():
    rule = make_rule("fused")
    for changed in ({"bias": np.zeros(6, np.float32)}, {"more": np.zeros(1, np.float32)}):
        found = combine(rule, rule.init(), MODEL, {**replies(5), "node5": reply(9, **changed)}, number=1)
        assert list(found.refused) == ["node5"]
        assert "does not fit" in found.refused["node5"]


@pytest.mark.parametrize("name", sorted(RULES))
def test_the_order_of_replies_does_not_matter_to_any_rule(name):
    rule = make_rule(name)
    root = np.full(25, 0.01, np.float32) if "root" in rule.needs else None
    sent = replies()
    outcomes = []
    for order in itertools.islice(itertools.permutations(sent), 0, 720, 250):
        outcomes.append(combine(rule, rule.init(), MODEL, {node: sent[node] for node in order}, number=1, root=root))
    first, *others = outcomes
    assert first.kept == ""
    assert not np.array_equal(first.model["kernel"], MODEL["kernel"])
    for other in others:
        assert all(first.model[name].tobytes() == other.model[name].tobytes() for name in MODEL)
        assert first.state == other.state


def test_what_is_no_parameter_stays_as_it_was():
    rule = make_rule("median")
    assert combine(rule, rule.init(), MODEL, replies(), number=1).model["seen"] == 7


def test_a_round_without_enough_good_replies_keeps_the_model_and_still_counts_the_bad_ones():
    rule = make_rule("reputation")
    nan = reply(9, bias=np.full(5, np.nan, np.float32))
    cases = [({}, 1), ({"node5": nan}, 1), ({"node5": nan, "node0": reply(0)}, 2), ({"node0": reply(0)}, 2)]
    for sent, fewest in cases:
        found = combine(rule, rule.init(), MODEL, sent, number=1, fewest=fewest)
        assert found.model is MODEL
        assert "good replies" in found.kept
        assert list(found.refused) == (["node5"] if "node5" in sent else [])
        assert ("node5" in found.state.clients) == ("node5" in sent)


def test_a_round_with_fewer_replies_than_the_rule_is_defined_for_keeps_the_model():
    rule = make_rule("multi-krum", attackers=2)
    found = combine(rule, rule.init(), MODEL, replies(3), number=1)
    assert found.model is MODEL
    assert found.kept
