"""The strategy with Flower's own grid, messages and link state (`local_link.py` says what is left out)."""

import numpy as np
import pytest

pytest.importorskip("flwr", reason="Flower has an environment of its own: run make test-flower")

from flwr.app import Array, ArrayRecord, Message, MetricRecord, RecordDict

from eitr.aggregation import RULES, make_rule
from eitr.errors import InputError
from eitr.flower import exchange
from eitr.flower.checkpoint import TakenOverError, load_checkpoint
from eitr.flower.exchange import fingerprint
from eitr.flower.strategy import RuleStrategy, arrays_of, record_of

from .local_link import LocalLink

INITIAL = {"kernel": np.zeros((4, 5), np.float32), "bias": np.zeros(5, np.float32)}


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch):
    monkeypatch.setattr(exchange, "POLL_SECONDS", 0.0)


def answer(arrays, examples=10):
    metrics = MetricRecord({"num-examples": examples})
    return RecordDict(
        {"arrays": ArrayRecord({name: Array(value) for name, value in arrays.items()}), "metrics": metrics}
    )


def honest(number, strength=0.1):
    """Return a node that takes a step that depends on it, on the round and on the seed."""

    def act(message: Message, context) -> RecordDict:
        config = message.content["config"]
        rng = np.random.default_rng([config["seed"], config["server-round"], number])
        model = arrays_of(message.content["arrays"])
        return answer(
            {name: value + rng.normal(0.1, strength, value.shape).astype(np.float32) for name, value in model.items()}
        )

    return act


def attacker(message, context):
    return answer({name: value - np.float32(3) for name, value in arrays_of(message.content["arrays"]).items()})


def sends_nan(message, context):
    return answer({name: np.full_like(value, np.nan) for name, value in INITIAL.items()})


def boasts(message, context):
    return answer(arrays_of(message.content["arrays"]), examples=10**12)


def silent(message, context):
    return None


def fails(message, context):
    raise RuntimeError("out of memory")


def federation(*others, honest_nodes=4):
    link = LocalLink()
    for number in range(honest_nodes):
        link.add(b"key %d" % number, honest(number), name=f"org{number}")
    for number, other in enumerate(others):
        link.add(b"other %d" % number, other)
    return link


def start(link, folder, rounds=3, rule="fused", timeout=0.0, **options):
    """Run a federation. Nodes answer while they are sent a message, so that nobody has to wait for them."""
    strategy = RuleStrategy(make_rule(rule), folder, **{"nodes": 4, "wait": 0.0, "fewest": 2, **options})
    result = strategy.start(link, record_of(INITIAL), num_rounds=rounds, timeout=timeout)
    return strategy.memory, arrays_of(result.arrays)


def same(first, second):
    return all(first[name].tobytes() == second[name].tobytes() for name in first)


ROOT = {"root": lambda number, model: np.full(25, 0.1 * number, np.float32)}


@pytest.mark.parametrize("rule", sorted(RULES))
def test_every_rule_runs_with_bad_and_missing_replies(rule, tmp_path):
    link = federation(attacker, sends_nan, silent, fails, boasts)
    memory, model = start(link, tmp_path, rule=rule, **(ROOT if rule == "fltrust" else {}))
    assert memory.round == 3
    assert all(np.isfinite(array).all() for array in model.values())
    assert not same(model, INITIAL)
    for told in memory.history:
        assert told["refused"] == {
            fingerprint(b"other 1"): "sent a NaN",
            fingerprint(b"other 4"): "claims 1000000000000 examples: from 1 to 1000000 are possible",
        }
        assert told["silent"] == sorted(map(fingerprint, (b"other 2", b"other 3")))


def test_bad_replies_are_evidence_and_silence_is_none(tmp_path):
    link = federation(sends_nan, silent, boasts)
    memory, _ = start(link, tmp_path, rule="reputation")
    rule = make_rule("reputation")
    standing = {
        key: rule.standing(memory.state, fingerprint(key)) for key in (b"key 0", *(b"other %d" % n for n in range(3)))
    }
    assert standing[b"other 0"] == standing[b"other 2"] < 0.1 < standing[b"key 0"]
    assert standing[b"other 1"] is None


