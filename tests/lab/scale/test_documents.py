"""What docs/scale.md says is what the simulation computed and what was measured."""

import json
from pathlib import Path

import pytest

from eitr.lab.scale.plan import Costs, Plan
from eitr.lab.scale.scenarios import SCENARIOS
from scripts.scale_page import NUMBERS, TARGET, page

CHECK = NUMBERS.with_name("check.json")


def test_the_tables_are_those_of_the_numbers():
    assert page() == TARGET.read_text("utf-8"), "run python -m scripts.scale_page"


def test_the_numbers_are_those_of_all_scenarios_of_today():
    found = json.loads(NUMBERS.read_text("utf-8"))
    assert list(found["scenarios"]) == list(SCENARIOS)
    for id, one in found["scenarios"].items():
        base = Plan(**{name: one["plan"][name] for name in ("browsers", "days", "step", "seed")})
        assert Plan(**one["plan"]) == SCENARIOS[id].plan(base)
        totals = one["totals"]
        assert totals["prepared"] == totals["taken"] + totals["refused_updates"] + totals["waiting"]
    assert [one["plan"]["browsers"] for one in found["growth"]] == sorted({10_000, 100_000, 1_000_000, base.browsers})


def test_the_costs_of_the_document_were_measured():
    text, measured = TARGET.read_text("utf-8"), json.loads(CHECK.read_text("utf-8"))
    costs = Costs()
    asked = measured["requests"]["one_by_one"]
    for name, cost in (("manifest", costs.manifest), ("round", costs.current)):
        assert f"| {1000 * cost:g} ms | {asked[name]['processor_ms']:.2f} ms |" in text
    assert f"{asked['weights']['processor_ms']:.2f} ms" in text
    seconds = [one["seconds"] for one in measured["rounds"]]
    assert f"{', '.join(f'{one:.1f}' for one in seconds)} s" in text
    first, second = measured["rounds"][0], measured["rounds"][-1]
    each = (second["bytes_a_round"] - first["bytes_a_round"]) / (second["updates"] - first["updates"])
    assert each == pytest.approx(costs.update_bytes, rel=0.02)
    state = (second["bytes_first_round"] - second["bytes_a_round"]) / second["updates"]
    assert state == pytest.approx(costs.state_bytes, rel=0.02)
    full = measured["requests"]["saturated"]
    assert f"predicts {full['predicted_per_second']:.0f} requests a second" in text
    assert f"where {full['per_second']:.0f} were measured" in text


def test_the_figures_are_there():
    for name in ("day.svg", "growth.svg"):
        assert f"results/scale/{name}" in TARGET.read_text("utf-8")
        assert (Path(NUMBERS).parent / name).read_text("utf-8").startswith("<svg")
