import json
from typing import Any

import numpy as np

from eitr.lab.experiments.images import ImagesExperiment
from eitr.lab.experiments.scenario import PAPER_RULES
from eitr.lab.results.store import Result, Results
from eitr.lab.runs.profile import make_profile


def runs_of(profile: str) -> list[Any]:
    return list(ImagesExperiment().runs(make_profile(profile)))


def results_of(profile, *, ours=0.6, clean=0.7, asr=0.1):
    """Results as they might be; the other rules have 50 % accuracy and, but for FoolsGold, at least 20 % ASR."""
    found = []
    for run in runs_of(profile):
        place = PAPER_RULES.index(run.rule.name)
        is_ours = run.rule.name == "reputation"
        accuracy = clean if run.attack is None else ours if is_ours else 0.5
        theirs = 0.01 if run.rule.name == "foolsgold" else 0.1 + place / 10
        success = 0.05 if run.attack is None else asr if is_ours else theirs
        names = [f"asr.{probe.name}" for probe in run.probes]
        found.append(
            Result(run, {"accuracy": np.array([0.1, accuracy]), **{n: np.array([0.9, success]) for n in names}})
        )
    return Results(found)


def test_the_paper_profile_has_every_rule_against_both_attacks_and_a_clean_model():
    runs = runs_of("paper")
    assert len({run.key for run in runs}) == len(runs) == 15
    assert {(run.rule.name, run.attack.name) for run in runs if run.attack} == {
        (rule, attack) for rule in PAPER_RULES for attack in ("flip", "backdoor")
    }
    assert all(run.attackers == 3 and run.clients == 10 and run.rounds == 20 for run in runs if run.attack)
    assert next(run.rule for run in runs if run.rule.name == "trimmed-mean").beta == 0.3
    assert next(run.rule for run in runs if run.rule.name == "reputation").rescale == "paper"


def test_the_quick_profile_is_the_same_but_small():
    runs = runs_of("quick")
    assert len(runs) == 8
    assert {run.training.width for run in runs} == {8}


def test_the_table_has_a_row_a_rule_and_attack_with_the_floor():
    table = ImagesExperiment().table(results_of("paper"))
    assert len(table.rows) == 1 + 14
    assert all(len(row) == len(table.columns) for row in table.rows)
    assert table.rows[0][:4] == ("none", 0.0, "FedAvg", 0.7)
    assert table.rows[1][:4] == ("flip", 0.3, "Reputation", 0.6)
    assert table.rows[1][5] == 0.1
    assert table.rows[1][7] == 0.05
    json.dumps(table.rows)


def test_claims_are_judged_by_the_numbers():
    won = ImagesExperiment().verdicts(results_of("paper"))
    lost = ImagesExperiment().verdicts(results_of("paper", ours=0.4, asr=0.9))
    assert [verdict.holds for verdict in won] == [True] * 4
    assert [verdict.holds for verdict in lost] == [False] * 4
    assert "60.0 % against 50.0 %" in won[0].measured
    assert "Floor (clean FedAvg): 5.0 %" in won[1].measured


def test_foolsgold_is_left_out_of_the_asr_claim_but_shown():
    verdict = ImagesExperiment().verdicts(results_of("paper"))[1]
    assert verdict.holds
    assert "FoolsGold: 1.0 %" in verdict.measured


def test_a_model_that_learned_nothing_proves_nothing():
    verdicts = ImagesExperiment().verdicts(results_of("quick", clean=0.2))
    assert len(verdicts) == 4
    assert all(verdict.holds is None for verdict in verdicts)
    assert "learned too little" in verdicts[0].measured
    assert "not run" in verdicts[2].measured


def test_the_figure_has_a_panel_for_each_attack_and_measure():
    assert len(ImagesExperiment().figure(results_of("paper")).axes) == 4
    assert len(ImagesExperiment().figure(results_of("quick")).axes) == 2


def test_a_diverged_rule_is_drawn_and_named():
    found = list(results_of("paper"))
    for result in found:
        if result.run.rule.name == "median":
            for array in result.arrays.values():
                array[:] = np.nan
    experiment = ImagesExperiment()
    assert "Diverged in some seed: Median" in experiment.verdicts(Results(found))[0].measured
    assert experiment.figure(Results(found)).axes
