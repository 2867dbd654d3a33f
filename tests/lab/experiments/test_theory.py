"""The experiment on Theorem 1: its runs, and verdicts that can come out either way."""

from typing import Any

import numpy as np
import pytest
import torch

from eitr.lab.experiments.interface import ClaimVerdict
from eitr.lab.experiments.theory import (
    SWEEPS,
    Theory,
    contraction,
    corrected_bound,
    direction,
    followed_bound,
    printed_bound,
    relative,
)
from eitr.lab.results.store import Result, Results
from eitr.lab.runs.convex import ConvexRun
from eitr.lab.runs.federated import paper_rule
from eitr.lab.runs.profile import Profile
from eitr.lab.simulation.context import Context
from eitr.lab.simulation.convex import compute

QUICK, ROUNDS = Profile(name="quick", seeds=(0, 1), rounds=20), 40


def invented(final: Any, exact: float = 0.5) -> Results:
    """Return results of every run, whose distance goes from 1 to `final(run)` at once."""
    found = []
    runs: Any = Theory().runs(QUICK)
    for run in runs:
        distance = np.array([1.0] + [final(run)] * run.rounds)
        series = {name: np.full(run.rounds, 0.1) for name in ("from_median", "median_error", "honest_error")}
        numbers = {"mu": 0.1, "L": 0.5, "r": 1.8, "residual": 0.05, "variance": 5.0, "gradient": 5.0, "skewness": 2.0}
        arrays = {**series, **numbers, "diameter": 2.0, "exact": exact ** np.arange(run.rounds + 1)}
        found.append(
            Result(run, {name: np.asarray(v, np.float64) for name, v in {**arrays, "distance": distance}.items()})
        )
    return Results(found)


def named(verdicts: list[ClaimVerdict], start: str) -> list[ClaimVerdict]:
    return [verdict for verdict in verdicts if verdict.claim.startswith(start)]


def as_remark_1(run: ConvexRun) -> float:
    rule: Any = run.rule
    return 0.1 + 0.1 * (1 / run.parameters + 1 / run.clients + run.share + 0.1 / rule.a + 0.01 / rule.kappa)


def test_runs_are_unique_and_cover_every_sweep() -> None:
    runs = Theory().runs(QUICK)
    assert len({run.key for run in runs}) == len(runs)
    results = Results(Result(run, {}) for run in runs)
    for sweep in SWEEPS:
        assert list(sweep.of(results)) == pytest.approx(sorted(sweep.quick))
        assert all(len(group) == 2 for group in sweep.of(results).values())


def test_results_as_remark_1_says_make_its_directions_hold_and_the_opposite_makes_them_fail() -> None:
    agreeing, opposite = invented(as_remark_1), invented(lambda run: 0.9 - as_remark_1(run))
    for sweep in SWEEPS:
        assert direction(sweep, sweep.of(agreeing)).holds is True
        assert direction(sweep, sweep.of(opposite)).holds is False
        assert direction(sweep, {}).holds is None


def test_a_change_by_rounding_is_no_direction() -> None:
    results = invented(lambda run: 0.5 - 1e-12 * run.rule.a)
    sweep = next(sweep for sweep in SWEEPS if sweep.symbol == "a")
    assert direction(sweep, sweep.of(results)).holds is False


def test_kappa_cannot_please_both_remarks() -> None:
    for final in (as_remark_1, lambda run: 0.9 - as_remark_1(run)):
        verdicts = Theory().verdicts(invented(final))
        first = next(v for v in named(verdicts, "Remark 1") if "kappa" in v.claim)
        assert first.holds is not named(verdicts, "Remark 2")[0].holds


def test_a_distance_beyond_the_bounds_makes_them_fail() -> None:
    near, far = Theory().verdicts(invented(lambda run: 0.3)), Theory().verdicts(invented(lambda run: 1e6))
    for claim in ("Theorem 1", "The corrected bound", "With 400", "Corollary 1"):
        assert all(verdict.holds for verdict in named(near, claim))
        assert not any(verdict.holds for verdict in named(far, claim))


def test_the_printed_contraction_holds_only_for_a_problem_that_contracts_so_fast() -> None:
    claim = "Without any error"
    assert named(Theory().verdicts(invented(lambda run: 0.3, exact=0.5)), claim)[0].holds is False
    assert named(Theory().verdicts(invented(lambda run: 0.3, exact=0.05)), claim)[0].holds is True


def test_without_results_nothing_is_judged() -> None:
    verdicts = Theory().verdicts(Results([]))
    assert {verdict.holds for verdict in verdicts if "Delta1" not in verdict.claim} == {None}


def test_table_and_figure_are_made_of_any_results() -> None:
    results = invented(as_remark_1)
    table = Theory().table(results)
    assert all(len(row) == len(table.columns) for row in table.rows)
    assert len(Theory().figure(results).axes) == 8


@pytest.mark.parametrize("poison", ["flip", "scale", "arbitrary"])
def test_a_real_run_stays_below_the_corrected_bound_and_the_recursion_follows_it(poison: str) -> None:
    run = ConvexRun(rule=paper_rule("reputation", rescale="median"), rounds=15, poison=poison)
    result = Result(run, compute(run, Context(device=torch.device("cpu"))))
    followed = followed_bound(result, contraction(result))
    assert (result["distance"] <= followed + 1e-9).all()
    assert (followed[1:] <= corrected_bound(result)[1:] + 1e-9).all()
    assert printed_bound(result)[-1] > 100 * corrected_bound(result)[-1] / 10
    assert 0 < relative([result]).mean < 1
