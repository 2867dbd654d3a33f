"""Results made up for tests: as an engine records them, plausible, and cheap."""

import hashlib

import numpy as np

from eitr.lab.experiments.scenario import READINGS
from eitr.lab.results.store import Result, Results
from eitr.lab.runs.federated import FederatedRun

FEDERATED = [
    "centralised",
    "convergence",
    "attackers",
    "attacker-epochs",
    "poison-rate",
    "clients",
    "looping",
    "hyper",
    "weights",
    "clients-100",
]
# How well the rules do under attack: a share of the attackers' influence that gets through.
LEAKS = {
    "reputation": 0.1,
    "published-code": 0.2,
    "fused": 0.15,
    "fedavg": 1.0,
    "residual": 0.6,
    "median": 0.45,
    "trimmed-mean": 0.5,
    "foolsgold": 0.7,
    "fltrust": 0.5,
}


def generated_result(run, *, leaks=LEAKS, speeds=None, level=0.84, noise=1.0):
    """Return a plausible result of a federated run; `leaks` and `speeds` (rounds) are by rule, `noise` is relative."""
    assert isinstance(run, FederatedRun)
    described = {**run.describe(), "speeds": str(speeds)}
    random = np.random.default_rng(int(hashlib.sha256(repr(described).encode()).hexdigest()[:8], 16))
    rounds = np.arange(1, run.rounds + 1)
    harm = leaks.get(run.rule.name, 0.5) * run.attackers / run.clients
    harm *= 1.0 if run.schedule.kind == "every" else 0.3
    speed = (speeds or {}).get(run.rule.name, 8.0) * run.rounds / 100
    best = level - 0.0002 * run.clients + (0.03 if run.clients == 1 else 0) - 0.1 * harm
    shape = 1 - 0.8 * np.exp(-rounds / speed)
    accuracy = best * shape + noise * random.normal(0, 0.003, run.rounds)
    arrays = {
        "accuracy": accuracy,
        "loss": 2 - 1.6 * shape + noise * random.normal(0, 0.01, run.rounds),
        "train_loss": 1.9 - 1.6 * shape + 0.5 * harm + noise * random.normal(0, 0.01, run.rounds),
        "class_accuracy": accuracy[:, None] + noise * random.normal(0, 0.01, (run.rounds, 6)),
    }
    for name in run.probes:
        floor = {"label-flip": 0.12, "backdoor": 0.08}.get(name, 0.1)
        arrays[f"asr.{name}"] = (
            floor + harm * (1 - np.exp(-rounds / speed)) + noise * random.normal(0, 0.004, run.rounds)
        )
    attacker = np.zeros(run.clients, bool)
    attacker[random.permutation(run.clients)[: run.attackers]] = True
    weights = np.where(attacker, 0.05 if run.rule.name in READINGS else 0.9, 1.0) * random.uniform(
        0.8, 1.0, (run.rounds, run.clients)
    )
    if getattr(run.rule, "cutoff", False):
        weights[1:, attacker] = 0
    arrays["weights"] = weights / weights.sum(axis=1, keepdims=True)
    if run.rule.has_reputation:
        arrays["negative"] = np.where(attacker, 900, 100) + random.integers(0, 50, weights.shape)
        arrays["reputation"] = np.where(attacker, 0.1, 0.8) * np.ones_like(weights)
    arrays["attacker"] = attacker
    arrays["counts"] = random.integers(20, 200, run.clients)
    arrays["parameters"] = np.array(136_902)
    arrays["failed"] = np.array(0)
    return Result(run, arrays)


def generated_results(experiment, profile, **how):
    return Results(generated_result(run, **how) for run in experiment.runs(profile))
