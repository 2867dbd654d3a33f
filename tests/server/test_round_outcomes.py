"""Participants hear what became of the rounds they sent to, and nothing else."""

import pytest
from sqlalchemy import update

from eitr.server.db.tables import ModelRow, ParticipantRow, RoundRow, RoundStatus
from eitr.server.domain import round_outcomes
from eitr.server.domain.clock import now
from eitr.server.domain.models import publish, roll_back
from eitr.server.domain.round_outcomes import RoundOutcome, RoundOutcomes, SentRound
from tests.server.federation import Federation

pytestmark = pytest.mark.either_database


def test_a_round_is_open_then_aggregated_then_published(federation: Federation) -> None:
    people, outcomes = federation.enrol(4), RoundOutcomes(federation.database)
    assert outcomes.of(people[0]) == []
    number = federation.full_round(people)
    assert outcomes.of(people[0]) == [SentRound(number, RoundOutcome.OPEN, None)]
    federation.rounds.close_if_due()
    assert outcomes.of(people[0]) == [SentRound(number, RoundOutcome.AGGREGATING, None)]
    assert federation.rounds.claim("somebody") == number
    assert outcomes.of(people[0]) == [SentRound(number, RoundOutcome.AGGREGATING, None)]
    with federation.database.writing() as session:
        session.execute(update(RoundRow).values(lease=now()))
    federation.worker().step()
    assert outcomes.of(people[0]) == [SentRound(number, RoundOutcome.PUBLISHED, 2)]


def test_why_a_round_was_not_published_is_not_told(federation: Federation) -> None:
    people, outcomes = federation.enrol(2), RoundOutcomes(federation.database)
    numbers = []
    for final in (RoundStatus.QUARANTINED, RoundStatus.ABANDONED):
        number = federation.full_round(people)
        numbers.append(number)
        federation.rounds.abandon(number, "a reason", RoundStatus.OPEN)
        with federation.database.writing() as session:
            session.get_one(RoundRow, number).status = final
    told = outcomes.of(people[0])
    assert told == [SentRound(number, RoundOutcome.NOT_PUBLISHED, None) for number in reversed(numbers)]


def test_a_quarantined_round_that_is_published_after_all_is_published(federation: Federation) -> None:
    people, outcomes = federation.enrol(2), RoundOutcomes(federation.database)
    number = federation.full_round(people)
    federation.rounds.abandon(number, "a reason", RoundStatus.OPEN)
    assert outcomes.of(people[0])[0].outcome is RoundOutcome.NOT_PUBLISHED
    with federation.database.writing() as session:
        session.get_one(RoundRow, number).status = RoundStatus.QUARANTINED
        publish(session, origin="round", vector=federation.base, like=session.get_one(ModelRow, 1), round=number)
    assert outcomes.of(people[0]) == [SentRound(number, RoundOutcome.PUBLISHED, 2)]


def test_rounds_that_the_current_version_does_not_build_on_are_rolled_back(federation: Federation) -> None:
    people, outcomes = federation.enrol(4), RoundOutcomes(federation.database)

    def told() -> list[tuple[RoundOutcome, int | None]]:
        return [(one.outcome, one.version) for one in reversed(outcomes.of(people[0]))]

    for _ in range(2):  # versions 2 and 3
        federation.full_round(people)
        federation.worker().step()
    published, rolled_back = RoundOutcome.PUBLISHED, RoundOutcome.ROLLED_BACK
    assert told() == [(published, 2), (published, 3)]
    assert roll_back(federation.database, 2, "ann") == 4
    assert told() == [(published, 2), (rolled_back, 3)]
    federation.full_round(people)  # version 5, from 4, which is 2
    federation.worker().step()
    assert told() == [(published, 2), (rolled_back, 3), (published, 5)]
    assert roll_back(federation.database, 3, "ann") == 6
    assert told() == [(published, 2), (published, 3), (rolled_back, 5)]
    assert roll_back(federation.database, 1, "ann") == 7
    assert {outcome for outcome, _ in told()} == {rolled_back}


def test_those_who_sent_nothing_and_those_who_count_for_nothing(federation: Federation) -> None:
    people, outcomes = federation.enrol(5), RoundOutcomes(federation.database)
    with federation.database.writing() as session:
        session.execute(update(ParticipantRow).where(ParticipantRow.id == people[1]).values(muted=now()))
    federation.full_round(people[:4])
    federation.worker().step()
    assert outcomes.of(people[1]) == outcomes.of(people[0]) != []
    assert outcomes.of(people[4]) == []


def test_the_newest_rounds_are_told(federation: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(round_outcomes, "MOST_ROUNDS", 2)
    (person,), outcomes = federation.enrol(1), RoundOutcomes(federation.database)
    numbers = []
    for _ in range(3):
        numbers.append(federation.full_round([person]))
        federation.rounds.abandon(numbers[-1], "too few", RoundStatus.OPEN)
    assert [one.round for one in outcomes.of(person)] == [numbers[2], numbers[1]]
