"""Whoever withdraws is gone, from the tables and from the files; a keyed hash of their code is all that stays."""

import re
import threading
from pathlib import Path

import pytest
from sqlalchemy import select, text

from eitr.pages.federated_vocabulary import TermReport
from eitr.server.db import connection
from eitr.server.db.connection import Database
from eitr.server.db.study_tables import (
    RewriteRow,
    StudyContactRow,
    StudyPersonRow,
    StudyTaskRow,
    StudyWithdrawalRow,
)
from eitr.server.db.tables import Base, InvitationRow, KeptReputationRow, ParticipantRow
from eitr.server.domain.clock import now
from eitr.server.domain.errors import InvitationNeededError, NoStudyError
from eitr.server.domain.invitations import INVITATION, valid_invitation
from eitr.server.domain.keys import secret_hash
from eitr.server.domain.moderation import Measure, take
from eitr.server.domain.notes import SHOWN_ID, about_participant, write_note
from eitr.server.domain.participants import Participants
from eitr.server.domain.study.consents import ConsentKind
from eitr.server.domain.study.reminders import note_invitations
from eitr.server.domain.study.services import StudyServices
from eitr.server.domain.study.tasks import TaskEvent
from tests.server.federation import Federation
from tests.server.raw_files import files_with
from tests.server.study.world import SLUG, Person, World
from tests.server.waiting import until

EMAIL = "ann.the.first@mail.example"
COLLECTION, TERMS = ConsentKind.COLLECTION, ConsentKind.TERMS
WORD = "quinsyzzz"
"""A term that occurs nowhere else."""
NAME = "Ann from course A"
"""The note of her invitation."""
REASON = "sends nonsense since Monday"
"""Why an operator muted her."""


class StudiedFederation(World):
    """A federation whose people are in a study, so that there are updates and reputations to delete."""

    def __init__(self, federation: Federation, folder: Path) -> None:
        self.federation, self.folder = federation, folder
        self.settings, self.database, self.key = federation.settings, federation.database, federation.key
        self.participants: Participants = federation.participants
        self.studies = StudyServices.of(self.database, self.key, self.settings)


@pytest.fixture
def studied(federation: Federation, tmp_path: Path) -> StudiedFederation:
    return StudiedFederation(federation, tmp_path)


def lived(world: StudiedFederation) -> Person:
    """Return somebody who did all that one can do, among others."""
    world.study(collect_labels=True, collect_terms=True, reward=True, pages_per_person=3)
    people = [world.person(COLLECTION, TERMS) for _ in range(4)]
    ann = people[1]
    note_invitations(world.database, world.key, [ann.code], NAME)
    for person in people:
        for task in world.studies.tasks.all(person.id):
            world.studies.tasks.note(person.id, task.id, TaskEvent.OPENED)
            world.studies.tasks.note(person.id, task.id, TaskEvent.LABELLED, "health")
    world.studies.contacts.store(ann.id, EMAIL)
    world.studies.terms.store(ann.id, TermReport(1, {WORD: 1.0}, {WORD: 1}))
    write_note(world.database, about_participant(ann.participant), "a note", "ada")
    world.federation.full_round([person.participant for person in people])
    world.federation.worker().step()
    assert take(world.database, ann.participant, Measure.MUTED, "ada", REASON)
    return ann


def rows_with(database: Database, *traces: object) -> list[str]:
    """Return the tables with a row in which one of some values stands."""
    found = []
    with database.engine.connect() as connection:
        for table in Base.metadata.sorted_tables:
            rows = [repr(tuple(row)) for row in connection.execute(select(table))]
            if any(str(trace) in row for trace in traces for row in rows):
                found.append(table.name)
    return found


