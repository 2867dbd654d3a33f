"""Rounds go from status to status, each step once."""

import hashlib
import multiprocessing
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files

import numpy as np
import pytest
from sqlalchemy import func, select

from eitr.aggregation.fused import Fused
from eitr.aggregation.interface import Result, Round
from eitr.aggregation.rule_state import RuleState
from eitr.model import Network
from eitr.model.private import PrivatePlan, expected_cover_step
from eitr.pages.pool import Pool
from eitr.server.db.tables import (
    AuditRow,
    ObservationRow,
    RefusalRow,
    RoundRow,
    RoundStatus,
    RuleStateRow,
    UpdateRow,
)
from eitr.server.domain import kernel_compilation
from eitr.server.domain.errors import DomainError
from eitr.server.domain.ingest import note_refusal
from eitr.server.domain.round_aggregation import NothingSentError, RoundAggregation, secret_factors
from eitr.server.domain.worker import Worker
from tests.server.federation import Clock, Federation
from tests.server.stored_updates import object_files, stored_bytes
from tests.server.waiting import LONGEST_SECONDS, until


def status(federation: Federation, number: int) -> RoundStatus:
    found = federation.rounds.get(number)
    assert found is not None
    return RoundStatus(found.status)


def count(federation: Federation, table: type) -> int:
    with federation.database.reading() as session:
        return session.scalar(select(func.count()).select_from(table)) or 0


def stored(federation: Federation) -> int:
    """Return how many updates have bytes; that they can be read is checked."""
    with federation.database.reading() as session:
        rows = session.scalars(select(UpdateRow).where(UpdateRow.object.is_not(None))).all()
    if not rows:
        assert object_files(federation.settings.folder) == []
    for row in rows:
        assert hashlib.sha256(stored_bytes(federation.settings.folder, row)).digest() == row.sha256
    return len(rows)


def test_one_round_at_a_time_is_under_way(federation: Federation) -> None:
    first = federation.rounds.open()
    assert first is not None
    assert federation.rounds.open() is None
    assert federation.rounds.abandon(first, "a test", RoundStatus.OPEN)
    assert federation.rounds.open() not in (None, first)