def test_a_round_in_which_all_replies_are_bad_keeps_the_model(tmp_path):
    memory, model = start(federation(sends_nan, boasts, honest_nodes=0), tmp_path)
    assert same(model, INITIAL)
    assert memory.round == 3
    assert all(len(told["refused"]) == 2 and told["kept"] for told in memory.history)


def test_a_federation_without_nodes_ends(tmp_path):
    memory, model = start(LocalLink(), tmp_path)
    assert memory.round == 3
    assert same(model, INITIAL)


def test_a_reply_that_flower_itself_cannot_read_is_evidence(tmp_path, monkeypatch):
    """A stand-in: the link state in memory hands messages on as objects, so nothing is put together from bytes."""
    link = federation()
    bad = next(node.node_id for node in link.get_nodes() if node.name == "org2")
    pull = LocalLink.pull_messages

    def damaged(self, ids):
        found = list(pull(self, ids))
        if any(reply.metadata.src_node_id == bad for reply in found):
            raise KeyError("arraychunk_ids")
        return found

    monkeypatch.setattr(LocalLink, "pull_messages", damaged)
    memory, _ = start(link, tmp_path)
    assert memory.history[-1]["refused"] == {fingerprint(b"key 2"): "sent a message that cannot be read: KeyError"}
    assert len(memory.history[-1]["answered"]) == 4


def test_a_superlink_that_fails_is_no_evidence_but_ends_the_run(tmp_path, monkeypatch):
    def broken(self, ids):
        raise ConnectionError("the SuperLink is gone")

    monkeypatch.setattr(LocalLink, "pull_messages", broken)
    with pytest.raises(ConnectionError):
        start(federation(), tmp_path)
    assert load_checkpoint(tmp_path, make_rule("fused")).round == 0


@pytest.mark.parametrize("rule", ["fused", "reputation", "foolsgold"])
def test_a_run_that_goes_on_ends_as_one_that_was_never_interrupted(rule, tmp_path):
    whole, expected = start(federation(attacker, sends_nan), tmp_path / "whole", rounds=6, rule=rule)
    link = federation(attacker, sends_nan)
    start(link, tmp_path / "parts", rounds=2, rule=rule)
    link.begin_run()
    start(link, tmp_path / "parts", rounds=4, rule=rule)
    # The SuperLink and its database are lost: the same keys get other numbers.
    memory, model = start(federation(attacker, sends_nan), tmp_path / "parts", rounds=6, rule=rule)
    assert same(model, expected)
    assert memory.state == whole.state
    assert [told["round"] for told in memory.history] == [1, 2, 3, 4, 5, 6]
    assert memory.history == whole.history


def test_a_restart_does_not_wash_a_reputation_clean(tmp_path):
    link = federation(sends_nan)
    start(link, tmp_path, rounds=3, rule="reputation")
    again = federation(honest(9))  # the same key behaves from now on
    memory, _ = start(again, tmp_path, rounds=4, rule="reputation")
    rule, bad = make_rule("reputation"), fingerprint(b"other 0")
    assert memory.history[-1]["refused"] == {}
    assert rule.standing(memory.state, bad) < rule.standing(memory.state, fingerprint(b"key 0")) / 2


def test_a_node_that_restarts_in_a_round_is_sent_the_message_again(tmp_path):
    link = federation()
    node = next(node.node_id for node in link.get_nodes() if node.name == "org0")
    asked = []

    def lost(message, context):
        asked.append(message.content["config"]["server-round"])
        link.restart(node)
        link.replace(node, honest(0))

    link.replace(node, lost)
    memory, model = start(link, tmp_path / "restarted", rounds=2, timeout=60.0)
    assert asked == [1]
    assert memory.history[0]["silent"] == []
    assert same(model, start(federation(), tmp_path / "plain", rounds=2)[1])


