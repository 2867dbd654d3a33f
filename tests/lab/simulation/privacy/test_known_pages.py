"""The server of a study knows the pages, and reads the labels in updates where nothing hides them."""

from typing import Any

import pytest
import torch

from eitr.errors import InputError
from eitr.lab.runs.privacy import Defence, LabelRun
from eitr.lab.simulation.context import Context
from eitr.lab.simulation.privacy.run import run_all
from tests.lab.simulation.privacy.conftest import NO_DEFENCE


@pytest.fixture(scope="module")
def labels(examples, start):
    def measured(defence, **more):
        run = LabelRun(data="tiny", start="tiny", defence=defence, **{"victims": 60, "pages": 5, **more})
        [done] = run_all([run], examples, start, Context(device=torch.device("cpu")))
        return {name: float(value) for name, value in done.arrays.items()}

    return measured


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_without_a_defence_most_labels_are_read(labels, layers):
    found = labels(Defence(noise=0.0, cover_pages=0, layers=layers))
    assert found["label.known-pages"] > 0.6
    assert found["label_page.known-pages"] > 0.4


def test_labels_are_read_in_training_as_in_the_paper(labels):
    found = labels(NO_DEFENCE)
    assert found["label.known-pages"] > 0.3


def test_noise_hides_the_labels_of_one_round_and_less_of_forty(labels):
    once, often = (labels(Defence(cover_pages=60), uses=uses, victims=200) for uses in (1, 40))
    assert once["label.known-pages"] < 0.06
    assert once["label.known-pages"] + 0.05 < often["label.known-pages"]
    assert once["label_page_without_update"] == pytest.approx(often["label_page_without_update"], abs=0.05)


def test_a_run_without_victims_or_with_groups_is_refused():
    for wrong in ({"victims": 1}, {"uses": 0}, {"pages": 0}, {"opinion": 1.5}, {"defence": Defence(group=5)}):
        given: dict[str, Any] = {"data": "tiny", "defence": Defence()} | wrong
        with pytest.raises(InputError):
            LabelRun(**given)
