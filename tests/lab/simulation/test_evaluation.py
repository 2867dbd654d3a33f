import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the lab computes with torch; install eitr[lab]")

from eitr.attacks.label_flip import LabelFlip  # noqa: E402
from eitr.datasets import load  # noqa: E402
from eitr.lab.runs.federated import FederatedRun, paper_rule  # noqa: E402
from eitr.lab.simulation.evaluation import EvaluationRows, evaluation_rows  # noqa: E402
from eitr.lab.simulation.population import population  # noqa: E402
from eitr.lab.simulation.row_table import row_table  # noqa: E402


def test_measures_are_what_their_names_say():
    # Three test pages, one training page, then two pages of a probe whose target is class 1.
    asked = EvaluationRows(np.arange(6), np.array([0, 1, 1, 0]), 3, (("flip", 4, 6, 1),), 3)
    sure = torch.tensor([[9.0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 9, 0], [0, 9, 0], [9, 0, 0]])
    unsure = torch.zeros(6, 3)
    found = {name: value.tolist() for name, value in asked.metrics(torch.stack([sure, unsure])).items()}
    assert found["accuracy"] == pytest.approx([2 / 3, 1 / 3])  # undecided, the first class is meant
    assert found["class_accuracy"][0] == pytest.approx([1, 0.5, math.nan], nan_ok=True)
    assert found["asr.flip"] == [0.5, 0.0]
    assert found["loss"][1] == found["train_loss"][1] == pytest.approx(math.log(3))
    assert found["train_loss"][0] == pytest.approx(9, abs=0.01)
    assert found["loss"][0] == pytest.approx(3, abs=0.01)


@pytest.mark.parametrize("attack", [None, LabelFlip()])
def test_a_model_is_asked_about_test_pages_a_sample_and_the_pages_of_every_probe(attack):
    examples = load("builtin", size=200, words=40)
    run = FederatedRun(
        data="builtin", rule=paper_rule("fedavg"), clients=4, attack=attack, attackers=1 if attack else 0
    )
    table = row_table(examples, [*run.probes.values()])
    people = population(examples, run)
    asked = evaluation_rows(table, people, run)
    tests = np.flatnonzero(examples.test)
    assert asked.rows[: asked.tests].tolist() == tests.tolist()
    assert asked.rows[asked.tests : len(asked.labels)].tolist() == people.sample.tolist()
    assert asked.labels.tolist() == examples.labels[asked.rows[: len(asked.labels)]].tolist()
    assert [name for name, *_ in asked.probes] == list(run.probes)
    for name, first, last, target in asked.probes:
        probe = table.probe(run.probes[name])
        assert asked.rows[first:last].tolist() == probe.rows.tolist()
        assert target == probe.target
