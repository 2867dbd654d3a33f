"""Min-Sum: as far from the mean as the largest sum of squared distances of an honest update allows."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from eitr.attacks.min_max import MinMax, largest_root, squared_distances

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, kw_only=True)
class MinSum(MinMax):
    """w = m + gamma p as for min-max, with the largest gamma such that

        sum_i |w - w_i|^2 <= max_i sum_j |w_i - w_j|^2        over the others i, j

    >>> import torch
    >>> from eitr.attacks.interface import Scene
    >>> others = torch.tensor([[1.0], [3.0]])  # m = 2, p = -1; 2 (1 + gamma^2) <= 4
    >>> MinSum().craft(Scene(torch.zeros(1), mine=torch.zeros(1, 1), others=others)).tolist()
    [[1.0]]

    Shejwalkar and Houmansadr, "Manipulating the Byzantine: Optimizing Model Poisoning Attacks and Defenses for
    Federated Learning", NDSS 2021.
    """

    name: ClassVar[str] = "min-sum"
    summary: ClassVar[str] = "as far from the mean as the distances of the outermost honest update allow"

    def gamma(self, products: "torch.Tensor") -> "torch.Tensor":
        """Return the largest gamma, given the inner products of all d_i and, last, of p."""
        lengths, along, length = products.diagonal()[:-1], products[-1, :-1], products[-1, -1]
        room = squared_distances(products).sum(dim=1).max() - lengths.sum()
        return largest_root(len(lengths) * length, along.sum(), room)
