"""The privacy experiment on made-up results: its cells, table and figure, and goals that hold and do not."""

import warnings

import numpy as np
import pytest

from eitr.lab.experiments.privacy import COMPARED, DEFAULT, OWN_PAGES, Privacy
from eitr.lab.plotting import figure_svg
from eitr.lab.results.store import Result, Results
from eitr.lab.runs.privacy import BASES, CHOICES, LATER
from eitr.lab.runs.profile import PROFILES
from eitr.model.private import PrivatePlan

PRIVACY = Privacy()
COST = {"accuracy_start": 0.9, "accuracy_later": 0.89, "corrections_learned": 0.5, "candidates": 300.0, "clip": 0.2}


def made_up(run, **changed):
    """A result in which every attack is close to guessing."""
    found = {**COST, "auc.subspace": 0.52, "auc_error.subspace": 0.02}
    found |= {"words.subspace": 0.5, "words_error.subspace": 0.01}
    found |= {"auc.whitened-filter": 0.55, "auc_error.whitened-filter": 0.04, "best.whitened-filter": 0.012}
    found |= {"label.label-bias": 0.03, "auc_label_known.likelihood-ratio": 0.56}
    found |= {"auc_label_known_error.likelihood-ratio": 0.02}
    return Result(run, {name: np.array(value) for name, value in (found | changed).items()})


@pytest.fixture(scope="module", params=PROFILES)
def results(request):
    return Results(made_up(run) for run in PRIVACY.runs(PROFILES[request.param]))


def test_the_default_is_measured_in_all_cells_and_others_in_four():
    runs = PRIVACY.runs(PROFILES["paper"])
    assert len({run.key for run in runs}) == len(runs)
    default = {(run.own_pages, run.choice, run.base, run.uses) for run in runs if run.defence == DEFAULT}
    assert default == {(own, c, base, uses) for own in OWN_PAGES for c in CHOICES for base in BASES for uses in (1, 2)}
    for defence in COMPARED:
        assert len({(run.own_pages, run.choice) for run in runs if run.defence == defence}) >= 4, defence
    assert {run.uses for run in runs if run.base != LATER} == {1, 2, 20}
    assert {(run.victims, run.candidates) for run in runs} == {(200, 300)}


def test_the_default_is_that_of_clients():
    plan = PrivatePlan()
    mine = (DEFAULT.layers, DEFAULT.cover_pages, DEFAULT.own_weight, DEFAULT.noise)
    assert mine == (plan.layers, plan.cover_pages, plan.own_weight, plan.noise)


def test_tables_are_rectangular_and_hold_plain_values(results):
    for table in (PRIVACY.table(results), PRIVACY.summary(results)):
        assert table.rows
        assert {len(row) for row in table.rows} == {len(table.columns)}
        assert {type(cell) for row in table.rows for cell in row} <= {str, int, float, type(None)}


def test_the_figure_is_drawn(results):
    figure = PRIVACY.figure(results)
    svg = figure_svg(figure)
    assert "bound for any test" in svg
    assert DEFAULT.title in svg
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure.set_dpi(60)
        figure.draw_without_rendering()


def test_all_goals_hold_where_every_attack_guesses(results):
    assert all(verdict.holds for verdict in PRIVACY.verdicts(results))


@pytest.mark.parametrize(
    ("changed", "broken"),
    [
        ({"auc.subspace": 0.61}, 0),
        ({"auc_error.whitened-filter": 0.4}, 0),
        ({"words.subspace": 0.7}, 1),
        ({"best.whitened-filter": 0.2}, 2),
        ({"label.label-bias": 0.6}, 3),
        ({"auc_label_known.likelihood-ratio": 0.8}, 4),
    ],
)
def test_one_attack_that_succeeds_breaks_one_goal(changed, broken):
    runs = [run for run in PRIVACY.runs(PROFILES["paper"]) if run.defence == DEFAULT]
    one_cell = [run for run in runs if (run.own_pages, run.choice, run.base, run.uses) == (4, "any", "start", 2)]
    results = Results(made_up(run, **(changed if run in one_cell else {})) for run in runs)
    verdicts = PRIVACY.verdicts(results)
    assert [verdict.holds for verdict in verdicts] == [place != broken for place in range(5)]
    assert "4 own pages (any), base start, 2 uses" in verdicts[broken].measured


def test_seeds_of_a_cell_are_taken_together():
    first, *others = [run for run in PRIVACY.runs(PROFILES["paper"]) if run.defence == DEFAULT]
    results = Results([made_up(first, **{"auc.subspace": 0.70}), *map(made_up, others)])
    [row] = [row for row in PRIVACY.table(results).rows if row[7] not in (0.52, 0.55, None)]
    assert row[5] == len(PROFILES["paper"].seeds)
    assert row[7] == pytest.approx((0.70 + 2 * 0.52) / 3, abs=1e-4)
    assert row[8] == pytest.approx(0.02 / np.sqrt(3), abs=1e-4)
