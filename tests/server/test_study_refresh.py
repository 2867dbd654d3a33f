"""A study's words become part of the model: only with consent, only if many report them, and only past the gate."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files

import numpy as np
import pytest
from sqlalchemy import select
from typer.testing import CliRunner

from eitr.cli.commands import app
from eitr.errors import InputError
from eitr.model.classifier import Classifier
from eitr.model.files import Model
from eitr.pages.page import Page
from eitr.pages.pool import Pool
from eitr.pages.vocabulary import Vocabulary
from eitr.server.db.tables import AuditRow, RoundRow
from eitr.server.domain import pools
from eitr.server.domain.study.refresh import Refresh
from tests.server.federation import Federation, worker_that_stops_before_it_publishes
from tests.server.study_scene import HEALTH, SLUG, StudyScene
from tests.server.waiting import until_somebody_waits

pytestmark = pytest.mark.either_database


def published(federation, version):
    """Return a version as participants get it."""
    model = federation.models.version(version)
    words = Vocabulary.from_json(federation.models.vocabulary(model.vocabulary).decode())
    return Classifier(Model(model.network, federation.models.vector(version)), words)


@pytest.fixture
def federation(address, tmp_path):
    """A federation with a tenth of the package's validation pages: reading all of them takes longer than the rest."""
    pages = files("eitr").joinpath("assets", "validation.jsonl").read_text().splitlines()
    (tmp_path / "validation.jsonl").write_text("\n".join(pages[::10]))
    found = Federation(tmp_path, address, validation_pages=tmp_path / "validation.jsonl")
    yield found
    found.close()


@pytest.fixture
def scene(federation, tmp_path):
    return StudyScene(tmp_path, federation)


def test_new_words_are_learned_from_collected_labels_and_published(federation, scene):
    for person in scene.add_people(4):
        scene.label(person)
    under_way = federation.rounds.open()
    refresh = Refresh(federation.database, federation.gate())
    made = refresh.prepare(SLUG)
    assert {"zorbavirus", "zorbitis"} <= set(made.words)
    assert len(made.words) == len(made.gone)
    assert (made.reports, made.public) == (4, 0)
    assert made.collected > 0
    assert federation.models.version(2) is None, "to prepare changes nothing"
    assert refresh.publish(made, SLUG, who="operator") == 2
    now_there = published(federation, 2)
    page = Page(text="zorbavirus zorbitis " * 3)
    (before,), (after,) = (one.classify([page]) for one in (published(federation, 1), now_there))
    assert (before.known_words, after.known_words) == (0, 2)
    assert after.probabilities["health"] > before.probabilities["health"]
    assert len(now_there.vocabulary) == 1000
    pool = federation.models.current().pool
    content = pools.content_of(federation.database, pool.sha256)
    assert hashlib.sha256(content).hexdigest() == pool.sha256
    assert len(Pool.from_bytes(content, width=1000)) == pool.pages > 2000
    assert Pool.vocabulary_of(content).hex() == federation.models.version(2).vocabulary
    with federation.database.reading() as session:
        assert session.get_one(RoundRow, under_way).status == "abandoned"
        assert "refreshed the vocabulary" in session.scalars(select(AuditRow.action)).all()


def test_rounds_go_on_with_the_new_vocabulary(federation, scene):
    for person in scene.add_people(3):
        scene.label(person)
    refresh = Refresh(federation.database, federation.gate())
    refresh.publish(refresh.prepare(SLUG), SLUG, who="operator")
    people = federation.enrol(4)
    federation.base = federation.models.vector(2)
    federation.full_round(people)
    federation.worker().step()
    assert federation.models.current().version == 3
    assert federation.models.version(3).vocabulary == federation.models.version(2).vocabulary


def test_without_consent_nothing_is_used(federation, scene):
    silent = scene.add_people(3, collect=False, terms=False)
    for person in silent:
        scene.label(person, collect=False)
    refresh = Refresh(federation.database, federation.gate())
    with pytest.raises(InputError, match="0 people of covid-2027 reported terms"):
        refresh.prepare(SLUG)
    scene.add_people(3, collect=False)
    with pytest.raises(InputError, match="no pages to learn"):
        refresh.prepare(SLUG)


def test_words_of_fewer_people_stay_out(federation, scene):
    for person in scene.add_people(2):
        scene.label(person)
    with pytest.raises(InputError, match="2 people of covid-2027 reported terms, and a word needs 3"):
        Refresh(federation.database, federation.gate()).prepare(SLUG)


def test_the_gate_refuses_a_model_that_lost_accuracy(federation, scene, monkeypatch):
    for person in scene.add_people(3):
        scene.label(person)
    monkeypatch.setitem(federation.settings.__dict__, "margin", 0.0)
    refresh = Refresh(federation.database, federation.gate())

    def broken(classifier, new, rows, labels, plan=None):
        """Return a model whose last layer forgot everything."""
        vector = np.zeros_like(classifier.model.vector)
        return Classifier(Model(classifier.model.network, vector), classifier.vocabulary)

    monkeypatch.setattr("eitr.server.domain.study.refresh.learned", broken)
    made = refresh.prepare(SLUG)
    assert made.reason is not None
    assert "Compared with version 1" in made.reason
    with pytest.raises(InputError, match="not published"):
        refresh.publish(made, SLUG, who="operator")
    assert federation.models.current().version == 1


def test_a_version_published_meanwhile_is_not_replaced(federation, scene):
    for person in scene.add_people(3):
        scene.label(person)
    refresh = Refresh(federation.database, federation.gate())
    made = refresh.prepare(SLUG)
    refresh.publish(made, SLUG, who="operator")
    with pytest.raises(InputError, match="published meanwhile"):
        refresh.publish(made, SLUG, who="operator")


def test_a_refresh_waits_for_a_worker_that_is_ending_the_round(federation, scene):
    for person in scene.add_people(3):
        scene.label(person)
    refresh = Refresh(federation.database, federation.gate())
    made = refresh.prepare(SLUG)
    number = federation.full_round(federation.enrol(4))
    with worker_that_stops_before_it_publishes(federation) as go_on, ThreadPoolExecutor() as pool:
        publishing = pool.submit(refresh.publish, made, SLUG, who="operator")
        until_somebody_waits(federation.database)
        go_on()
        with pytest.raises(InputError, match="published meanwhile"):
            publishing.result()
    ended = federation.rounds.get(number)
    assert (ended.status, ended.result, ended.failures) == ("published", 2, 0)


def test_the_example_knows_no_word_of_the_illness():
    assert not Classifier.shipped().vocabulary.known(["zorbavirus", "zorbitis"]), HEALTH


def test_the_command_shows_what_would_change_and_publishes_when_told(federation, scene, tmp_path):
    for person in scene.add_people(3):
        scene.label(person)
    where = ["--folder", str(tmp_path), "--database", federation.settings.database_address]
    shown = CliRunner().invoke(app, ["study", "refresh", SLUG, *where])
    assert shown.exit_code == 0, shown.output
    assert "zorbavirus" in shown.output
    assert federation.models.version(2) is None
    done = CliRunner().invoke(app, ["study", "refresh", SLUG, "--publish", *where])
    assert done.exit_code == 0, done.output
    assert federation.models.version(2) is not None
