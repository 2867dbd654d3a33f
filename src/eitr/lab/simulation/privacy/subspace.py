"""The column space of a layer's step: what the pages give the layer spans it, as long as there are few pages."""

import torch
from torch import Tensor

from eitr.lab.simulation.privacy.measures import Guesses, areas
from eitr.lab.simulation.privacy.view import Attacker, View

RANKS = (1, 2, 4, 8, 16, 32, 64, 128)


def subspace(attacker: Attacker, real: View) -> Guesses:
    """Guess pages and words by how much of what they give the layer lies in the step's leading directions."""
    simulated = attacker.simulated
    outputs = attacker.training.layers.shapes[0][1]
    ranks = [rank for rank in RANKS if rank <= outputs]

    def at_candidates(view: View) -> Tensor:
        return _shares(attacker, view, view.pages.inputs[view.candidates])

    rehearsed = at_candidates(simulated)
    rank = max(ranks, key=lambda one: float(areas(*simulated.split(rehearsed[..., one - 1])).mean()))
    own, others = real.split(at_candidates(real)[..., rank - 1])
    words = _shares(attacker, real, attacker.words.expand(len(real.steps), -1, -1))[..., rank - 1]
    return Guesses(view=real, own=own, others=others, words=words)


def _shares(attacker: Attacker, view: View, inputs: Tensor) -> Tensor:
    """Return the share of each input's squared length within the first 1, 2, .. directions (victims, inputs, ranks)."""
    kernel, _ = attacker.training.layers.split(view.steps)[0]
    # By the eigenvectors of the smaller side: the left singular vectors are K v / sigma.
    squares, sides = torch.linalg.eigh((kernel.mT @ kernel).double())
    squares, sides = squares.flip(-1), sides.flip(-1)
    kept = squares > 1e-10 * squares[:, :1]
    directions = (kernel.double() @ sides) * torch.where(kept, squares.clamp_min(1e-300).rsqrt(), 0.0).unsqueeze(1)
    along = (inputs @ directions.to(inputs.dtype)) ** 2
    shares: Tensor = along.cumsum(-1) / (inputs**2).sum(-1, keepdim=True).clamp_min(1e-12)
    return shares
