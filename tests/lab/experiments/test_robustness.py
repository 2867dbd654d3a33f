"""Every rule against every attack, on exact numbers: cells, floors, worst cases, and each goal met and missed."""

import math
from functools import cache
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the lab computes with torch; install eitr[lab]")

from eitr.aggregation.registry import RULES
from eitr.attacks.registry import ATTACKS, make_attack
from eitr.datasets import load
from eitr.lab import run_experiments
from eitr.lab.experiments.registry import experiment
from eitr.lab.experiments.robustness_cells import Cells
from eitr.lab.experiments.robustness_goals import GOALS
from eitr.lab.experiments.robustness_grid import (
    BACKDOOR,
    CONTENDERS,
    FEDAVG,
    FLIP,
    FUSED,
    FUSED_ALONE,
    IPM,
    MAIN,
    MANY_ATTACKERS,
    MULTI_KRUM,
    NO_ATTACK,
    OTHER_SETTINGS,
    SKEWED,
    STRONGEST,
    THREATS,
    Contender,
)
from eitr.lab.plotting import figure_svg
from eitr.lab.report import make_report
from eitr.lab.results.store import Results
from eitr.lab.runs.profile import PROFILES, make_profile
from tests.lab.experiments.exact import CLEAN, all_exact, diverged, exact, of_seeds
from tests.lab.small import small_data, small_profile

ROBUSTNESS: Any = experiment("robustness")
PAPER = of_seeds(PROFILES["paper"], 1)
BULYAN = Contender("Bulyan", "bulyan")


def fused(run, validation=True):
    return run.rule.name == "fused" and run.rule.validation is validation


@cache
def usual():
    """All runs of the paper profile, one seed, with nothing lost: but every attack costs the other rules 5 points."""
    strong = {who.rule for who in STRONGEST}
    return all_exact(
        ROBUSTNESS,
        PAPER,
        lambda run: {"accuracy": CLEAN - 0.05 * (run.attack is not None and run.rule.name not in strong)},
    )


def changed(*changes):
    """Return the usual results, those that fit a condition with other numbers."""

    def one(result):
        for fits, numbers in changes:
            if fits(result.run):
                return exact(result.run, **numbers)
        return result

    return Results(one(result) for result in usual())


def verdict(words, results, label=FUSED.label, clients=10):
    found = [
        one
        for one in ROBUSTNESS.verdicts(results)
        if words in one.claim and (not label or one.claim.startswith((f"{label}: ", f"{label}, {clients} clients: ")))
    ]
    assert len(found) == 1, [one.claim for one in found]
    return found[0]


def test_the_paper_profile_has_every_cell_that_is_defined():
    runs = ROBUSTNESS.runs(PROFILES["paper"])
    assert len(set(runs)) == len(runs) == 5166
    main = [run for run in runs if (run.clients, run.alpha) == (10, 0.9) and run.attackers in (0, 3)]
    # 17 rules x 19 attacks and Bulyan, which 3 of 10 attackers are too many for, without attack
    assert len(main) == (17 * 19 + 1) * 5 == 1620
    assert {run.seed for run in main} == set(range(5))
    others = set(runs) - set(main)
    assert {run.seed for run in others if run.clients == 10} == set(range(3))
    assert {run.rule.name for run in others if run.seed > 2} == {"fused", "fedavg"}
    # Seven other settings; with 4 of 10 attackers Multi-Krum is not defined; four of them have clean runs of their own;
    # two more seeds where our goals are judged with 50 clients.
    assert len(others) == (9 * 7 - 1) * 18 * 3 + 4 * (9 + 1) * 3 + 2 * (2 * 19 + 1) == 3546


