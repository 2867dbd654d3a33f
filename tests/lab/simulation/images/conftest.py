"""Pictures of ten kinds that even a tiny network learns in seconds: each kind has a tint of its own."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from eitr.datasets.cifar10 import Images, save_images
from eitr.lab.runs.federated import paper_rule
from eitr.lab.runs.image import ImageRun, Training
from eitr.lab.simulation.context import Context


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # tiny networks: a second thread only waits
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def tinted():
    random = np.random.default_rng(5)
    labels = np.arange(260) % 10
    tints = random.integers(40, 216, (10, 3, 1, 1))
    pixels = np.clip(tints[labels] + random.normal(0, 25, (260, 3, 32, 32)), 0, 255).astype(np.uint8)
    return Images(pixels, labels.astype(np.int64), np.arange(260) >= 200)


@pytest.fixture(scope="session")
def pictures_file(tinted, tmp_path_factory):
    path = tmp_path_factory.mktemp("pictures") / "tinted.npz"
    save_images(tinted, path)
    return path


@pytest.fixture
def context(pictures_file):
    return Context(device=torch.device("cpu"), data_dir=pictures_file)


TINY = ImageRun(
    rule=paper_rule("fedavg"),
    clients=4,
    rounds=3,
    train_images=200,
    test_images=60,
    epochs=1,
    training=Training(width=8, batch=16),
)


def tiny(rule="fedavg", attack=None, attackers=0, **changes):
    return replace(TINY, rule=paper_rule(rule, attackers, TINY.clients), attack=attack, attackers=attackers, **changes)
