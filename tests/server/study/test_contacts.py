"""E-mail addresses are encrypted, apart from everything else, and can be deleted."""

import shutil
import stat
from pathlib import Path

import pytest
from sqlalchemy import select

from eitr.errors import InputError
from eitr.server.db.connection import Database
from eitr.server.db.study_tables import StudyContactRow, StudyPersonRow
from eitr.server.domain.backup import back_up, restore
from eitr.server.domain.errors import InvalidInputError
from eitr.server.domain.study.contacts import KEY_FILE, Contacts
from eitr.server.domain.study.tasks import TaskEvent
from tests.server.raw_files import files_with
from tests.server.study.world import SLUG, World

EMAIL = "ann.the.first@mail.example"


def test_an_address_is_in_no_file_of_the_database_and_its_key_is_elsewhere(world: World) -> None:
    world.study(reward=True)
    ann = world.person()
    world.studies.contacts.store(ann.id, f" {EMAIL} ")
    assert world.studies.contacts.email_of(ann.id) == EMAIL
    assert files_with(world.database, EMAIL.encode()) == []
    key = world.folder / KEY_FILE
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert files_with(world.database, key.read_bytes()) == []
    with world.database.reading() as session:
        row = session.scalars(select(StudyContactRow)).one()
        assert session.get_one(StudyPersonRow, ann.id).contact == row.id
    assert row.id not in (ann.id, ann.participant)
    assert set(StudyContactRow.__table__.columns.keys()) == {"id", "ciphertext"}


def test_the_ciphertext_tells_neither_length_nor_who_has_the_same_address(world: World) -> None:
    world.study(reward=True)
    people = [world.person() for _ in range(3)]
    for person, email in zip(people, (EMAIL, EMAIL, "a@b.example"), strict=True):
        world.studies.contacts.store(person.id, email)
    with world.database.reading() as session:
        stored = session.scalars(select(StudyContactRow.ciphertext)).all()
    assert len({len(one) for one in stored}) == 1
    assert len(set(stored)) == 3


def test_the_reward_list_has_addresses_and_who_finished_in_an_order_that_tells_nothing(world: World) -> None:
    world.study(reward=True, pages_per_person=1)
    people = [world.person() for _ in range(3)]
    for person, email in zip(people, ("zoe@x.example", "ann@x.example", "bob@x.example"), strict=True):
        world.studies.contacts.store(person.id, email)
    [task] = world.studies.tasks.all(people[0].id)
    world.studies.tasks.note(people[0].id, task.id, TaskEvent.SKIPPED)
    assert world.studies.contacts.reward_list(SLUG) == [
        ("ann@x.example", False),
        ("bob@x.example", False),
        ("zoe@x.example", True),
    ]
    assert world.studies.contacts.reward_list("other") == []


def test_an_address_is_replaced_and_deleted_without_a_trace(world: World) -> None:
    world.study(reward=True)
    ann, bob = world.person(), world.person()
    world.studies.contacts.store(bob.id, "bob@x.example")
    world.studies.contacts.store(ann.id, "ann@x.example")
    with world.database.reading() as session:
        first = session.get_one(StudyPersonRow, ann.id).contact
    world.studies.contacts.store(ann.id, EMAIL)
    assert first is not None
    assert files_with(world.database, first.encode()) == []
    assert [email for email, _ in world.studies.contacts.reward_list(SLUG)] == [EMAIL, "bob@x.example"]
    world.studies.contacts.delete(ann.id)
    world.studies.contacts.delete(ann.id)
    assert world.studies.contacts.email_of(ann.id) is None
    assert world.count(StudyContactRow) == 1
    assert world.studies.contacts.delete_all(SLUG) == 1
    assert world.studies.contacts.delete_all(SLUG) == 0
    assert world.count(StudyContactRow) == 0
    assert world.count(StudyPersonRow) == 2


@pytest.mark.parametrize(
    "email", ["", "ann", "ann@", "a b@x.example", "a@x.example\nBcc: b@x", f"{'a' * 60}@{'b' * 200}"]
)
def test_what_is_no_address_is_refused(small_world: World, email: str) -> None:
    small_world.study(reward=True)
    ann = small_world.person()
    with pytest.raises(InvalidInputError, match="not an e-mail address"):
        small_world.studies.contacts.store(ann.id, email)


def test_a_study_without_a_reward_stores_no_address(small_world: World) -> None:
    small_world.study()
    ann = small_world.person()
    with pytest.raises(InvalidInputError, match="no reward"):
        small_world.studies.contacts.store(ann.id, EMAIL)
    assert not (small_world.folder / KEY_FILE).exists()


def test_a_backup_holds_ciphertext_only_and_needs_the_key_to_be_read(small_world: World, tmp_path: Path) -> None:
    small_world.study(reward=True)
    ann = small_world.person()
    small_world.studies.contacts.store(ann.id, EMAIL)
    backup, folder = tmp_path / "backup.db", tmp_path / "restored"
    back_up(small_world.database, small_world.folder, backup)
    key = (small_world.folder / KEY_FILE).read_bytes()
    assert EMAIL.encode() not in backup.read_bytes()
    assert key not in backup.read_bytes()
    database = Database(f"sqlite:///{folder / 'eitr.db'}")
    restore(backup, database, folder)
    contacts = Contacts(database, folder)
    with pytest.raises(InputError, match=r"contacts\.key is missing"):
        contacts.reward_list(SLUG)
    assert not (folder / KEY_FILE).exists(), "no new key is made: it could read nothing"
    (folder / KEY_FILE).write_bytes(b"x" * 32)
    with pytest.raises(InputError, match="not the key"):
        contacts.reward_list(SLUG)
    shutil.copy(small_world.folder / KEY_FILE, folder / KEY_FILE)
    assert contacts.reward_list(SLUG) == [(EMAIL, False)]
    database.close()


def test_an_address_cannot_be_moved_to_another_row(small_world: World) -> None:
    small_world.study(reward=True)
    ann, bob = small_world.person(), small_world.person()
    for person, email in ((ann, EMAIL), (bob, "bob@x.example")):
        small_world.studies.contacts.store(person.id, email)
    with small_world.database.writing() as session:
        one, other = session.scalars(select(StudyContactRow)).all()
        one.ciphertext, other.ciphertext = other.ciphertext, one.ciphertext
    with pytest.raises(InputError, match="not the key"):
        small_world.studies.contacts.email_of(ann.id)
