"""A study through a real server over HTTP, and the same study in the lab."""

import json

import pytest

pytest.importorskip("torch", reason="the lab computes with torch; install eitr[lab]")

from benchmarks.study import AGREE, Setting, report, trial
from benchmarks.study_pages import read_pages
from eitr.lab.runs.start import find_start

PEOPLE, ROUNDS = 4, 2


@pytest.fixture(scope="module")
def setting():
    return Setting(
        read_pages("builtin", None),
        find_start("shipped"),
        "builtin",
        PEOPLE,
        ROUNDS,
        seed=2,
        browsers=0,
        defaults=False,
    )


@pytest.mark.long
@pytest.mark.parametrize(("rule", "training"), [("fused", "private"), ("reputation", "paper")])
def test_a_server_and_the_lab_compute_the_same_models_and_reputations(setting, rule, training):
    found = trial(setting, rule, training, 0.25)
    assert len(found["http"]) == len(found["simulation"]) == ROUNDS + 1
    assert found["outcomes"] == {"published": ROUNDS}
    assert found["tasks"] == {"labelled": PEOPLE * 20}
    assert all(difference <= AGREE for difference in found["largest_difference"].values())
    assert found["http"][0] != found["http"][-1]
    assert "| yes |" in report([json.loads(json.dumps(found))]).replace("  ", " ")
