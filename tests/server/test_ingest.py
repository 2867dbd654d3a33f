"""Updates are stored once, together, and answered exactly."""

import hashlib
from concurrent.futures import Future

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from eitr.server.db.tables import RoundStatus, UpdateRow
from eitr.server.domain import ingest
from eitr.server.domain.errors import DomainError
from eitr.server.domain.ingest import store
from tests.server.federation import Clock, Federation
from tests.server.stored_updates import stored_bytes
from tests.server.waiting import LONGEST_SECONDS


def opened(federation: Federation) -> int:
    number = federation.rounds.open()
    assert number is not None
    return number


def stored(federation: Federation) -> list[tuple[int, str]]:
    with federation.database.reading() as session:
        for row in session.scalars(select(UpdateRow)):
            assert hashlib.sha256(stored_bytes(federation.settings.folder, row)).digest() == row.sha256
        found = session.execute(select(UpdateRow.round, UpdateRow.participant).order_by(UpdateRow.participant)).all()
        return [(round, participant) for round, participant in found]


def outcome(future: "Future[None]") -> str | None:
    error = future.exception(timeout=LONGEST_SECONDS)
    if error is None:
        return None
    return error.code if isinstance(error, DomainError) else repr(error)


def test_the_same_update_again_is_accepted_once(federation: Federation) -> None:
    [person], number = federation.enrol(1), opened(federation)
    federation.send(number, person)
    federation.send(number, person)
    assert stored(federation) == [(number, person)]
    assert federation.rounds.get(number).received == 1


def test_the_same_update_again_is_accepted_after_the_round_has_ended(federation: Federation) -> None:
    people = federation.enrol(4)
    number = federation.full_round(people)
    federation.worker().step()
    federation.send(number, people[0])
    with pytest.raises(DomainError, match="already-sent"):
        federation.send(number, people[0], federation.update(people[0], 99))
    assert federation.rounds.get(number).received == 4


def test_another_update_in_the_same_round_is_refused(federation: Federation) -> None:
    [person], number = federation.enrol(1), opened(federation)
    federation.send(number, person)
    with pytest.raises(DomainError, match="already-sent"):
        federation.send(number, person, federation.update(person, 99))
    assert stored(federation) == [(number, person)]


def test_two_different_updates_in_one_transaction_are_one_and_a_refusal(federation: Federation) -> None:
    [person], number = federation.enrol(1), opened(federation)
    first, second = federation.sent(number, person), federation.sent(number, person, federation.update(person, 99))
    with federation.database.writing() as session:
        outcomes = store(session, [first, second, first], federation.updates.store)
    assert outcomes[0] is None
    assert isinstance(outcomes[1], DomainError)
    assert outcomes[2] is None
    assert stored(federation) == [(number, person)]


def test_one_who_left_does_not_spoil_it_for_the_others(federation: Federation) -> None:
    people, number = federation.enrol(5), opened(federation)
    federation.participants.erase(people[2])
    futures = [federation.submit(number, person) for person in people]
    assert [outcome(future) for future in futures] == [None, None, "not-enrolled", None, None]
    assert stored(federation) == [(number, person) for person in people if person != people[2]]


def test_updates_to_rounds_that_are_not_there_or_not_open_are_refused(federation: Federation) -> None:
    people = federation.enrol(3)
    number = federation.full_round(people[:2])
    with pytest.raises(DomainError, match="unknown-round"):
        federation.send(number + 1, people[2])
    federation.rounds.close(number)
    with pytest.raises(DomainError, match="round-closed"):
        federation.send(number, people[2])
    assert len(stored(federation)) == 2


def test_an_update_after_the_deadline_is_refused_before_anybody_closed_the_round(
    federation: Federation, clock: Clock
) -> None:
    people, number = federation.enrol(2), opened(federation)
    federation.send(number, people[0])
    clock.forward(federation.settings.round_seconds + 1)
    with pytest.raises(DomainError, match="round-closed"):
        federation.send(number, people[1])
    assert stored(federation) == [(number, people[0])]


def test_a_round_that_closes_while_an_update_is_written_does_not_take_it(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    people, number = federation.enrol(3), opened(federation)
    federation.send(number, people[0])
    if federation.database.sqlite:
        pytest.skip("SQLite has one writer: nothing closes while another writes")
    real = ingest._count

    def closed_just_before(session: Session, round: int, new: int) -> None:
        federation.rounds.close(number)
        real(session, round, new)

    monkeypatch.setattr(ingest, "_count", closed_just_before)
    with pytest.raises(DomainError, match="round-closed"):
        federation.send(number, people[1])
    assert stored(federation) == [(number, people[0])]
    assert federation.rounds.get(number).status == RoundStatus.CLOSING


def test_many_at_once_are_all_stored(federation: Federation) -> None:
    people = federation.enrol(6)
    number = opened(federation)
    futures = [federation.submit(number, person) for person in people * 3]
    assert [outcome(future) for future in futures] == [None] * 18
    assert stored(federation) == [(number, person) for person in people]
    assert federation.rounds.get(number).received == 6


def test_what_waits_is_written_before_the_server_stops(federation: Federation) -> None:
    people, number = federation.enrol(6), opened(federation)
    futures = [federation.submit(number, person) for person in people]
    federation.ingest.close()
    assert all(future.done() for future in futures)
    assert len(stored(federation)) == 6
    federation.ingest = type(federation.ingest)(federation.database, federation.updates.store)


def test_nobody_is_told_before_the_commit(federation: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    [person], number = federation.enrol(1), opened(federation)
    told_early = []
    future: Future[None] = Future()
    original = type(federation.database).writing

    def writing(database):
        from contextlib import contextmanager

        @contextmanager
        def watched():
            with original(database) as session:
                yield session
                told_early.append(future.done())

        return watched()

    monkeypatch.setattr(type(federation.database), "writing", writing)
    federation.ingest._store([(federation.sent(number, person), future)])
    assert told_early == [False]
    assert future.done()
