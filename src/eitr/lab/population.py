"""Who takes part in a federation, and with which pages: drawn once from the seed, the same for every rule."""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from eitr.datasets.interface import Examples
from eitr.datasets.partition import dirichlet_partition
from eitr.errors import InputError
from eitr.lab.runs import FederatedRun
from eitr.model.random import key_of, permutation

ROOT_PAGES = 100
"""Trusted pages of FLTrust: from the training pages, and held back from the clients under every rule."""
ROOT_SHARE = 0.1
"""... but never more than this share of the training pages."""
SAMPLE_PAGES = 2000
"""Training pages on which the global model's training loss is measured."""


class Stream(IntEnum):
    """What random words are drawn for, apart from the streams of training."""

    ROOT = 11
    PARTITION = 12
    ATTACKERS = 13
    SAMPLE = 14
    TRAINING = 15
    PAGES = 16


@dataclass(frozen=True)
class Population:
    """The clients of a run. Row numbers are those of the examples."""

    pages: list[NDArray[np.int64]]
    """A client's training pages; none is empty."""
    root: NDArray[np.int64]
    """The trusted pages."""
    sample: NDArray[np.int64]
    """Training pages of clients, to measure the training loss on."""
    attacker: NDArray[np.bool_]
    seed: int

    @property
    def counts(self) -> NDArray[np.int64]:
        """Return how many pages each client has."""
        return np.array([len(pages) for pages in self.pages], np.int64)


def population(examples: Examples, run: FederatedRun) -> Population:
    """Draw the population of a run."""
    training = np.flatnonzero(~examples.test)
    order = training[permutation(key_of(run.seed, Stream.ROOT), len(training))]
    roots = min(ROOT_PAGES, int(ROOT_SHARE * len(order)))
    root, others = np.sort(order[:roots]), np.sort(order[roots:])
    if len(others) < run.clients:
        raise InputError(
            f"{examples.name} has {len(others)} training pages for {run.clients} clients: take fewer clients"
        )
    parts = dirichlet_partition(examples.labels[others], run.clients, run.alpha, key_of(run.seed, Stream.PARTITION))
    attacker = np.zeros(run.clients, np.bool_)
    attacker[permutation(key_of(run.seed, Stream.ATTACKERS), run.clients)[: run.attackers]] = True
    chosen = permutation(key_of(run.seed, Stream.SAMPLE), len(others), take=SAMPLE_PAGES)
    return Population([others[part] for part in parts], root, np.sort(others[chosen]), attacker, run.seed)