def test_a_node_that_disconnects_in_a_round_is_waited_for_and_sent_the_message_again(tmp_path, monkeypatch):
    link = federation()
    node = next(node.node_id for node in link.get_nodes() if node.name == "org0")

    def leaves(message, context):
        link.state.deactivate_node(node)
        link.replace(node, honest(0))

    link.replace(node, leaves)
    look, looks = link.get_nodes, []

    def comes_back():
        looks.append(link.state.get_node_info(node_ids=[node])[0].status)
        if looks.count("offline") == 3:  # the SuperLink has said before that the node is not available
            link.state.activate_node(node, 3600.0)
        return look()

    monkeypatch.setattr(link, "get_nodes", comes_back)
    memory, model = start(link, tmp_path / "left", rounds=2, timeout=60.0, wait=60.0)
    assert memory.history[0]["silent"] == []
    assert same(model, start(federation(), tmp_path / "plain", rounds=2)[1])


def test_a_node_that_disconnects_for_good_does_not_hang_a_round(tmp_path):
    link = federation()
    node = next(node.node_id for node in link.get_nodes() if node.name == "org0")
    link.replace(node, lambda message, context: link.state.deactivate_node(node) and None)
    memory, _ = start(link, tmp_path, rounds=2, timeout=3600.0, wait=0.0)
    assert memory.history[0]["silent"] == [fingerprint(b"key 0")]
    assert [len(told["answered"]) for told in memory.history] == [3, 3]
    assert make_rule("fused").standing(memory.state, fingerprint(b"key 0")) is None


def test_the_result_does_not_depend_on_the_order_of_nodes_and_replies(tmp_path):
    _, expected = start(federation(), tmp_path / "one")
    link = LocalLink()
    for number in (2, 0, 3, 1):
        link.add(b"key %d" % number, honest(number))
    assert same(start(link, tmp_path / "other")[1], expected)
    _, another = start(federation(), tmp_path / "seed", seed=1)
    assert not same(another, expected)


def test_a_share_of_the_nodes_is_drawn_anew_each_round_and_alike_for_a_seed(tmp_path):
    def asked(folder, **options):
        memory, _ = start(federation(honest_nodes=8), tmp_path / folder, rounds=5, share=0.5, **options)
        return [told["answered"] for told in memory.history]

    first = asked("a")
    assert [len(nodes) for nodes in first] == [4] * 5
    assert len({tuple(nodes) for nodes in first}) > 1
    assert asked("b") == first
    assert asked("c", seed=1) != first


def test_a_run_that_was_taken_over_ends_at_its_next_round(tmp_path):
    link = federation()

    def taken(message, context):
        strategy = RuleStrategy(make_rule("fused"), tmp_path)
        strategy.begin(INITIAL, run=1)
        return honest(0)(message, context)

    link.add(b"meanwhile", taken)
    with pytest.raises(TakenOverError):
        start(link, tmp_path)
    assert load_checkpoint(tmp_path, make_rule("fused")).round == 0


def test_a_checkpoint_of_another_federation_is_refused(tmp_path):
    start(federation(), tmp_path, rounds=1)
    strategy = RuleStrategy(make_rule("fused"), tmp_path)
    with pytest.raises(InputError, match="model with other arrays"):
        strategy.begin({"kernel": np.zeros(3, np.float32)}, 1)
    with pytest.raises(InputError, match="another seed, 0 and not 5"):
        RuleStrategy(make_rule("fused"), tmp_path, seed=5).begin(INITIAL, 1)
    with pytest.raises(InputError, match="another rule_settings"):
        RuleStrategy(make_rule("fused", kappa=0.5), tmp_path).begin(INITIAL, 1)
    with pytest.raises(InputError, match="the state of the rule 'fused'"):
        RuleStrategy(make_rule("median"), tmp_path).begin(INITIAL, 1)


def test_impossible_settings_are_refused_when_a_strategy_is_made(tmp_path):
    with pytest.raises(InputError, match="'fltrust' needs parameters trained on trusted data"):
        RuleStrategy(make_rule("fltrust"), tmp_path)
    for options in ({"share": 0.0}, {"share": 1.5}, {"nodes": 0}, {"fewest": 0}, {"most_examples": 0}):
        with pytest.raises(InputError):
            RuleStrategy(make_rule("fused"), tmp_path, **options)
