"""Who is judged, and with how much weight at most: the arithmetic, without a database."""

import hashlib
from collections import Counter
from collections.abc import Iterable

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from eitr.aggregation.fedavg import FedAvg
from eitr.aggregation.interface import Result, Round
from eitr.server.domain.bounds import MOST_RAISED, Draw, Sender, Standing, draw, everybody, limited

ESTABLISHED, NEW = Standing(established=True), Standing()
FOUNDER_OF_A_STUDY = Standing(established=True, unbounded=True)


def lot(id: str) -> bytes:
    return hashlib.sha256(id.encode()).digest()


def people(name: str, count: int, standing: Standing, networks: int) -> list[Sender]:
    return [Sender(f"{name}{n}", standing, f"{name} network {n % networks}") for n in range(count)]


def drawn(senders: Iterable[Sender], *, experienced: bool = False, quorum: int = 20, secret: str = "") -> Draw:
    return draw(list(senders), lambda id: lot(secret + id), experienced=experienced, quorum=quorum)


def judged(found: Draw, name: str) -> list[str]:
    return sorted(id for id in found.judged if id.startswith(name))


def test_honest_people_of_many_networks_are_all_judged() -> None:
    found = drawn(people("honest", 20, ESTABLISHED, 20))
    assert found.left_out == []
    assert found.length == 1


def test_of_five_hundred_newcomers_a_quarter_of_the_judged_is_drawn() -> None:
    for networks in (1, 20, 500):
        found = drawn([*people("honest", 20, ESTABLISHED, 20), *people("sybil", 500, NEW, networks)])
        assert len(judged(found, "honest")) == 20
        assert 1 <= len(judged(found, "sybil")) <= 6
        assert found.length == 1


def test_newcomers_are_spread_over_networks() -> None:
    crowd, others = people("crowd", 100, NEW, 1), people("other", 5, NEW, 5)
    found = drawn([*people("honest", 20, ESTABLISHED, 20), *crowd, *others])
    assert len(judged(found, "other")) == 5
    assert len(judged(found, "crowd")) == 1


def test_lots_decide_anew_with_another_secret() -> None:
    senders = [*people("honest", 20, ESTABLISHED, 20), *people("sybil", 100, NEW, 100)]
    assert drawn(senders) == drawn(senders)
    assert len({tuple(judged(drawn(senders, secret=str(secret)), "sybil")) for secret in range(5)}) == 5


def test_established_people_of_one_network_are_a_quarter_of_the_judged() -> None:
    found = drawn([*people("honest", 12, ESTABLISHED, 12), *people("sybil", 200, ESTABLISHED, 1)])
    assert len(judged(found, "honest")) == 12
    assert len(judged(found, "sybil")) == 4


def test_the_bounds_can_be_lifted_for_a_study_behind_one_address() -> None:
    found = drawn([*people("study", 50, FOUNDER_OF_A_STUDY, 1), *people("sybil", 500, NEW, 1)])
    assert len(judged(found, "study")) == 50
    assert len(judged(found, "sybil")) == 16
    assert found.length == 1


def test_before_anybody_is_established_steps_are_half_as_long_and_no_network_has_more_than_a_quarter() -> None:
    found = drawn([*people("honest", 8, NEW, 8), *people("sybil", 100, NEW, 1)], quorum=1000)
    assert len(judged(found, "honest")) == 8
    assert len(judged(found, "sybil")) == 2
    assert found.length == 0.5


def test_before_anybody_is_established_no_more_of_a_network_are_judged_than_the_quorum_needs() -> None:
    found = drawn([*people("honest", 20, NEW, 20), *people("sybil", 500, NEW, 20)])
    assert len(judged(found, "honest")) == 20
    assert len(judged(found, "sybil")) == 20


def test_people_of_one_network_alone_are_judged() -> None:
    found = drawn(people("course", 30, NEW, 1))
    assert found.left_out == []
    assert found.length == 0.5


def test_if_few_of_many_established_people_come_newcomers_do_not_take_the_round_over() -> None:
    senders = [*people("honest", 3, ESTABLISHED, 3), *people("sybil", 500, NEW, 20)]
    experienced = drawn(senders, experienced=True)
    assert (len(judged(experienced, "honest")), len(judged(experienced, "sybil"))) == (3, 1)
    assert experienced.length == 0.5
    assert len(judged(drawn(senders), "sybil")) > 1


def test_an_experienced_federation_whose_established_people_are_gone_begins_anew() -> None:
    found = drawn(people("new", 10, NEW, 10), experienced=True)
    assert found.left_out == []
    assert found.length == 0.5


def test_whom_an_operator_silenced_is_never_judged() -> None:
    muted = people("muted", 5, Standing(established=True, unbounded=True, silenced=True), 5)
    found = drawn([*people("honest", 4, ESTABLISHED, 4), *muted])
    assert judged(found, "muted") == []
    assert found.length == 0.5, "those who are silenced do not count as established"
    assert judged(everybody(muted), "muted") == []


