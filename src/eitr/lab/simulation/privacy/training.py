"""Updates of many clients at once, made the private way or the paper's."""

import math
from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor

from eitr.errors import InputError
from eitr.lab.runs.privacy import PRIVATE, Defence
from eitr.lab.simulation.privacy.layers import Factors, TrainedLayers, chunks, lengths, shortening
from eitr.model.plan import TrainingPlan
from eitr.model.private import PrivatePlan

PAPER_PLAN = TrainingPlan()
TOGETHER = 512
"""Clients that are trained at the same time, at most."""
DRAWS = 6
"""Over so many draws of dropout, the attacker averages what a page is expected to add to an update."""


class Pages(NamedTuple):
    """What the trained layers are given by each page (..., pages, width), and the labels (..., pages)."""

    inputs: Tensor
    labels: Tensor

    def at(self, places: Tensor) -> "Pages":
        """Return the pages at these places, in their shape."""
        return Pages(self.inputs[places], self.labels[places])

    def without(self, place: int) -> "Pages":
        """Return the same clients, each without one page."""
        kept = [other for other in range(self.labels.shape[1]) if other != place]
        return Pages(self.inputs[:, kept], self.labels[:, kept])

    def relabelled(self, place: int, label: int) -> "Pages":
        """Return the same clients, one page of each with another label."""
        labels = self.labels.clone()
        labels[:, place] = label
        return Pages(self.inputs, labels)


class Training(ABC):
    """How clients make updates of one model with one pool."""

    noise: float = 0.0
    """Standard deviation of the noise in each parameter of an update."""
    reach: float = 0.0
    """The most that an own page can move an update, where it is known."""
    exact: "PrivateStep | None" = None
    """The private step behind the updates: what pages add to it is known exactly."""

    def __init__(
        self, defence: Defence, layers: TrainedLayers, model: Tensor, pool: Pages, generator: torch.Generator
    ) -> None:
        if defence.cover_pages > len(pool.labels):
            raise InputError(f"the pool has {len(pool.labels)} pages; {defence.cover_pages} cannot be drawn")
        self.defence, self.layers, self.model, self.pool, self.generator = defence, layers, model, pool, generator
        self.clip = clip_of(defence, layers, model, pool)

    @abstractmethod
    def updates(self, own: Pages) -> tuple[Tensor, Tensor | None]:
        """Return an update for each client (clients, parameters), with fresh cover pages and noise.

        The second is the update without its cover pages' part, where the parts can be told apart.
        """

    def observed(self, own: Pages, uses: int) -> tuple[Tensor, Tensor | None]:
        """Return the mean of the updates of so many rounds with the same pages, and of their second parts."""
        total, parts = self.updates(own)
        for _ in range(uses - 1):
            update, part = self.updates(own)
            total = total + update
            parts = None if parts is None or part is None else parts + part
        return total / uses, None if parts is None else parts / uses

    @property
    def subtracted(self) -> Tensor:
        """What the server subtracts from every update: the expected step of cover pages, where it is known exactly."""
        return torch.zeros_like(self.model)

    @abstractmethod
    def templates(self, pages: Pages) -> Tensor:
        """Return the direction of what each page is expected to add to an update (pages, parameters)."""

    @abstractmethod
    def cover(self, simulated: int) -> tuple[Tensor, Tensor]:
        """Return the expected update without own pages, and rows R with its covariance R'R, both without noise."""

    def drawn(self, clients: int) -> Tensor:
        """Return the places of the cover pages that each client draws (clients, cover pages)."""
        order = torch.rand(clients, len(self.pool.labels), device=self.model.device, generator=self.generator)
        return order.argsort(1)[:, : self.defence.cover_pages]


def clip_of(defence: Defence, layers: TrainedLayers, model: Tensor, pool: Pages) -> float:
    """Return the longest gradient of a page that a defence allows."""
    if not defence.clip:
        return math.inf
    found = lengths(layers.factors(model, pool.inputs, pool.labels))
    # A model that is sure of every cover page has gradients of 0, and nothing could be divided by them.
    return max(float(found.quantile(defence.clip)), 1e-12)


def make_training(
    defence: Defence, layers: TrainedLayers, model: Tensor, pool: Pages, generator: torch.Generator
) -> Training:
    """Return how clients train under a defence."""
    kind = PrivateStep if defence.method == PRIVATE else PaperSgd
    return kind(defence, layers, model, pool, generator)


