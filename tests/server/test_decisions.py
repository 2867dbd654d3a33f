"""What an operator can do with a quarantined round: on both databases, and killed half-way."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select

from eitr.server.db.connection import Database
from eitr.server.db.tables import AuditRow, CandidateRow, ModelRow, NoteRow, RoundRow, RoundStatus
from eitr.server.domain import candidates, models
from eitr.server.domain.backup import back_up, restore
from eitr.server.domain.candidates import Decision
from eitr.server.domain.decisions import Decisions, NoCandidateError, StillRefusedError
from eitr.server.domain.gate import Gate
from eitr.server.domain.models import AnotherVersionError, publish, roll_back
from eitr.server.domain.retention import Retention
from tests.server.federation import Federation, worker_that_stops_before_it_publishes
from tests.server.waiting import LONGEST_SECONDS, until_somebody_waits


@pytest.fixture
def federation(address: str, tmp_path: Path) -> Iterator[Federation]:
    """One with the usual margins."""
    found = Federation(tmp_path, address, margin=0.01, class_margin=0.05, rule="fedavg")
    found.enrol(4)
    yield found
    found.close()


def spoil(federation: Federation) -> int:
    """Run a round of updates that are noise, so much that even a sixteenth of it ruins the model; return its number."""
    number = federation.rounds.open()
    assert number is not None
    for person in federation.people:
        noise = np.random.default_rng(int(person[:8], 16)).normal(0, 3000, len(federation.base) - federation.first)
        federation.send(number, person, noise.astype("<f4").tobytes())
    federation.worker().step()
    assert get(federation, number).status == RoundStatus.QUARANTINED
    return number


def improve(federation: Federation) -> int:
    """Run a round whose updates hardly differ from the current version; return its number."""
    number = federation.rounds.open()
    assert number is not None
    base = federation.models.vector(federation.models.current().version)[federation.first :]
    for person in federation.people:
        rng = np.random.default_rng((int(person[:8], 16), number))
        federation.send(number, person, (base + rng.normal(0, 0.001, base.shape)).astype("<f4").tobytes())
    federation.worker().step()
    return number


def get(federation: Federation, number: int) -> RoundRow:
    found = federation.rounds.get(number)
    assert found is not None
    return found


def kept(federation: Federation) -> list[int]:
    with federation.database.reading() as session:
        return list(session.scalars(select(CandidateRow.round).order_by(CandidateRow.round)))


def versions(federation: Federation) -> list[int]:
    with federation.database.reading() as session:
        return list(session.scalars(select(ModelRow.version).order_by(ModelRow.version)))


def audit(federation: Federation) -> list[tuple[str, str]]:
    with federation.database.reading() as session:
        return [(one.who, one.action) for one in session.scalars(select(AuditRow).order_by(AuditRow.id))]


def decisions(federation: Federation, margin: float = 0.01, class_margin: float = 0.05) -> Decisions:
    return Decisions(federation.database, Gate(federation.scoring, margin, class_margin))


def test_a_refused_model_is_kept_until_it_is_discarded(federation: Federation) -> None:
    number = spoil(federation)
    assert kept(federation) == [number]
    assert (get(federation, number).decision, get(federation, number).decided) == (None, None)
    decisions(federation).discard(number, "ada")
    found = get(federation, number)
    assert (found.decision, found.status, found.result) == (Decision.DISCARDED, RoundStatus.QUARANTINED, None)
    assert found.decided is not None
    assert (kept(federation), versions(federation)) == ([], [1])
    assert audit(federation)[-1] == ("ada", "discarded the model of a round")
    for act in (
        lambda: decisions(federation).discard(number, "ada"),
        lambda: decisions(federation).retry(number, "ada"),
        lambda: decisions(federation).publish_anyway(number, "ada", "because"),
    ):
        with pytest.raises(NoCandidateError):
            act()
    assert versions(federation) == [1]


def test_a_model_is_published_anyway_and_rounds_go_on_from_it(federation: Federation) -> None:
    older, number = spoil(federation), spoil(federation)
    under_way = federation.rounds.open()
    assert under_way is not None
    with federation.database.reading() as session:
        candidate = candidates.find(session, number)
    assert decisions(federation).publish_anyway(number, "ada", "our pages are of another kind") == 2
    found = get(federation, number)
    assert (found.decision, found.result, found.status) == (Decision.PUBLISHED_ANYWAY, 2, RoundStatus.QUARANTINED)
    assert candidate is not None
    assert np.array_equal(federation.models.vector(2), candidate)
    assert (get(federation, older).decision, kept(federation)) == (Decision.SUPERSEDED, [])
    assert get(federation, under_way).status == RoundStatus.ABANDONED
    with federation.database.reading() as session:
        new = session.get_one(ModelRow, 2)
        assert found.score is not None
        assert (new.origin, new.round, new.accuracy) == ("round", number, found.score["after"]["accuracy"])
        note = session.scalars(select(NoteRow)).one()
        assert (note.about, note.text, note.who) == (f"round {number}", "our pages are of another kind", "ada")
        entry = session.scalars(select(AuditRow).where(AuditRow.action == "published anyway")).one()
        assert (entry.who, entry.detail["version"], entry.detail["note"]) == ("ada", 2, "our pages are of another kind")

    # It is far below the first version, which stays the best one; the next round moves about it.
    after = get(federation, improve(federation))
    assert (after.status, after.result) == (RoundStatus.PUBLISHED, 3)
    assert after.score is not None
    assert after.score["best"] == 1


def test_the_weights_of_the_version_that_an_operator_chose_last_are_kept(federation: Federation) -> None:
    def kept_by_retention() -> list[int]:
        Retention(federation.database, federation.settings.model_copy(update={"keep_models": 1})).run()
        with federation.database.reading() as session:
            return list(
                session.scalars(select(ModelRow.version).where(ModelRow.weights != b"").order_by(ModelRow.version))
            )

    decisions(federation).publish_anyway(spoil(federation), "ada", "our pages are of another kind")
    for _ in range(2):
        improve(federation)
    assert kept_by_retention() == [1, 2, 4]
    with federation.database.reading() as session:
        accepted = federation.gate().references(session).accepted
    assert accepted is not None
    assert accepted.version == 2
    assert roll_back(federation.database, 1, "ada") == 5
    improve(federation)
    assert kept_by_retention() == [1, 5, 6]


def test_a_shorter_step_is_published_if_it_passes(federation: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    number = spoil(federation)
    monkeypatch.setattr("eitr.server.domain.decisions.RETRIED", (0.75, 0.5))
    with pytest.raises(StillRefusedError, match="would fall from"):
        decisions(federation).retry(number, "ada")
    assert (kept(federation), versions(federation)) == ([number], [1])

    assert decisions(federation, margin=1.0, class_margin=1.0).retry(number, "ada") == 2  # they were changed
    found = get(federation, number)
    assert (found.decision, found.result) == (Decision.SHORTENED, 2)
    assert found.score is not None
    assert found.score["length"] == 0.75
    with federation.database.reading() as session:
        assert session.get_one(ModelRow, 2).accuracy == found.score["after"]["accuracy"]
        entry = session.scalars(select(AuditRow).where(AuditRow.action == "published after a retry")).one()
        assert (entry.who, entry.detail) == ("ada", {"round": number, "version": 2, "length": 0.75})


def test_the_whole_step_is_tried_again_first(federation: Federation) -> None:
    number = spoil(federation)
    with federation.database.reading() as session:
        candidate = candidates.find(session, number)
    assert candidate is not None
    assert decisions(federation, margin=1.0, class_margin=1.0).retry(number, "ada") == 2  # they were changed
    found = get(federation, number)
    assert found.score is not None
    assert (found.score["length"], found.score["corrected"]) == (1.0, False)
    assert np.array_equal(federation.models.vector(2), candidate)


def test_a_candidate_is_deleted_when_another_version_is_published(federation: Federation) -> None:
    number = spoil(federation)
    improve(federation)
    assert (get(federation, number).decision, kept(federation)) == (Decision.SUPERSEDED, [])
    later = spoil(federation)
    roll_back(federation.database, 1, "ada")
    assert (get(federation, later).decision, kept(federation)) == (Decision.SUPERSEDED, [])
    with pytest.raises(NoCandidateError):
        decisions(federation).publish_anyway(later, "ada", "too late")


def test_few_candidates_are_kept(federation: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "MOST", 2)
    numbers = [spoil(federation) for _ in range(3)]
    assert kept(federation) == numbers[1:]
    assert [get(federation, number).decision for number in numbers] == [Decision.SUPERSEDED, None, None]


def test_of_two_who_decide_at_once_one_succeeds(federation: Federation) -> None:
    number = spoil(federation)
    start = threading.Barrier(4)
    outcomes: list[object] = []

    def decide(name: str) -> None:
        mine = decisions(federation)
        start.wait()
        try:
            outcomes.append(mine.publish_anyway(number, name, "why not"))
        except NoCandidateError:
            outcomes.append(None)

    threads = [threading.Thread(target=decide, args=(f"operator {place}",)) for place in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(outcomes, key=str) == [2, None, None, None]
    assert versions(federation) == [1, 2]
    assert sum(action == "published anyway" for _, action in audit(federation)) == 1


def test_a_roll_back_waits_for_a_worker_that_is_ending_the_round(federation: Federation) -> None:
    number = federation.full_round(federation.people)
    with worker_that_stops_before_it_publishes(federation) as go_on, ThreadPoolExecutor() as pool:
        back = pool.submit(roll_back, federation.database, 1, "ada")
        until_somebody_waits(federation.database)
        go_on()
        assert back.result() == 3
    ended = get(federation, number)
    assert (ended.status, ended.result, ended.failures) == (RoundStatus.PUBLISHED, 2, 0)
    assert np.array_equal(federation.models.vector(3), federation.base)


def test_a_round_that_opens_during_a_roll_back_does_not_train_what_is_taken_back(federation: Federation) -> None:
    improve(federation)
    there, go_on = threading.Event(), threading.Event()

    def stopping(*given: Any, **named: Any) -> ModelRow:
        there.set()
        assert go_on.wait(LONGEST_SECONDS)
        return publish(*given, **named)

    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor() as pool:
        patch.setattr(models, "publish", stopping)
        back = pool.submit(roll_back, federation.database, 1, "ada")
        assert there.wait(LONGEST_SECONDS)
        opened = pool.submit(federation.rounds.open)
        if federation.database.sqlite:  # whoever writes waits for the others first
            until_somebody_waits(federation.database)
        else:
            assert get(federation, opened.result() or 0).base == 2
        go_on.set()
        assert back.result() == 3
        opened.result()
    with federation.database.reading() as session:
        under_way = session.scalars(select(RoundRow.base).where(RoundRow.under_way.is_(True))).all()
    assert under_way == ([3] if federation.database.sqlite else [])


def test_a_round_is_opened_for_the_version_that_is_being_published(federation: Federation) -> None:
    with ThreadPoolExecutor() as pool:
        with federation.database.writing() as session:
            publish(session, origin="rollback", vector=federation.base, like=session.get_one(ModelRow, 1), restored=1)
            opened = pool.submit(federation.rounds.open)
            until_somebody_waits(federation.database)
        assert get(federation, opened.result() or 0).base == 2


def test_who_rolls_back_while_another_version_is_published_is_told_so(federation: Federation) -> None:
    with ThreadPoolExecutor() as pool:
        with federation.database.writing() as session:
            publish(session, origin="rollback", vector=federation.base, like=session.get_one(ModelRow, 1), restored=1)
            back = pool.submit(roll_back, federation.database, 1, "ada")
            until_somebody_waits(federation.database)
        if federation.database.sqlite:  # whoever writes waits for the others first
            assert back.result() == 3
        else:
            with pytest.raises(AnotherVersionError):
                back.result()
            assert versions(federation) == [1, 2]


KILLED = """
import os, sys
from eitr.server.domain import decisions
from eitr.server.domain.gate import Gate
from eitr.datasets.validation import ValidationSet
from eitr.server.db.connection import Database
decisions.NoteRow = lambda **_: os._exit(9)
gate = Gate(ValidationSet(), 0.01, 0.05)
decisions.Decisions(Database(sys.argv[1]), gate).publish_anyway(int(sys.argv[2]), "ada", "x")
"""


def test_a_server_that_is_killed_while_it_publishes_has_published_nothing(federation: Federation) -> None:
    number = spoil(federation)
    before = audit(federation)
    address = federation.settings.database_address
    done = subprocess.run([sys.executable, "-c", KILLED, address, str(number)], env=os.environ, check=False)
    assert done.returncode == 9
    assert (kept(federation), versions(federation), audit(federation)) == ([number], [1], before)
    assert get(federation, number).decision is None
    assert decisions(federation).publish_anyway(number, "ada", "again") == 2


def test_backups_leave_candidates_out(federation: Federation, tmp_path: Path) -> None:
    number = spoil(federation)
    back_up(federation.database, tmp_path, tmp_path / "backup.db")
    restored = Database(f"sqlite:///{tmp_path / 'restored' / 'eitr.db'}")
    restore(tmp_path / "backup.db", restored, tmp_path / "restored")
    with restored.reading() as session:
        assert session.get_one(RoundRow, number).status == RoundStatus.QUARANTINED
        assert session.scalars(select(CandidateRow)).all() == []
    restored.close()
