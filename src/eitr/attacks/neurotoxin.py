"""Neurotoxin: a backdoor in parameters that honest clients hardly move, so that they do not train it away."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from eitr.attacks.backdoor import Backdoor
from eitr.attacks.interface import Scene
from eitr.settings import setting

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, kw_only=True)
class Neurotoxin(Backdoor):
    """w = base + (mine - base), but 0 in the step where |base - previous| is among its largest: a share `avoid` of all.

    What moved most in the last round, by whoever's doing, will be moved most by honest clients in the next ones. The
    publication projects the gradient of every local step, so that the other parameters learn to do without those; here
    the step as a whole is projected when training is over, which loses what they had learned: a somewhat weaker
    backdoor in the same parameters. In the first round there is no last step, and the attackers send what they trained.

    >>> import torch
    >>> scene = Scene(torch.tensor([1.0, 1.0]), mine=torch.tensor([[2.0, 2.0]]), others=torch.zeros(1, 2),
    ...               previous=torch.tensor([0.9, 0.0]))
    >>> Neurotoxin(avoid=0.5).craft(scene).tolist()  # the second parameter moved more
    [[2.0, 1.0]]

    Zhang et al., "Neurotoxin: Durable Backdoors in Federated Learning", ICML 2022.
    """

    name: ClassVar[str] = "neurotoxin"
    summary: ClassVar[str] = "a backdoor in the parameters that honest clients move least"

    # 5 %: the commands published with the article keep the other 95 %.
    avoid: float = setting(0.05, "share of the parameters, the fastest, that are left alone", least=0.0, most=1.0)

    def craft(self, scene: Scene) -> "torch.Tensor":
        """Take the step back where the model moved most."""
        import torch

        if scene.previous is None:
            return scene.mine
        # A stable order, so that every device breaks ties alike.
        fastest = torch.argsort((scene.base - scene.previous).abs(), descending=True, stable=True)
        avoided = torch.zeros_like(scene.base, dtype=torch.bool)
        avoided[fastest[: round(self.avoid * len(fastest))]] = True
        return torch.where(avoided, scene.base, scene.mine)
