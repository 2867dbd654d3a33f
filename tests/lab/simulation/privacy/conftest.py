"""A model, a pool and pages so small that a cell takes a fraction of a second."""

import numpy as np
import pytest
import torch

from eitr.datasets.interface import Examples
from eitr.lab.runs.privacy import PAPER_SGD, Defence, PrivacyRun
from eitr.lab.runs.start import StartModel
from eitr.lab.simulation.context import Context
from eitr.lab.simulation.privacy.run import run_all
from eitr.model.classifier import Classifier
from eitr.model.files import Model
from eitr.model.network import Network
from eitr.pages.pool import Pool
from eitr.pages.sparse import SparseRows
from eitr.pages.vocabulary import Vocabulary

WIDTH = 60
WORDS = tuple(first + second + "a" for first in "bdfghk" for second in "lmnprstvwz")
NETWORK = Network((WIDTH, 16, 8, 6))
NO_DEFENCE = Defence(method=PAPER_SGD, layers=3, cover_pages=0, own_weight=1, clip=0, noise=0)
ALL_CLIPPED = 0.01
"""At this quantile of the pool's lengths, nearly every gradient is cut, so that the bound is reached."""


def random_rows(rng, count):
    """Rows of length 1 with 8 of the words each, the first ones more often."""
    chances = 1 / np.arange(3, WIDTH + 3)
    rows = []
    for _ in range(count):
        columns = np.sort(rng.choice(WIDTH, 8, replace=False, p=chances / chances.sum())).astype(np.int32)
        values = rng.random(8).astype(np.float32) + np.float32(0.2)
        rows.append((columns, values / np.linalg.norm(values)))
    return SparseRows.of(rows, width=WIDTH)


@pytest.fixture(scope="package")
def start():
    rng = np.random.default_rng(5)
    vector = (3 * NETWORK.initial(1)).astype(np.float32)
    model = StartModel("tiny", "tiny", Classifier(Model(NETWORK, vector), Vocabulary(WORDS, np.ones(WIDTH), {})))
    model.__dict__["pool"] = Pool(random_rows(rng, 150), rng.integers(6, size=150), b"")
    return model


@pytest.fixture(scope="package")
def examples():
    rng = np.random.default_rng(6)
    return Examples("tiny", random_rows(rng, 600), rng.integers(6, size=600), np.arange(600) % 2 == 0, WORDS)


@pytest.fixture(scope="package")
def measure(examples, start):
    """Return the numbers of one cell by name."""

    def measured(defence, **more):
        run = PrivacyRun(
            **{"data": "tiny", "start": "tiny", "victims": 60, "candidates": 60, "simulated": 100, **more},
            defence=defence,
        )
        [done] = run_all([run], examples, start, Context(device=torch.device("cpu")))
        return {name: float(value) for name, value in done.arrays.items()}

    return measured
