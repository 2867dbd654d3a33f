"""Slander: copies of what honest clients send, so that the victims are taken for somebody's twins."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from eitr.attacks.interface import Scene
from eitr.attacks.model_poisoning import ModelPoisoning, Stream, noise, root_mean_square
from eitr.model.random import key_of, permutation
from eitr.settings import setting

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, kw_only=True)
class Slander(ModelPoisoning):
    """w_k = v_k + noise rms(v_k - base) n_k with v_k what the k-th attacker's victim, an honest client, will send.

    Victims are the first of a seeded permutation of the honest clients of the round: one for each attacker while there
    are enough of them, and the same in every round if everybody takes part. A rule that punishes clients for being
    alike punishes them; where nobody is honest, attackers send what they trained.

    >>> import torch
    >>> scene = Scene(torch.zeros(1), mine=torch.ones(2, 1), others=torch.tensor([[3.0], [4.0]]))
    >>> sorted(Slander().craft(scene).tolist())
    [[3.0], [4.0]]

    Sun et al., "Defense of Trust Management Vulnerabilities in Distributed Networks", IEEE Communications Magazine
    2008: bad-mouthing, here of clients by a rule such as FoolsGold (Fung et al., RAID 2020).
    """

    name: ClassVar[str] = "slander"
    summary: ClassVar[str] = "copies of honest updates, to have their senders punished"

    noise: float = setting(0.0, "size of the noise, in root mean squares of the victim's step", least=0.0, most=1e3)

    def craft(self, scene: Scene) -> "torch.Tensor":
        """Copy the victims."""
        if len(scene.others) == 0:
            return scene.mine
        order = permutation(key_of(scene.seed, Stream.VICTIMS), len(scene.others))
        copies = scene.others[[int(order[k % len(order)]) for k in range(len(scene.mine))]]
        if self.noise == 0:
            return copies
        return copies + self.noise * root_mean_square(copies - scene.base) * noise(scene, Stream.SLANDER)
