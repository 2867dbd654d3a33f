"""What a rule remembers of participants: nothing of the first layer, with a secret seed, and not for ever."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sqlalchemy import select

from eitr.aggregation.fused.rule import SKETCH
from eitr.aggregation.interface import Round, Rule
from eitr.aggregation.registry import make_rule
from eitr.aggregation.reputation_model import HISTORY
from eitr.aggregation.rule_state import RuleState
from eitr.model import Network
from eitr.server.db.connection import Database
from eitr.server.db.tables import ParticipantRow, RoundStatus, RuleStateRow
from eitr.server.domain import rule_states
from eitr.server.domain.clock import now
from eitr.server.domain.keys import Key
from eitr.server.domain.retention import Retention
from tests.server.federation import Clock, Federation

NETWORK = Network((5, 4, 3))
KEY, OTHER_KEY = Key(b"a" * 32), Key(b"b" * 32)
STEPS = {"fused": SKETCH, "foolsgold": "steps", "fldetector": "steps"}


def rounds_of(rule: Rule, updates: np.ndarray, count: int = 2) -> RuleState:
    """Return the state after the same round some times."""
    state, ids = rule.init(), [f"client{row}" for row in range(len(updates))]
    for index in range(count):
        state, _ = rule.update(state, Round(np.zeros(NETWORK.size, np.float32), updates, ids, index))
    return state


def sent(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 0.1, (6, NETWORK.size)).astype(np.float32)


@pytest.mark.parametrize("name", STEPS)
def test_nothing_of_the_first_layer_is_remembered(name: str) -> None:
    one, other = sent(0), sent(0)
    other[:, : NETWORK.first_layer] = sent(1)[:, : NETWORK.first_layer]
    memories = [
        rounds_of(rule_states.private_rule(make_rule(name), KEY, NETWORK), updates).memory[STEPS[name]]
        for updates in (one, other)
    ]
    assert memories[0].any()
    np.testing.assert_array_equal(memories[0], memories[1])
    everything = [rounds_of(make_rule(name), updates).memory[STEPS[name]] for updates in (one, other)]
    assert (everything[0] != everything[1]).any(), "the lab remembers all layers"


def test_a_projection_is_the_servers_own_and_never_changes() -> None:
    (mine, again, other) = (
        rounds_of(rule_states.private_rule(make_rule("fused"), key, NETWORK), sent(0)).memory[SKETCH]
        for key in (KEY, Key(b"a" * 32), OTHER_KEY)
    )
    np.testing.assert_array_equal(mine, again)
    np.testing.assert_allclose(np.abs(mine), np.abs(other))  # so short a step is not added up, only its signs differ
    assert 0.2 < (np.sign(mine) != np.sign(other))[mine != 0].mean() < 0.8


def test_the_seed_is_too_long_to_be_found_by_trying() -> None:
    rule: Any = rule_states.private_rule(make_rule("fused", seed=7), KEY, NETWORK)
    assert rule.seed > 2**200
    assert rule.start == NETWORK.first_layer


def test_a_network_of_one_layer_is_not_remembered_at_all() -> None:
    network = Network((12, 3))
    assert network.size == network.first_layer == NETWORK.size
    state = rounds_of(rule_states.private_rule(make_rule("fused"), KEY, network), sent(0))
    assert not state.memory[SKETCH].any()


def kept(federation: Federation) -> dict[str, RuleStateRow]:
    with federation.database.reading() as session:
        return {one.participant: one for one in session.scalars(select(RuleStateRow))}


def names(row: RuleStateRow) -> set[str]:
    return set(rule_states.unpacked(row.arrays))


@pytest.mark.parametrize(("training", "start"), [("private", 0), ("paper", Network().first_layer)])
def test_the_seed_is_not_stored_with_the_round(address: str, tmp_path: Path, training: str, start: int) -> None:
    federation = Federation(tmp_path, address, training=training)
    number = federation.full_round(federation.enrol(4))
    federation.worker().step()
    found = federation.rounds.get(number)
    assert found is not None
    assert found.rule_settings is not None
    assert "seed" not in found.rule_settings
    assert found.rule_settings["start"] == start, "the first layer is not remembered; private updates do not hold it"
    federation.close()


@pytest.mark.long
def test_steps_of_somebody_who_stays_away_are_forgotten_when_they_have_faded(address: str, tmp_path: Path) -> None:
    federation = Federation(tmp_path, address, rule_settings=["fading=0.1"])  # 0.1^2 is 1 %
    people = federation.enrol(5)
    absent = people[0]
    federation.full_round(people)
    federation.worker().step()
    for later in range(2):
        assert names(kept(federation)[absent]) == {SKETCH, HISTORY}, f"{later} rounds later"
        federation.full_round(people[1:])
        federation.worker().step()
    found = kept(federation)
    assert names(found[absent]) == {HISTORY}, "the reputation stays"
    assert found[absent].rounds == 1
    assert all(names(found[person]) == {SKETCH, HISTORY} for person in people[1:])
    federation.full_round(people)
    federation.worker().step()
    assert names(kept(federation)[absent]) == {SKETCH, HISTORY}, "whoever comes back is remembered again"
    federation.close()


@pytest.mark.parametrize(
    ("rule", "settings", "rounds"), [("fused", {}, 21), ("fused", {"fading": 0.0}, 0), ("foolsgold", {}, 20)]
)
def test_how_long_steps_are_remembered(rule: str, settings: dict[str, float], rounds: int) -> None:
    assert make_rule(rule, **settings).rounds_remembered == rounds


def test_abandoned_rounds_let_nothing_fade(federation: Federation) -> None:
    people = federation.enrol(4)
    federation.full_round(people)
    federation.worker().step()
    for _ in range(25):
        number = federation.rounds.open()
        assert number is not None
        federation.rounds.abandon(number, "a test", RoundStatus.OPEN)
    with federation.database.writing() as session:
        rule_states.forget_steps_after(session, 20)
    assert all(names(row) == {SKETCH, HISTORY} for row in kept(federation).values())


def test_steps_are_forgotten_after_a_time_even_if_no_round_follows(federation: Federation, clock: Clock) -> None:
    federation.full_round(federation.enrol(4))
    federation.worker().step()
    retention = Retention(federation.database, federation.settings)
    clock.forward(29 * 86400)
    retention.run()
    assert all(names(row) == {SKETCH, HISTORY} for row in kept(federation).values())
    clock.forward(2 * 86400)
    retention.run()
    assert [names(row) for row in kept(federation).values()] == [{HISTORY}] * 4


def test_steps_of_another_key_are_left_out_and_reputations_are_not(federation: Federation) -> None:
    people = federation.enrol(4)
    federation.full_round(people)
    federation.worker().step()
    rule, network = federation.settings.make_rule(), Network()
    with federation.database.reading() as session:
        same, other = (
            rule_states.load(session, rule, people, rule_states.projection_hash(rule, key, network, federation.first))
            for key in (federation.key, OTHER_KEY)
        )
    assert set(same.memory) == {SKETCH, HISTORY}
    assert set(other.memory) == {HISTORY}
    np.testing.assert_array_equal(same.memory[HISTORY], other.memory[HISTORY])


def test_a_refused_update_does_not_prolong_the_memory_of_steps(address: str, tmp_path: Path) -> None:
    database = Database(address)
    with database.writing() as session:
        for name in ("ann", "bob"):
            session.add(ParticipantRow(id=name, secret_hash=b"", enrolled=now(), seen=now()))
    memory: dict[str, NDArray[Any]] = {SKETCH: np.ones((2, 3), np.float32), HISTORY: np.ones((2, 2))}
    state = RuleState("fused", ("ann", "bob"), np.array([1, 1]), memory)
    for round, senders in ((1, ["ann", "bob"]), (2, ["ann"])):
        with database.writing() as session:
            rule_states.save(session, state, b"projection", round, senders)
    with database.reading() as session:
        assert {one.participant: one.last_round for one in session.scalars(select(RuleStateRow))} == {
            "ann": 2,
            "bob": 1,
        }
    database.close()