def test_of_many_that_open_a_round_at_once_one_succeeds(federation: Federation) -> None:
    opened: list[int | None] = []
    threads = [threading.Thread(target=lambda: opened.append(federation.rounds.open())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([one for one in opened if one is not None]) == 1
    assert count(federation, RoundRow) == 1


def test_a_round_closes_at_its_quorum_and_is_published(federation: Federation) -> None:
    people, worker = federation.enrol(4), federation.worker()
    number = federation.full_round(people[:3])
    assert not worker.step()
    assert status(federation, number) is RoundStatus.OPEN
    federation.send(number, people[3])
    assert worker.step()
    assert status(federation, number) is RoundStatus.PUBLISHED
    assert federation.models.current().version == 2
    assert stored(federation) == 0
    assert count(federation, UpdateRow) == 4
    assert count(federation, ObservationRow) == 4
    assert count(federation, RuleStateRow) == 4


def test_the_new_model_is_what_the_rule_says(address: str, tmp_path) -> None:
    federation = Federation(tmp_path, address, rule="fedavg")
    people, worker = federation.enrol(4), federation.worker()
    federation.full_round(people)
    worker.step()
    sent = np.stack([np.frombuffer(federation.update(person, 1), "<f4") for person in people])
    moved = federation.models.vector(2) - federation.base
    assert not moved[: federation.first].any(), "what nobody trains stays as it is"
    own = sent - federation.base[federation.first :] - cover_step(federation)
    # Of steps longer than usual, the part that a secret factor adds or takes away is that of a usual step.
    lengths = np.linalg.norm(own, axis=1)
    factors = 1 + (secret_factors(people, federation.key, 1) - 1) * np.minimum(1, np.median(lengths) / lengths)
    expected = (factors[:, None] * own).mean(axis=0)
    assert np.abs(moved[federation.first :] - expected).max() < 1e-3 * np.abs(cover_step(federation)).max()
    federation.close()


@pytest.mark.parametrize("training", ["private", "paper"])
def test_the_rule_is_told_how_much_noise_clients_add(address: str, tmp_path, monkeypatch, training: str) -> None:
    told: list[float] = []
    update = Fused.update

    def watched(rule: Fused, state: RuleState, round: Round) -> tuple[RuleState, Result]:
        told.append(round.added_noise)
        return update(rule, state, round)

    monkeypatch.setattr(Fused, "update", watched)
    federation = Federation(tmp_path, address, training=training)
    people, worker = federation.enrol(4), federation.worker()
    federation.full_round(people)
    assert worker.step()
    expected = federation.plan.added_noise if isinstance(federation.plan, PrivatePlan) else 0.0
    assert told == [expected]
    assert (expected > 0) == (training == "private")
    federation.close()


def cover_step(federation: Federation) -> np.ndarray:
    """Return what the cover pages of an update cause on average."""
    pool = Pool.from_bytes(files("eitr").joinpath("assets", "pool.bin").read_bytes(), width=1000)
    assert isinstance(federation.plan, PrivatePlan)
    return expected_cover_step(Network(), federation.base, pool.rows, pool.labels, federation.plan)


def test_a_grace_period_lets_more_people_in(address: str, tmp_path, clock: Clock) -> None:
    federation = Federation(tmp_path, address, grace_seconds=100)
    people = federation.enrol(5)
    number = federation.full_round(people[:4])
    federation.rounds.close_if_due()
    assert status(federation, number) is RoundStatus.OPEN
    clock.forward(50)
    federation.send(number, people[4])
    clock.forward(49)
    federation.rounds.close_if_due()
    assert status(federation, number) is RoundStatus.OPEN
    clock.forward(2)
    federation.rounds.close_if_due()
    assert status(federation, number) is RoundStatus.CLOSING
    federation.close()


def test_at_the_maximum_a_round_takes_no_more(federation: Federation) -> None:
    people = federation.enrol(7)
    number = federation.full_round(people[:6])
    with pytest.raises(DomainError, match="round-closed"):
        federation.send(number, people[6])
    assert count(federation, UpdateRow) == 6


def test_no_more_than_the_maximum_get_in_at_once(federation: Federation) -> None:
    people = federation.enrol(12)
    number = federation.rounds.open()
    assert number is not None
    futures = [federation.submit(number, person) for person in people]
    outcomes = [future.exception(timeout=LONGEST_SECONDS) for future in futures]
    assert outcomes.count(None) == 6
    assert count(federation, UpdateRow) == stored(federation) == 6


def test_at_its_deadline_a_round_with_enough_updates_closes(federation: Federation, clock: Clock) -> None:
    people = federation.enrol(2)
    number = federation.full_round(people)
    clock.forward(federation.settings.round_seconds + 1)
    assert federation.rounds.current() is None
    with pytest.raises(DomainError, match="round-closed"):
        federation.send(number, federation.enrol(1)[0])
    assert federation.worker().step()
    assert status(federation, number) is RoundStatus.PUBLISHED


def test_at_its_deadline_a_round_with_too_few_updates_is_abandoned_without_evidence(
    federation: Federation, clock: Clock
) -> None:
    good, bad = federation.enrol(2)
    number = federation.full_round([good])
    note_refusal(federation.database, number, bad, "not-finite")
    clock.forward(federation.settings.round_seconds + 1)
    federation.worker().step()
    assert status(federation, number) is RoundStatus.ABANDONED
    assert count(federation, RuleStateRow) == count(federation, ObservationRow) == stored(federation) == 0
    assert federation.models.current().version == 1


def test_an_invalid_update_is_evidence_when_the_round_ends(federation: Federation) -> None:
    *people, bad = federation.enrol(5)
    number = federation.full_round(people)
    for _ in range(3):
        note_refusal(federation.database, number, bad, "not-finite")
    assert count(federation, RefusalRow) == 1
    federation.worker().step()
    with federation.database.reading() as session:
        seen = session.get_one(ObservationRow, (number, bad))
        assert seen.refused
        assert seen.weight is None
        assert seen.reputation is not None
        assert seen.reputation < 0.2
        assert session.get_one(RuleStateRow, (bad, "fused")) is not None
    for again in range(2, 4):
        federation.full_round([*people[:3], bad])
        federation.worker().step()
        with federation.database.reading() as session:
            seen_later = {
                one.participant: one
                for one in session.scalars(select(ObservationRow).where(ObservationRow.round == again))
            }
        # The rule's seed is secret: with some seeds, it takes the noise of one of three people for an attack.
        others = [seen_later[person] for person in people[:3]]
        assert seen_later[bad].weight < np.median([one.weight for one in others])
        assert seen_later[bad].reputation < min(one.reputation for one in others)


def test_a_round_that_makes_the_model_worse_is_quarantined_and_its_evidence_kept(address: str, tmp_path) -> None:
    federation = Federation(tmp_path, address, margin=0.0)
    people = federation.enrol(4)
    number = federation.rounds.open()
    assert number is not None
    for person in people:
        rng = np.random.default_rng(int(person[:8], 16))
        spoiled = (rng.normal(0, 3000, len(federation.base) - federation.first)).astype("<f4").tobytes()
        federation.send(number, person, spoiled)
    federation.worker().step()
    found = federation.rounds.get(number)
    assert found is not None
    assert found.status == RoundStatus.QUARANTINED
    assert "would fall from" in str(found.reason)
    assert federation.models.current().version == 1
    assert count(federation, ObservationRow) == count(federation, RuleStateRow) == 4
    assert stored(federation) == 0
    federation.close()


def test_a_round_is_claimed_by_one_worker(federation: Federation) -> None:
    federation.full_round(federation.enrol(4))
    federation.rounds.close_if_due()
    claimed: list[int | None] = []
    threads = [
        threading.Thread(target=lambda name=name: claimed.append(federation.rounds.claim(f"worker{name}")))
        for name in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([one for one in claimed if one is not None]) == 1


def test_a_silent_worker_is_replaced_and_cannot_end_the_round_any_more(federation: Federation, clock: Clock) -> None:
    number = federation.full_round(federation.enrol(4))
    federation.rounds.close_if_due()
    assert federation.rounds.claim("slow") == number
    assert federation.rounds.claim("fast") is None
    clock.forward(federation.settings.lease_seconds + 1)
    assert federation.rounds.claim("fast") == number
    assert not federation.rounds.renew(number, "slow")
    assert federation.rounds.renew(number, "fast")
    rule = federation.settings.make_rule()
    aggregation = RoundAggregation(federation.database, federation.updates, rule, federation.gate(), federation.key)
    assert aggregation.run(number, "slow") is None
    assert status(federation, number) is RoundStatus.AGGREGATING
    assert count(federation, ObservationRow) == 0
    assert aggregation.run(number, "fast") is RoundStatus.PUBLISHED
    with pytest.raises(NothingSentError):
        aggregation.run(number, "slow")
    assert federation.models.current().version == 2
    assert count(federation, ObservationRow) == 4


def test_a_round_that_fails_again_and_again_is_abandoned(
    federation: Federation, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = federation.full_round(federation.enrol(4))

    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(RoundAggregation, "run", fail)
    worker = federation.worker()
    for _ in range(10):
        if status(federation, number).final:
            break
        try:
            worker.step()
        except MemoryError:
            clock.forward(federation.settings.lease_seconds + 1)
    assert status(federation, number) is RoundStatus.ABANDONED
    assert stored(federation) == 0


def test_a_round_whose_workers_are_killed_is_begun_again(federation: Federation, clock: Clock) -> None:
    number = federation.full_round(federation.enrol(4))
    federation.rounds.close_if_due()
    for killed in range(20):
        assert federation.rounds.claim(f"killed {killed}") == number
        clock.forward(federation.settings.lease_seconds + 1)
    assert federation.worker().step()
    assert status(federation, number) is RoundStatus.PUBLISHED


def test_a_round_whose_people_have_all_left_is_abandoned(federation: Federation) -> None:
    people = federation.enrol(4)
    number = federation.full_round(people)
    federation.rounds.close_if_due()
    for person in people:
        federation.participants.erase(person)
    federation.worker().step()
    assert status(federation, number) is RoundStatus.ABANDONED


def test_who_leaves_an_open_round_no_longer_counts(federation: Federation) -> None:
    people = federation.enrol(4)
    number = federation.full_round(people[:3])
    federation.participants.erase(people[0])
    federation.send(number, people[3])
    found = federation.rounds.get(number)
    assert found is not None
    assert found.received == 3
    federation.rounds.close_if_due()
    assert status(federation, number) is RoundStatus.OPEN


def test_rounds_follow_each_other_after_a_pause(address: str, tmp_path, clock: Clock) -> None:
    federation = Federation(tmp_path, address, pause_seconds=60)
    worker = federation.worker()
    worker.step()
    first = federation.rounds.current()
    assert first is not None
    federation.rounds.abandon(first.id, "a test", RoundStatus.OPEN)
    worker.step()
    assert federation.rounds.current() is None
    clock.forward(61)
    worker.step()
    second = federation.rounds.current()
    assert second is not None
    assert second.id > first.id
    federation.close()


def compiles_for_ever(_rule: object) -> None:
    signal.pause()


@contextmanager
def working(worker: Worker) -> Iterator[None]:
    """Have a worker run in a thread of its own, and stop it."""
    thread = threading.Thread(target=worker.run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        worker.stop()
        thread.join(LONGEST_SECONDS)
    assert not thread.is_alive()


def test_a_worker_that_still_compiles_stops_when_told(federation: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_compilation, "compile_kernels", compiles_for_ever)
    with working(federation.worker()):
        until(lambda: bool(multiprocessing.active_children()), "the process that compiles")
    assert multiprocessing.active_children() == []


def test_a_worker_that_cannot_start_a_process_goes_on(federation: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = threading.Event()

    def no_processes(_method: str) -> None:
        asked.set()
        raise BlockingIOError("too many processes")

    monkeypatch.setattr(multiprocessing, "get_context", no_processes)
    people = federation.enrol(4)
    with working(federation.worker()):
        assert asked.wait(LONGEST_SECONDS)
        for person in people:  # in the round that the worker opened by itself
            federation.send(1, person)
        until(lambda: status(federation, 1) is RoundStatus.PUBLISHED, "the new model")


def test_every_step_of_a_round_is_in_the_audit_log(federation: Federation) -> None:
    federation.full_round(federation.enrol(4))
    federation.worker().step()
    with federation.database.reading() as session:
        actions = session.scalars(select(AuditRow.action).order_by(AuditRow.id)).all()
    assert actions == ["published the shipped model", "opened a round", "published a round"]