@pytest.mark.parametrize("way", ["site", "extension"])
def test_everything_is_gone_but_the_keyed_hash(studied: StudiedFederation, way: str) -> None:
    ann = lived(studied)
    hash = studied.key.hash(INVITATION, ann.code)
    with studied.database.reading() as session:
        contact = session.get_one(StudyPersonRow, ann.id).contact
        assert contact is not None
        ciphertext = session.get_one(StudyContactRow, contact).ciphertext
        tasks = session.scalars(select(StudyTaskRow.id).where(StudyTaskRow.person == ann.id)).all()
    secrets = [secret_hash(ann.secret), secret_hash(ann.bearer.partition(".")[2])]
    traces = [ann.id.encode(), ann.participant.encode(), contact.encode(), ciphertext, WORD.encode(), *secrets]
    traces += [NAME.encode(), REASON.encode(), ann.participant[:SHOWN_ID].encode()]
    for trace in traces:
        assert files_with(studied.database, trace), "it was there"
    assert files_with(studied.database, EMAIL.encode()) == [], "the address itself never was"
    if way == "site":
        studied.studies.people.withdraw(ann.id)
        studied.studies.people.withdraw(ann.id)
    else:
        studied.participants.erase(ann.participant)
        studied.participants.erase(ann.participant)
    for trace in [*traces, EMAIL.encode()]:
        assert files_with(studied.database, trace) == []
    assert rows_with(studied.database, ann.id, ann.participant[:SHOWN_ID], contact, WORD, EMAIL, NAME, REASON) == []
    assert rows_with(studied.database, repr(hash)) == ["invitations", "study_withdrawals"]
    assert studied.count(StudyTaskRow, StudyTaskRow.id.in_(tasks)) == 0
    assert studied.count(KeptReputationRow) == 0, "neither a reputation nor that they were muted is kept"
    assert studied.count(StudyWithdrawalRow) == 1
    assert studied.count(StudyPersonRow) == studied.count(ParticipantRow) == 3, "others are still there"
    assert studied.studies.monitor.of(studied.studies.register.get(SLUG)).withdrawn == 1


def test_a_code_that_was_withdrawn_with_opens_nothing_any_more(world: World) -> None:
    world.study()
    ann = world.person()
    world.studies.people.withdraw(ann.id)
    with pytest.raises(InvitationNeededError):
        world.begun(ann.code)
    with pytest.raises(InvitationNeededError):
        world.participants.enrol(ann.code, invited_only=False)
    with pytest.raises(NoStudyError):
        world.studies.people.progress(ann.id)
    with world.database.reading() as session:
        assert session.get_one(InvitationRow, world.key.hash(INVITATION, ann.code)).revoked is not None


def test_an_extension_that_enrols_at_the_same_moment_is_gone_too(world: World) -> None:
    world.study()
    [code] = world.studies.register.invite(SLUG, 1, who="ada")
    begun = world.studies.people.start(SLUG, code, "en", {ConsentKind.PARTICIPATION: "x"}, 1)
    hash = world.key.hash(INVITATION, code)
    withdrawal = threading.Thread(target=world.studies.people.withdraw, args=(begun.person,))
    with world.database.writing() as session:  # as `enrol` does
        valid_invitation(session, hash)
        moment = now()
        session.add(ParticipantRow(id="a" * 32, secret_hash=b"", invitation=hash, enrolled=moment, seen=moment))
        session.flush()
        withdrawal.start()
        if not world.database.sqlite:  # there, one writer at a time
            wait_for_a_lock(world.database, withdrawal)
    withdrawal.join()
    assert world.count(ParticipantRow) == world.count(StudyPersonRow) == 0
    assert world.count(StudyWithdrawalRow) == 1


def wait_for_a_lock(database: Database, thread: threading.Thread) -> None:
    """Return when a transaction of PostgreSQL waits for another one, or the thread has ended without waiting."""
    query = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    while thread.is_alive():
        with database.engine.connect() as connection:
            if connection.scalar(query):
                return


def test_whoever_has_no_extension_yet_can_withdraw(world: World) -> None:
    world.study()
    [code] = world.studies.register.invite(SLUG, 1, who="ada")
    begun = world.studies.people.start(SLUG, code, "en", {ConsentKind.PARTICIPATION: "x"}, 1)
    world.studies.people.withdraw(begun.person)
    assert world.count(StudyPersonRow) == 0
    assert world.count(StudyWithdrawalRow) == 1


