"""From how many participants on formal privacy costs little: accuracy with and without noise on published models.

    python -m benchmarks.formal_privacy [--data news-sections --data-dir DATA] [--participants 10 100] [--seeds 5]

The shipped model learns for 40 rounds from honest participants, who train the last layer in private, as servers ask by
default, each with four training pages that are new in every round. The server publishes the mean, or the mean of
bounded steps with the noise for which all rounds together cost an epsilon of 8 or 2 at a delta of 1e-5
(`eitr.model.published_noise`). Reported is the accuracy on test pages after the last round. Nothing below the last
layer ever changes, so that its inputs are computed once.
"""

import argparse
import math
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from statistics import mean

import numpy as np
from numpy.typing import NDArray

from benchmarks.markdown import table
from eitr.datasets.registry import load
from eitr.model.classifier import Classifier
from eitr.model.network import Network
from eitr.model.private import PrivatePlan, trained_from
from eitr.model.published_noise import epsilon, longest_step, noisy_mean
from eitr.model.round_plan import FULL_STEP
from eitr.model.validation import answers
from eitr.pages.pool import Pool
from eitr.pages.sparse import SparseRows

PARTICIPANTS = (10, 50, 100, 300, 1000, 3000)
EPSILONS = (8.0, 2.0)
ROUNDS, OWN_PAGES = 40, 4
DELTA, CLIP = 1e-5, 1.1
"""The defaults of a server."""
LITTLE = 0.01
"""Accuracy that noise may cost."""
AT_ONCE = 500
"""Participants whose cover pages are drawn together: the tables stay small."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Pages:
    """What the last layer is given by each page, with a 1 for the bias, and the labels."""

    inputs: Floats
    labels: NDArray[np.int64]

    def at(self, places: NDArray[np.int64]) -> "Pages":
        return Pages(self.inputs[places], self.labels[places])

    def errors(self, model: Floats) -> Floats:
        """Return the slopes of each page's loss by the outputs, (pages, classes)."""
        logits = self.inputs @ model
        chances = np.exp(logits - logits.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        chances[np.arange(len(self.labels)), self.labels] -= 1.0
        return chances

    def lengths(self, model: Floats) -> Floats:
        return np.linalg.norm(self.errors(model), axis=1) * np.linalg.norm(self.inputs, axis=1)

    def gradients(self, model: Floats, clip: float) -> Floats:
        """Return the gradient of each page, cut to a length, (pages, parameters)."""
        cut = self.errors(model) * (clip / np.maximum(self.lengths(model), clip))[:, None]
        return (self.inputs[:, :, None] * cut[:, None, :]).reshape(len(cut), -1)

    def accuracy(self, model: Floats) -> float:
        return float(((self.inputs @ model).argmax(axis=1) == self.labels).mean())


@dataclass(frozen=True)
class World:
    """The last layer of the shipped model, (inputs + 1, classes), and what it meets."""

    start: Floats
    pool: Pages
    train: Pages
    test: Pages


def world_of(data: str, data_dir: Path | None) -> World:
    """Return the shipped model, its pool, and the pages of a data set, as the last layer sees them."""
    shipped = Classifier.shipped()
    network, vector = shipped.model
    first = trained_from(network, 1)
    lower = Network(network.layers[:-1])

    def pages(rows: SparseRows, labels: NDArray[np.int64]) -> Pages:
        found = np.maximum(answers(lower, vector[:first], rows, np.arange(len(rows), dtype=np.int64)), 0.0)
        return Pages(np.hstack([found, np.ones((len(found), 1))]).astype(np.float64), labels)

    pool = Pool.from_bytes(files("eitr").joinpath("assets", "pool.bin").read_bytes(), width=network.inputs)
    examples = load(data, data_dir=data_dir, vocabulary=shipped.vocabulary)
    every = pages(examples.rows, examples.labels)
    start = vector[first:].reshape(-1, network.layers[-1]).astype(np.float64)
    train, test = np.flatnonzero(~examples.test), np.flatnonzero(examples.test)
    return World(start, pages(pool.rows, pool.labels), every.at(train), every.at(test))


def noise_for(wanted: float, rounds: int) -> float:
    """Return the smallest noise multiplier with which so many rounds cost no more than an epsilon."""
    low, high = 0.01, 10_000.0
    while high / low > 1.0001:
        middle = (low * high) ** 0.5
        low, high = (middle, high) if epsilon({middle: rounds}, DELTA) > wanted else (low, middle)
    return high


def learned(world: World, participants: int, noise: float, seed: int) -> float:
    """Return the accuracy after all rounds; a noise of 0 is the plain mean."""
    rng = np.random.default_rng((seed, participants))
    below = random.Random(seed * 1_000_000 + participants).randrange
    model = world.start
    for _ in range(ROUNDS):
        rate = PrivatePlan().learning_rate * min(participants, FULL_STEP) / FULL_STEP
        plan = PrivatePlan(learning_rate=rate)
        steps = private_steps(world, model, plan, participants, rng)
        if noise:
            longest = longest_step(plan, model.size, CLIP)
            step = noisy_mean(steps, longest=longest, noise=noise, participants=participants, below=below)
        else:
            step = steps.mean(axis=0)
        model = model + step.reshape(model.shape)
    return world.test.accuracy(model)


def private_steps(
    world: World, model: Floats, plan: PrivatePlan, participants: int, rng: np.random.Generator
) -> Floats:
    """Return what each participant sends, minus the step that cover pages cause on average: the step of
    `eitr.model.private` on new own pages and on a draw of cover pages, with noise."""
    cover = world.pool.gradients(model, plan.clip)
    cover = cover - cover.mean(axis=0)
    parts = []
    for first in range(0, participants, AT_ONCE):
        count = min(AT_ONCE, participants - first)
        places = rng.integers(len(world.train.labels), size=(count, OWN_PAGES))
        own = world.train.at(places.ravel()).gradients(model, plan.clip).reshape(count, OWN_PAGES, -1).sum(axis=1)
        own *= plan.clip / np.maximum(np.linalg.norm(own, axis=1, keepdims=True), plan.clip)
        drawn = np.zeros((count, len(cover)))
        order = rng.random(drawn.shape, np.float32).argpartition(plan.cover_pages, axis=1)[:, : plan.cover_pages]
        np.put_along_axis(drawn, order, 1.0, axis=1)
        parts.append(-plan.learning_rate * (plan.own_weight * own + drawn @ cover))
    steps = np.concatenate(parts)
    return steps + plan.added_noise * rng.standard_normal(steps.shape)


def report(world: World, participants: Sequence[int], seeds: int) -> str:
    """Return the tables of all sizes, and from which size on the noise costs little."""
    noises = {wanted: noise_for(wanted, ROUNDS) for wanted in EPSILONS}
    rows, enough = [], dict.fromkeys(EPSILONS, "more than were tried")
    for count in participants:
        plain = [learned(world, count, 0.0, seed) for seed in range(seeds)]
        row = [str(count), _percent(mean(plain))]
        for wanted, noise in noises.items():
            noisy = [learned(world, count, noise, seed) for seed in range(seeds)]
            cost = mean(plain) - mean(noisy)
            row += [_percent(mean(noisy)), _percent(min(noisy)), f"{round(100 * cost, 1) + 0.0:.1f}"]  # without -0.0
            if cost >= LITTLE:
                enough[wanted] = "more than were tried"
            elif enough[wanted] == "more than were tried":
                enough[wanted] = str(count)
        rows.append(row)
        print(" ".join(row), file=sys.stderr, flush=True)
    head = ["participants", "without noise, %"]
    for wanted in EPSILONS:
        head += [f"epsilon {wanted:g}, %", "lowest", "cost, points"]
    found = [
        f"Accuracy on {len(world.test.labels)} test pages after {ROUNDS} rounds, means of {seeds} seeds; "
        f"before the first round {_percent(world.test.accuracy(world.start))} %.",
        table(head, rows),
    ]
    for wanted, noise in noises.items():
        rounded = math.ceil(100 * noise) / 100
        found.append(
            f"Epsilon {wanted:g} (noise multiplier {rounded:.2f}) costs less than {100 * LITTLE:g} point from so many "
            f"participants on: {enough[wanted]}."
        )
    return "\n\n".join(found)


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="builtin", help="a data set; `eitr data list` has their names")
    parser.add_argument("--data-dir", type=Path, help="the folder with its files")
    parser.add_argument("--participants", type=int, nargs="+", default=PARTICIPANTS)
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    print(report(world_of(given.data, given.data_dir), sorted(given.participants), given.seeds))


if __name__ == "__main__":
    main()
