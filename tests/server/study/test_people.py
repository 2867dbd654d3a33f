"""People begin with a code and their consent, and nothing is done that they did not consent to."""

import hashlib
import threading

import pytest
from sqlalchemy import select, update

from eitr.pages.federated_vocabulary import TermReport
from eitr.server.db.study_tables import (
    StudyConsentRow,
    StudyPageRow,
    StudyPersonRow,
    StudyTaskRow,
    StudyTermsRow,
    StudyWithdrawalRow,
)
from eitr.server.domain.errors import (
    ConsentNeededError,
    InvalidInputError,
    InvitationNeededError,
    NoStudyError,
    StudyClosedError,
    TextsChangedError,
)
from eitr.server.domain.invitations import INVITATION
from eitr.server.domain.study.consents import ConsentKind
from eitr.server.domain.study.tasks import TaskEvent
from tests.server.study.world import SLUG, TEXTS, World

PARTICIPATION, COLLECTION, TERMS = ConsentKind
REPORT = TermReport(2, {"fever": 0.75, "cough": 0.25}, {"fever": 2, "cough": 1})


def test_a_person_and_their_browser_are_one_by_the_code_alone(world: World) -> None:
    world.study()
    ann, bob = world.person(), world.person()
    assert world.studies.people.of_participant(ann.participant) == ann.id
    assert world.studies.people.find(SLUG, ann.secret) == ann.id
    assert world.studies.people.find(SLUG, "guess") is None
    assert world.studies.people.find("other", ann.secret) is None
    assert len({ann.id, bob.id, ann.participant, bob.participant}) == 4
    stranger = world.participants.enrol(None, invited_only=False)
    assert world.studies.people.of_participant(stranger.id) is None


def test_who_begins_again_with_the_code_is_the_same_person_with_the_same_pages(world: World) -> None:
    world.study()
    ann = world.person()
    before = world.studies.tasks.all(ann.id)
    again = world.begun(ann.code)
    assert (again.id, again.participant) == (ann.id, ann.participant)
    assert world.studies.tasks.all(ann.id) == before
    assert world.studies.people.find(SLUG, ann.secret) is None, "the old cookie ends"
    assert world.studies.people.find(SLUG, again.secret) == ann.id
    assert world.count(StudyConsentRow) == 1, "the same consent is not noted twice"


def test_a_consent_has_its_version_its_time_and_the_hash_of_the_text(world: World) -> None:
    study = world.study(collect_labels=True)
    ann = world.person(COLLECTION)
    with world.database.reading() as session:
        person = session.get_one(StudyPersonRow, ann.id)
        rows = {row.kind: row for row in session.scalars(select(StudyConsentRow))}
    assert set(rows) == {PARTICIPATION, COLLECTION}
    for kind, row in rows.items():
        assert row.version == study.consent_version == 1
        assert row.text_hash == hashlib.sha256(TEXTS[ConsentKind(kind)].encode()).hexdigest()
        assert abs((row.given - person.consented).total_seconds()) < 60
        assert (row.withdrawn, row.in_force) == (None, True)


def test_a_consent_to_an_old_text_is_refused_and_one_to_a_new_text_replaces_it(world: World) -> None:
    world.study(collect_labels=True)
    ann = world.person(COLLECTION)
    changed = world.studies.register.change(SLUG, who="ada", purpose="Another purpose.")
    assert changed.consent_version == 2
    assert world.studies.register.change(SLUG, who="ada", pages_per_person=10).consent_version == 2
    people = world.studies.people
    with pytest.raises(TextsChangedError):
        people.give_consent(ann.id, COLLECTION, TEXTS[COLLECTION], 1)
    people.give_consent(ann.id, COLLECTION, "A new text.", 2)
    people.give_consent(ann.id, COLLECTION, "A new text.", 2)
    with world.database.reading() as session:
        rows = session.scalars(
            select(StudyConsentRow).where(StudyConsentRow.kind == COLLECTION).order_by(StudyConsentRow.version)
        ).all()
    assert [(row.version, row.in_force, row.withdrawn) for row in rows] == [(1, None, None), (2, True, None)]


def test_pages_are_used_in_no_more_rounds_than_people_agreed_to(world: World) -> None:
    world.study()
    change = world.studies.register.change
    assert change(SLUG, who="ada", uses_per_page=5).settings.uses_per_page == 5, "nobody has begun yet"
    world.person()
    with pytest.raises(InvalidInputError, match="at most 5 rounds"):
        change(SLUG, who="ada", uses_per_page=6)
    assert world.studies.register.get(SLUG).settings.uses_per_page == 5
    assert change(SLUG, who="ada", uses_per_page=1).settings.uses_per_page == 1


