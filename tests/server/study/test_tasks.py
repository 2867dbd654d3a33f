"""Tasks: which pages people get, what they do with them, and when they have finished."""

import re
from collections import Counter

import pytest
from sqlalchemy import select, update

from eitr.datasets.task_draw import draw_tasks
from eitr.server.db.study_tables import StudyPageRow, StudyPersonRow, StudyTaskRow
from eitr.server.domain.errors import ConsentNeededError, InvalidInputError, StudyClosedError, UnknownTaskError
from eitr.server.domain.study.consents import ConsentKind
from eitr.server.domain.study.tasks import TaskEvent, TaskState
from eitr.taxonomy import NAMES
from tests.server.study.world import SLUG, World

COLLECTION = ConsentKind.COLLECTION


def urls(world: World, person: str) -> list[str]:
    return [task.url for task in world.studies.tasks.all(person)]


@pytest.mark.parametrize("least", [0, 2])
@pytest.mark.parametrize("over", ["truth", "topic"])
def test_people_get_the_pages_that_the_lab_draws(world: World, over: str, least: int) -> None:
    world.study(120, seed=11, spread_over=over, least_ratings=least)
    groups = [NAMES[number % 6] if over == "truth" else f"topic {number % 3}" for number in range(120)]
    drawn = draw_tasks(groups, 4, 20, 0.9, 11, least_ratings=least)
    for mine in drawn:
        assert urls(world, world.person().id) == [f"https://pages.example/{page}" for page in mine]


def test_dead_pages_are_not_given_unless_they_have_a_copy(world: World) -> None:
    world.study(30, pages_per_person=30)
    with world.database.writing() as session:
        ids = session.scalars(select(StudyPageRow.id).order_by(StudyPageRow.id)).all()
        session.execute(update(StudyPageRow).where(StudyPageRow.id.in_(ids[:20])).values(state="dead"))
    world.studies.pages.store_copy(SLUG, ids[0], b"<title>Flu</title><p>Rest a while.")
    found = urls(world, world.person().id)
    assert len(found) == 11
    assert f"/study/{SLUG}/copies/{ids[0]}" in found
    assert set(found) - {f"/study/{SLUG}/copies/{ids[0]}"} == {f"https://pages.example/{n}" for n in range(20, 30)}
    world.studies.register.change(SLUG, who="ada", copies="always")
    world.studies.pages.store_copy(SLUG, ids[25], b"<title>Flu</title><p>Rest a while.")
    assert f"/study/{SLUG}/copies/{ids[25]}" in urls(world, world.person().id)


def test_replacements_of_broken_pages_never_repeat_a_page(world: World) -> None:
    world.study(30)
    ann = world.person()
    while True:
        task = world.studies.tasks.all(ann.id)[3]
        outcome = world.studies.tasks.note(ann.id, task.id, TaskEvent.BROKEN)
        assert world.studies.tasks.note(ann.id, task.id, TaskEvent.BROKEN) == outcome
        if outcome.replacement is None:
            break
        assert outcome.replacement.position == task.position == 4
        assert outcome.counts.tasks == 20
        with pytest.raises(UnknownTaskError, match="Another task"):
            world.studies.tasks.note(ann.id, task.id, TaskEvent.SKIPPED)
    with world.database.reading() as session:
        given = Counter(session.scalars(select(StudyTaskRow.page).where(StudyTaskRow.person == ann.id)))
    assert len(given) == 30
    assert set(given.values()) == {1}
    last = world.studies.tasks.all(ann.id)[3]
    assert last.state is TaskState.BROKEN, "no page was left"
    assert world.studies.people.progress(ann.id).counts.done == 1


