"""A little is enough: every parameter off by what an honest client might be off."""

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, ClassVar

from eitr.attacks.interface import Scene
from eitr.attacks.model_poisoning import ModelPoisoning, by_all, honest
from eitr.settings import setting

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, kw_only=True)
class Alie(ModelPoisoning):
    """w = mean(others) - z std(others), per parameter; all attackers send the same.

    z = 0 stands for the publication's z_max, the most with which s honest clients are still expected farther out than
    the attackers, who with those s are a majority of the M clients, f of them attackers:

        z_max = Phi^-1((M - f - s) / (M - f))        s = floor(M / 2 + 1) - f

    The publication estimates mean and deviation from what the attackers trained; ours know the others.

    >>> import torch
    >>> scene = Scene(torch.tensor([0.0]), mine=torch.tensor([[5.0]]), others=torch.tensor([[1.0], [3.0]]))
    >>> Alie(z=1.5).craft(scene).tolist()  # mean 2, standard deviation 1
    [[0.5]]
    >>> round(z_max(50, 24), 2)
    1.43

    Baruch et al., "A Little Is Enough: Circumventing Defenses For Distributed Learning", NeurIPS 2019.
    """

    name: ClassVar[str] = "alie"
    summary: ClassVar[str] = "every parameter a little off the honest mean (a little is enough)"

    z: float = setting(1.0, "standard deviations off the mean; 0: the publication's z_max", least=0.0, most=1e6)

    def craft(self, scene: Scene) -> "torch.Tensor":
        """Leave the mean by z deviations."""
        seen = honest(scene)
        z = self.z or z_max(len(scene.mine) + len(scene.others), len(scene.mine))
        return by_all(scene, seen.mean(dim=0) - z * seen.std(dim=0, correction=0))


def z_max(clients: int, attackers: int) -> float:
    """Return the publication's z for M clients and f attackers.

    Never below 0, where so few attackers cannot hide (the formula would have them help), and finite where they are a
    majority by themselves: one honest client is left farther out.

    >>> z_max(10, 1), round(z_max(10, 3), 2), round(z_max(10, 7), 2)
    (0.0, 0.18, 0.43)
    """
    others = clients - attackers
    supporters = max(clients // 2 + 1 - attackers, 1)
    if others <= supporters:
        return 0.0
    return max(0.0, NormalDist().inv_cdf((others - supporters) / others))
