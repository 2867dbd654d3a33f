"""The pause: nothing opens, closes or is aggregated, nobody can send, and afterwards everything goes on."""

import threading
from datetime import timedelta

import pytest
from sqlalchemy import select

from eitr.server.db.tables import AuditRow, RoundRow, RoundStatus, SwitchRow
from eitr.server.domain import switches
from eitr.server.domain.errors import BusyError

pytestmark = pytest.mark.either_database


def status_of(federation, number):
    return federation.rounds.get(number).status


def audited(federation):
    with federation.database.reading() as session:
        return [(one.who, one.action) for one in session.scalars(select(AuditRow).order_by(AuditRow.id))]


def test_no_round_opens_while_rounds_are_paused(federation) -> None:
    assert switches.pause(federation.database, "ada", "an attack?")
    federation.worker().step()
    assert federation.rounds.open(who="ada") is None
    with federation.database.reading() as session:
        assert session.scalars(select(RoundRow)).all() == []
    assert switches.resume(federation.database, "ada")
    federation.worker().step()
    assert federation.rounds.current() is not None
    assert audited(federation)[-3:] == [
        ("ada", "paused rounds"),
        ("ada", "resumed rounds"),
        ("server", "opened a round"),
    ]


def test_the_open_round_is_hidden_takes_nothing_and_gets_its_time_back(federation, clock) -> None:
    people = federation.enrol(5)
    number = federation.full_round(people[:4])  # the quorum: without the pause it would close
    before = federation.rounds.get(number)
    switches.pause(federation.database, "ada", "")
    assert federation.rounds.current() is None
    with pytest.raises(BusyError) as refused:  # not that the round is closed: they keep what they trained
        federation.send(number, people[4])
    assert refused.value.retry_after > 0
    assert str(refused.value) == "busy: Rounds are paused. Send the update again later."
    federation.send(number, people[0])  # received before: the same answer again
    clock.forward(federation.settings.round_seconds + 1)
    with pytest.raises(BusyError):
        federation.send(number, people[4])
    federation.worker().step()
    assert status_of(federation, number) == RoundStatus.OPEN
    switches.resume(federation.database, "ada")
    after = federation.rounds.get(number)
    longer = timedelta(seconds=federation.settings.round_seconds + 1)
    assert longer <= after.deadline - before.deadline < longer + timedelta(minutes=5)
    assert after.complete - before.complete == after.deadline - before.deadline
    assert federation.rounds.current().id == number
    federation.send(number, people[4])
    federation.worker().step()
    assert status_of(federation, number) == RoundStatus.PUBLISHED
    assert federation.rounds.get(number).received == 5


def test_a_round_that_waits_to_be_aggregated_waits_for_the_end_of_the_pause(federation) -> None:
    number = federation.full_round(federation.enrol(4))
    federation.rounds.close(number)
    switches.pause(federation.database, "ada", "")
    assert federation.worker().step() is False
    assert status_of(federation, number) == RoundStatus.CLOSING
    switches.resume(federation.database, "ada")
    assert federation.worker().step() is True
    assert status_of(federation, number) == RoundStatus.PUBLISHED


def test_of_two_operators_one_pauses_and_one_resumes(federation) -> None:
    for act in (
        lambda who: switches.pause(federation.database, who, ""),
        lambda who: switches.resume(federation.database, who),
    ):
        start = threading.Barrier(2)
        done: list[bool] = []

        def run(who, act=act, start=start, done=done):
            start.wait()
            done.append(act(who))

        threads = [threading.Thread(target=run, args=(who,)) for who in ("ada", "grace")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(done) == [False, True]
    with federation.database.reading() as session:
        assert session.scalars(select(SwitchRow)).all() == []