@given(
    st.lists(st.tuples(st.sampled_from([ESTABLISHED, NEW, FOUNDER_OF_A_STUDY]), st.integers(0, 9)), max_size=60),
    st.booleans(),
    st.integers(1, 40),
)
def test_shares_hold_whoever_comes(who: list[tuple[Standing, int]], experienced: bool, quorum: int) -> None:
    senders = [Sender(str(number), standing, str(network)) for number, (standing, network) in enumerate(who)]
    found = drawn(senders, experienced=experienced, quorum=quorum)
    inside = [one for one in senders if one.id in found.judged]
    assert bool(inside) == bool(senders)
    trusted = [one for one in senders if one.standing.trusted]
    if len(trusted) >= 5 or (experienced and trusted):
        new = sum(not one.standing.trusted for one in inside)
        assert new <= len(inside) / 4
        assert any(one.standing.trusted for one in inside)
    bounded = Counter(one.network for one in inside if not one.standing.unbounded)
    there = {one.network for one in trusted if not one.standing.unbounded} or {one.network for one in senders}
    if len(there) >= 4 and bounded:
        assert max(bounded.values()) <= max(1, len(inside) / 4)


@given(
    st.lists(st.tuples(st.floats(0.001, 1), st.integers(0, 5), st.booleans()), min_size=1, max_size=30),
    st.sampled_from([0.25, 0.5, 1.0]),
)
def test_weights_keep_within_their_bounds(rows: list[tuple[float, int, bool]], share: float) -> None:
    weights = np.array([weight for weight, _, _ in rows])
    weights /= weights.sum()
    networks = np.array(["" if network == 0 else str(network) for _, network, _ in rows])
    newcomers = np.array([new for _, _, new in rows])
    found = limited(weights, networks, newcomers, share, 0.25)
    assert found.sum() <= 1 + 1e-9
    assert (found <= MOST_RAISED * weights + 1e-9).all()
    assert found[newcomers].sum() <= 0.25 + 1e-9
    for name in set(networks.tolist()) - {""}:
        assert found[networks == name].sum() <= share + 1e-9


def result_of(weights: list[float], updates: np.ndarray) -> Result:
    return Result(np.asarray(weights @ updates, np.float32), np.array(weights))


def test_what_newcomers_lose_others_get_and_the_model_follows() -> None:
    senders = [*people("honest", 6, ESTABLISHED, 6), *people("new", 2, NEW, 2)]
    found = drawn(senders)
    ids = [one.id for one in senders]
    updates = np.eye(8, dtype=np.float32)
    base = np.zeros(8, np.float32)
    result, document = found.bounded(result_of([0.05] * 6 + [0.35] * 2, updates), base, updates, ids, np.ones(8))
    assert result.weights is not None
    assert document is not None
    # 0.7 becomes 0.25; nobody else's weight is more than doubled, so that the step is shorter.
    assert np.allclose(result.weights, [0.1] * 6 + [0.125] * 2)
    assert np.allclose(result.model, result.weights)
    assert document["length"] == 0.85
    assert (document["established"], document["newcomers"], document["drawn"], document["drawn_newcomers"]) == (
        6,
        2,
        8,
        2,
    )


def test_the_bound_holds_for_weights_times_the_secret_factors() -> None:
    senders = [*people("honest", 6, ESTABLISHED, 6), *people("new", 2, NEW, 2)]
    ids, updates = [one.id for one in senders], np.eye(8, dtype=np.float32)
    factors = np.array([1.0] * 6 + [1.4] * 2)
    told = result_of([0.125] * 8, updates)
    moved = Result(np.asarray(factors * told.weights, np.float32), told.weights)
    result, _ = drawn(senders).bounded(moved, np.zeros(8, np.float32), updates, ids, factors)
    share = np.asarray(result.model)
    assert np.isclose(share[6:].sum() / share.sum(), 0.25)


def test_within_the_bounds_nothing_changes() -> None:
    senders = people("honest", 6, ESTABLISHED, 6)
    ids, updates = [one.id for one in senders], np.random.default_rng(0).normal(size=(6, 50)).astype(np.float32)
    state, told = FedAvg().update(FedAvg().init(), Round(np.zeros(50, np.float32), updates, ids))
    result, document = drawn(senders).bounded(told, np.zeros(50, np.float32), updates, ids, np.ones(6))
    assert state is not None
    assert document is not None
    assert document["length"] == 1
    assert np.array_equal(result.model, told.model)
    assert result.weights is told.weights


def test_a_rule_without_weights_gets_shorter_steps_at_first() -> None:
    senders = people("new", 6, NEW, 6)
    ids, updates = [one.id for one in senders], np.ones((6, 3), np.float32)
    result, document = drawn(senders).bounded(Result(np.ones(3, np.float32)), np.zeros(3), updates, ids, np.ones(6))
    assert document is not None
    assert result.weights is None
    assert np.allclose(result.model, 0.5)
    assert document["length"] == 0.5


def test_a_round_without_bounds_stays_as_it_is() -> None:
    senders = people("new", 6, NEW, 1)
    told = Result(np.ones(3, np.float32))
    updates = np.ones((6, 3), np.float32)
    assert everybody(senders).bounded(told, np.zeros(3), updates, [one.id for one in senders], np.ones(6)) == (
        told,
        None,
    )