def test_the_settings_are_fixed():
    for run in ROBUSTNESS.runs(PAPER):
        assert (run.rounds, run.steps, run.trusted) == (40, 150, 300)
        assert (run.plan.learning_rate, run.plan.momentum, run.plan.batch_size) == (0.05, 0.8, 64)
    assert sorted({(run.clients, run.alpha) for run in ROBUSTNESS.runs(PAPER)}) == [
        (10, 0.1), (10, 0.5), (10, 0.9), (10, 1e6), (50, 0.9),
    ]  # fmt: skip
    assert {run.attackers for run in ROBUSTNESS.runs(PAPER) if run.clients == 10} == {0, 1, 2, 3, 4}


@pytest.mark.parametrize(("asked", "main", "other"), [(None, 5, 3), (1, 1, 1), (2, 2, 2), (3, 5, 3), (8, 5, 3)])
def test_fewer_seeds_can_be_asked_for(asked, main, other):
    runs = ROBUSTNESS.runs(make_profile("paper", seeds=asked))
    assert len({run.seed for run in runs}) == main
    assert len({run.seed for run in runs if run.alpha == SKEWED.alpha}) == other


def test_every_rule_and_every_attack_but_those_with_an_experiment_of_their_own_takes_part():
    # The published code is a reading of the paper, compared in the paper's experiments. Nobody should defend with it.
    defences = set(RULES) - {"published-code"}
    assert {who.rule for who in CONTENDERS} == defences
    assert len(CONTENDERS) == len(defences) + 1  # the fused rule with and without pages
    assert {threat.attack.name for threat in THREATS if threat.attack} == set(ATTACKS) - {"inside", "mimic"}
    assert len({who.label for who in CONTENDERS}) == len(CONTENDERS)
    assert len({threat.label for threat in THREATS}) == len(THREATS)


def test_rules_that_ask_are_told_the_true_number_of_attackers():
    def make(contender: Contender, attackers: int) -> Any:
        return contender.make(attackers, 10)

    assert make(MULTI_KRUM, 2).attackers == 2
    assert make(MULTI_KRUM, 0).attackers == 0
    assert make(Contender("Trimmed mean", "trimmed-mean"), 3).beta == pytest.approx(0.3)
    assert make(Contender("Reputation", "reputation"), 3).rescale == "paper"
    assert make(FUSED, 3).validation
    assert not make(FUSED_ALONE, 3).validation


def test_a_rule_is_undefined_where_attackers_are_too_many():
    assert MULTI_KRUM.make(4, 10) is None
    assert MULTI_KRUM.make(3, 10) is not None
    assert BULYAN.make(3, 15) is not None
    assert BULYAN.make(3, 14) is None


def test_an_undefined_cell_is_not_run_and_says_so():
    table = ROBUSTNESS.table(usual())
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    undefined = [(row["rule"], row["attackers"]) for row in rows if row["accuracy"] == "n/a"]
    assert undefined == [("Bulyan", 0.3)] * 18 + [("Multi-Krum", 0.4)] * 18
    assert {row["points lost"] for row in rows if row["accuracy"] == "n/a"} == {None}
    assert not any(run.rule.name == "bulyan" and run.attackers for run in ROBUSTNESS.runs(PAPER))
    assert Cells(usual()).worst_loss(BULYAN) is None
    assert ("Bulyan", "n/a") in [row[:2] for row in ROBUSTNESS.summary(usual()).rows]


def test_the_table_has_a_row_a_setting_rule_and_attack_and_holds_plain_values():
    table = ROBUSTNESS.table(usual())
    # Without attackers, another share of them makes no other federation.
    assert len(table.rows) == 18 * 19 + 9 * (3 * 18 + 4 * 19)
    assert {len(row) for row in table.rows} == {len(table.columns)}
    assert {type(cell) for row in table.rows for cell in row} <= {str, int, float, type(None)}
    assert {row[3] for row in table.rows} == {0.1, 0.5, 0.9, "IID"}


