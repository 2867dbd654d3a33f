"""Old data of studies is deleted, backups restore studies, and the people of a study are not forgotten too early."""

from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import update

from eitr.server.db.connection import Database
from eitr.server.db.study_tables import (
    StudyConsentRow,
    StudyContactRow,
    StudyPageRow,
    StudyPersonRow,
    StudyRow,
    StudyTaskRow,
    StudyWithdrawalRow,
)
from eitr.server.db.tables import ParticipantRow
from eitr.server.domain.backup import back_up, restore
from eitr.server.domain.clock import now
from eitr.server.domain.keys import Key
from eitr.server.domain.retention import Retention
from eitr.server.domain.study.consents import ConsentKind
from eitr.server.domain.study.services import StudyServices
from eitr.server.domain.study.tasks import TaskEvent
from tests.server.conftest import new_postgres_database
from tests.server.study.world import SLUG, World

COLLECTION = ConsentKind.COLLECTION


def closed_before(world: World, days: float) -> None:
    """Let a study have been closed some days ago."""
    world.studies.register.close(SLUG, who="ada")
    with world.database.writing() as session:
        session.execute(update(StudyRow).values(closed=now() - timedelta(days=days)))


def lived(world: World) -> None:
    world.study(collect_labels=True, reward=True, pages_per_person=3)
    for name in ("ann", "bob"):
        person = world.person(COLLECTION)
        world.studies.contacts.store(person.id, f"{name}@x.example")
        task, broken, _ = world.studies.tasks.all(person.id)
        world.studies.tasks.note(person.id, task.id, TaskEvent.LABELLED, "health")
        world.studies.tasks.note(person.id, broken.id, TaskEvent.BROKEN)
    world.studies.people.withdraw(world.person().id)


@pytest.mark.parametrize(("days", "contacts", "people"), [(80, 2, 2), (100, 0, 2), (800, 0, 0)])
def test_addresses_go_first_and_people_later(world: World, days: float, contacts: int, people: int) -> None:
    lived(world)
    closed_before(world, days)
    Retention(world.database, world.settings).run()
    assert world.count(StudyContactRow) == contacts
    assert world.count(StudyPersonRow) == people
    assert world.count(StudyTaskRow) == 4 * people
    assert world.count(StudyConsentRow) == 2 * people
    assert world.count(StudyPageRow) == 60, "pages are about nobody"
    assert world.count(StudyWithdrawalRow) == 1
    assert len(world.studies.contacts.reward_list(SLUG)) == contacts


def test_people_of_a_study_are_kept_as_long_as_the_study(world: World) -> None:
    """To forget the participant of an open study would be a withdrawal that nobody asked for."""
    lived(world)
    stranger = world.participants.enrol(None, invited_only=False)
    with world.database.writing() as session:
        session.execute(update(ParticipantRow).values(seen=now() - timedelta(days=5000)))
    Retention(world.database, world.settings).run()
    assert world.count(ParticipantRow, ParticipantRow.id == stranger.id) == 0
    assert world.count(ParticipantRow) == world.count(StudyPersonRow) == 2
    assert world.count(StudyWithdrawalRow) == 1
    closed_before(world, 800)
    Retention(world.database, world.settings).run()
    Retention(world.database, world.settings).run()
    assert world.count(ParticipantRow) == world.count(StudyPersonRow) == 0


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_study_goes_on_from_a_backup(world: World, kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    lived(world)
    ann = world.person(COLLECTION)
    back_up(world.database, world.folder, tmp_path / "backup.db")
    folder = tmp_path / "restored"
    if kind == "sqlite":
        address = f"sqlite:///{folder / 'eitr.db'}"
    else:
        address = new_postgres_database(request.getfixturevalue("postgres"))
    database = Database(address)
    restore(tmp_path / "backup.db", database, folder)
    studies = StudyServices.of(database, Key.of(folder), world.settings)
    assert studies.people.find(SLUG, ann.secret) == ann.id
    assert studies.tasks.all(ann.id) == world.studies.tasks.all(ann.id)
    task = studies.tasks.all(ann.id)[0]
    assert studies.tasks.note(ann.id, task.id, TaskEvent.BROKEN).replacement is not None
    [code] = studies.register.invite(SLUG, 1, who="ada")
    studies.people.start(SLUG, code, "en", {ConsentKind.PARTICIPATION: "x"}, 1)
    assert studies.register.get(SLUG) == world.studies.register.get(SLUG)
    database.close()
