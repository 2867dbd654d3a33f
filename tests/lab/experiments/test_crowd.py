"""A thousand clients of whom few take part: which runs there are, the worst cases, and a report without goals."""

import json
from functools import cache
from typing import Any

import pytest

pytest.importorskip("torch", reason="the lab computes with torch; install eitr[lab]")

from eitr.lab import run_experiments
from eitr.lab.experiments.crowd import COMPARED, QUICK_SETTING, SETTINGS, STEPS, THREATS, setting_of
from eitr.lab.experiments.registry import experiment
from eitr.lab.experiments.robustness_grid import ELSEWHERE, FEDAVG, FUSED, MULTI_KRUM, NO_ATTACK
from eitr.lab.plotting import figure_svg
from eitr.lab.report import make_report
from eitr.lab.results.store import Results
from eitr.lab.runs.profile import PROFILES
from tests.lab.experiments.exact import CLEAN, all_exact, diverged, exact, of_seeds
from tests.lab.small import PLAN, small_data, small_profile

CROWD: Any = experiment("crowd")
PAPER = of_seeds(PROFILES["paper"], 1)


@cache
def usual():
    """All runs of the paper profile, one seed; every attack costs 1 point, with 30 % attackers 2."""
    return all_exact(CROWD, PAPER, lambda run: {"accuracy": CLEAN - 0.01 * (run.attackers // 100 + 1) / 2})


def rows(table):
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def test_every_strong_rule_meets_every_attack_in_every_setting():
    runs = CROWD.runs(PROFILES["paper"])
    assert len(set(runs)) == len(runs)
    attacked = [run for run in runs if run.attack]
    assert {run.seed for run in runs} == {0, 1}
    assert len(attacked) == 2 * 6 * (8 * len(ELSEWHERE) + 4 * len(COMPARED))
    assert len(runs) - len(attacked) == 2 * 4 * (len(ELSEWHERE) + len(COMPARED))  # by participants and Dirichlet
    assert {run.attack.name for run in attacked} == {
        "label-flip", "backdoor", "sign-flip", "ipm", "min-max", "mimic"
    }  # fmt: skip


def test_the_settings_are_fixed():
    for run in CROWD.runs(PAPER):
        assert (run.clients, run.rounds, run.steps, run.trusted) == (1000, 40, STEPS, 300)
        assert (run.plan.learning_rate, run.plan.momentum, run.plan.batch_size) == (0.05, 0.8, 64)
    assert {(run.participants, run.alpha) for run in CROWD.runs(PAPER)} == {(20, 0.9), (20, 0.3), (50, 0.9), (50, 0.3)}
    assert {run.attackers for run in CROWD.runs(PAPER)} == {0, 100, 300}


def test_rules_that_ask_are_told_the_attackers_to_expect_in_a_round():
    told = {
        (run.participants, run.attackers): run.rule.attackers
        for run in CROWD.runs(PAPER)
        if run.rule.name == MULTI_KRUM.rule
    }
    assert told == {(20, 0): 0, (20, 100): 2, (20, 300): 6, (50, 0): 0, (50, 100): 5, (50, 300): 15}


def test_the_quick_profile_has_a_hundred_clients_and_few_runs():
    runs = CROWD.runs(PROFILES["quick"])
    assert len(runs) == 20
    assert {(run.clients, run.participants, run.attackers, run.seed) for run in runs} == {
        (100, 10, 0, 0), (100, 10, 30, 0)
    }  # fmt: skip


def test_the_table_has_a_row_for_each_cell_that_is_run():
    found = rows(CROWD.table(usual()))
    assert len(found) == 6 * (8 * len(ELSEWHERE) + 4 * len(COMPARED)) + 4 * (len(ELSEWHERE) + len(COMPARED))
    assert len(
        {tuple(row[name] for name in ("rule", "attack", "attackers", "alpha", "a round")) for row in found}
    ) == len(found)
    assert {type(cell) for row in found for cell in row.values()} <= {str, int, float, type(None)}
    lost = {(row["attack"], row["attackers"]): round(row["points lost"], 6) for row in found}
    assert {lost[one.label, share] for one in THREATS[1:] for share in (0.1, 0.3)} == {0.5, 1.5}
    assert lost[NO_ATTACK.label, 0.0] == 0
    assert [row["rule"] for row in found if row["accuracy"] == "n/a"] == []


def test_the_summary_has_the_worst_case_of_each_rule_in_each_setting():
    def weak(run):
        return run.rule.name == "nnm" and run.attack and run.attack.name == "mimic" and run.participants == 50

    results = Results(exact(one.run, accuracy=0.5) if weak(one.run) else one for one in usual())
    found = {row["rule"]: row for row in rows(CROWD.summary(results))}
    assert len(found) == len(ELSEWHERE) + len(COMPARED)
    mine = found["NNM"]
    assert mine["20, 10 %, 0.9"] == pytest.approx(0.5)
    assert mine["20, 30 %, 0.3"] == pytest.approx(1.5)
    assert mine["50, 10 %, 0.9"] == mine["worst of all"] == pytest.approx(37.5)
    assert mine["in"] == "mimic: 50, 10 %, 0.9"
    assert list(found)[-1] == "NNM"
    assert found["FedAvg"]["20, 10 %, 0.9"] == "n/a"
    assert found["FedAvg"]["points lost without attack, at most"] == 0


@pytest.mark.long
def test_training_that_diverged_is_the_worst_case_and_shown():
    results = Results(
        diverged(one) if one.run.rule.name == "median" and one.run.attack and one.run.attackers == 300 else one
        for one in usual()
    )
    found = {row["rule"]: row for row in rows(CROWD.summary(results))}
    assert found["Median"]["worst of all"] == "diverged"
    assert ">div.<" in figure_svg(CROWD.figure(results))


def test_a_setting_is_named_by_who_takes_part_attackers_and_partition():
    assert setting_of(20, 0.1, 0.3).label == "20, 10 %, 0.3"
    assert [setting.participants for setting in (*SETTINGS, QUICK_SETTING)] == [20] * 4 + [50] * 4 + [10]
    assert FUSED in ELSEWHERE
    assert FEDAVG in COMPARED


def test_a_small_crowd_is_simulated_and_reported_without_a_verdict(tmp_path, monkeypatch):
    small_profile(monkeypatch)
    out = tmp_path / "results"
    lab = run_experiments(["crowd"], data=str(small_data(tmp_path)), profile="quick", out=out)
    assert lab.verdicts("crowd") == []
    result = next(iter(lab.results("crowd").where(attack="mimic")))
    assert result["participants"].shape == result["weights"].shape == (2, 10)
    assert result.run.plan == PLAN
    page = make_report(out).read_text()
    assert "A thousand clients" in page
    assert "does not hold" not in page
    assert "Nothing here makes a claim" in (out / "verdicts.md").read_text()
    document = json.loads((out / "report.json").read_text())
    (section,) = document["experiments"]
    assert section["finished"]
    assert section["verdicts"] == []
    assert section["summary"]["rows"]
