"""The privacy experiment on made-up results: its cells, table and figure, and goals that hold and do not."""

import warnings
from typing import Any

import numpy as np
import pytest

from eitr.lab.experiments.privacy import Privacy
from eitr.lab.experiments.privacy_runs import COMPARED, DEFAULT, FACTOR, FACTOR_PERIOD, OWN_PAGES, PUBLISHED, ROBUST
from eitr.lab.plotting import figure_svg
from eitr.lab.results.store import Result, Results
from eitr.lab.runs.privacy import (
    ANY,
    CORRECTIONS,
    LATER,
    LEAKING,
    OF_ONE_TOPIC,
    OUTSIDER,
    POISONS,
    SERVER,
    START,
    THIEF,
    TOPIC,
    Defence,
    PoisonRun,
    PrivacyRun,
    WeightRun,
)
from eitr.lab.runs.profile import PROFILES, make_profile
from eitr.model.private import PrivatePlan, largest_auc
from eitr.server.domain.round_aggregation import ROUNDS_OF_A_FACTOR, SECRET_FACTOR

PRIVACY = Privacy()
COST = {"accuracy_start": 0.9, "accuracy_later": 0.89, "corrections_learned": 0.5, "candidates": 300.0, "clip": 0.2}


def made_up(run, **changed):
    """A result in which every attack is close to guessing."""
    if isinstance(run, WeightRun):
        return Result(run, arrays({"weight_error": 0.3, "weight_error_error": 0.02} | changed))
    if isinstance(run, PoisonRun):
        return Result(run, arrays({"accuracy_later": 0.88, "triggered": 0.1} | changed))
    if run.choice in OF_ONE_TOPIC:
        return Result(run, arrays({**COST, "topic.interest": 0.05} | changed))
    found = {**COST, "auc.subspace": 0.52, "auc_error.subspace": 0.02}
    found |= {"words.subspace": 0.5, "words_error.subspace": 0.01}
    found |= {"auc.whitened-filter": 0.55, "auc_error.whitened-filter": 0.04, "best.whitened-filter": 0.012}
    found |= {"label.label-bias": 0.03, "auc_label_known.likelihood-ratio": 0.56}
    found |= {"auc_label_known_error.likelihood-ratio": 0.02}
    return Result(run, arrays(found | changed))


def arrays(numbers):
    return {name: np.array(value) for name, value in numbers.items()}


@pytest.fixture(scope="module", params=PROFILES)
def results(request):
    return Results(made_up(run) for run in PRIVACY.runs(PROFILES[request.param]))


def test_the_default_is_measured_in_all_cells_and_others_in_four():
    runs = PRIVACY.runs(PROFILES["paper"])
    assert len({run.key for run in runs}) == len(runs)
    cells = [run for run in runs if isinstance(run, PrivacyRun) and run.choice not in OF_ONE_TOPIC]
    kinds = {(own, c, base) for own in OWN_PAGES for c in (ANY, CORRECTIONS) for base in (START, LATER)}
    for viewer, uses in ((SERVER, 1), (SERVER, 2), (OUTSIDER, 2), (THIEF, 2)):
        seen = [run for run in cells if (run.defence, run.viewer, run.uses) == (DEFAULT, viewer, uses)]
        assert {(run.own_pages, run.choice, run.base) for run in seen if run.base != LEAKING} == kinds
        assert {run.seed for run in seen} == {0, 1, 2}
    assert {run.own_pages for run in cells if run.defence == DEFAULT and run.base == LEAKING} == set(OWN_PAGES)
    for defence in COMPARED:
        mine = [run for run in cells if run.defence == defence]
        assert len({(run.own_pages, run.choice) for run in mine if run.viewer == defence.against}) >= 4, defence
    assert {run.uses for run in cells if run.base != LATER} == {1, 2, 20}
    assert {(run.victims, run.candidates) for run in cells} == {(200, 300)}


def test_main_defences_are_attacked_and_weights_read_in_small_and_large_rounds():
    runs = PRIVACY.runs(PROFILES["paper"])
    poisoned = {(run.defence, run.poison) for run in runs if isinstance(run, PoisonRun)}
    assert poisoned == {(defence, poison) for defence in ROBUST for poison in POISONS}
    read = {(run.clients, run.rounds, run.factor, run.calibrated) for run in runs if isinstance(run, WeightRun)}
    plain = {(clients, rounds, factor, 0) for clients in (10, 50) for rounds in (1, 20) for factor in (0.0, FACTOR)}
    assert read == plain | {(10, rounds, FACTOR, 20) for rounds in (5, 20)}


