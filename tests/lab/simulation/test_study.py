"""Studies: the same functions in the same order as a server, and everything drawn from the seed."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from eitr.datasets import builtin
from eitr.datasets.task_draw import draw_tasks
from eitr.datasets.validation import ValidationSet
from eitr.lab.runs.federated import paper_rule
from eitr.lab.runs.private_training import PrivateTraining
from eitr.lab.runs.start import find_start
from eitr.lab.runs.study import MALICIOUS, StudyRun
from eitr.lab.simulation.context import no_progress
from eitr.lab.simulation.study import (
    ServerSecrets,
    StudyModel,
    StudySimulation,
    measures,
    own_plan,
    pages_of_round,
    people_of,
    secrets_of_lab,
    simulated,
)
from eitr.model.private import trained_from
from eitr.taxonomy import NAMES, NON_SENSITIVE

HEALTH = NAMES.index("health")


@pytest.fixture(scope="module")
def world():
    """Generated pages as vectors of the shipped vocabulary, half of them to judge by, and the validation pages."""
    start = find_start("shipped")
    pages = list(builtin.pages(size=120, seed=3))
    rows = start.classifier.vocabulary.rows([one.page for one in pages])
    labels = np.array([one.label for one in pages])
    halves = [np.arange(first, len(pages), 2) for first in (0, 1)]
    study, truth = ((rows.take(half), labels[half]) for half in halves)
    return SimpleNamespace(start=start, study=study, truth=truth, validation=ValidationSet())


def run_of(world, **changed):
    given = {"data": "builtin", "start": world.start.name, "rule": paper_rule("fedavg"), "clients": 6, "pages_each": 6}
    return StudyRun(**{**given, "rounds": 2, **changed})


def simulation_of(world, run, secrets=None):
    network, vector = world.start.classifier.model
    model = StudyModel(network, vector, world.start.classifier.vocabulary, world.start.pool)
    return StudySimulation(run, model, world.study, world.truth, world.validation, secrets)


def finished(world, run, secrets=None):
    simulation = simulation_of(world, run, secrets)
    with ThreadPoolExecutor(2) as threads:
        silent: Any = SimpleNamespace(on_progress=no_progress)
        arrays = simulated(simulation, world.truth[1], silent, threads)
    return simulation, arrays


def test_people_get_the_pages_that_a_server_draws(world):
    run = run_of(world, seed=5)
    drawn = draw_tasks([NAMES[label] for label in world.study[1]], 6, 6, 0.9, 5)
    assert [person.pages for person in people_of(run, world.study[1])] == drawn


@pytest.mark.long
@pytest.mark.parametrize("training", [None, PrivateTraining()], ids=["paper", "private"])
def test_the_same_run_gives_the_same_models_and_another_seed_another_one(world, training):
    run = run_of(world, training=training, malicious=0.3)
    (one, first), (other, second) = (finished(world, run) for _ in range(2))
    assert np.array_equal(one.model.vector, other.model.vector)
    assert all(np.array_equal(first[name], second[name], equal_nan=True) for name in first)
    another, _ = finished(world, run_of(world, training=training, malicious=0.3, seed=1))
    assert not np.array_equal(one.model.vector, another.model.vector)


def test_private_rounds_leave_the_lower_layers_as_they_are(world):
    simulation, _ = finished(world, run_of(world, training=PrivateTraining()))
    network, before = world.start.classifier.model
    first = trained_from(network, 1)
    assert np.array_equal(simulation.model.vector[:first], before[:first])
    assert not np.array_equal(simulation.model.vector[first:], before[first:])
    everything, _ = finished(world, run_of(world, rounds=1))
    assert not np.array_equal(everything.model.vector[:first], before[:first])


@pytest.mark.long
def test_the_names_that_a_server_gives_people_change_next_to_nothing(world):
    run = run_of(world, rule=paper_rule("reputation"), rounds=1)
    names = ServerSecrets([f"{9 - place}" for place in range(6)], secrets_of_lab(run).seed, np.ones((1, 6)))
    _, usual = finished(world, run)
    _, renamed = finished(world, run, names)
    # The rule fits a line through the people in the order of their names, so reputations are not exactly the same.
    np.testing.assert_allclose(usual["reputation"], renamed["reputation"], atol=1e-3)
    np.testing.assert_allclose(usual["auc"], renamed["auc"], atol=1e-3)


@pytest.mark.long
def test_secret_factors_change_weights_in_private_rounds_alone(world):
    for training, same in ((None, True), (PrivateTraining(), False)):
        run = run_of(world, training=training, rounds=1)
        usual = secrets_of_lab(run)
        louder = ServerSecrets(usual.ids, usual.seed, np.linspace(0.6, 1.4, 6)[None])
        one, other = (finished(world, run, secrets)[0].model.vector for secrets in (usual, louder))
        assert np.array_equal(one, other) == same


def test_private_rounds_use_every_page_equally_often(world):
    run = run_of(world, training=PrivateTraining(own_pages=2))
    person = people_of(run, world.study[1])[0]
    used = Counter(task for number in range(1, 7) for task in pages_of_round(run, person, number))
    assert used == dict.fromkeys(range(6), 2)
    assert [pages_of_round(run_of(world), person, number) for number in (1, 2)] == [list(range(6))] * 2


@pytest.mark.long
def test_malicious_people_train_longer(world):
    run = run_of(world, malicious=0.5)
    plans = {person.malicious: own_plan(run, person).epochs for person in people_of(run, world.study[1])}
    assert plans == {False: 10, True: 15}


def test_what_is_recorded_begins_with_the_start(world):
    run = run_of(world, malicious=0.5, rule=paper_rule("fused"))
    simulation, arrays = finished(world, run)
    start = simulation_of(world, run)
    assert {name: arrays[name][0] for name in ("accuracy", "auc")}.items() <= measures(
        start.chances(), world.truth[1]
    ).items()
    assert arrays["accuracy"].shape == (3,)
    assert arrays["reputation"].shape == arrays["weights"].shape == (2, 6)
    assert [person.kind is MALICIOUS for person in simulation.people] == arrays["attacker"].tolist()
    assert arrays["attacker"].sum() == 3


def test_measures_tell_a_guess_of_the_majority_from_knowledge():
    truth = np.array([HEALTH] * 17 + [NON_SENSITIVE] * 3)
    always = np.zeros((20, len(NAMES)), np.float32)
    always[:, HEALTH] = 1
    assert measures(always, truth) == {
        "accuracy": 0.85,
        "sensitive_accuracy": 0.85,
        "balanced_accuracy": 0.5,
        "auc": 0.5,
    }
    known = np.eye(len(NAMES), dtype=np.float32)[truth]
    assert set(measures(known, truth).values()) == {1.0}
    other = known.copy()
    other[:17] = np.eye(len(NAMES), dtype=np.float32)[NAMES.index("politics")]
    assert measures(other, truth)["accuracy"] == 0.15
    assert measures(other, truth)["sensitive_accuracy"] == 1.0
