"""The interest of a person: which class all pages of a victim have, guessed from its updates alone.

The noise hides a page. It does not hide what many pages have in common, neither in one update nor over many rounds: a
page is used in few rounds, but somebody who reads about one topic has new pages of it in every round.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from eitr.errors import InputError
from eitr.lab.simulation.privacy.cover_part import CoverPart
from eitr.lab.simulation.privacy.filters import ridges_for
from eitr.lab.simulation.privacy.training import Pages

LEARNED = 400
"""With so many victims of each class an attacker finds what their own pages move on average."""
LENGTHS = (0.0, 1.0)
"""Whether the expected length of a class's step counts: with 1 the guess is the most probable class."""


class Readers:
    """Victims who read about one topic each."""

    def __init__(self, cover: CoverPart, pages: Pages, places: NDArray[np.int64], own: int, uses: int) -> None:
        self._cover, self._pages, self._own, self._uses = cover, pages, own, uses
        labels = pages.labels.cpu().numpy()[places]
        by_class = [places[labels == label] for label in range(cover.training.layers.classes)]
        self._of = {label: found for label, found in enumerate(by_class) if len(found) >= own}
        if len(self._of) < 2:
            raise InputError(f"there are no two classes with {own} pages: take data with more pages")

    def draw(self, rng: np.random.Generator, count: int) -> tuple[Tensor, Tensor]:
        """Return the mean step of each victim over its rounds, with new pages in each, and its class."""
        classes = rng.choice(list(self._of), count)
        device = self._cover.expected.device
        total = torch.zeros(count, self._cover.training.layers.size, device=device)
        for _ in range(self._uses):
            places = np.stack([rng.choice(self._of[label], self._own, replace=False) for label in classes])
            total += self._cover.training.updates(self._pages.at(torch.from_numpy(places).to(device)))[0]
        return total / self._uses - self._cover.expected, torch.from_numpy(classes).to(device)

    def expected_steps(self, rng: np.random.Generator) -> Tensor:
        """Return the mean step of a victim of each class (classes, parameters); 0 for a class without victims."""
        training = self._cover.training
        found = torch.zeros(training.layers.classes, training.layers.size).to(self._cover.expected.device)
        for label, places in self._of.items():
            if training.exact is None:
                theirs = self._pages.at(torch.from_numpy(places).to(found.device))
                found[label] = self._own * training.templates(theirs).mean(0)
            else:  # cut together as in an update
                drawn = np.stack([rng.choice(places, self._own, replace=False) for _ in range(LEARNED)])
                theirs = self._pages.at(torch.from_numpy(drawn).to(found.device))
                found[label] = training.exact.own_steps(theirs).mean(0)
        return found


def interest(
    cover: CoverPart, simulated: Readers, real: Readers, rng: np.random.Generator, victims: int, rehearsed: int
) -> float:
    """Return how often the class is guessed, above the share of the most frequent class."""
    means = simulated.expected_steps(rng)
    usable = (means != 0).any(1)

    def guessed(steps: Tensor, ridge: float, length: float) -> Tensor:
        light = cover.spectrum.variances / (cover.spectrum.variances + ridge)
        along = means @ cover.spectrum.directions
        weighed = means - (along * light) @ cover.spectrum.directions.T
        scores = steps @ weighed.T - length * (weighed * means).sum(1) / 2
        return scores.masked_fill(~usable, -torch.inf).argmax(1)

    def right(drawn: tuple[Tensor, Tensor], ridge: float, length: float) -> float:
        return float((guessed(drawn[0], ridge, length) == drawn[1]).double().mean())

    trial = simulated.draw(rng, rehearsed)
    settings = [(ridge, length) for ridge in ridges_for(cover.training, cover.spectrum) for length in LENGTHS]
    chosen = max(settings, key=lambda one: right(trial, *one))
    found = real.draw(rng, victims)
    return right(found, *chosen) - float(torch.bincount(found[1]).max()) / victims
