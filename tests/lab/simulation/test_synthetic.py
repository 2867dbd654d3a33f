"""Runs on drawn updates, and the three experiments on reputation that are made of them."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from eitr.aggregation import make_rule
from eitr.attacks.schedule import Schedule
from eitr.errors import InputError
from eitr.lab.experiments.attack_scores import SCENES, attack_rounds, drop, larger_drop
from eitr.lab.experiments.interface import Experiment
from eitr.lab.experiments.reputation_continuous import ReputationContinuous
from eitr.lab.experiments.reputation_loop import ReputationLoop
from eitr.lab.experiments.reputation_once import ReputationOnce
from eitr.lab.results.store import Result, Results
from eitr.lab.runs.profile import Profile
from eitr.lab.runs.synthetic import BLATANT, SyntheticRun
from eitr.lab.simulation import synthetic
from eitr.lab.simulation.context import Context
from eitr.lab.simulation.synthetic import compute

CPU = Context(device=torch.device("cpu"))
RUN = SyntheticRun(rule=make_rule("reputation"), rounds=6, schedules=(Schedule("once", 3),), share=BLATANT)


def test_a_run_is_the_same_every_time_and_another_with_another_seed() -> None:
    first, second, other = compute(RUN, CPU), compute(RUN, CPU), compute(replace(RUN, seed=1), CPU)
    assert all(np.array_equal(first[name], second[name]) for name in first)
    assert not np.array_equal(first["reputation"], other["reputation"])
    assert first["reputation"].shape == (6, 10)
    assert first["reputation"].dtype == np.float32


def test_a_plain_attack_by_one_client_costs_reputation_and_is_forgiven_slowly() -> None:
    result = Result(RUN, compute(RUN, CPU))
    assert attack_rounds(result) == [3]
    assert drop(result, 3) > 0.2
    assert drop(result, 4) < 0
    assert result["attacking"].sum() == 1


def test_without_attackers_hardly_anything_is_rejected() -> None:
    arrays = compute(replace(RUN, schedules=(), parameters=1000), CPU)
    assert (arrays["attacker"] == -1).all()
    assert arrays["negative"].mean() < 20


def test_the_batched_rule_gives_the_same_run(monkeypatch: pytest.MonkeyPatch) -> None:
    run = replace(RUN, parameters=200)
    compiled = compute(run, CPU)
    monkeypatch.setattr(synthetic, "JIT", False)
    batched = compute(run, CPU)
    np.testing.assert_allclose(batched["reputation"], compiled["reputation"], atol=0.01)
    assert np.abs(batched["negative"] - compiled["negative"]).max() <= 1


def test_the_share_of_shifted_parameters_is_rounded() -> None:
    assert replace(RUN, share=0.1, parameters=20).shifted == 2
    assert replace(RUN, share=0.1, parameters=15).shifted == 2
    assert "20 parameters" in RUN.title


@pytest.mark.parametrize(
    "wrong", [{"parameters": 0}, {"share": 1.5}, {"noise": 0.0}, {"schedules": (Schedule(),) * 11}]
)
def test_a_run_that_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        replace(RUN, **wrong)


def test_rules_without_reputation_are_refused() -> None:
    with pytest.raises(InputError, match="median"):
        compute(replace(RUN, rule=make_rule("median")), CPU)


SMALL = Profile(name="quick", seeds=(0,))


def invented(experiment: Experiment, score: float) -> Results:
    """Return results in which honest clients have 0.9 and an attack brings an attacker to `score`, for good or once."""
    found = []
    runs: Any = experiment.runs(SMALL)
    for run in runs:
        attacker = np.full(run.clients, -1)
        attacker[: len(run.schedules)] = np.arange(len(run.schedules))
        attacking = np.zeros((run.rounds, run.clients), np.bool_)
        for client, schedule in enumerate(run.schedules):
            attacking[:, client] = [schedule.active(index + 1) for index in range(run.rounds)]
        # More parameters, a slightly lower score.
        reputation = np.where(attacking, score - 1e-3 * np.log10(run.parameters), 0.9).astype(np.float32)
        negative = np.where(attacking, 1, 0)
        found.append(
            Result(run, {"attacker": attacker, "attacking": attacking, "reputation": reputation, "negative": negative})
        )
    return Results(found)


@pytest.mark.parametrize("kind", [ReputationOnce, ReputationContinuous, ReputationLoop])
def test_made_up_results_that_agree_with_the_paper_make_every_claim_hold(kind: type[Experiment]) -> None:
    experiment = kind()
    verdicts = experiment.verdicts(invented(experiment, 0.45))
    assert len(verdicts) >= 6
    assert all(verdict.holds for verdict in verdicts), [v for v in verdicts if not v.holds]


@pytest.mark.parametrize("kind", [ReputationOnce, ReputationContinuous, ReputationLoop])
def test_made_up_results_without_any_loss_make_the_claims_fail(kind: type[Experiment]) -> None:
    experiment = kind()
    verdicts = experiment.verdicts(invented(experiment, 0.95))
    failing = [verdict for verdict in verdicts if verdict.holds is False]
    assert len(failing) >= len(verdicts) // 2


@pytest.mark.parametrize("kind", [ReputationOnce, ReputationContinuous, ReputationLoop])
def test_table_and_figure_are_made_of_any_results(kind: type[Experiment]) -> None:
    experiment = kind()
    results = invented(experiment, 0.5)
    table = experiment.table(results)
    assert table.rows
    assert all(len(row) == len(table.columns) for row in table.rows)
    assert len(experiment.figure(results).axes) >= 4


def test_a_drop_that_does_not_grow_is_not_called_larger() -> None:
    results = list(invented(ReputationOnce(), 0.5))
    lone = SCENES[0].of(results)
    assert larger_drop("more", lone, lambda result: -float(result.run.parameters)).holds is False
    assert larger_drop("more", lone, lambda result: float(result.run.parameters), at_most=0.1).holds is False
    assert larger_drop("more", lone[:1], drop_of_nothing).holds is None


def drop_of_nothing(result: Result) -> float:
    return 0.0


def test_runs_that_experiments_share_have_one_key_and_seeds_follow_the_profile() -> None:
    for kind in (ReputationOnce, ReputationContinuous, ReputationLoop):
        runs = kind().runs(Profile(name="paper"))
        assert len({run.key for run in runs}) == len(runs)
        assert {run.seed for run in runs} == {0, 1, 2}
