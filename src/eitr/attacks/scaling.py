"""Model replacement: a poisoned step, made long enough to survive the averaging."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from eitr.attacks.interface import Scene
from eitr.attacks.wrapping import WrappingAttack
from eitr.settings import setting

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, kw_only=True)
class Scaling(WrappingAttack):
    """w = base + factor (mine - base), with `mine` trained on poisoned data.

    With factor = M / attackers the mean of the updates is what the attackers alone would have made of the model.

    >>> import torch
    >>> scene = Scene(torch.tensor([1.0]), mine=torch.tensor([[1.5]]), others=torch.tensor([[1.4]]))
    >>> Scaling(factor=10).craft(scene).tolist()
    [[6.0]]

    Bagdasaryan et al., "How To Backdoor Federated Learning", AISTATS 2020.
    """

    name: ClassVar[str] = "scaling"
    summary: ClassVar[str] = "a poisoned step, multiplied (model replacement)"

    factor: float = setting(10.0, "what the step is multiplied by", above=0.0, most=1e6)

    def craft(self, scene: Scene) -> "torch.Tensor":
        """Multiply the step."""
        return scene.base + self.factor * (scene.mine - scene.base)