def test_whoever_begins_again_without_a_consent_has_not_given_it(world: World) -> None:
    world.study(collect_labels=True)
    ann = world.person(COLLECTION)
    task = world.studies.tasks.all(ann.id)[0]
    world.studies.tasks.note(ann.id, task.id, TaskEvent.LABELLED, "health")
    world.begun(ann.code)
    assert COLLECTION not in world.studies.people.progress(ann.id).consents
    assert world.count(StudyTaskRow, StudyTaskRow.label.is_not(None)) == 0
    with pytest.raises(ConsentNeededError):
        world.studies.tasks.note(ann.id, task.id, TaskEvent.LABELLED, "health")


def test_people_come_back_with_their_code_alone_and_their_consents_stay(world: World) -> None:
    world.study(collect_labels=True)
    ann = world.person(COLLECTION)
    [unused] = world.studies.register.invite(SLUG, 1, who="ada")
    world.studies.register.close(SLUG, who="ada")
    world.participants.revoke(world.key.hash(INVITATION, ann.code))
    back = world.studies.people.come_back(SLUG, ann.code)
    assert back.person == ann.id == world.studies.people.find(SLUG, back.secret)
    assert world.studies.people.find(SLUG, ann.secret) is None, "the old cookie ends"
    assert set(world.studies.people.progress(ann.id).consents) == {PARTICIPATION, COLLECTION}
    for code in (unused, "guess"):
        with pytest.raises(InvitationNeededError):
            world.studies.people.come_back(SLUG, code)


def test_nobody_begins_without_consent_or_code_or_in_a_study_that_is_not_open(world: World) -> None:
    world.study()
    [code] = world.studies.register.invite(SLUG, 1, who="ada")
    start = world.studies.people.start
    with pytest.raises(InvalidInputError, match="without consent"):
        start(SLUG, code, "en", {COLLECTION: "x"}, 1)
    with pytest.raises(InvalidInputError, match="does not ask"):
        start(SLUG, code, "en", {PARTICIPATION: "x", TERMS: "x"}, 1)
    for wrong in ("guess", world.participants.invite("for somebody else")):
        with pytest.raises(InvitationNeededError):
            start(SLUG, wrong, "en", {PARTICIPATION: "x"}, 1)
    with pytest.raises(NoStudyError):
        start("other", code, "en", {PARTICIPATION: "x"}, 1)
    world.studies.register.close(SLUG, who="ada")
    with pytest.raises(StudyClosedError):
        start(SLUG, code, "en", {PARTICIPATION: "x"}, 1)
    assert world.count(StudyPersonRow) == world.count(StudyTaskRow) == world.count(StudyConsentRow) == 0


def test_nobody_begins_while_all_pages_are_dead(small_world: World) -> None:
    small_world.study(3)
    [code] = small_world.studies.register.invite(SLUG, 1, who="ada")
    with small_world.database.writing() as session:
        session.execute(update(StudyPageRow).values(state="dead"))
    with pytest.raises(StudyClosedError, match="No page"):
        small_world.begun(code)
    assert small_world.count(StudyPersonRow) == small_world.count(StudyConsentRow) == 0
    with small_world.database.writing() as session:
        session.execute(update(StudyPageRow).values(state="live"))
    assert small_world.studies.people.progress(small_world.begun(code).id).counts.tasks == 3


def test_a_code_of_another_study_is_refused(world: World) -> None:
    world.study()
    world.study(slug="other")
    [code] = world.studies.register.invite("other", 1, who="ada")
    with pytest.raises(InvitationNeededError, match="does not belong to this study"):
        world.studies.people.start(SLUG, code, "en", {PARTICIPATION: "x"}, 1)


def test_taking_back_the_consent_to_collection_deletes_the_labels_and_nothing_else(world: World) -> None:
    world.study(collect_labels=True)
    ann, bob = world.person(COLLECTION), world.person(COLLECTION)
    for person in (ann, bob):
        for task in world.studies.tasks.all(person.id)[:3]:
            world.studies.tasks.note(person.id, task.id, TaskEvent.LABELLED, "health")
    world.studies.people.take_back_consent(ann.id, COLLECTION)
    mine = StudyTaskRow.person == ann.id
    assert world.count(StudyTaskRow, mine, StudyTaskRow.label.is_not(None)) == 0
    assert world.count(StudyTaskRow, mine, StudyTaskRow.state == "labelled") == 3, "what was done stays done"
    assert world.count(StudyTaskRow, StudyTaskRow.label.is_not(None)) == 3, "others' labels stay"
    task = world.studies.tasks.all(ann.id)[5]
    with pytest.raises(ConsentNeededError):
        world.studies.tasks.note(ann.id, task.id, TaskEvent.LABELLED, "health")
    world.studies.people.take_back_consent(ann.id, COLLECTION)
    with world.database.reading() as session:
        taken = session.scalars(select(StudyConsentRow).where(StudyConsentRow.withdrawn.is_not(None))).all()
    assert [(row.person, row.kind) for row in taken] == [(ann.id, COLLECTION)], "noted once"
    with pytest.raises(InvalidInputError, match="withdraw"):
        world.studies.people.take_back_consent(ann.id, PARTICIPATION)


