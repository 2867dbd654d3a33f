"""Sybils: one poisoned update under many names, noisy enough not to look like one."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from eitr.attacks.interface import Scene
from eitr.attacks.model_poisoning import Stream, noise, root_mean_square
from eitr.attacks.wrapping import WrappingAttack
from eitr.settings import setting

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, kw_only=True)
class Sybil(WrappingAttack):
    """w_k = w_1 + noise rms(w_1 - base) n_k with w_1 what the first attacker trained and n_k standard normal.

    Two such steps have a cosine of about 1 / (1 + noise^2).

    >>> import torch
    >>> scene = Scene(torch.zeros(10_000), mine=torch.ones(2, 10_000), others=torch.zeros(1, 10_000))
    >>> first, second = Sybil(noise=0.5).craft(scene)
    >>> round(float(torch.cosine_similarity(first, second, dim=0)), 1)
    0.8

    Fung et al., "The Limitations of Federated Learning in Sybil Settings", RAID 2020: its "intelligent perturbation".
    """

    name: ClassVar[str] = "sybil"
    summary: ClassVar[str] = "noisy copies of one poisoned update"

    # A cosine of 0.8: no twins any more, and the noise of three copies takes little from their mean.
    noise: float = setting(0.5, "size of the noise, in root mean squares of the step", least=0.0, most=1e3)

    def craft(self, scene: Scene) -> "torch.Tensor":
        """Copy the first attacker's update."""
        first = scene.mine[:1]
        return first + self.noise * root_mean_square(first - scene.base) * noise(scene, Stream.SYBIL)