def test_a_label_without_consent_is_refused_and_stored_nowhere(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.study(collect_labels=True)
    ann = world.person()
    task = world.studies.tasks.all(ann.id)[0]
    with caplog.at_level("DEBUG"), pytest.raises(ConsentNeededError):
        world.studies.tasks.note(ann.id, task.id, TaskEvent.LABELLED, "ethnicity")
    with world.database.reading() as session:
        row = session.get_one(StudyTaskRow, task.id)
        person = session.get_one(StudyPersonRow, ann.id)
    assert (row.state, row.label, row.ended, person.started) == ("open", None, None, None)
    assert "ethnicity" not in caplog.text
    outcome = world.studies.tasks.note(ann.id, task.id, TaskEvent.LABELLED)
    assert outcome.counts.done == 1, "that it was labelled may be known"


def test_the_same_label_again_changes_nothing_and_another_one_replaces_it(world: World) -> None:
    world.study(collect_labels=True)
    ann = world.person(COLLECTION)
    task = world.studies.tasks.all(ann.id)[0]
    first = world.studies.tasks.note(ann.id, task.id, TaskEvent.LABELLED, "health")
    with world.database.reading() as session:
        ended = session.get_one(StudyTaskRow, task.id).ended
    assert world.studies.tasks.note(ann.id, task.id, TaskEvent.LABELLED, "health") == first
    with world.database.reading() as session:
        assert session.get_one(StudyTaskRow, task.id).ended == ended
    world.studies.tasks.note(ann.id, task.id, TaskEvent.LABELLED, "politics")
    assert world.count(StudyTaskRow, StudyTaskRow.label == "politics") == 1
    assert world.count(StudyTaskRow, StudyTaskRow.label == "health") == 0
    world.studies.tasks.note(ann.id, task.id, TaskEvent.SKIPPED)
    assert world.count(StudyTaskRow, StudyTaskRow.label.is_not(None)) == 0


def test_the_code_of_completion_comes_when_all_tasks_have_ended_and_stays(world: World) -> None:
    world.study(pages_per_person=4)
    ann = world.person()
    events = [TaskEvent.LABELLED, TaskEvent.SKIPPED, TaskEvent.OPENED, TaskEvent.LABELLED]
    tasks = world.studies.tasks.all(ann.id)
    for task, event in zip(tasks, events, strict=True):
        assert world.studies.tasks.note(ann.id, task.id, event).completion_code is None
    outcome = world.studies.tasks.note(ann.id, tasks[2].id, TaskEvent.LABELLED)
    assert re.fullmatch(r"[0-9A-F]{12}", outcome.completion_code or "")
    assert (outcome.counts.tasks, outcome.counts.done) == (4, 4)
    late = world.studies.tasks.note(ann.id, tasks[0].id, TaskEvent.BROKEN)
    assert late.replacement is None, "whoever has finished gets no new task"
    assert late.completion_code == outcome.completion_code
    assert world.studies.people.progress(ann.id).finished is not None


def test_nobody_touches_the_tasks_of_others(world: World) -> None:
    world.study()
    ann, bob = world.person(), world.person()
    task = world.studies.tasks.all(bob.id)[0]
    for id in (task.id, 10**12):
        with pytest.raises(UnknownTaskError):
            world.studies.tasks.note(ann.id, id, TaskEvent.SKIPPED)
    assert world.studies.people.progress(bob.id).counts.done == 0


@pytest.mark.parametrize(("event", "label"), [(TaskEvent.SKIPPED, "health"), (TaskEvent.LABELLED, "sport")])
def test_a_label_that_makes_no_sense_is_refused(small_world: World, event: TaskEvent, label: str) -> None:
    small_world.study(collect_labels=True)
    ann = small_world.person(COLLECTION)
    with pytest.raises(InvalidInputError, match="A label comes with"):
        small_world.studies.tasks.note(ann.id, small_world.studies.tasks.all(ann.id)[0].id, event, label)


def test_a_closed_study_notes_nothing_new_and_repeats_its_answers(world: World) -> None:
    world.study()
    ann = world.person()
    first, second, *_ = world.studies.tasks.all(ann.id)
    told = world.studies.tasks.note(ann.id, first.id, TaskEvent.SKIPPED)
    world.studies.register.close(SLUG, who="ada")
    assert world.studies.tasks.note(ann.id, first.id, TaskEvent.SKIPPED) == told
    with pytest.raises(StudyClosedError):
        world.studies.tasks.note(ann.id, second.id, TaskEvent.SKIPPED)