def test_loss_is_against_clean_fedavg_of_the_same_seed_partition_and_clients():
    profile = of_seeds(PROFILES["paper"], 2)

    def numbers(run):
        return {"accuracy": 0.6 + 0.1 * run.seed + 0.05 * (run.clients == 50) - 0.02 * (run.rule.name != "fedavg")}

    cells = Cells(all_exact(ROBUSTNESS, profile, numbers))
    for setting in (MAIN, *OTHER_SETTINGS):
        cell = cells.at(FUSED, FLIP, setting)
        assert cell.loss.values == pytest.approx((0.02, 0.02))
        assert len(cell.accuracy.values) == 2


def test_cells_of_fewer_seeds_are_compared_with_those_seeds():
    cells = Cells(all_exact(ROBUSTNESS, PROFILES["paper"], lambda run: {"accuracy": 0.7 + 0.01 * run.seed}))
    assert len(cells.at(FUSED, FLIP, MAIN).loss.values) == 5
    assert cells.at(FUSED, FLIP, MANY_ATTACKERS).loss.values == pytest.approx((0.0, 0.0, 0.0))


@pytest.mark.parametrize("threat", THREATS, ids=lambda threat: threat.label)
def test_a_floor_is_measured_on_the_very_pages_of_the_attack(threat):
    examples = load("builtin", size=400, words=60)
    probe = threat.attack.probe(examples) if threat.attack else None
    assert (probe is None) == (threat.floor is None)
    if probe is None:
        return
    floor = make_attack(threat.floor)
    reference = floor.probe(examples)
    assert probe.rows.tolist() == reference.rows.tolist()
    assert probe.target == reference.target
    made, of_floor = threat.attack.made_rows(examples), floor.made_rows(examples)
    assert (made is None) == (of_floor is None)
    if made is not None:  # the rows that the probe names are the first block
        size = len(examples.rows)
        assert np.array_equal(made.dense()[:size], of_floor.dense()[:size])


def test_the_floor_comes_from_clean_fedavg_in_the_same_setting():
    def numbers(run):
        low, high = {"label-flip": 0.2, "backdoor": 0.05}, {"label-flip": 0.4, "backdoor": 0.1}
        own = {run.attack.name: 0.7} if run.attack else {}
        return {"asr": (high if run.alpha == 0.1 else low) | own}

    cells = Cells(all_exact(ROBUSTNESS, PAPER, numbers))
    dba = next(threat for threat in THREATS if threat.label == "DBA")
    sybils = next(threat for threat in THREATS if threat.label == "sybils")
    assert cells.at(FUSED, dba).excess == pytest.approx(0.65)
    assert cells.at(FUSED, sybils, SKEWED).excess == pytest.approx(0.3)
    assert cells.at(FUSED, IPM).excess is None
    assert cells.at(FUSED, NO_ATTACK).success is None


def test_two_strengths_of_one_attack_are_two_cells():
    weak = next(threat for threat in THREATS if threat.label == "IPM 0.1")
    results = changed((lambda run: fused(run) and run.attack == weak.attack, {"accuracy": 0.5}))
    cells = Cells(results)
    assert cells.harm(FUSED, weak) == pytest.approx(0.38)
    assert cells.harm(FUSED, IPM) == pytest.approx(0.0)


def test_the_worst_case_is_the_attack_that_costs_most_and_no_attack_is_none():
    results = changed(
        (lambda run: fused(run) and run.attack is None, {"accuracy": 0.1}),
        (lambda run: fused(run) and run.attack == IPM.attack, {"accuracy": CLEAN - 0.02}),
    )
    worst = Cells(results).worst_loss(FUSED)
    assert (worst.threat, round(worst.value, 6)) == (IPM, 0.02)
    summary = ROBUSTNESS.summary(results)
    assert {row[0]: row[1:3] for row in summary.rows}["Fused + validation"] == (2.0, "IPM 1")


