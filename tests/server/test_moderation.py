"""Muting and banning: what happens to the updates, to the evidence, and to somebody who leaves and comes back."""

from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import select

from eitr.server.db.tables import (
    AuditRow,
    KeptReputationRow,
    NoteRow,
    ObservationRow,
    ParticipantRow,
    RoundStatus,
    RuleStateRow,
    UpdateRow,
)
from eitr.server.domain import moderation, notes
from eitr.server.domain.ingest import note_refusal
from eitr.server.domain.moderation import Measure
from eitr.server.domain.participants import Access
from tests.server.federation import Clock, Federation

pytestmark = pytest.mark.either_database


@pytest.mark.parametrize("measure", Measure)
def test_an_update_of_somebody_muted_or_banned_changes_nothing(federation: Federation, measure: Measure) -> None:
    people = federation.enrol(5)
    number = federation.full_round(people)
    note_refusal(federation.database, number, people[0], "not-finite")
    assert moderation.take(federation.database, people[0], measure, "ada", "sends noise")
    federation.worker().step()
    with federation.database.reading() as session:
        seen = session.scalars(select(ObservationRow).where(ObservationRow.round == number)).all()
        assert {one.participant for one in seen} == set(people[1:])  # no weight, no evidence, no refusal
        assert sum(one.weight or 0.0 for one in seen) == pytest.approx(1.0)
        assert set(session.scalars(select(RuleStateRow.participant))) == set(people[1:])
        sent = session.scalars(select(UpdateRow.participant).where(UpdateRow.round == number)).all()
        assert set(sent) == set(people)  # that it was received is known, as of everybody


def test_what_the_muted_sent_is_not_in_the_model(tmp_path: Path) -> None:
    federation = Federation(tmp_path, f"sqlite:///{tmp_path / 'eitr.db'}", rule="fedavg")
    people = federation.enrol(5)
    moderation.take(federation.database, people[0], Measure.MUTED, "ada", "a test")
    number = federation.full_round(people)
    federation.worker().step()
    trained = federation.base[federation.first :]
    step = federation.models.vector(2)[federation.first :] - trained
    own, *others = (
        np.corrcoef(np.frombuffer(federation.update(person, number), "<f4") - trained, step)[0, 1] for person in people
    )
    assert abs(own) < min(others)  # all others have a quarter of the weight
    federation.close()


def test_the_muted_do_not_help_a_round_to_its_quorum_or_its_minimum(federation: Federation, clock: Clock) -> None:
    people = federation.enrol(5)
    for person in people[:3]:
        moderation.take(federation.database, person, Measure.MUTED, "ada", "a test")
    number = federation.full_round(people[:4])
    federation.worker().step()
    assert federation.rounds.get(number).status == RoundStatus.OPEN
    clock.forward(federation.settings.round_seconds + 1)
    federation.worker().step()
    ended = federation.rounds.get(number)
    assert ended is not None
    assert (ended.status, ended.reason) == (RoundStatus.ABANDONED, "too few updates: 1 of at least 2")


def test_a_round_of_the_muted_alone_makes_no_model(federation: Federation) -> None:
    people = federation.enrol(4)
    number = federation.full_round(people)
    federation.rounds.close(number, who="ada")
    for person in people:
        moderation.take(federation.database, person, Measure.MUTED, "ada", "a test")
    federation.worker().step()
    ended = federation.rounds.get(number)
    assert ended is not None
    assert (ended.status, ended.reason) == (
        RoundStatus.ABANDONED,
        "no update counts: those who sent one have left, or are muted or banned",
    )


def test_a_measure_is_taken_and_lifted_once_with_a_reason_and_a_name(federation: Federation) -> None:
    (person,) = federation.enrol(1)
    for measure, words in ((Measure.MUTED, ("muted a", "unmuted a")), (Measure.BANNED, ("banned a", "lifted the ban"))):
        assert not moderation.lift(federation.database, person, measure, "ada", "nothing to lift")
        assert moderation.take(federation.database, person, measure, "ada", "sends noise")
        assert not moderation.take(federation.database, person, measure, "ada", "again")
        assert moderation.lift(federation.database, person, measure, "grace", "a mistake")
        with federation.database.reading() as session:
            last = session.scalars(select(AuditRow).order_by(AuditRow.id.desc()).limit(2)).all()[::-1]
            assert [(one.who, one.detail["reason"]) for one in last] == [("ada", "sends noise"), ("grace", "a mistake")]
            assert all(one.action.startswith(word) for one, word in zip(last, words, strict=True))
            assert {one.detail["participant"] for one in last} == {person[:8]}
            assert moderation.left_out(session) == set()
    with federation.database.reading() as session:
        said = [one.text for one in notes.notes_about(session, notes.about_participant(person))]
    assert said == ["Ban lifted: a mistake", "Banned: sends noise", "Unmuted: a mistake", "Muted: sends noise"]
    assert not moderation.take(federation.database, "0" * 32, Measure.MUTED, "ada", "nobody")


def test_leaving_and_coming_back_with_the_invitation_undoes_nothing(federation: Federation) -> None:
    code = federation.participants.invite("")
    bad = federation.participants.enrol(code, invited_only=True).id
    moderation.take(federation.database, bad, Measure.MUTED, "ada", "x")
    moderation.take(federation.database, bad, Measure.BANNED, "ada", "x")
    with federation.database.reading() as session:
        before = session.get_one(ParticipantRow, bad)
    federation.participants.erase(bad)
    with federation.database.reading() as session:
        assert session.scalars(select(NoteRow)).all() == []  # notes are about the person, and go with them
    back = federation.participants.enrol(code, invited_only=True)
    with federation.database.reading() as session:
        after = session.get_one(ParticipantRow, back.id)
        assert (after.muted, after.banned) == (before.muted, before.banned)
        assert session.scalars(select(KeptReputationRow)).all() == []
    assert federation.participants.access([(back.id, back.secret)]) == [Access.OWN_DATA]