def test_weights_are_read_as_servers_multiply_them():
    assert (FACTOR, FACTOR_PERIOD) == (SECRET_FACTOR, ROUNDS_OF_A_FACTOR)


def test_the_pool_is_part_of_the_key_of_every_run():
    one, other = (
        {run.key for run in PRIVACY.runs(make_profile("quick", start="mine@0", pool=pool))} for pool in ("aa", "bb")
    )
    assert one.isdisjoint(other)


def test_noise_on_the_published_step_is_judged_by_what_outsiders_see():
    runs = [
        run
        for run in PRIVACY.runs(PROFILES["paper"])
        if isinstance(run, PrivacyRun) and run.defence in (DEFAULT, PUBLISHED)
    ]
    found = Results(
        made_up(run, **({"auc.subspace": 1.0} if (run.defence, run.viewer) == (PUBLISHED, SERVER) else {}))
        for run in runs
    )
    rows = {row[:2]: row[2] for row in PRIVACY.summary(found).rows}
    assert rows[PUBLISHED.title, SERVER] == 1.0
    assert rows[PUBLISHED.title, OUTSIDER] == 0.55
    bars: list[Any] = PRIVACY.figure(found).axes[0].containers
    assert [bar.lines[0].get_ydata().tolist() for bar in bars] == [[0.55], [0.55]]


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
    one_cell = [
        run
        for run in runs
        if isinstance(run, PrivacyRun)
        and (run.own_pages, run.choice, run.base, run.uses, run.viewer) == (4, ANY, START, 2, THIEF)
    ]
    results = Results(made_up(run, **(changed if run in one_cell else {})) for run in runs)
    verdicts = PRIVACY.verdicts(results)
    assert [verdict.holds for verdict in verdicts] == [place != broken for place in range(7)]
    assert "4 own pages (any), base start, 2 uses, seen by a thief" in verdicts[broken].measured


def test_a_topic_that_one_update_tells_breaks_a_goal():
    runs = [run for run in PRIVACY.runs(PROFILES["paper"]) if run.defence == DEFAULT]

    def holds(uses):
        told = [run for run in runs if isinstance(run, PrivacyRun) and (run.choice, run.uses) == (TOPIC, uses)]
        found = Results(made_up(run, **({"topic.interest": 0.2} if run in told else {})) for run in runs)
        verdict = PRIVACY.verdicts(found)[5]
        assert f"20.0 (16 own, {uses} round" in verdict.measured
        return verdict.holds

    assert (holds(1), holds(20)) == (False, True)


@pytest.mark.parametrize(("factor", "broken"), [(0.0, None), (FACTOR, 6)])
def test_a_weight_that_can_be_read_breaks_a_goal(factor, broken):
    runs = [run for run in PRIVACY.runs(PROFILES["paper"]) if run.defence == DEFAULT]
    read = [run for run in runs if isinstance(run, WeightRun) and (run.rounds, run.factor) == (20, factor)]
    found = Results(made_up(run, **({"weight_error": 0.1} if run in read else {})) for run in runs)
    assert [verdict.holds for verdict in PRIVACY.verdicts(found)] == [place != broken for place in range(7)]


def test_the_bound_is_that_of_the_noise_that_a_viewer_sees():
    def possible(defence, viewer):
        found = Results([made_up(PrivacyRun(data="x", defence=defence, viewer=viewer))])
        [row] = [row for row in PRIVACY.table(found).rows if row[7] == "likelihood-ratio"]
        return row[-1]

    assert possible(DEFAULT, SERVER) == possible(PUBLISHED, OUTSIDER) == round(largest_auc(4.0, 1), 4)
    assert possible(PUBLISHED, SERVER) == 1.0
    assert possible(Defence(noise=2.0, group=4), SERVER) == possible(DEFAULT, THIEF)


def test_seeds_of_a_cell_are_taken_together():
    runs = PRIVACY.runs(PROFILES["paper"])
    first, *others = [run for run in runs if isinstance(run, PrivacyRun) and run.defence == DEFAULT]
    results = Results([made_up(first, **{"auc.subspace": 0.70}), *map(made_up, others)])
    [row] = [row for row in PRIVACY.table(results).rows if row[8] not in (0.52, 0.55, None)]
    assert row[6] == len(PROFILES["paper"].seeds)
    assert row[8] == pytest.approx((0.70 + 2 * 0.52) / 3, abs=1e-4)
    assert row[9] == pytest.approx(0.02 / np.sqrt(3), abs=1e-4)
