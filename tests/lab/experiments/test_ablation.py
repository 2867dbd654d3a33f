"""The fused rule without one of its detectors, on exact numbers."""

from typing import Any

import pytest

pytest.importorskip("torch", reason="the lab computes with torch; install eitr[lab]")

from eitr.aggregation.fused.rule import DETECTORS
from eitr.lab.experiments.registry import experiment
from eitr.lab.plotting import figure_svg
from eitr.lab.results.store import Results
from eitr.lab.runs.profile import PROFILES
from tests.lab.experiments.exact import CLEAN, all_exact, diverged

ABLATION: Any = experiment("ablation")
PAPER = PROFILES["paper"]
NAMES = [detector.name for detector in DETECTORS]


def results(detector="", **numbers):
    """Return exact results; those under attack without a detector with other numbers."""
    return all_exact(
        ABLATION,
        PAPER,
        lambda run: numbers if run.attack and getattr(run.rule, "without", "") == detector != "" else {},
    )


def verdict(name, found):
    (one,) = (one for one in ABLATION.verdicts(found) if f"“{name}”" in one.claim)
    return one


def test_every_detector_is_left_out_once_and_the_rest_is_shared_with_robustness():
    runs = ABLATION.runs(PAPER)
    assert len(set(runs)) == len(runs) == (1 + len(NAMES)) * 8 * 3 + 3
    shared = set(runs) & set(experiment("robustness").runs(PAPER))
    assert len(shared) == 8 * 3 + 3
    assert {run.rule.without for run in set(runs) - shared} == set(NAMES)
    assert all(run.rule.validation for run in runs if run.rule.name == "fused")


@pytest.mark.parametrize("name", NAMES)
def test_a_detector_earns_its_place_if_some_attack_does_more_harm_without_it(name):
    assert verdict(name, results()).holds is False
    assert verdict(name, results(name, accuracy=CLEAN - 0.004)).holds is False
    told = verdict(name, results(name, accuracy=CLEAN - 0.006))
    assert told.holds is True
    assert "sign flip -0.6 points" in told.measured
    assert verdict(name, results(name, asr={"backdoor": 0.05 + 0.021, "label-flip": 0.2})).holds is True
    others = [other for other in NAMES if other != name]
    assert {verdict(other, results(name, accuracy=0.5)).holds for other in others} == {False}


def test_the_table_has_a_row_a_variant_and_attack():
    table = ABLATION.table(results())
    assert len(table.rows) == (1 + len(NAMES)) * 8
    assert {len(row) for row in table.rows} == {len(table.columns)}
    assert {row[0] for row in table.rows} == {"all detectors", *(f"without {name}" for name in NAMES)}


@pytest.mark.parametrize("profile", PROFILES)
def test_a_figure_names_every_variant(profile):
    svg = figure_svg(ABLATION.figure(all_exact(ABLATION, PROFILES[profile])))
    assert "<image" not in svg
    for name in NAMES:
        assert f">without {name}<" in svg


@pytest.mark.parametrize("rule", ["fused", "fedavg"])
def test_what_diverged_cannot_be_compared(rule):
    found = Results(diverged(one) if one.run.rule.name == rule else one for one in results())
    assert {one.holds for one in ABLATION.verdicts(found)} == {None}
    assert ABLATION.table(found).rows
    assert ABLATION.figure(found).axes
