"""The rows of the first layer that moved: without cover pages they are exactly the words of the pages."""

import torch
from torch import Tensor

from eitr.lab.simulation.privacy.measures import Guesses
from eitr.lab.simulation.privacy.view import Attacker, View

MOST = 5.0
"""A row that moved so many times as far as usual says no more by moving farther."""


def moved_rows(attacker: Attacker, real: View) -> Guesses | None:
    """Guess words by how far their rows moved beyond the usual, and pages by their words; None below trained layers."""
    layers = attacker.training.layers
    if layers.below:
        return None

    def moved(steps: Tensor) -> Tensor:
        kernel, _ = layers.split(steps)[0]
        lengths: Tensor = torch.linalg.vector_norm(kernel, dim=-1)
        return lengths

    found = moved(real.steps + attacker.cover.expected)
    # The covariance's diagonal: how far a row moves by chance.
    usual = moved(attacker.cover.expected)
    spread = moved((attacker.cover.rows**2).sum(0).sqrt()) if len(attacker.cover.rows) else usual * 0.0
    scores = ((found - usual) / (spread + 1e-3 * found.amax(1, keepdim=True))).clamp_max(MOST)
    pages = real.pages.inputs[real.candidates]
    own, others = real.split((pages * scores.unsqueeze(1)).sum(2) / pages.sum(2).clamp_min(1e-12))
    return Guesses(view=real, own=own, others=others, words=scores)
