"""Mimic: copies of the one honest update that stands out most, so that its client counts for many."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from eitr.attacks.interface import Scene
from eitr.attacks.model_poisoning import ModelPoisoning, by_all

if TYPE_CHECKING:
    import torch

_EQUAL = 1e-6
"""Clients that stand out by as much, but for this share, are equal: the first is copied, on every device."""
_SQUARINGS = 20
"""How often a table is squared to find its first eigenvector: as a million steps of power iteration. A solver would
refuse the numbers of training that diverged."""


@dataclass(frozen=True, kw_only=True)
class Mimic(ModelPoisoning):
    """w = w_k for all attackers, with k the honest client that is farthest out along z:

        z = the direction in which the honest steps g_i of the round differ most: argmax sum_i (z . (g_i - mean))^2
        k = argmax_i |z . (g_i - mean)|        over the others i

    Nothing that is sent looks like an attack: it is an honest update. But the data of one client, and of those like it,
    count for more than they should, and a rule that looks for a majority finds one that there is not. With a table of
    inner products of all g_i - mean, the numbers z . (g_i - mean) are proportional to its first eigenvector.

    The publication adds up differences over many rounds, then chooses one client and copies it to the end. Here both
    are done anew in every round, for where only some clients take part the chosen one would mostly be away. It
    measures how far out a client is without taking the mean off. Where nobody is honest, attackers send what they
    trained.

    >>> import torch
    >>> others = torch.tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 5.0]])  # the mean is (1, 2), and z is (0, 1)
    >>> Mimic().craft(Scene(torch.zeros(2), mine=torch.ones(2, 2), others=others)).tolist()
    [[1.0, 5.0], [1.0, 5.0]]

    Karimireddy, He and Jaggi, "Byzantine-Robust Learning on Heterogeneous Datasets via Bucketing", ICLR 2022.
    """

    name: ClassVar[str] = "mimic"
    summary: ClassVar[str] = "copies of the honest update that stands out most"

    def craft(self, scene: Scene) -> "torch.Tensor":
        """Copy the client that stands out most."""
        if len(scene.others) == 0:
            return scene.mine
        return by_all(scene, scene.others.index_select(0, outermost(scene.others - scene.base)[None])[0])


def outermost(steps: "torch.Tensor") -> "torch.Tensor":
    """Return which step is farthest from the mean along the direction in which the steps differ most.

    >>> import torch
    >>> int(outermost(torch.tensor([[3.0], [1.0], [2.0], [-4.0]])))  # the mean is 0.5
    3
    """
    import torch

    centred = (steps - steps.mean(dim=0)).double()
    power = centred @ centred.T
    for _ in range(_SQUARINGS):
        power = power / power.norm().clamp(min=1e-300)
        power = power @ power
    # What is left is u u^T, u the first eigenvector; its diagonal has the squares of the distances.
    far: torch.Tensor = power.diagonal()
    return (far >= (1 - _EQUAL) * far.max()).int().argmax()
