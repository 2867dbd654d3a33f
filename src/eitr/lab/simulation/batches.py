"""Which pages every client trains on in a round: all clients and steps at once, as tensors on the run's device.

Shuffling sorts random words instead of swapping: a different order from that of `eitr.model.training`, just as random,
and one operation for all clients. A client's words depend on the seed, the round and the client alone, so that all
rules, and all devices, see the same batches in the same order.
"""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from eitr.attacks.interface import Attack, Batches, Twins
from eitr.lab.runs.federated import FederatedRun
from eitr.lab.simulation.population import Population, Stream, participants
from eitr.model.random import Stream as TrainingStream
from eitr.model.random import key_of
from eitr.model.torch_random import WORDS, draw


class RoundBatches(NamedTuple):
    """The batches of every client that takes part in a round, and last those of the server's trusted pages."""

    rows: Tensor
    """(participants + 1, steps, batch) int32: rows of the table."""
    labels: Tensor
    """(participants + 1, steps, batch) int32."""
    sizes: Tensor
    """(participants + 1, steps) int32: places in use of each batch; 0 beyond the client's last step."""
    steps: list[int]
    """Steps that each client takes."""
    dropout_keys: list[int]
    """Names each client's words of dropout."""


class Trainees:
    """The clients of one population, and the server with its trusted pages, ready to have their batches drawn."""

    def __init__(self, people: Population, labels: Tensor, run: FederatedRun, twins: Twins) -> None:
        self._run, self._labels, self._twins = run, labels, twins
        self._attacker = people.attacker
        self._clients = _Owners(people.pages, run, labels.device)
        self._server = _Owners([people.root if len(people.root) else people.pages[0][:1]], run, labels.device)

    def attack_in(self, round: int) -> bool:
        """Return whether the attackers, if there are any, attack in a round."""
        attack = self._run.attack
        return attack is not None and self._run.schedule.active(round) and attack.active(round)

    def draw(self, round: int) -> RoundBatches:
        """Return the batches of a round; rounds count from 1."""
        run = self._run
        attack = run.attack if self.attack_in(round) else None
        present = participants(run, round)
        # The number behind the last client's is the server's.
        seeds = [key_of(run.seed, Stream.TRAINING, round, client) for client in (*present.tolist(), run.clients)]
        usual = run.plan.epochs * self._clients.batches_an_epoch[present]
        if run.steps:
            usual = np.full(len(present), run.steps)
        attackers = np.flatnonzero(self._attacker[present])
        mine = usual.copy()
        if attack is not None:
            # As many more, or fewer, as they train more or fewer epochs than honest clients; at least one.
            theirs = usual[attackers] * run.epochs_of_attackers // run.plan.epochs
            mine[attackers] = np.maximum(theirs, 1)
        own = self._clients.draw(present, seeds[:-1], mine)
        # The server takes as many steps as a client, as in FLTrust: the length of its own step is everybody's.
        trusted = self._server.draw(np.zeros(1, np.int64), seeds[-1:], np.array([int(np.median(usual))]))
        steps = max(own.rows.shape[1], trusted.rows.shape[1])
        rows, sizes = (
            torch.cat([longer(mine, steps), longer(theirs, steps)])
            for mine, theirs in ((own.rows, trusted.rows), (own.sizes, trusted.sizes))
        )
        labels = self._labels[rows]
        if attack is not None and len(attackers):
            rows, labels = self._poisoned(attack, attackers, rows, labels, sizes)
        keys = [key_of(seed, TrainingStream.DROPOUT) for seed in seeds]
        return RoundBatches(rows.int(), labels.int(), sizes.int(), own.steps + trusted.steps, keys)

    def _poisoned(
        self, attack: Attack, attackers: NDArray[np.int64], rows: Tensor, labels: Tensor, sizes: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return all batches, those of the attackers as the attack would have them."""
        who = torch.from_numpy(attackers).to(rows.device)
        page_key = torch.tensor(key_of(self._run.seed, Stream.PAGES), device=rows.device)
        honest = Batches(rows[who], labels[who], sizes[who], draw(page_key, rows[who]))
        poisoned = attack.poison_batches(honest, self._twins)
        rows, labels = rows.clone(), labels.clone()
        rows[who], labels[who] = poisoned.rows, poisoned.labels
        return rows, labels


class _Drawn(NamedTuple):
    rows: Tensor
    sizes: Tensor
    steps: list[int]


class _Owners:
    """Who has which pages. How many pages, batches and steps is kept on the host: asking a GPU would stop it."""

    def __init__(self, pages: list[NDArray[np.int64]], run: FederatedRun, device: torch.device) -> None:
        self._plan = run.plan
        counts = np.array([len(own) for own in pages])
        padded = np.zeros((len(pages), counts.max()), np.int64)
        for owner, own in enumerate(pages):
            padded[owner, : len(own)] = own
        self.batches_an_epoch = np.minimum(-(-counts // run.plan.batch_size), run.plan.max_batches)
        self._pages = torch.from_numpy(padded).to(device)
        self._counts = counts

    def draw(self, who: NDArray[np.int64], seeds: list[int], steps: NDArray[np.int64]) -> _Drawn:
        """Return the rows of so many batches of some owners: epoch after epoch, each in a new order."""
        device, size = self._pages.device, self._plan.batch_size
        batches, held = self.batches_an_epoch[who][:, None], self._counts[who]
        epochs = -(-steps // batches[:, 0])
        order, starts = self._orders(held, seeds, epochs)
        # Step t of an owner is batch t mod k of its epoch t div k, with k its batches an epoch.
        step = np.arange(steps.max())[None, :]
        epoch = np.minimum(step // batches, epochs[:, None] - 1)
        epoch_starts = torch.from_numpy(starts[:, None] + epoch * held[:, None]).to(device)
        first = torch.from_numpy(step % batches * size).to(device)
        training = torch.from_numpy(step < steps[:, None]).to(device)
        counts = torch.from_numpy(held).to(device)[:, None]
        sizes = torch.clamp(counts - first, max=size) * training
        place = torch.minimum(first[..., None] + torch.arange(size, device=device), counts[..., None] - 1)
        owner = torch.from_numpy(who).to(device)[:, None, None]
        return _Drawn(self._pages[owner, order[epoch_starts[..., None] + place]], sizes, steps.tolist())

    def _orders(
        self, held: NDArray[np.int64], seeds: list[int], epochs: NDArray[np.int64]
    ) -> tuple[Tensor, NDArray[np.int64]]:
        """Return a random order of each owner's pages for each of its epochs, and where those of each owner begin.

        All orders are one flat vector, owner after owner and epoch after epoch: an owner with few pages trains many
        epochs, and a table for the most epochs and the most pages would be mostly empty.
        """
        device = self._pages.device
        lengths = epochs * held
        ends, epoch_ends = np.cumsum(lengths), np.cumsum(epochs)
        starts, total = ends - lengths, int(ends[-1])
        there = torch.from_numpy(np.stack([starts, held, epoch_ends - epochs, lengths])).to(device)
        owner = torch.repeat_interleave(there[3], output_size=total)
        start, count, first_epoch = there[:3, owner]
        number = torch.arange(total, device=device) - start
        epoch, place = number // count, number % count
        shuffles = torch.tensor([key_of(seed, TrainingStream.SHUFFLE) for seed in seeds], device=device)
        words = draw(draw(shuffles[owner], epoch), place)
        # One sort for all: by the epoch, counted over all owners, then by the random word.
        return place[torch.sort((first_epoch + epoch) * WORDS + words, stable=True).indices], starts


def longer(part: Tensor, steps: int) -> Tensor:
    """Return (owners, steps, ...) with zeros behind the last step: nobody looks there."""
    result = part.new_zeros((part.shape[0], steps, *part.shape[2:]))
    result[:, : part.shape[1]] = part
    return result