@pytest.mark.long
def test_diverging_is_the_worst_case_of_all():
    results = Results(
        diverged(one) if fused(one.run) and one.run.attack == IPM.attack and one.run.attackers == 3 else one
        for one in usual()
    )
    assert math.isinf(Cells(results).worst_loss(FUSED).value)
    assert ("Fused + validation", "diverged", "IPM 1") in [row[:3] for row in ROBUSTNESS.summary(results).rows]
    told = verdict("costs more than", results)
    assert told.holds is False
    assert "diverged" in told.measured
    assert ">div.<" in figure_svg(ROBUSTNESS.figure(results))


def test_where_clean_fedavg_diverged_nothing_is_judged():
    results = Results(diverged(one) if one.run.rule.name == "fedavg" and not one.run.attack else one for one in usual())
    told = ROBUSTNESS.verdicts(results)
    assert {one.holds for one in told} == {None}
    assert not any(" nan" in one.measured for one in told)
    assert ROBUSTNESS.table(results).rows
    assert ROBUSTNESS.figure(results).axes is not None


@pytest.mark.parametrize("clients", [10, 50])
@pytest.mark.parametrize("goal", GOALS, ids=lambda goal: goal.who.label)
@pytest.mark.parametrize(("more", "holds"), [(-0.001, True), (0.0, True), (0.001, False)])
def test_a_goal_is_met_up_to_its_limit(goal, more, holds, clients):
    def mine(attack):
        validation, attackers = dict(goal.who.settings)["validation"], 3 * clients // 10
        return lambda run: (
            fused(run, validation) and run.attack == attack and run.alpha == 0.9 and run.attackers == attackers
        )

    label = goal.who.label
    for attack in (IPM.attack, BACKDOOR.attack):
        lost = changed((mine(attack), {"accuracy": CLEAN - goal.loss - more}))
        assert verdict("costs more than", lost, label, clients).holds is holds
    flipped = changed((mine(FLIP.attack), {"asr": {"label-flip": 0.2 + goal.flip + more}}))
    assert verdict("ASR of the label flip", flipped, label, clients).holds is holds
    opened = changed((mine(BACKDOOR.attack), {"asr": {"backdoor": 0.05 + goal.backdoor + more}}))
    assert verdict("ASR of the backdoor", opened, label, clients).holds is holds
    assert "Floor" in verdict("ASR of the backdoor", opened, label, clients).measured


def test_the_goals_are_those_that_were_set():
    first, second = GOALS
    assert (first.who, first.loss, first.flip, first.backdoor) == (FUSED, 0.015, 0.05, 0.03)
    assert (second.who, second.loss, second.flip, second.backdoor) == (FUSED_ALONE, 0.025, 0.15, 0.06)


@pytest.mark.parametrize("validation", [True, False])
def test_without_attack_it_must_be_as_good_and_nearly_as_fast_as_fedavg(validation):
    label = (FUSED if validation else FUSED_ALONE).label

    def clean(**numbers):
        return changed((lambda run: fused(run, validation) and run.attack is None, numbers))

    assert verdict("within 0.3 points", clean(accuracy=CLEAN - 0.003), label).holds is True
    assert verdict("within 0.3 points", clean(accuracy=CLEAN + 0.05), label).holds is True
    assert verdict("within 0.3 points", clean(accuracy=CLEAN - 0.004), label).holds is False
    words = "10 % more rounds to 80 %"
    both = (lambda run: run.rule.name == "fedavg" and run.attack is None, {"arrives": 10})
    for arrives, holds in ((11, True), (12, False), (1, True), (41, False)):
        mine = (lambda run: fused(run, validation) and run.attack is None, {"arrives": arrives})
        assert verdict(words, changed(both, mine), label).holds is holds
    never = (lambda run: run.rule.name == "fedavg" and run.attack is None, {"arrives": 41})
    assert verdict(words, changed(never), label).holds is None


