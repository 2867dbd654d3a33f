"""The pictures of a run: read once, put on the device once, and divided among clients."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from eitr.datasets.cifar10 import load_images, subset
from eitr.datasets.partition import dirichlet_partition
from eitr.errors import InputError
from eitr.lab.runs.image import ImageRun
from eitr.lab.simulation.images.batches import Batches, ImagePreparation, draw_batches, poisoned, steps_for
from eitr.lab.simulation.population import ROOT_SHARE, Stream
from eitr.model.random import key_of, permutation


@dataclass(frozen=True, eq=False)
class Pictures:
    """The pictures in use, on the device; equal only to themselves, so that caches can go by them."""

    preparation: ImagePreparation
    labels: NDArray[np.int64]
    test: NDArray[np.int64]
    """The numbers of the test pictures."""
    training: NDArray[np.int64]
    classes: tuple[str, ...]


@lru_cache(maxsize=2)
def pictures_of(data_dir: Path | None, train: int, test: int, device: torch.device) -> Pictures:
    """Read the pictures and keep so many, the same for every seed: seeds differ in who has them and in training."""
    chosen = subset(load_images(data_dir), train=train, test=test, seed=0)
    pixels = torch.from_numpy(np.ascontiguousarray(chosen.pixels.transpose(0, 2, 3, 1))).to(device)
    return Pictures(
        ImagePreparation(pixels),
        chosen.labels,
        np.flatnonzero(chosen.test),
        np.flatnonzero(~chosen.test),
        chosen.classes,
    )


@dataclass(frozen=True, eq=False)
class Federation:
    """Who has which pictures, and who attacks: drawn from the seed, the same for every rule."""

    run: ImageRun
    pictures: Pictures
    mine: list[NDArray[np.int64]]
    """The pictures of each client; none has none."""
    root: NDArray[np.int64]
    """The server's trusted pictures: no client's, under any rule, and never a test picture."""
    attacker: NDArray[np.bool_]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Return how many pictures each client has."""
        return np.array([len(mine) for mine in self.mine], np.int64)

    def batches(self, round: int) -> list[Batches]:
        """Return what every client trains on in a round, and last the server, where the rule has a use for it."""
        run, labels, size = self.run, self.pictures.labels, self.run.training.batch
        drawn = []
        for client, mine in enumerate(self.mine):
            key = key_of(run.seed, Stream.TRAINING, round, client)
            attack = run.attack if self.attacker[client] else None
            epochs = run.epochs + (attack.extra_epochs if attack else 0)
            batches = draw_batches(mine, labels, steps_for(len(mine), epochs, size), size, key)
            drawn.append(poisoned(batches, attack, self.pictures.classes) if attack else batches)
        if self.has_root:
            # As many steps as a client, as FLTrust has it: the root step sets the length of every step, and the two
            # batches of one epoch would make the rule crawl.
            steps = int(np.median([steps_for(count, run.epochs, size) for count in self.counts]))
            key = key_of(run.seed, Stream.TRAINING, round, run.clients)
            drawn.append(draw_batches(self.root, labels, steps, size, key))
        return drawn

    @property
    def has_root(self) -> bool:
        """Whether the rule asks for a model trained on trusted pictures."""
        return "root" in self.run.rule.needs


def federation(run: ImageRun, data_dir: Path | None, device: torch.device) -> Federation:
    """Draw the federation of a run."""
    pictures = pictures_of(data_dir, run.train_images, run.test_images, device)
    order = pictures.training[permutation(key_of(run.seed, Stream.ROOT), len(pictures.training))]
    roots = min(run.root_images, int(ROOT_SHARE * len(order)))
    root, others = np.sort(order[:roots]), np.sort(order[roots:])
    if len(others) < run.clients:
        raise InputError(f"there are {len(others)} training pictures for {run.clients} clients: take fewer clients")
    if "root" in run.rule.needs and roots == 0:
        raise InputError(
            f"the rule {run.rule.name!r} needs trusted pictures, and there are too few training pictures to spare any"
        )
    parts = dirichlet_partition(pictures.labels[others], run.clients, run.alpha, key_of(run.seed, Stream.PARTITION))
    attacker = np.zeros(run.clients, np.bool_)
    attacker[permutation(key_of(run.seed, Stream.ATTACKERS), run.clients)[: run.attackers]] = True
    return Federation(run, pictures, [others[part] for part in parts], root, attacker)
