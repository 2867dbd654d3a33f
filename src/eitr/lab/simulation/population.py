"""The clients of a federation and their pages, drawn from the seed: the same for every rule."""

from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from eitr.datasets.interface import Examples
from eitr.datasets.partition import dirichlet_partition
from eitr.errors import InputError
from eitr.lab.runs.federated import FederatedRun, exclusive_owners
from eitr.model.random import key_of, permutation
from eitr.taxonomy import NAMES

ROOT_SHARE = 0.1
"""The server's trusted pages are never more than this share of the training pages."""
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
    PARTICIPANTS = 17


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
    """Draw the population of a run. The trusted pages are held back from the clients under every rule."""
    training = np.flatnonzero(~examples.test)
    order = training[permutation(key_of(run.seed, Stream.ROOT), len(training))]
    roots = min(run.trusted, int(ROOT_SHARE * len(order)))
    root, others = np.sort(order[:roots]), np.sort(order[roots:])
    if len(others) < run.clients:
        raise InputError(
            f"{examples.name} has {len(others)} training pages for {run.clients} clients: take fewer clients"
        )
    attacker = np.zeros(run.clients, np.bool_)
    attacker[permutation(key_of(run.seed, Stream.ATTACKERS), run.clients)[: run.attackers]] = True
    if run.exclusive:
        root, pages = _with_exclusive(examples, run, root, others, attacker)
    else:
        pages = _divided(examples, run, others)
    chosen = permutation(key_of(run.seed, Stream.SAMPLE), len(others), take=SAMPLE_PAGES)
    if "root" in run.rule.needs and len(root) == 0:
        raise InputError(f"the rule {run.rule.name!r} needs trusted pages, and {examples.name} has none to spare")
    return Population(pages, root, np.sort(others[chosen]), attacker, run.seed)


def participants(run: FederatedRun, round: int) -> NDArray[np.int64]:
    """Return who takes part in a round, ascending: the same clients under every rule and attack."""
    return _drawn(run.seed, run.clients, run.participants, round)


@lru_cache(maxsize=1024)
def _drawn(seed: int, clients: int, count: int, round: int) -> NDArray[np.int64]:
    if count == clients:
        return np.arange(clients)
    return np.sort(permutation(key_of(seed, Stream.PARTICIPANTS, round), clients, take=count))


def _divided(examples: Examples, run: FederatedRun, pages: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    parts = dirichlet_partition(examples.labels[pages], run.clients, run.alpha, key_of(run.seed, Stream.PARTITION))
    return [pages[part] for part in parts]


def _with_exclusive(
    examples: Examples,
    run: FederatedRun,
    root: NDArray[np.int64],
    others: NDArray[np.int64],
    attacker: NDArray[np.bool_],
) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """Give all pages of one class to the first honest clients, in equal parts, and none to the server."""
    topic = NAMES.index(run.exclusive)
    theirs = others[examples.labels[others] == topic]
    owners = exclusive_owners(attacker)
    if len(theirs) < len(owners):
        raise InputError(f"{examples.name} has {len(theirs)} training pages of the class {run.exclusive!r}")
    pages = _divided(examples, run, others[examples.labels[others] != topic])
    for owner, part in zip(owners, np.array_split(theirs, len(owners)), strict=True):
        pages[owner] = np.sort(np.concatenate([pages[owner], part]))
    return root[examples.labels[root] != topic], pages
