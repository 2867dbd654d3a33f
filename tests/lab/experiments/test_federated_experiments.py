"""The experiments on federations, on made-up results: tables, figures, and claims that hold and do not."""

import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from eitr.lab.experiments.registry import experiment
from eitr.lab.experiments.scenario import READINGS
from eitr.lab.plotting import figure_svg
from eitr.lab.results.store import Result, Results
from eitr.lab.runs.profile import PROFILES, make_profile
from tests.lab.experiments.generated_results import FEDERATED, LEAKS, generated_result, generated_results

STRONG = {**LEAKS, **dict.fromkeys(READINGS, 0.01)}
WEAK = {**LEAKS, **dict.fromkeys(READINGS, 1.5)}
QUICK = replace(PROFILES["quick"], rounds=100)


@cache
def results_of(id, how="strong"):
    leaks = STRONG if how == "strong" else WEAK
    speeds = dict.fromkeys(READINGS, 2.0 if how == "strong" else 30.0)
    return generated_results(
        experiment(id), QUICK, leaks=leaks, speeds={**dict.fromkeys(LEAKS, 10.0), **speeds}, noise=1e-4
    )


def verdict(id, words, results, reading="text"):
    """The verdict on a claim for one reading of the paper's method; claims about something else have none."""
    found = [one for one in experiment(id).verdicts(results) if words in one.claim and one.reading in ("", reading)]
    assert len(found) == 1, [one.claim for one in found]
    return found[0]


@pytest.mark.parametrize("id", FEDERATED)
def test_a_table_is_rectangular_and_holds_plain_values(id):
    table = experiment(id).table(results_of(id))
    assert table.rows
    assert {len(row) for row in table.rows} == {len(table.columns)}
    assert {type(cell) for row in table.rows for cell in row} <= {str, int, float, type(None)}


@pytest.mark.parametrize("id", [*FEDERATED[:2], *(pytest.param(id, marks=pytest.mark.long) for id in FEDERATED[2:])])
def test_a_figure_is_drawn_with_text_as_text_and_without_images(id):
    figure = experiment(id).figure(results_of(id))
    svg = figure_svg(figure)
    assert "<image" not in svg
    assert "<text" in svg
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # matplotlib warns where panels leave no room for their labels
        figure.set_dpi(60)  # like a small picture, whose labels are a little larger for their panels than in SVG
        figure.draw_without_rendering()


@pytest.mark.parametrize("id", FEDERATED)
def test_every_verdict_is_a_sentence_with_a_number_or_a_reason(id):
    for one in experiment(id).verdicts(results_of(id)):
        assert one.claim.endswith(".")
        assert one.measured.endswith(".")
        assert "nan" not in one.measured
        assert one.holds is None or type(one.holds) is bool


@pytest.mark.parametrize("id", FEDERATED)
def test_one_seed_is_enough(id):
    results = generated_results(experiment(id), make_profile("quick", seeds=1))
    assert experiment(id).verdicts(results)
    assert experiment(id).table(results).rows
    assert experiment(id).figure(results).axes


@pytest.mark.parametrize("id", FEDERATED)
@pytest.mark.parametrize("good", [3, 0])
def test_a_rule_that_diverged_does_not_break_anything(id, good):
    def broken(result):
        if result.run.rule.name not in ("foolsgold", *READINGS):
            return result
        arrays = {name: array.copy() for name, array in result.arrays.items()}
        for name in arrays.keys() - {"attacker", "counts", "parameters", "failed"}:
            arrays[name] = arrays[name].astype(np.float64)
            arrays[name][good:] = np.nan
        return Result(result.run, {**arrays, "failed": np.array(good + 1)})

    results = Results(broken(result) for result in results_of(id))
    assert not any(" nan" in one.measured for one in experiment(id).verdicts(results))
    assert all(one.holds is not True or "Reputation" not in one.claim for one in experiment(id).verdicts(results)
               if id in ("convergence", "attackers", "attacker-epochs", "looping"))  # fmt: skip
    assert experiment(id).table(results).rows
    assert experiment(id).figure(results).axes


@pytest.mark.parametrize(
    ("id", "words"),
    [
        ("attackers", "Label flipping: Reputation has the lowest ASR"),
        ("attackers", "at least 82.8 %"),
        ("attackers", "at least 72.3 %"),
        ("attackers", "Backdoor: Reputation has the highest accuracy"),
        ("attackers", "loses little accuracy"),
        ("convergence", "No attack: Reputation is 2.7x"),
        ("convergence", "at least 4.2x faster than FLTrust"),
        ("convergence", "lowest training loss"),
        ("convergence", "within 24 rounds"),
        ("looping", "Backdoor: under the looping attack Reputation"),
        ("clients-100", "no attack: Reputation converges"),
        ("clients-100", "backdoor: Reputation has the lowest ASR"),
    ],
)
def test_a_claim_holds_with_a_strong_rule_and_not_with_a_weak_one(id, words):
    for reading in READINGS.values():
        assert verdict(id, words, results_of(id), reading).holds is True
        assert verdict(id, words, results_of(id, "weak"), reading).holds is False


