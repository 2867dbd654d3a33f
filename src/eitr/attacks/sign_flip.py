"""Sign flipping: the honest step, backwards."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from eitr.attacks.interface import Scene
from eitr.attacks.model_poisoning import ModelPoisoning
from eitr.settings import setting

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, kw_only=True)
class SignFlip(ModelPoisoning):
    """w = base - scale (mine - base): the honest step, backwards.

    >>> import torch
    >>> scene = Scene(torch.tensor([1.0]), mine=torch.tensor([[1.5]]), others=torch.tensor([[1.4]]))
    >>> SignFlip().craft(scene).tolist()
    [[0.5]]

    Li et al., "RSA: Byzantine-Robust Stochastic Aggregation Methods for Distributed Learning", AAAI 2019.
    """

    name: ClassVar[str] = "sign-flip"
    summary: ClassVar[str] = "the honest step, backwards"

    scale: float = setting(1.0, "length of the step, in honest ones", above=0.0, most=1e6)

    def craft(self, scene: Scene) -> "torch.Tensor":
        """Step backwards."""
        return scene.base - self.scale * (scene.mine - scene.base)
