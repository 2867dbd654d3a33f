"""Inner product manipulation: against the honest clients' common direction."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from eitr.attacks.interface import Scene
from eitr.attacks.model_poisoning import ModelPoisoning, by_all, honest
from eitr.settings import setting

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, kw_only=True)
class Ipm(ModelPoisoning):
    """w = base - epsilon mean(others - base); all attackers send the same.

    A small epsilon hides among the honest steps and drags on them; one above (M - f) / f turns even the mean of M
    clients, f of them attackers, around.

    >>> import torch
    >>> scene = Scene(torch.tensor([1.0]), mine=torch.tensor([[1.5]]), others=torch.tensor([[1.25], [1.75]]))
    >>> Ipm(epsilon=0.5).craft(scene).tolist()  # the mean step is 0.5
    [[0.75]]

    Xie et al., "Fall of Empires: Breaking Byzantine-tolerant SGD by Inner Product Manipulation", UAI 2019.
    """

    name: ClassVar[str] = "ipm"
    summary: ClassVar[str] = "minus the mean step of the others (inner product manipulation)"

    epsilon: float = setting(1.0, "length of the step, in mean honest ones", above=0.0, most=1e6)

    def craft(self, scene: Scene) -> "torch.Tensor":
        """Step against the mean of the others."""
        return by_all(scene, scene.base - self.epsilon * (honest(scene) - scene.base).mean(dim=0))
