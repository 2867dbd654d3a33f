"""Results with exact numbers, for goals that are met and missed by a hair."""

from dataclasses import replace

import numpy as np

from eitr.lab.results.store import Result, Results
from eitr.taxonomy import NAMES

CLEAN = 0.88
FLOORS = {"label-flip": 0.2, "backdoor": 0.05}


def exact(run, *, accuracy=CLEAN, asr=None, arrives=5, reputation=0.8):
    """Return a result that has its accuracy from round `arrives` on, half of it before; `asr` is by attack."""
    series = np.where(np.arange(1, run.rounds + 1) >= arrives, accuracy, accuracy / 2)
    attacker = np.zeros(run.clients, bool)
    attacker[run.clients - run.attackers :] = True
    arrays = {
        "accuracy": series,
        "class_accuracy": np.repeat(series[:, None], len(NAMES), axis=1),
        "weights": np.full((run.rounds, run.participants), 1 / run.participants),
        "attacker": attacker,
        "failed": np.array(0),
    }
    for name in run.probes:
        arrays[f"asr.{name}"] = np.full(run.rounds, (asr or FLOORS).get(name, 0.2))
    if run.rule.has_reputation:
        arrays["reputation"] = np.full((run.rounds, run.participants), reputation)
        arrays["negative"] = np.zeros((run.rounds, run.participants))
    return Result(run, arrays)


def diverged(result):
    """Return a result whose training diverged in its third round."""
    arrays = {name: array.copy() for name, array in result.arrays.items()}
    for name in arrays.keys() - {"attacker", "failed"}:
        arrays[name] = arrays[name].astype(np.float64)
        arrays[name][2:] = np.nan
    return Result(result.run, {**arrays, "failed": np.array(3)})


def all_exact(experiment, profile, change=lambda run: {}):
    """Return exact results of all runs of an experiment; `change` says what is different about a run."""
    return Results(exact(run, **change(run)) for run in experiment.runs(profile))


def of_seeds(profile, seeds):
    return replace(profile, seeds=tuple(range(seeds)))
