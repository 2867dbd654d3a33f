"""The attack on coordinate-wise rules: beyond the honest extreme, against the way the model is going."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from eitr.attacks.interface import Scene
from eitr.attacks.model_poisoning import ModelPoisoning, Stream, chance, honest
from eitr.settings import setting

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, kw_only=True)
class Fang(ModelPoisoning):
    """Per parameter, with s the sign of the mean step of the others, drawn anew by each attacker from

        s > 0: [min / b, min] if min > 0, else [b min, min]        min, max: over the others
        s < 0: [max, b max] if max > 0, else [max, max / b]

    Where the mean does not move, which the publication leaves open, neither do they. Full knowledge.

    >>> import torch
    >>> others = torch.tensor([[2.0, -2.0], [3.0, -3.0]])
    >>> sent = Fang().craft(Scene(torch.tensor([1.0, 0.0]), mine=torch.zeros(1, 2), others=others))[0]
    >>> bool(1 <= sent[0] <= 2), bool(-2 <= sent[1] <= -1)  # below all, for it grows; above all, for it falls
    (True, True)

    Fang et al., "Local Model Poisoning Attacks to Byzantine-Robust Federated Learning", USENIX Security 2020.
    """

    name: ClassVar[str] = "fang"
    summary: ClassVar[str] = "beyond the honest extreme of each parameter (on trimmed mean and median)"

    b: float = setting(2.0, "how far beyond the extreme, as a factor", above=1.0, most=1e6)

    def craft(self, scene: Scene) -> "torch.Tensor":
        """Draw from beyond the extremes."""
        import torch

        seen = honest(scene)
        # Of the steps, not of the values, whose mean rounds: where nobody moves it is exactly 0.
        sign = torch.sign((seen - scene.base).mean(dim=0))
        extreme = torch.where(sign > 0, seen.amin(dim=0), seen.amax(dim=0))
        # Away from the model's direction is towards 0 on one side of it, and away from 0 on the other.
        least = torch.where(sign * extreme > 0, 1 / self.b, 1.0)
        most = torch.where(sign * extreme > 0, 1.0, self.b)
        drawn = extreme * (least + (most - least) * chance(scene, Stream.FANG))
        return torch.where(sign == 0, scene.base, drawn)
