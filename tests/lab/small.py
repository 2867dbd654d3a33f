"""A lab so small that an experiment takes a second: few pages, a short profile."""

from dataclasses import replace

from eitr.datasets import load, save_examples
from eitr.lab.runs.profile import PROFILES
from eitr.model.plan import TrainingPlan

ROUNDS = 2
PLAN = TrainingPlan(epochs=1, max_batches=2, batch_size=16, learning_rate=0.1)


def small_profile(monkeypatch):
    """Make the quick profile shorter than quick, and `weights`, which has a number of rounds of its own."""
    monkeypatch.setitem(PROFILES, "quick", replace(PROFILES["quick"], rounds=ROUNDS, plan=PLAN))
    monkeypatch.setattr("eitr.lab.experiments.weights.ROUNDS", ROUNDS)


def small_data(folder):
    """Write a prepared file of few pages; return its path."""
    path = folder / "small.npz"
    save_examples(load("builtin", size=300, words=60), path)
    return path
