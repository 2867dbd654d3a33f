"""Noise: an honest update with Gaussian noise on every parameter."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from eitr.attacks.interface import Scene
from eitr.attacks.model_poisoning import ModelPoisoning, Stream, noise
from eitr.settings import setting

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, kw_only=True)
class Noise(ModelPoisoning):
    """w = mine + sigma n with n standard normal, drawn anew by each attacker in each round.

    >>> import torch
    >>> scene = Scene(torch.zeros(10_000), mine=torch.ones(1, 10_000), others=torch.zeros(1, 10_000))
    >>> sent = Noise().craft(scene)
    >>> round(float(sent.mean()), 2), round(float(sent.std()), 2)
    (1.0, 0.1)

    Blanchard et al., "Machine Learning with Adversaries: Byzantine Tolerant Gradient Descent", NeurIPS 2017.
    """

    name: ClassVar[str] = "noise"
    summary: ClassVar[str] = "Gaussian noise on every parameter"

    # More than twice the spread of the first layer's initial weights (0.04): it drowns a step, and yet the mean of ten
    # clients goes on learning. Noise as loud as the publication's (200) ends the run of the mean at once and is found
    # by any other rule: it would tell nothing.
    sigma: float = setting(0.1, "standard deviation of the noise", above=0.0, most=1e5)

    def craft(self, scene: Scene) -> "torch.Tensor":
        """Add the noise."""
        return scene.mine + self.sigma * noise(scene, Stream.NOISE)
