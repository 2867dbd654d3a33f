"""Shift: every parameter moved by the same number."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from eitr.attacks.interface import Scene
from eitr.attacks.model_poisoning import ModelPoisoning
from eitr.settings import setting

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, kw_only=True)
class Shift(ModelPoisoning):
    """w = mine + by, for every parameter.

    Blatant, and yet enough for a rule that rescales all values of a parameter to a common range: the paper's moves the
    honest ones, too.

    >>> import torch
    >>> scene = Scene(torch.tensor([1.0]), mine=torch.tensor([[1.5]]), others=torch.tensor([[1.4]]))
    >>> Shift().craft(scene).tolist()
    [[4.5]]

    Chu et al., "Securing Federated Sensitive Topic Classification against Poisoning Attacks", NDSS 2023: its rescaling.
    """

    name: ClassVar[str] = "shift"
    summary: ClassVar[str] = "a constant added to every parameter"

    by: float = setting(3.0, "what is added to every parameter", least=-1e5, most=1e5)

    def craft(self, scene: Scene) -> "torch.Tensor":
        """Add the constant."""
        return scene.mine + self.by
