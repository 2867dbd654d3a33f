"""The simulation of many browsers: nothing is lost, everything is repeatable, and it follows the plan."""

import numpy as np
import pytest

from eitr.errors import InputError
from eitr.lab.scale.plan import Costs, Plan
from eitr.lab.scale.population import population
from eitr.lab.scale.scenarios import scenario
from eitr.lab.scale.simulation import DAY, simulate
from eitr.lab.scale.summary import summary

SMALL = Plan(browsers=3000, days=1, step=300, pages_a_day=1.0)


@pytest.mark.parametrize("id", ["today", "aligned", "cohort", "one-machine"])
def test_every_update_and_every_use_of_a_page_is_accounted_for(id):
    outcome = simulate(scenario(id).plan(SMALL))
    totals = outcome.totals
    assert totals["prepared"] > 100
    assert totals["prepared"] == totals["taken"] + totals["refused_updates"] + totals["waiting"]
    assert totals["uses"] >= totals["uses_taken"] + totals["uses_refused"] >= totals["uses"] - 4 * totals["waiting"]
    assert totals["uses"] <= 2 * totals["pages"]
    assert outcome.series["accepted"].sum() == totals["taken"]
    assert sum(one.received for one in outcome.rounds) == totals["taken"]
    sent = totals["taken"] + totals["refused_updates"]
    assert outcome.series["sends"].sum() >= sent


def test_the_same_seed_gives_the_same_numbers_and_another_seed_others():
    one, again, other = (summary(simulate(Plan(browsers=2000, days=1, step=300, seed=seed))) for seed in (4, 4, 5))
    assert one == again
    assert one["requests"] != other["requests"]


def test_browsers_poll_while_they_are_online_and_no_more():
    outcome = simulate(SMALL)
    everywhen = outcome.online.sum() * 60 / SMALL.alarm
    assert outcome.last_day("polls").sum() == pytest.approx(everywhen, rel=0.02)


def test_minutes_online_are_as_many_as_people_have_hours():
    people = population(SMALL)
    assert people.online_over_day().sum() == people.length.sum(dtype=np.int64)
    assert people.length.mean() / 60 == pytest.approx(SMALL.hours_online, rel=0.05)
    running = [people.online(slice(None), minute).sum() for minute in (0, 333, 1439)]
    assert running == people.online_over_day()[[0, 333, 1439]].tolist()


def test_without_established_people_a_round_lasts_until_its_deadline_and_takes_half_of_its_maximum():
    outcome = simulate(Plan(browsers=3000, days=2, step=300, pages_a_day=1.0, maximum=100))
    first = outcome.rounds[0]
    assert (first.received, first.newcomers, first.judged) == (50, 50, 20)
    assert DAY <= first.closed <= DAY + 1
    assert first.refused > 500


def test_without_bounds_a_round_closes_at_its_quorum():
    outcome = simulate(Plan(browsers=3000, days=1, step=300, pages_a_day=1.0, bounds=False))
    assert outcome.versions > 20
    assert all(one.closed - one.complete <= 1 for one in outcome.rounds[:-1])


def test_a_server_that_is_too_small_leaves_requests_unanswered_and_browsers_wait_longer():
    slow = Costs(current=10.0, manifest=1.0)
    small, large = (simulate(Plan(browsers=3000, days=1, step=300, processes=number), slow) for number in (1, 100))
    assert large.series["failures"].sum() == 0
    assert small.series["failures"].sum() > 1000
    assert small.series["polls"].sum() < 0.8 * large.series["polls"].sum()
    assert small.series["busy_seconds"].sum() <= DAY + 60


def test_an_update_that_could_not_be_sent_is_kept_and_sent_again():
    outcome = simulate(
        Plan(browsers=3000, days=1, step=300, processes=1, pages_a_day=5.0, founders=3000), Costs(update=10.0)
    )
    totals = outcome.totals
    assert outcome.series["sends"].sum() > totals["prepared"]
    assert totals["prepared"] == totals["taken"] + totals["refused_updates"] + totals["waiting"]


def test_the_measures_do_what_they_are_for():
    found = {id: summary(simulate(scenario(id).plan(SMALL))) for id in ("settings", "last-layer", "seldom")}
    assert found["last-layer"]["cdn_tb_a_month"] < 0.1 * found["settings"]["cdn_tb_a_month"]
    assert found["seldom"]["polls"]["a_day"] < 0.1 * found["last-layer"]["polls"]["a_day"]


def test_cohort_sampling_leaves_out_whom_there_is_no_place_for():
    base = Plan(browsers=20_000, days=2, step=300, founders=500, pages_a_day=0.5, quorum=50, maximum=200)
    everybody, drawn = simulate(base), simulate(Plan(**{**vars(base), "cohort": 80}))
    assert summary(everybody)["refused_share"] > 0.5
    assert summary(drawn)["refused_share"] < 0.1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("browsers", 0),
        ("browsers", 10**12),
        ("browsers", 3.5),
        ("browsers", True),
        ("days", 0),
        ("seed", -1),
        ("step", 7),
        ("step", 0),
        ("hours_online", float("nan")),
        ("hours_online", 25.0),
        ("pages_a_day", -1.0),
        ("spread", 0.0),
        ("processes", -1),
        ("quorum", 2000),
        ("founders", 20_000_000),
        ("patience", float("inf")),
    ],
)
def test_plans_that_make_no_sense_are_refused(name, value):
    with pytest.raises(InputError):
        Plan(**{name: value})


def test_costs_are_checked_and_scenarios_have_names():
    with pytest.raises(InputError, match="current"):
        Costs(current=0.0)
    with pytest.raises(InputError, match="there is no scenario 'tomorrow'"):
        scenario("tomorrow")