@pytest.mark.parametrize(
    ("id", "words"),
    [
        ("convergence", "No attack: Reputation is 2.7x"),
        ("convergence", "lowest training loss"),
        ("attackers", "Label flipping: Reputation has the lowest ASR"),
        ("attackers", "at least 72.3 %"),
        ("attacker-epochs", "Label flipping, 30 %, attackers train 5 epochs: Reputation has the lowest ASR"),
        ("looping", "Backdoor: under the looping attack Reputation"),
        ("clients-100", "no attack: Reputation converges"),
    ],
)
def test_each_reading_is_judged_by_its_own_rule(id, words):
    leaks, speeds = ({**dict.fromkeys(READINGS, weak), "fused": strong} for weak, strong in ((1.5, 0.01), (30.0, 2.0)))
    results = generated_results(
        experiment(id),
        QUICK,
        leaks={**LEAKS, **leaks},
        speeds={**dict.fromkeys(LEAKS, 10.0), **speeds},
        noise=1e-4,
    )
    judged = {reading: verdict(id, words, results, reading).holds for reading in READINGS.values()}
    assert judged == {"text": False, "published code": False, "fused": True}


def test_the_verdicts_on_a_claim_follow_one_another_in_the_order_of_the_readings():
    for id in ("convergence", "attackers", "attacker-epochs", "looping", "clients-100", "weights"):
        verdicts = [one for one in experiment(id).verdicts(results_of(id)) if one.reading]
        assert verdicts
        for first in range(0, len(verdicts), 3):
            group = verdicts[first : first + 3]
            assert [one.reading for one in group] == list(READINGS.values())
            assert len({one.claim for one in group}) == 1


def test_the_claims_of_experiments_with_one_rule_are_about_the_papers_text():
    for id in ("clients", "hyper", "poison-rate"):
        assert experiment(id).reading == "text"
        assert {result.run.rule.name for result in results_of(id)} == {"reputation", "fedavg"}


def test_every_asr_comes_with_its_floor():
    for id in ("attackers", "poison-rate", "looping", "hyper", "clients-100", "clients"):
        for one in experiment(id).verdicts(results_of(id)):
            if "ASR" in one.claim:
                assert "Floor" in one.measured, one.claim


def test_convergence_is_judged_at_99_percent_of_clean_fedavg_seed_by_seed():
    results = results_of("convergence")
    table = experiment("convergence").table(results)
    row = dict(zip(table.columns, table.rows[0], strict=True))
    assert (row["attack"], row["rule"]) == ("none", "Reputation")
    fedavg, ours = (results.where(attack=None, rule=name).stacked("accuracy") for name in ("fedavg", "reputation"))
    expected = [np.argmax(one >= 0.99 * reference[-1]) + 1 for one, reference in zip(ours, fedavg, strict=True)]
    assert row["rounds to converge"] == np.mean(expected)


def test_too_few_rounds_leave_a_claim_open():
    slow = generated_results(experiment("convergence"), PROFILES["quick"], speeds=dict.fromkeys(LEAKS, 200.0))
    assert verdict("convergence", "within 24 rounds", slow).holds is None
    assert verdict("convergence", "do not converge within 100", slow).holds in (None, False)


@pytest.mark.parametrize(("gap", "holds"), [(0.03, True), (0.1, False), (-0.05, False)])
def test_the_federation_must_be_below_the_centralised_classifier_but_not_far(gap, holds):
    def level(result):
        accuracy = np.full(result.run.rounds, 0.9 if result.run.clients == 1 else 0.9 - gap)
        return Result(result.run, {**result.arrays, "accuracy": accuracy})

    results = Results(level(result) for result in results_of("centralised"))
    assert verdict("centralised", "5.76 points", results).holds is holds
    assert verdict("centralised", "steady", results).holds is True
    assert verdict("centralised", "falls as clients", results).holds is False


def test_a_class_that_the_test_pages_lack_cannot_be_judged():
    def without_religion(result):
        classes = result["class_accuracy"].copy()
        classes[:, 2] = np.nan
        return Result(result.run, {**result.arrays, "class_accuracy": classes})

    results = Results(without_religion(result) for result in results_of("centralised"))
    assert verdict("centralised", "Religion", results).holds is None


