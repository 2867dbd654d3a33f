"""What an attacker knows, and what it sees of victims: those it simulates, and those it is after."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from eitr.lab.simulation.privacy.cover_part import CoverPart
from eitr.lab.simulation.privacy.training import Pages, Training


@dataclass(frozen=True)
class View:
    """Updates of some victims. The first candidates of each are its own pages; no attack uses that on real victims."""

    pages: Pages
    """All pages that candidates are of."""
    candidates: Tensor
    """Places of the candidates (victims, candidates)."""
    own: int
    """How many of the candidates are own pages."""
    steps: Tensor
    """The updates (victims, parameters), averaged over the rounds, less what cover pages are expected to add."""
    differences: Tensor
    """The update less an update without the first own page, each with its own draw."""
    parts: Tensor | None
    """The updates without their cover pages' part, for an attacker who knows which were drawn."""

    def split(self, scores: Tensor) -> tuple[Tensor, Tensor]:
        """Return scores (victims, candidates) of own pages and of the others."""
        return scores[:, : self.own], scores[:, self.own :]

    @property
    def added(self) -> "View":
        """Return the view of two updates around the first own page; the other own pages are no candidates."""
        candidates = torch.cat([self.candidates[:, :1], self.candidates[:, self.own :]], 1)
        return replace(self, candidates=candidates, own=1, steps=self.differences)

    def labels(self) -> Tensor:
        """Return the true labels of the candidates."""
        return self.pages.labels[self.candidates]


@dataclass(frozen=True)
class Attacker:
    """What every attacker knows: model, defence and pool, words, and pages of the same kind as the victims'."""

    training: Training
    cover: CoverPart
    words: Tensor
    """What the trained layers are given by a page of one word (words, width)."""
    uses: int
    simulated: View
    """Victims with pages of the attacker: all settings of an attack are chosen on them."""

    @property
    def prior(self) -> Tensor:
        """Return the logarithm of the labels' shares among the attacker's pages."""
        labels = self.simulated.labels()[:, : self.simulated.own].flatten()
        counts = torch.bincount(labels, minlength=self.training.layers.classes)
        return ((counts + 1.0) / (counts + 1.0).sum()).log()

    def centred(self, steps: Tensor) -> Tensor:
        """Return steps less what all own pages but one are expected to add, as simulated victims show."""
        own = self.simulated.own
        return steps - self.simulated.steps.mean(0) * (own - 1) / own


def watch(training: Training, expected: Tensor, pages: Pages, candidates: Tensor, own: int, uses: int) -> View:
    """Let victims train in some rounds, and return what is seen of them."""
    theirs = pages.at(candidates[:, :own])
    steps, parts = training.observed(theirs, uses)
    before, _ = training.observed(theirs.without(0), uses)
    return View(pages, candidates, own, steps - expected, steps - before, parts)
