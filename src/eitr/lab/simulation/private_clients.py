"""Clients that train the private way: one step a round on own and cover pages, in the last layers alone.

Nothing below the trained layers ever changes. What those layers make of each page is therefore computed once, and the
rest of the run is a federation on a small network whose inputs are these numbers. Rules, attacks and evaluation see
nothing else: what an attacker writes can only be a vector of trained parameters.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from eitr.attacks.interface import Attack, Batches
from eitr.errors import InputError
from eitr.lab.runs.federated import FederatedRun
from eitr.lab.runs.private_training import PrivateTraining
from eitr.lab.simulation.population import Population, Stream, participants
from eitr.lab.simulation.row_table import RowTable
from eitr.model.network import Network, Vector
from eitr.model.private import PrivatePlan, expected_cover_step, private_step, trained_from
from eitr.model.random import key_of
from eitr.model.torch_random import draw
from eitr.model.validation import answers
from eitr.pages.pool import Pool
from eitr.pages.sparse import SparseRows


@dataclass(frozen=True, eq=False)
class UpperFederation:
    """What a federation on the trained layers is computed with."""

    network: Network
    initial: Vector
    table: RowTable
    """Its rows are what the trained layers are given by each page."""
    pool: Pool


def upper_federation(
    training: PrivateTraining, network: Network, vector: Vector, table: RowTable, pool: Pool
) -> UpperFederation:
    """Return the trained layers as a network of their own, with all pages and cover pages as its inputs."""
    if training.cover_pages > len(pool):
        raise InputError(f"the pool has {len(pool)} pages: take at most so many cover pages")
    start = trained_from(network, training.layers)
    below = len(network.shapes) - training.layers
    upper = Network(network.layers[below:])
    if below == 0:
        return UpperFederation(upper, vector, table, pool)
    lower = Network(network.layers[: below + 1])

    def features(rows: SparseRows) -> SparseRows:
        found = answers(lower, vector[:start], rows, np.arange(len(rows), dtype=np.int64))
        return sparse_rows(np.maximum(found, np.float32(0)))

    return UpperFederation(
        upper,
        vector[start:].copy(),
        replace(table, rows=features(table.rows)),
        Pool(features(pool.rows), pool.labels, pool.vocabulary),
    )


class PrivateClients:
    """The clients of one run. All that is random depends on the seed, the round and the client alone."""

    def __init__(
        self, run: FederatedRun, training: PrivateTraining, people: Population, upper: UpperFederation
    ) -> None:
        self._run, self._training, self._people = run, training, people
        self._network, self._pool, self._table = upper.network, upper.pool, upper.table

    def train(
        self, number: int, model: Vector, attack: Attack | None, threads: ThreadPoolExecutor
    ) -> tuple[NDArray[np.float32], Vector]:
        """Return what each participant of a round sends, and the server's own step on its trusted pages.

        `attack` is the run's in rounds in which the attackers attack. They poison their own pages; they draw cover
        pages and add noise like everybody. The server, whose pages are no secret, adds none.
        """
        plan, present = self.plan, participants(self._run, number).tolist()
        randoms = [self._random(number, client) for client in present]
        own = [self._own(random, client) for random, client in zip(randoms, present, strict=True)]
        if attack is not None:
            attackers = [place for place, client in enumerate(present) if self._people.attacker[client]]
            poisoned = self._poisoned(attack, [own[place] for place in attackers])
            own = [poisoned.pop(0) if place in attackers else pages for place, pages in enumerate(own)]

        def step(place: int) -> Vector:
            return self._step(model, own[place], plan, randoms[place])

        updates = np.stack(list(threads.map(step, range(len(present)))))
        root = self._people.root
        if not len(root):
            return updates, model.copy()
        trusted = _Pages(root, self._table.examples.labels[root])
        return updates, self._step(model, trusted, replace(plan, noise=0.0), self._random(number, self._run.clients))

    @property
    def plan(self) -> PrivatePlan:
        """The plan of every round."""
        asked = self._training
        return PrivatePlan(
            layers=len(self._network.shapes),
            cover_pages=asked.cover_pages,
            own_weight=asked.own_weight,
            clip=asked.clip,
            learning_rate=asked.learning_rate,
            noise=asked.noise,
        )

    def expected_cover(self, model: Vector) -> NDArray[np.float32]:
        """Return what the cover pages of a client move the parameters by on average over all draws from the pool."""
        step = expected_cover_step(self._network, model, self._pool.rows, self._pool.labels, self.plan)
        return step.astype(np.float32)

    def _random(self, number: int, client: int) -> np.random.Generator:
        return np.random.default_rng(key_of(self._run.seed, Stream.TRAINING, number, client))

    def _own(self, random: np.random.Generator, client: int) -> "_Pages":
        """Return the own pages of a round in a random order: some attacks poison the first of a batch."""
        pages = random.permutation(self._people.pages[client])
        chosen = pages[: self._training.own_pages or len(pages)]
        return _Pages(chosen, self._table.examples.labels[chosen])

    def _poisoned(self, attack: Attack, own: "list[_Pages]") -> "list[_Pages]":
        """Return what the attackers train on instead of their own pages, which are one batch for each of them."""
        if not own:
            return []
        sizes = [len(pages.rows) for pages in own]
        rows, labels = torch.zeros((2, len(own), 1, max(sizes)), dtype=torch.int64)
        for place, pages in enumerate(own):
            rows[place, 0, : sizes[place]] = torch.from_numpy(pages.rows)
            labels[place, 0, : sizes[place]] = torch.from_numpy(pages.labels)
        rank = draw(torch.tensor(key_of(self._run.seed, Stream.PAGES)), rows)
        found = attack.poison_batches(
            Batches(rows, labels, torch.tensor(sizes)[:, None], rank), self._table.twins(attack)
        )
        return [
            _Pages(found.rows[place, 0, :size].numpy(), found.labels[place, 0, :size].numpy())
            for place, size in enumerate(sizes)
        ]

    def _step(self, model: Vector, own: "_Pages", plan: PrivatePlan, random: np.random.Generator) -> Vector:
        drawn = random.choice(len(self._pool), plan.cover_pages, replace=False)
        cover = (self._pool.rows.take(drawn), self._pool.labels[drawn])
        mine = (self._table.rows.take(own.rows), own.labels)
        return private_step(self._network, model, mine, cover, plan, random.standard_normal)


class _Pages(NamedTuple):
    """Rows of the table, and what they are labelled."""

    rows: NDArray[np.int64]
    labels: NDArray[np.int64]


def sparse_rows(dense: NDArray[np.float32]) -> SparseRows:
    """Return an array (rows, columns) without its zeros."""
    numbers, columns = np.nonzero(dense)
    starts = np.zeros(len(dense) + 1, np.int64)
    np.cumsum(np.bincount(numbers, minlength=len(dense)), out=starts[1:])
    return SparseRows(starts, columns.astype(np.int32), dense[numbers, columns], dense.shape[1])