def test_settings_that_matter_are_found_out():
    def shifted(result):
        if getattr(result.run.rule, "c", 0.5) != 2.0:
            return result
        return Result(result.run, {**result.arrays, "accuracy": result["accuracy"] - 0.1})

    results = results_of("hyper")
    assert verdict("hyper", "decay c", results).holds is True
    changed = Results(shifted(result) for result in results)
    assert verdict("hyper", "decay c", changed).holds is False
    assert verdict("hyper", "window s", changed).holds is True
    assert verdict("hyper", "kappa and a", changed).holds is True


@pytest.mark.parametrize(("change", "words", "before", "after"), [
    ("asr.backdoor", "25 trigger words", False, True),
    ("asr.backdoor", "from 5 to 20", True, True),
])  # fmt: skip
def test_an_attack_of_many_words_may_be_weaker(change, words, before, after):
    def weaker(result):
        if getattr(result.run.attack, "words", 0) != 25:
            return result
        return Result(result.run, {**result.arrays, change: result[change] - 0.05})

    results = Results(generated_result(run) for run in experiment("poison-rate").runs(PROFILES["paper"]))
    flat = Results(
        Result(r.run, {**r.arrays, "asr.backdoor": np.full(100, 0.2)}) if r.run.attack else r for r in results
    )
    assert verdict("poison-rate", words, flat).holds is before
    assert verdict("poison-rate", words, Results(map(weaker, flat))).holds is after


def test_weights_are_judged_from_round_two_on_with_and_without_the_cut_off():
    results = results_of("weights")
    for reading in READINGS.values():
        assert (
            verdict("weights", "Backdoor, attackers train 15 epochs, Reputation: attackers", results, reading).holds
            is False
        )
        assert (
            verdict("weights", "Backdoor, attackers train 15 epochs, Reputation: honest", results, reading).holds
            is True
        )
    assert verdict("weights", "Backdoor, attackers train 15 epochs, Reputation with cut-off", results).holds is True
    assert verdict("weights", "Backdoor, attackers train 15 epochs, Residual", results).holds is True


def test_weights_are_judged_for_each_number_of_epochs_by_itself():
    def zeroed(result):
        if result.run.epochs_of_attackers != 5 or result.run.rule.name != "published-code":
            return result
        weights = np.where(result["attacker"], 0.0, 0.5) * np.ones((10, 1))
        return Result(result.run, {**result.arrays, "weights": weights})

    results = Results(map(zeroed, generated_results(experiment("weights"), PROFILES["paper"])))
    nothing = "epochs, Reputation: attackers weigh 0"
    assert verdict("weights", f"Backdoor, attackers train 5 {nothing}", results, "published code").holds is True
    assert verdict("weights", f"Backdoor, attackers train 15 {nothing}", results, "published code").holds is False
    assert verdict("weights", f"Backdoor, attackers train 5 {nothing}", results, "text").holds is False


def test_a_residual_weight_of_zero_is_found_out():
    def zeroed(result):
        weights = np.where(result["attacker"], 0.0, 0.5) * np.ones((10, 1))
        return Result(result.run, {**result.arrays, "weights": weights})

    assert (
        verdict(
            "weights", "Backdoor, attackers train 15 epochs, Residual", Results(map(zeroed, results_of("weights")))
        ).holds
        is False
    )


def test_looping_is_compared_with_the_repeated_attack():
    results = results_of("looping")
    assert verdict("looping", "Backdoor: the looping attack is weaker", results).holds is True

    def stronger(result):
        if result.run.schedule.kind != "loop":
            return result
        return Result(result.run, {**result.arrays, "asr.backdoor": np.ones(100), "asr.label-flip": np.ones(100)})

    changed = Results(map(stronger, results))
    assert verdict("looping", "Backdoor: the looping attack is weaker", changed).holds is False
    assert verdict("looping", "Backdoor: every rule keeps", changed).holds is False


def test_fltrust_at_half_the_clients_is_compared_with_fewer():
    def scripted(result, at_50):
        run = result.run
        if run.rule.name != "fltrust" or run.attack is None:
            return result
        level = at_50 if run.attackers == 5 else 0.2
        return Result(run, {**result.arrays, f"asr.{run.attack.name}": np.full(run.rounds, level)})

    for at_50, holds in ((0.28, True), (0.9, False)):
        results = Results(scripted(result, at_50) for result in results_of("attackers"))
        assert verdict("attackers", "1.39", results).holds is holds


def test_clients_are_stable_or_not():
    def worse(result):
        if result.run.clients == 10:
            return result
        return Result(result.run, {**result.arrays, "asr.backdoor": np.full(result.run.rounds, 0.9)})

    assert verdict("clients", "Backdoor", results_of("clients")).holds is True
    assert verdict("clients", "Backdoor", Results(map(worse, results_of("clients")))).holds is False
