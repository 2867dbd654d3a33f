"""What others than a server with single updates see of a victim: each as a way to train whose updates are what is seen.

Attacks know how updates vary and what a page adds to them, and need not know where they were seen.
"""

import math

import torch
from torch import Tensor

from eitr.aggregation.fused.features import usual_length
from eitr.lab.runs.privacy import OUTSIDER, THIEF
from eitr.lab.simulation.privacy.server_round import RULE, Crowd, ServerRounds
from eitr.lab.simulation.privacy.training import Pages, PrivateStep, Training

SYBILS = 9
"""Identities of an outsider who isolates a victim."""
OTHERS = 9
"""Other participants of the rounds that a thief finds traces of."""


def seen_by(viewer: str, training: Training, crowd: Crowd) -> Training:
    """Return a way to train as somebody sees it."""
    if viewer == OUTSIDER:
        return Isolated(training, crowd)
    if viewer == THIEF:
        return Remembered(training, crowd)
    return GroupSum(training, crowd) if isinstance(training, PrivateStep) and training.defence.group > 1 else training


class Seen(Training):
    """The base of views: what a page adds, and how cover pages vary, is that of the updates."""

    def __init__(self, training: Training, crowd: Crowd) -> None:
        # Everything that was computed for the updates is shared.
        self.__dict__.update(training.__dict__)
        self.training, self.crowd = training, crowd

    def templates(self, pages: Pages) -> Tensor:
        """Return what each page adds."""
        return self.training.templates(pages)

    def cover(self, simulated: int) -> tuple[Tensor, Tensor]:
        """Return what cover pages add, and how it varies."""
        return self.training.cover(simulated)

    @property
    def subtracted(self) -> Tensor:
        """What the server subtracts from every update."""
        return self.training.subtracted


class GroupSum(Seen):
    """The sum of the updates of a group, of which the victim is one.

    The attacker knows the expected part of the other members' pages. For the second part of an update it knows their
    pages and cover pages, too, and all that is left of them is noise.
    """

    training: PrivateStep

    def __init__(self, training: PrivateStep, crowd: Crowd) -> None:
        super().__init__(training, crowd)
        self.noise = training.noise * math.sqrt(training.defence.group)
        own = training.own_steps(crowd.draw(1000, training.generator))
        self._mean, self._spread = own.mean(0), (own - own.mean(0)) / math.sqrt(len(own))

    def updates(self, own: Pages) -> tuple[Tensor, Tensor | None]:
        """Return the sums, less what the other members' own pages are expected to add."""
        total, part = self.training.updates(own)
        for _ in range(self.defence.group - 1):
            pages = self.crowd.draw(len(total), self.generator)
            update, rest = self.training.updates(pages)
            total = total + update - self._mean
            if part is not None and rest is not None:
                part = part + rest - self.training.own_steps(pages)
        return total, part

    def cover(self, simulated: int) -> tuple[Tensor, Tensor]:
        """Return mean and covariance of all members' cover pages, and of the others' own."""
        expected, rows = self.training.cover(simulated)
        members = self.defence.group
        return members * expected, torch.cat([math.sqrt(members) * rows, math.sqrt(members - 1) * self._spread])


class Isolated(Seen):
    """The victim's part of a published step, of a round in which all others are identities of the attacker.

    They train like honest participants, so that the rule has no reason to doubt them. The attacker knows what they
    sent, and is told all weights: what it subtracts is exact, but for the rounding of the published numbers. (With
    steps longer or shorter than usual, or equal ones, the rule would doubt them; if all of theirs were 0, it would
    shorten the victim's to 0.)
    """

    def __init__(self, training: Training, crowd: Crowd) -> None:
        super().__init__(training, crowd)
        self.noise = math.hypot(training.noise, training.defence.published_noise * training.reach)

    def updates(self, own: Pages) -> tuple[Tensor, Tensor | None]:
        """Return what is left of published steps, for each victim."""
        update, part = self.training.updates(own)
        victims, shift = len(update), self.training.subtracted
        sybils = self.training.updates(self.crowd.draw(victims * SYBILS, self.generator))[0]
        everybody = torch.cat([update.unsqueeze(1), sybils.view(victims, SYBILS, -1)], 1)
        steps, shares = ServerRounds(self.training, self.crowd, victims, 1 + SYBILS).end(everybody)
        theirs = (shares[:, None, 1:] @ (everybody[:, 1:] - shift)).squeeze(1)
        mine = shares[:, :1]
        # A victim without weight leaves nothing.
        left = torch.where(mine > 1e-6, (steps - theirs) / mine.clamp_min(1e-6), 0.0)
        return left + shift, None if part is None else left - (update - part - shift)


class Remembered(Seen):
    """What the rule's memory holds of a victim after its rounds, for a thief who also has the seed of the projection.

    The seed is secret, but anybody who took part knows steps of their own, and reads the signs off its own row.
    """

    def updates(self, own: Pages) -> tuple[Tensor, Tensor | None]:
        """Return what is remembered after one round."""
        return self.observed(own, 1)

    def observed(self, own: Pages, uses: int) -> tuple[Tensor, Tensor | None]:
        """Return the fading sum of the victim's steps, as a mean; older rounds count less in it."""
        victims, shift = len(own.labels), self.training.subtracted
        rounds = ServerRounds(self.training, self.crowd, victims, 1 + OTHERS)
        covers, usual = torch.zeros_like(self.model), torch.zeros(victims, 1, device=self.model.device)
        known = True
        for _ in range(uses):
            update, part = self.training.updates(own)
            others = self.training.updates(self.crowd.draw(victims * OTHERS, self.generator))[0]
            everybody = torch.cat([update.unsqueeze(1), others.view(victims, OTHERS, -1)], 1)
            rounds.end(everybody)
            lengths = (everybody - shift).norm(dim=2).double().cpu().numpy()
            usual += usual.new_tensor([[usual_length(one)] for one in lengths]) / uses
            known = part is not None
            covers = RULE.fading * covers + (update - part - shift if part is not None else 0.0)
        total = sum(RULE.fading**age for age in range(uses))
        found = rounds.remembered(0) * usual / total
        # A filter expects the noise of a plain mean of as many rounds.
        self.noise = (
            self.training.noise * math.sqrt(uses * sum(RULE.fading ** (2 * age) for age in range(uses))) / total
        )
        return found + shift, found - covers / total if known else None
