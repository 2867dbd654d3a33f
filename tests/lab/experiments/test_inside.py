"""The attacker who knows the rule: reported, not judged."""

from typing import Any

import pytest

from eitr.lab.experiments.inside import CANDIDATES, FEW_CANDIDATES, Inside
from eitr.lab.plotting import figure_svg
from eitr.lab.runs.profile import PROFILES
from tests.lab.experiments.exact import CLEAN, all_exact

INSIDE: Any = Inside()


def test_it_tries_two_hundred_things_a_round_in_three_seeds_against_both_forms_of_our_rule():
    runs = INSIDE.runs(PROFILES["paper"])
    attacked = [run for run in runs if run.attack is not None]
    assert {run.attack.candidates for run in attacked} == {CANDIDATES} == {200}
    assert sorted((run.rule.validation, run.seed) for run in attacked) == [
        (form, seed) for form in (False, True) for seed in range(3)
    ]
    assert {run.attackers for run in attacked} == {3}
    assert len(runs) == 9  # and clean FedAvg, to compare with


@pytest.mark.parametrize(("profile", "candidates"), [("quick", FEW_CANDIDATES), ("paper", CANDIDATES)])
def test_the_table_names_the_worst_seed(profile, candidates):
    def numbers(run):
        if run.attack is None:
            return {"accuracy": CLEAN}
        return {"accuracy": CLEAN - 0.01 * (1 + run.seed), "asr": {"inside": 0.3 + 0.1 * run.seed}}

    results = all_exact(INSIDE, PROFILES[profile], numbers)
    table = INSIDE.table(results)
    seeds = len({run.seed for run in INSIDE.runs(PROFILES[profile])})
    assert [row[0] for row in table.rows] == ["Fused + validation", "Fused"]
    for row in table.rows:
        assert row[-2] == pytest.approx(CLEAN - 0.01 * seeds)
        assert row[-1] == pytest.approx(0.2 + 0.1 * seeds)
    assert INSIDE.verdicts(results) == []
    assert ">Attack success rate<" in figure_svg(INSIDE.figure(results))
