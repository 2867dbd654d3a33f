import math

import pytest

from eitr.lab.experiments.claim_checks import exceeds_ours, faster, leads, linear, stable, trend
from eitr.lab.experiments.scenario import PAPER_RULES, RIVALS
from eitr.lab.experiments.seed_statistics import RoundsToReach, SeedValues

NAN = math.nan


def spreads(ours, others=0.5, **named):
    found = {rule: SeedValues((others, others)) for rule in RIVALS} | {"reputation": SeedValues((ours, ours))}
    return found | {rule.replace("_", "-"): SeedValues((value, value)) for rule, value in named.items()}


def test_a_leader_has_the_best_mean_in_every_setting():
    found = {"10 %": spreads(0.6), "30 %": spreads(0.55)}
    verdict = leads("highest", found, highest=True)
    assert verdict.holds is True
    assert "2 of 2 settings" in verdict.measured
    assert leads("lowest", found, highest=False).holds is False


def test_one_lost_setting_costs_the_lead_and_the_winner_is_named():
    verdict = leads("highest", {"10 %": spreads(0.6), "30 %": spreads(0.55, median=0.7)}, highest=True)
    assert verdict.holds is False
    assert "1 of 2" in verdict.measured
    assert "Median" in verdict.measured


@pytest.mark.parametrize(("ours", "holds"), [(0.515, True), (0.505, False)])
def test_a_lead_may_be_asked_for_in_points(ours, holds):
    assert leads("by a point", {"x": spreads(ours)}, highest=True, least=0.01).holds is holds


def test_a_tie_is_no_lead_but_the_same_or_better():
    found = {"x": spreads(0.5)}
    assert leads("highest", found, highest=True).holds is False
    assert leads("as good", found, highest=True, least=-0.005).holds is True
    assert leads("as good", {"x": spreads(0.49)}, highest=True, least=-0.005).holds is False


def test_a_diverged_rule_is_left_out_and_named_and_ours_loses():
    verdict = leads("highest", {"x": spreads(0.6, fltrust=NAN)}, highest=True)
    assert verdict.holds is True
    assert "Diverged in some seed: FLTrust" in verdict.measured
    assert leads("highest", {"x": spreads(NAN)}, highest=True).holds is False
    assert leads("highest", {"x": spreads(0.6, NAN)}, highest=True).holds is None


def test_a_rule_that_diverged_in_some_seeds_is_compared_in_the_others():
    ours, lucky = SeedValues((0.8, 0.8, 0.8)), SeedValues((0.7, NAN, NAN))
    verdict = leads("highest", {"x": {"reputation": ours, "fedavg": lucky}}, highest=True)
    assert verdict.holds is True
    assert "Diverged in some seed: FedAvg" in verdict.measured
    beaten = leads("highest", {"x": {"reputation": ours, "fedavg": SeedValues((0.9, NAN, NAN))}}, highest=True)
    assert beaten.holds is False
    unlucky = leads("highest", {"x": {"reputation": SeedValues((0.9, NAN, 0.9)), "fedavg": ours}}, highest=True)
    assert unlucky.holds is False


def test_where_all_others_diverged_ours_has_won():
    alone = {"reputation": SeedValues((0.8,)), "fedavg": SeedValues((NAN,))}
    together = {"reputation": SeedValues((0.8,)), "fedavg": SeedValues((0.7,))}
    assert leads("highest", {"x": alone, "y": together}, highest=True).holds is True


def test_other_rules_must_exceed_ours_by_a_percentage_on_average():
    assert exceeds_ours("83 %", {"x": spreads(0.1, 0.19)}, least=0.828).holds is True
    verdict = exceeds_ours("83 %", {"x": spreads(0.1, 0.19, median=0.15)}, least=0.828)
    assert verdict.holds is False
    assert "Median 15.0 % (+50 %)" in verdict.measured
    assert exceeds_ours("83 %", {"x": spreads(0.0, 0.2)}, least=0.828).holds is None


def test_stable_has_a_stated_tolerance():
    near, far = SeedValues((0.80, 0.80)), SeedValues((0.83, 0.83))
    assert stable("same", {"a": near, "b": SeedValues((0.81, 0.81))}, None).holds is True
    verdict = stable("same", {"a": near, "b": far}, None)
    assert verdict.holds is False
    assert "at most 2" in verdict.measured
    assert stable("same", None, {"a": near, "b": far}).holds is True
    assert stable("same", {"a": near}, None).holds is None


def test_a_trend_must_exceed_its_standard_error():
    low, noisy = SeedValues((0.5, 0.5, 0.5)), SeedValues((0.4, 0.5, 0.63))
    assert trend("rises", ("a", low), ("b", SeedValues((0.6, 0.61, 0.6))), rises=True).holds is True
    assert trend("rises", ("a", low), ("b", noisy), rises=True).holds is False
    assert trend("falls", ("a", low), ("b", SeedValues((0.4, 0.4, 0.4))), rises=False).holds is True
    assert trend("slightly", ("a", low), ("b", SeedValues((0.7, 0.7, 0.7))), rises=True, at_most=0.1).holds is False
    assert trend("rises", ("a", SeedValues((NAN,))), ("b", SeedValues((0.1,))), rises=True).holds is None


def test_a_line_is_straight_and_goes_the_right_way():
    straight = [SeedValues((value,)) for value in (0.1, 0.2, 0.3)]
    bent = [SeedValues((value,)) for value in (0.1, 0.1, 0.1, 0.1, 0.5)]
    assert linear("rises", [0.1, 0.3, 0.5], {"median": straight}, rises=True).holds is True
    assert linear("falls", [0.1, 0.3, 0.5], {"median": straight}, rises=False).holds is False
    assert linear("rises", [0.1, 0.2, 0.3, 0.4, 0.5], {"median": bent}, rises=True).holds is False
    assert linear("rises", [0.1, 0.5], {"median": straight[:2]}, rises=True).holds is None


def test_speed_is_a_ratio_of_mean_rounds():
    ours = RoundsToReach((10, 10), 100)
    assert faster("2x", ours, {"fedavg": RoundsToReach((20, 24), 100)}, least=2).holds is True
    assert faster("2x", ours, {"fedavg": RoundsToReach((12, 12), 100)}, least=2).holds is False


def test_a_rule_that_never_converges_gives_a_lower_bound():
    never = RoundsToReach((None, None), 100)
    assert faster("4x", RoundsToReach((10, 10), 100), {"fltrust": never}, least=4).holds is True
    verdict = faster("4x", RoundsToReach((50, 50), 100), {"fltrust": never}, least=4)
    assert verdict.holds is None
    assert "at least 2.0x" in verdict.measured
    # A decided loss against one rule is a loss, whatever the others do.
    assert (
        faster(
            "4x", RoundsToReach((50, 50), 100), {"fltrust": never, "fedavg": RoundsToReach((9, 9), 100)}, least=4
        ).holds
        is False
    )


def test_ours_never_converging_loses_to_one_that_does():
    never = RoundsToReach((None, 5), 100)
    assert faster("2x", never, {"fedavg": RoundsToReach((20, 24), 100)}, least=2).holds is False
    assert faster("2x", never, {"fedavg": never}, least=2).holds is None


def test_all_seven_rules_have_a_name():
    assert len(set(PAPER_RULES)) == 7