@pytest.mark.parametrize("setting", [MANY_ATTACKERS, SKEWED], ids=lambda setting: setting.label)
def test_in_hard_settings_the_worst_case_must_be_the_best_or_near_it(setting):
    def there(run):
        return fused(run) and run.alpha == setting.alpha and run.attackers == setting.attackers and run.clients == 10

    words = f"{setting.label}: the worst case"
    assert verdict(words, usual(), "").holds is True
    near = changed((lambda run: there(run) and run.attack == IPM.attack, {"accuracy": CLEAN - 0.01}))
    assert verdict(words, near, "").holds is True
    far = changed((lambda run: there(run) and run.attack == IPM.attack, {"accuracy": CLEAN - 0.011}))
    told = verdict(words, far, "")
    assert told.holds is False
    assert "IPM 1" in told.measured
    assert ("Not defined: Multi-Krum" in told.measured) == (setting is MANY_ATTACKERS)


def test_a_verdict_says_when_other_rules_are_the_strongest():
    words = "taken to other settings"
    assert set(Cells(usual()).strongest()) == set(STRONGEST)
    assert verdict(words, usual(), "").holds is True
    weak = changed((lambda run: run.rule.name == "fltrust" and run.attack == IPM.attack, {"accuracy": 0.5}))
    told = verdict(words, weak, "")
    assert told.holds is False
    assert "Not taken to other settings: Reputation." in told.measured  # the first of those that lose 5 points
    assert Cells(weak).strongest()[-1].label == "Reputation"


def test_the_quick_profile_leaves_open_what_it_does_not_run():
    results = all_exact(ROBUSTNESS, PROFILES["quick"])
    told = {one.claim: one for one in ROBUSTNESS.verdicts(results)}
    still_open = [claim for claim, one in told.items() if one.holds is None]
    assert len(told) == 19
    assert len(still_open) == 9  # two settings, all goals with 50 clients, and who is strongest
    assert len(ROBUSTNESS.runs(PROFILES["quick"])) == 25
    assert max(run.rounds for run in ROBUSTNESS.runs(PROFILES["quick"])) == 15
    assert Cells(results).contenders(SKEWED) == ()


@pytest.mark.parametrize("profile", [PAPER, PROFILES["quick"]], ids=["paper", "quick"])
def test_a_figure_has_every_rule_and_attack_and_a_number_in_each_cell(profile):
    results = usual() if profile is PAPER else all_exact(ROBUSTNESS, profile)
    svg = figure_svg(ROBUSTNESS.figure(results))
    assert "<image" not in svg
    cells = Cells(results)
    for name in [who.label for who in cells.contenders()] + [threat.label for threat in cells.threats]:
        assert f">{name}<" in svg
    assert svg.count(">n/a<") == (18 + 7 + 1 if profile is PAPER else 0)


def test_every_verdict_is_a_sentence():
    for one in ROBUSTNESS.verdicts(usual()):
        assert one.claim.endswith(".")
        assert one.measured.endswith(".")
        assert one.holds is True


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    with pytest.MonkeyPatch.context() as monkeypatch:
        small_profile(monkeypatch)
        data = str(small_data(tmp_path_factory.mktemp("data")))
        out = tmp_path_factory.mktemp("lab") / "results"
        ids = ["robustness", "new-topic", "ablation"]
        lab = run_experiments(ids, out=out, data=data, profile="quick", seeds=1, device="cpu")
        make_report(out)
        return lab


@pytest.mark.long
def test_the_quick_profile_runs_from_data_to_report(finished):
    for id in ("robustness", "new-topic", "ablation"):
        assert len(finished.results(id)) == len(experiment(id).runs(finished.profile))
        assert finished.verdicts(id)
        assert (finished.folder / "figures" / f"{id}.svg").is_file()


@pytest.mark.long
def test_a_floor_is_what_clean_fedavg_recorded(finished):
    (clean,) = (one for one in finished.results("robustness").where(attack=None, rule="fedavg"))
    cells = Cells(finished.results("robustness"))
    assert cells.at(FEDAVG, NO_ATTACK).loss.values == (0.0,)
    assert cells.at(FUSED, FLIP).floor.values == (clean["asr.label-flip"][-1],)
