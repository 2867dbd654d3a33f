"""What the experiments `users` and `agreement` conclude from results."""

from typing import Any

import numpy as np
import pytest

from eitr.lab.experiments.registry import experiment
from eitr.lab.experiments.users import ROUNDS
from eitr.lab.results.store import Result, Results
from eitr.lab.runs.profile import PROFILES, make_profile
from eitr.lab.runs.study import KINDS
from eitr.taxonomy import NAMES, NON_SENSITIVE

HEALTH = NAMES.index("health")
PROFILE = make_profile("paper", data="covid", seeds=2, start="mine@0123456789ab", pool="0123456789ab")
TRUTH = np.array([HEALTH] * 85 + [NON_SENSITIVE] * 15)


def studied(
    run: Any, *, start: float = 0.53, end: float = 0.82, first: int = 5, area: float = 0.8, spread: Any = (0.1, 0.9)
) -> Result:
    """Return what a run could have recorded: accuracy rises in a straight line until a round."""
    random = np.random.default_rng(run.seed)
    rise = np.clip(np.arange(run.rounds + 1) / first, 0, 1)
    arrays = {
        "accuracy": start + (end - start) * rise,
        "sensitive_accuracy": start + (end - start) * rise,
        "balanced_accuracy": start + (end - start) * rise,
        "auc": np.full(run.rounds + 1, area),
        "weights": np.full((run.rounds, run.clients), 1 / run.clients),
        "attacker": np.arange(run.clients) < run.attackers,
        "kinds": np.arange(run.clients) % len(KINDS),
        "right_labels": np.full(run.clients, 0.8),
        "page_truth": TRUTH,
        "page_scores_start": random.random(len(TRUTH)),
        "page_scores_end": random.random(len(TRUTH)),
        "page_answers_start": TRUTH,
        "page_answers_end": TRUTH,
    }
    if run.rule.has_reputation:
        arrays["reputation"] = np.tile(np.linspace(spread[0], spread[1], run.clients) ** 0.8, (run.rounds, 1))
    return Result(run, arrays)


def results(**how):
    return Results(studied(run, **how) for run in experiment("users").runs(PROFILE))


def statuses(**how):
    return [one.status for one in experiment("users").verdicts(results(**how))]


def test_every_rule_meets_every_share_in_both_ways_and_each_seed():
    found: Any = experiment("users").runs(PROFILE)
    assert len({run.key for run in found}) == len(found) == 2 * 2 * 3 * 3
    assert {run.rounds for run in found} == {ROUNDS}
    assert {(run.clients, run.pages_each, run.alpha) for run in found} == {(50, 20, 0.9)}


def test_claims_hold_where_numbers_are_the_papers():
    assert statuses() == ["holds"] * 9


@pytest.mark.parametrize(
    ("how", "places"),
    [
        ({"start": 0.76}, [0]),
        ({"end": 0.79}, [1, 2]),
        ({"first": 35}, [1, 2]),
        ({"start": 0.5, "end": 0.49}, [1, 2, 3, 4]),
        ({"area": 0.7}, [5, 6]),
        ({"spread": (0.9, 0.99)}, [7, 8]),
    ],
)
def test_claims_fail_where_they_are_not(how, places):
    assert [place for place, status in enumerate(statuses(**how)) if status == "does not hold"] == places


def test_the_table_has_the_start_and_the_majority_beside_every_accuracy():
    table = experiment("users").table(results())
    assert len(table.rows) == 1 + 2 * 3 * 3
    assert table.rows[0][3] == pytest.approx(0.53)
    assert {row[table.columns.index("majority")] for row in table.rows} == {0.85}
    assert "balanced accuracy" in table.columns


def test_the_figure_has_reputations_accuracies_and_curves():
    figure = experiment("users").figure(results())
    assert [panel.get_xlabel() for panel in figure.axes] == ["reputation", "round", "false alarms"] * 2


def rated(run, wrong):
    """Return raters of whom each errs on other pages."""
    ratings = np.tile(TRUTH, (4, 1))
    for rater in range(4):
        mistaken = np.arange(rater * wrong, (rater + 1) * wrong)
        ratings[rater, mistaken] = NON_SENSITIVE
    return Result(run, {"page_truth": TRUTH, "ratings": ratings})


def test_raters_who_never_err_agree_on_everything_and_still_confirm_nothing():
    found = Results(rated(run, 0) for run in experiment("agreement").runs(PROFILES["quick"]))
    table = experiment("agreement").table(found)
    assert {row[2] for row in table.rows} == {1.0}
    assert {row[-3:] for row in table.rows} == {(100.0, 85.0, 1.0)}
    verdicts = experiment("agreement").verdicts(found)
    assert [one.status for one in verdicts] == ["cannot be judged"] * 2
    assert all("Simulated raters cannot confirm it" in one.measured for one in verdicts)


def test_kappa_falls_as_raters_err():
    def kappa(wrong):
        found = Results(rated(run, wrong) for run in experiment("agreement").runs(PROFILES["quick"]))
        return experiment("agreement").table(found).rows[0][2]

    assert kappa(0) > kappa(4) > kappa(12)


def test_the_figure_of_the_raters_has_a_point_for_every_group():
    found = Results(rated(run, 4) for run in experiment("agreement").runs(PROFILE))
    (panel,) = experiment("agreement").figure(found).axes
    points = [np.asarray(line.get_xdata()) for line in panel.lines if line.get_linestyle() == "None"]
    assert sum(map(len, points)) == len(found)