def test_labels_that_were_taken_back_are_gone_from_the_files(world: World) -> None:
    """Rows change in place on SQLite only: PostgreSQL keeps the old row until the table is written anew."""
    world.study(collect_labels=True, pages_per_person=3)
    ann = world.person(COLLECTION)
    for task in world.studies.tasks.all(ann.id):
        world.studies.tasks.note(ann.id, task.id, TaskEvent.LABELLED, "sexual-orientation")
    # The list of pages names the class, too; in the rows of tasks it follows a time, or on PostgreSQL its length.
    label = rb"\d{6}sexual-orientation" if world.database.sqlite else b"\\x%02xsexual-orientation" % (2 * 18 + 3)
    assert count_in_tasks(world, label) >= 3
    world.studies.people.take_back_consent(ann.id, COLLECTION)
    assert count_in_tasks(world, label) == 0


def count_in_tasks(world: World, pattern: bytes) -> int:
    """Count a pattern in the file of the tasks; SQLite has one file for all tables."""
    if world.database.file is not None:
        files = [path for path in world.folder.iterdir() if path.name.startswith(world.database.file.name)]
    else:
        with world.database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as here:
            here.execute(text("CHECKPOINT"))
            root = Path(here.execute(text("SHOW data_directory")).scalar_one())
            files = [root / here.execute(text("SELECT pg_relation_filepath('study_tasks')")).scalar_one()]
    return sum(len(re.findall(pattern, path.read_bytes())) for path in files)


def test_a_reader_delays_the_removal_and_loses_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "RETRY_SECONDS", 0.0)
    monkeypatch.setattr(connection, "PURGE_SECONDS", 0.2)
    world.study()
    ann = world.person()
    with world.database.reading() as session:
        assert session.get(StudyPersonRow, ann.id) is not None
        world.studies.people.withdraw(ann.id)
        assert files_with(world.database, ann.id.encode()), "the reader is in the way"

    def gone() -> bool:
        world.database.purge_if_due()
        return files_with(world.database, ann.id.encode()) == []

    until(gone, "the removal from the files")
    assert world.count(RewriteRow) == 0


def test_a_writer_between_two_statements_delays_the_removal(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    if world.database.sqlite:
        pytest.skip("SQLite has one writer")
    monkeypatch.setattr(connection, "RETRY_SECONDS", 0.0)
    world.study()
    ann = world.person()
    with world.database.engine.begin() as writer:
        writer.execute(text("SELECT pg_current_xact_id()"))  # it sees nothing now, and PostgreSQL keeps rows for it
        world.studies.people.withdraw(ann.id)
        assert world.count(RewriteRow) > 0, "the tables are still to be written anew"

    def gone() -> bool:
        world.database.purge_if_due()
        return files_with(world.database, ann.id.encode()) == []

    until(gone, "the removal from the files")


def test_what_a_killed_server_left_is_removed_at_the_next_start(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.study()
    ann = world.person()
    monkeypatch.setattr(Database, "purge", lambda self: None)
    world.studies.people.withdraw(ann.id)
    assert files_with(world.database, ann.id.encode())
    monkeypatch.undo()
    next_one = Database(world.settings.database_address)
    world.close()
    next_one.purge_if_due()
    assert files_with(next_one, ann.id.encode()) == []
    next_one.close()


def test_many_can_withdraw_at_once(world: World) -> None:
    world.study()
    people = [world.person() for _ in range(6)]
    if not world.database.sqlite:  # as PostgreSQL does by itself after many changes
        with world.database.engine.begin() as analysing:
            analysing.execute(text("ANALYZE"))
    failures: list[BaseException] = []

    def leave(person: Person) -> None:
        try:
            world.studies.people.withdraw(person.id)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=leave, args=(person,)) for person in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert world.count(StudyWithdrawalRow) == 6
    assert world.count(StudyPersonRow) == world.count(ParticipantRow) == 0

    def all_gone() -> bool:
        world.database.purge()
        return not any(files_with(world.database, person.id.encode()) for person in people)

    # PostgreSQL's own cleaning may be in the way, and then a server tries again.
    until(all_gone, "the removal from the files")
