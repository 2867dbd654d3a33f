"""A topic of a few clients: who has it, when it is learned, and what becomes of their reputation."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the lab computes with torch; install eitr[lab]")

from eitr.datasets import load
from eitr.lab.experiments.new_topic import owners, relative_reputation, topics
from eitr.lab.experiments.registry import experiment
from eitr.lab.plotting import figure_svg
from eitr.lab.results.store import Result, Results
from eitr.lab.runs.profile import PROFILES, make_profile
from eitr.lab.simulation.population import population
from eitr.taxonomy import NAMES
from tests.lab.experiments.exact import all_exact, diverged, exact

NEW_TOPIC: Any = experiment("new-topic")
PAPER = PROFILES["paper"]


def results(**changes):
    """Return exact results; those of the fused rule with changes."""
    return all_exact(NEW_TOPIC, PAPER, lambda run: changes if run.rule.name == "fused" else {"arrives": 10})


def verdict(words, found):
    (one,) = (one for one in NEW_TOPIC.verdicts(found) if words in one.claim)
    return one


def test_every_sensitive_class_that_the_data_has_is_a_topic_once():
    assert topics(PAPER) == ["health", "politics", "religion", "sexual-orientation", "ethnicity"]
    assert topics(PROFILES["quick"]) == ["health", "politics", "religion"]
    assert topics(make_profile("paper", data="newsgroups")) == ["health", "politics", "religion"]
    assert topics(make_profile("paper", data="covid")) == ["health"]
    assert topics(make_profile("paper", data="mine.npz")) == list(NAMES[:5])


def test_two_rules_three_seeds_a_topic_and_nobody_attacks():
    runs = NEW_TOPIC.runs(PAPER)
    assert len(set(runs)) == len(runs) == 5 * 2 * 3
    assert {run.attack for run in runs} == {None}
    assert {(run.rounds, run.steps, run.trusted) for run in runs} == {(40, 150, 300)}


def test_the_clients_that_have_the_class_are_found():
    examples = load("builtin", size=600, words=60)
    run = next(run for run in NEW_TOPIC.runs(PAPER) if run.exclusive == "religion")
    people = population(examples, run)
    have = [bool((examples.labels[pages] == NAMES.index("religion")).any()) for pages in people.pages]
    assert owners(exact(run)).tolist() == have
    assert sum(have) == 2


@pytest.mark.parametrize(("arrives", "holds"), [(10, True), (15, True), (16, False), (41, False)])
def test_the_class_must_be_learned_nearly_as_fast_as_by_fedavg(arrives, holds):
    assert verdict("Religion: the fused rule learns", results(arrives=arrives)).holds is holds


@pytest.mark.parametrize(("end", "holds"), [(0.0, None), (0.16, None), (0.17, True)])
def test_a_class_that_fedavg_does_not_learn_better_than_by_guessing_cannot_be_judged(end, holds):
    found = all_exact(NEW_TOPIC, PAPER, lambda run: {"accuracy": end} if run.rule.name == "fedavg" else {})
    told = verdict("Health: the fused rule learns", found)
    assert told.holds is holds
    assert f"{100 * end:.1f} %" in told.measured
    if holds is None:  # nor can it be said when
        assert [row[2] for row in NEW_TOPIC.table(found).rows] == [None] * 10


@pytest.mark.parametrize(("share", "holds"), [(0.8, True), (0.79, False), (1.2, True)])
def test_those_who_have_it_must_keep_their_reputation(share, holds):
    def doubted(result):
        if "reputation" not in result:
            return result
        reputation = result["reputation"].copy()
        reputation[-10:, :2] *= share
        reputation[:-10, :2] = 0  # what was before the last ten rounds does not count
        return Result(result.run, {**result.arrays, "reputation": reputation})

    found = Results(map(doubted, results()))
    assert relative_reputation(found.where(exclusive="health", rule="fused")).mean == pytest.approx(share)
    assert verdict("Health: those who have it", found).holds is holds


def test_the_table_has_a_row_a_class_and_rule():
    table = NEW_TOPIC.table(results(arrives=12))
    assert [row[:3] for row in table.rows[:2]] == [("Health", "FedAvg", 10.0), ("Health", "Fused + validation", 12.0)]
    assert len(table.rows) == 10
    assert {len(row) for row in table.rows} == {len(table.columns)}
    assert {type(cell) for row in table.rows for cell in row} <= {str, float, type(None)}


@pytest.mark.parametrize("profile", PROFILES)
def test_a_figure_has_a_panel_a_class_and_one_for_reputation(profile):
    svg = figure_svg(NEW_TOPIC.figure(all_exact(NEW_TOPIC, PROFILES[profile])))
    for words in ("Health", "Politics", "Religion", "Reputation of those who have it"):
        assert f">{words}<" in svg
    assert "<image" not in svg


def test_a_rule_that_diverged_does_not_break_anything():
    found = Results(diverged(one) if one.run.rule.name == "fused" else one for one in results())
    assert {one.holds for one in NEW_TOPIC.verdicts(found)} == {False}
    assert not any(" nan" in one.measured for one in NEW_TOPIC.verdicts(found))
    assert NEW_TOPIC.table(found).rows
    assert NEW_TOPIC.figure(found).axes
    assert np.isnan(relative_reputation(found.where(exclusive="health", rule="fused")).mean)
