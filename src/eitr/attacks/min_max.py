"""Min-Max: as far from the mean as the largest distance between two honest updates allows."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from eitr.attacks.interface import Scene
from eitr.attacks.model_poisoning import ModelPoisoning, by_all, honest, unit
from eitr.settings import setting

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, kw_only=True)
class MinMax(ModelPoisoning):
    """w = m + gamma p with m = mean(others), p a perturbation, and the largest gamma such that

        max_i |w - w_i|^2 <= max_ij |w_i - w_j|^2        over the others i, j

    p is minus the standard deviation of each parameter ("std"), minus the mean step at length 1 ("unit"), or minus the
    sign of the mean step ("sign"). All attackers send the same. With d_i = w_i - m the left side is
    |d_i|^2 - 2 gamma p.d_i + gamma^2 |p|^2: a table of inner products has it all, and gamma is the root of a quadratic.
    The publication searches for gamma by halving steps instead.

    >>> import torch
    >>> others = torch.tensor([[1.0, 0.0], [3.0, 0.0]])  # two apart; m = (2, 0), p = (-1, 0)
    >>> MinMax().craft(Scene(torch.zeros(2), mine=torch.zeros(1, 2), others=others)).tolist()
    [[1.0, 0.0]]

    Shejwalkar and Houmansadr, "Manipulating the Byzantine: Optimizing Model Poisoning Attacks and Defenses for
    Federated Learning", NDSS 2021.
    """

    name: ClassVar[str] = "min-max"
    summary: ClassVar[str] = "as far from the mean as the largest distance between honest updates allows"

    perturbation: str = setting("std", "in which direction off the mean", choices=("std", "unit", "sign"))

    def craft(self, scene: Scene) -> "torch.Tensor":
        """Leave the mean as far as the constraint allows."""
        import torch

        steps = honest(scene) - scene.base
        mean = steps.mean(dim=0)
        direction = self._direction(steps, mean)
        # In double precision: a distance of close neighbours is a small difference of large products.
        vectors = torch.cat([steps - mean, direction[None]]).double()
        return by_all(scene, scene.base + mean + self.gamma(vectors @ vectors.T).float() * direction)

    def gamma(self, products: "torch.Tensor") -> "torch.Tensor":
        """Return the largest gamma, given the inner products of all d_i and, last, of p."""
        lengths, along, length = products.diagonal()[:-1], products[-1, :-1], products[-1, -1]
        return largest_root(length, along, squared_distances(products).max() - lengths).min()

    def _direction(self, steps: "torch.Tensor", mean: "torch.Tensor") -> "torch.Tensor":
        match self.perturbation:
            case "std":
                return -steps.std(dim=0, correction=0)
            case "unit":
                return -unit(mean[None])[0]
        return -mean.sign()


def squared_distances(products: "torch.Tensor") -> "torch.Tensor":
    """Return |d_i - d_j|^2 of all but the last vector, from the inner products of all."""
    gram = products[:-1, :-1]
    lengths = gram.diagonal()
    return lengths[:, None] + lengths[None, :] - 2 * gram


def largest_root(a: "torch.Tensor", b: "torch.Tensor", room: "torch.Tensor") -> "torch.Tensor":
    """Return the largest g with a g^2 - 2 b g <= room, where room is not negative but for rounding; 0 where a is 0.

    >>> import torch
    >>> largest_root(torch.tensor(1.0), torch.tensor([0.0, 1.0]), torch.tensor([4.0, 3.0])).tolist()
    [2.0, 3.0]
    """
    import torch

    root = b + torch.sqrt(b.square() + a * room.clamp(min=0))
    return torch.where(a > 0, root / torch.where(a > 0, a, 1), 0)
