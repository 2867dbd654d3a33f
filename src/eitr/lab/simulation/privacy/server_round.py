"""What the rule `fused` makes of the updates of many federations at once, and what the server publishes."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from eitr.aggregation.fused.features import shortening
from eitr.aggregation.fused.rule import Fused
from eitr.aggregation.fused.sketch import DIMENSIONS, signs
from eitr.lab.aggregation.fused import BatchedFused
from eitr.lab.simulation.privacy.layers import TrainedLayers
from eitr.lab.simulation.privacy.training import Pages, Training

RULE = Fused()
EACH = 4
"""Own pages of a participant who is not a victim."""


class Crowd(NamedTuple):
    """Where other participants take their pages from."""

    pages: Pages
    places: Tensor
    trusted: Pages
    """With these the server validates steps."""

    def draw(self, count: int, generator: torch.Generator) -> Pages:
        """Return the own pages of so many participants."""
        chosen = torch.randint(len(self.places), (count, EACH), device=self.places.device, generator=generator)
        return self.pages.at(self.places[chosen])


class Published(NamedTuple):
    """What a round gave in every federation."""

    steps: Tensor
    """(federations, parameters): the difference of the published models."""
    shares: Tensor
    """(federations, clients): what each step was multiplied by: its weight, and how much it was shortened."""


class ServerRounds:
    """Federations that start from one model; the rule remembers the clients from round to round."""

    def __init__(self, training: Training, crowd: Crowd, federations: int, clients: int) -> None:
        self.training = training
        """How the clients of the next round train; its model is the base."""
        device = training.model.device
        size, noise = training.layers.size, training.noise
        self._rule = BatchedFused([RULE] * federations, clients, size, device, added_noise=noise)
        self._counts = torch.ones(federations, clients, dtype=torch.float64, device=device)
        self._scorers = [scorer(training.layers, crowd.trusted)] * federations

    def end(self, updates: Tensor, *, factors: Tensor | None = None, members: int = 1) -> Published:
        """Aggregate steps (federations, clients, parameters), add noise if the defence has it, and publish.

        `factors` (federations, clients) multiply the weights that the rule found. With `members` a step is the mean of
        so many clients' steps.
        """
        base = self.training.model
        steps = updates - self.training.subtracted
        bases = base.expand(len(steps), -1).contiguous()
        found = self._rule.aggregate(bases, (base + steps).contiguous(), self._counts, None, self._scorers)
        lengths = steps.norm(dim=2).double().cpu().numpy()
        short = torch.from_numpy(np.stack([shortening(own) for own in lengths])).to(base.device)
        shares = found.weights * short
        moved = found.models - bases
        if factors is not None:
            changed = found.weights * factors
            changed = changed / changed.sum(1, keepdim=True) * short
            moved = (changed.unsqueeze(1) @ steps.double()).squeeze(1).float()
        return Published(moved + self._noise(shares / members, moved), shares.float())

    def remembered(self, client: int) -> Tensor:
        """Return what is remembered of a client's steps (federations, parameters), by somebody who knows the seed.

        Up to 4,096 parameters, each number of a step is remembered by itself; of more, sums of several.
        """
        size = self.training.layers.size
        sign = torch.from_numpy(signs(RULE.seed, size).copy()).to(self._rule.device)
        return self._rule.sums[:, client, torch.arange(size, device=sign.device) % DIMENSIONS] * sign

    def _noise(self, shares: Tensor, moved: Tensor) -> Tensor:
        """Return noise that hides an own page of the client with the largest share."""
        deviation = self.training.defence.published_noise * self.training.reach * shares.amax(1, keepdim=True).float()
        return deviation * torch.randn(moved.shape, device=moved.device, generator=self.training.generator)


def scorer(layers: TrainedLayers, trusted: Pages) -> Callable[[Tensor], Tensor]:
    """Return what gives models (models, parameters) their mean loss per class (models, classes); NaN without pages."""

    def losses(models: Tensor) -> Tensor:
        chances = torch.log_softmax(layers.logits(models, trusted.inputs).double(), -1)
        own = -chances.gather(2, trusted.labels.expand(len(models), -1).unsqueeze(2)).squeeze(2)
        classes = torch.nn.functional.one_hot(trusted.labels, layers.classes).double()
        return own @ classes / torch.where(classes.sum(0) > 0, classes.sum(0), torch.nan)

    return losses
