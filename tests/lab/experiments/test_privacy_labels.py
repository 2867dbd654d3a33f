"""The experiment about labels of known pages on made-up results."""

import numpy as np
import pytest

from eitr.lab.experiments.privacy_labels import DEFENCES, ROUNDS, PrivacyLabels
from eitr.lab.plotting import figure_svg
from eitr.lab.results.store import Result, Results
from eitr.lab.runs.profile import PROFILES

EXPERIMENT = PrivacyLabels()


def made_up(run, above=0.02):
    numbers = {"label.known-pages": above, "label_error.known-pages": 0.01, "label_without_update": 0.4}
    numbers |= {"label_page.known-pages": 0.0, "label_page_error.known-pages": 0.0, "label_page_without_update": 0.8}
    return Result(run, {name: np.array(value) for name, value in numbers.items()})


@pytest.mark.parametrize("profile", PROFILES.values())
def test_every_cell_has_a_row_and_a_mark(profile):
    runs = EXPERIMENT.runs(profile)
    assert len(runs) == (len(ROUNDS) if profile.quick else sum(map(len, DEFENCES.values())))
    results = Results(map(made_up, runs))
    assert [row[1] for row in EXPERIMENT.table(results).rows] == [run.uses for run in runs]
    assert "rounds in which a page is used" in figure_svg(EXPERIMENT.figure(results))


def test_the_goal_is_about_the_default_and_few_rounds():
    runs = EXPERIMENT.runs(PROFILES["paper"])
    (held,) = EXPERIMENT.verdicts(Results(made_up(run, 0.1 if run.uses <= 2 else 0.5) for run in runs))
    assert held.holds
    (failed,) = EXPERIMENT.verdicts(Results(made_up(run, 0.2) for run in runs))
    assert failed.holds is False
    (unknown,) = EXPERIMENT.verdicts(Results(made_up(run) for run in runs if run.uses > 2))
    assert unknown.holds is None