def test_terms_are_stored_only_with_their_own_consent_and_go_with_it(world: World) -> None:
    world.study(collect_labels=True, collect_terms=True)
    ann, bob = world.person(TERMS), world.person(COLLECTION)
    world.studies.terms.store(ann.id, REPORT)
    world.studies.terms.store(ann.id, REPORT)
    assert world.studies.terms.reports(SLUG) == [REPORT]
    with pytest.raises(ConsentNeededError):
        world.studies.terms.store(bob.id, REPORT)
    with pytest.raises(InvalidInputError, match="cannot be used: every weight"):
        world.studies.terms.store(ann.id, TermReport(2, {"fever": 2.0}, {"fever": 1}))
    world.studies.people.take_back_consent(ann.id, TERMS)
    assert world.count(StudyTermsRow) == 0


def test_a_study_that_asks_no_longer_for_a_consent_does_not_use_it(world: World) -> None:
    world.study(collect_labels=True)
    ann = world.person(COLLECTION)
    assert world.studies.people.progress(ann.id).allows(COLLECTION)
    world.studies.register.change(SLUG, who="ada", collect_labels=False)
    assert not world.studies.people.progress(ann.id).allows(COLLECTION)
    task = world.studies.tasks.all(ann.id)[0]
    with pytest.raises(ConsentNeededError):
        world.studies.tasks.note(ann.id, task.id, TaskEvent.LABELLED, "health")


def test_beginning_again_keeps_labels_that_the_study_has_stopped_asking_for(world: World) -> None:
    study = world.study(collect_labels=True)
    ann = world.person(COLLECTION)
    task = world.studies.tasks.all(ann.id)[0]
    world.studies.tasks.note(ann.id, task.id, TaskEvent.LABELLED, "health")
    world.studies.register.change(SLUG, who="ada", collect_labels=False)
    version = world.studies.register.get(SLUG).consent_version
    assert version >= study.consent_version
    world.studies.people.start(SLUG, ann.code, "en", {PARTICIPATION: "x"}, version)
    assert world.studies.people.export(ann.id)["tasks"][0]["label"] == "health"
    world.studies.people.take_back_consent(ann.id, COLLECTION)
    assert world.studies.people.export(ann.id)["tasks"][0]["label"] is None


def test_requests_that_come_together_make_one_person_one_consent_and_one_withdrawal(world: World) -> None:
    """As two processes, or a client that tries again before the first answer, would."""
    world.study(collect_labels=True)
    [code] = world.studies.register.invite(SLUG, 1, who="ada")
    failures: list[BaseException] = []

    def at_once(action) -> None:
        def guarded() -> None:
            try:
                action()
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=guarded) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    at_once(lambda: world.studies.people.start(SLUG, code, "en", TEXTS_OF_TWO, 1))
    assert failures == []
    assert world.count(StudyPersonRow) == 1
    assert world.count(StudyConsentRow) == 2
    assert world.count(StudyTaskRow) == 20
    ann = world.begun(code, COLLECTION)
    task = world.studies.tasks.all(ann.id)[0]
    at_once(lambda: world.studies.tasks.note(ann.id, task.id, TaskEvent.BROKEN))
    assert world.count(StudyTaskRow) == 21, "one replacement"
    at_once(lambda: world.studies.people.take_back_consent(ann.id, COLLECTION))
    at_once(lambda: world.studies.people.withdraw(ann.id))
    assert failures == []
    assert world.count(StudyPersonRow) == 0
    assert world.count(StudyWithdrawalRow) == 1


TEXTS_OF_TWO = {kind: TEXTS[kind] for kind in (PARTICIPATION, COLLECTION)}


def test_the_numbers_of_people_are_never_given_again(world: World) -> None:
    """Who comes next must not get the pages of somebody who left."""
    world.study()
    first = world.person()
    pages = [task.url for task in world.studies.tasks.all(first.id)]
    world.studies.people.withdraw(first.id)
    second = world.person()
    assert [task.url for task in world.studies.tasks.all(second.id)] != pages


def test_the_monitor_counts(world: World) -> None:
    study = world.study(pages_per_person=2)
    ann, _bob = world.person(), world.person()
    world.studies.register.invite(SLUG, 3, who="ada")
    world.studies.people.note_installed(ann.id)
    for task in world.studies.tasks.all(ann.id):
        world.studies.tasks.note(ann.id, task.id, TaskEvent.OPENED)
        world.studies.tasks.note(ann.id, task.id, TaskEvent.SKIPPED)
    with world.database.writing() as session:
        person = session.get_one(StudyPersonRow, ann.id)
        assert person.finished is not None
        session.execute(update(StudyPersonRow).where(StudyPersonRow.id == ann.id).values(started=person.created))
    counts = world.studies.monitor.of(study)
    told = (counts.invited, counts.consented, counts.installed, counts.started, counts.finished, counts.withdrawn)
    assert told == (5, 2, 1, 1, 1, 0)
    assert counts.median_minutes == pytest.approx((person.finished - person.created).total_seconds() / 60)
    assert counts.tasks == {"open": 2, "skipped": 2}
    assert counts.pages == {"unknown": 60}