class PrivateStep(Training):
    """The step of `eitr.model.private`, for many clients; the numbers of the plan are those of a server."""

    def __init__(
        self, defence: Defence, layers: TrainedLayers, model: Tensor, pool: Pages, generator: torch.Generator
    ) -> None:
        super().__init__(defence, layers, model, pool, generator)
        self.plan = PrivatePlan(
            layers=len(layers.shapes),
            cover_pages=defence.cover_pages,
            own_weight=defence.own_weight,
            clip=self.clip,
            noise=defence.noise,
        )
        self.exact, self.reach = self, self.plan.reach
        self.noise = self.plan.added_noise
        self._pool_steps = -self.plan.learning_rate * self._clipped(pool)

    def updates(self, own: Pages) -> tuple[Tensor, Tensor | None]:
        """Return the steps; the part without cover pages is the own pages' and the noise."""
        clients = len(own.labels)
        mine = self.own_steps(own)
        mine += self.noise * torch.randn(mine.shape, device=mine.device, generator=self.generator)
        chosen = torch.zeros(clients, len(self.pool.labels), device=mine.device)
        chosen.scatter_(1, self.drawn(clients), 1.0)
        return mine + chosen @ self._pool_steps, mine

    def own_steps(self, own: Pages) -> Tensor:
        """Return what the own pages of each client move it by, without noise (clients, parameters)."""
        factors = self.layers.factors(self.model, own.inputs, own.labels)
        weights = self.plan.own_weight * shortening(factors, self.clip)
        steps = -self.plan.learning_rate * self.layers.summed(factors, weights)
        if not self.defence.own_limit:
            return steps
        most = self.defence.own_limit * self.reach
        cut: Tensor = steps * (most / steps.norm(dim=1, keepdim=True).clamp_min(1e-30)).clamp_max(1.0)
        return cut

    @property
    def subtracted(self) -> Tensor:
        """The expected step of cover pages, which is known exactly."""
        return self.plan.cover_pages * self._pool_steps.mean(0)

    def templates(self, pages: Pages) -> Tensor:
        """Return exactly what each page adds to an update."""
        return -self.plan.learning_rate * self.plan.own_weight * self._clipped(pages)

    def cover(self, simulated: int) -> tuple[Tensor, Tensor]:
        """Return mean and covariance of a draw without replacement: nothing needs to be simulated."""
        count, pages = self.plan.cover_pages, len(self._pool_steps)
        mean = self._pool_steps.mean(0)
        spread = math.sqrt(count * (pages - count) / max(pages - 1, 1) / pages)
        return count * mean, spread * (self._pool_steps - mean)

    def _clipped(self, pages: Pages) -> Tensor:
        found = torch.empty(len(pages.labels), self.layers.size, device=self.model.device)
        for part in chunks(len(found), self.layers.size):
            factors = self.layers.factors(self.model, pages.inputs[part], pages.labels[part])
            found[part] = self.layers.gradients(factors) * shortening(factors, self.clip).unsqueeze(1)
        return found


class PaperSgd(Training):
    """Epochs of SGD with momentum and dropout over own and cover pages, with the paper's plan."""

    plan = PAPER_PLAN

    def updates(self, own: Pages) -> tuple[Tensor, Tensor | None]:
        """Return what training changed; the parts of own and cover pages cannot be told apart."""
        most = max(1, min(TOGETHER, 2**27 // self.layers.size))
        groups = [slice(start, start + most) for start in range(0, len(own.labels), most)]
        return torch.cat([self._trained(Pages(own.inputs[group], own.labels[group])) for group in groups]), None

    def templates(self, pages: Pages) -> Tensor:
        """Return the mean step of each page over draws of dropout, before and after the expected update."""
        found = torch.zeros(len(pages.labels), self.layers.size, device=self.model.device)
        for draw in range(DRAWS):
            model = self.model + (draw % 2) * self._expected
            for part in chunks(len(found), self.layers.size):
                factors = self._factors(model, Pages(pages.inputs[part], pages.labels[part]))
                found[part] -= self.layers.gradients(factors) * shortening(factors, self.clip).unsqueeze(1)
        return found / DRAWS

    def cover(self, simulated: int) -> tuple[Tensor, Tensor]:
        """Return mean and covariance of simulated updates."""
        if not self.defence.cover_pages:
            return torch.zeros_like(self.model), self.model.new_zeros(0, self.layers.size)
        width = self.layers.shapes[0][0]
        nobody = Pages(self.model.new_zeros(simulated, 0, width), self.pool.labels.new_zeros(simulated, 0))
        found, _ = self.updates(nobody)
        self._expected = found.mean(0)
        return self._expected, (found - self._expected) / math.sqrt(simulated)

    _expected: Tensor | float = 0.0

    def _factors(self, model: Tensor, pages: Pages) -> Factors:
        return self.layers.factors(model, pages.inputs, pages.labels, self.plan.dropout, self.generator)

    def _trained(self, own: Pages) -> Tensor:
        """Return the change of the parameters of each client (clients, parameters)."""
        clients, mine = own.labels.shape
        table = Pages(
            torch.cat([self.pool.inputs, own.inputs.flatten(0, 1)]), torch.cat([self.pool.labels, own.labels.flatten()])
        )
        device = self.model.device
        places = torch.arange(clients * mine, device=device).view(clients, mine) + len(self.pool.labels)
        rows = torch.cat([self.drawn(clients), places], 1)
        weights = torch.ones(rows.shape, device=device)
        weights[:, rows.shape[1] - mine :] = self.defence.own_weight
        models = self.model.repeat(clients, 1)
        velocity = torch.zeros_like(models)
        for _ in range(self.plan.epochs):
            order = torch.rand(rows.shape, device=device, generator=self.generator).argsort(1)
            for start in range(0, rows.shape[1], self.plan.batch_size)[: self.plan.max_batches]:
                batch = order[:, start : start + self.plan.batch_size]
                factors = self._factors(models, table.at(rows.gather(1, batch)))
                scale = weights.gather(1, batch) * shortening(factors, self.clip) / batch.shape[1]
                velocity.mul_(self.plan.momentum).add_(self.layers.summed(factors, scale))
                models.sub_(velocity, alpha=self.plan.learning_rate)
        return models - self.model
