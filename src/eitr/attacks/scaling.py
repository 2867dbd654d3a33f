"""Model replacement: a poisoned step, made long enough to survive the averaging."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from eitr.attacks.backdoor import Backdoor
from eitr.attacks.interface import Attack, Batches, Probe
from eitr.attacks.label_flip import LabelFlip
from eitr.settings import setting

if TYPE_CHECKING:
    import torch

    from eitr.datasets.interface import Examples
    from eitr.pages.sparse import SparseRows


@dataclass(frozen=True, kw_only=True)
class Scaling(Attack):
    """w = base + factor (mine - base), with `mine` trained on poisoned data.

    With factor = M / attackers the mean of the updates is what the attackers alone would have made of the model.

    >>> import torch
    >>> Scaling(factor=10).poison_update(torch.tensor([1.0]), torch.tensor([[1.5]])).tolist()
    [[6.0]]

    Bagdasaryan et al., "How To Backdoor Federated Learning", AISTATS 2020.
    """

    name: ClassVar[str] = "scaling"
    summary: ClassVar[str] = "a poisoned step, multiplied (model replacement)"

    factor: float = setting(10.0, "what the step is multiplied by", above=0.0, most=1e6)
    of: str = setting("label-flip", "the attack on the data", choices=("label-flip", "backdoor"))

    def made_rows(self, examples: "Examples") -> "SparseRows | None":
        """As the attack on the data."""
        return self._inner.made_rows(examples)

    def poison_batches(self, batches: Batches, twins: int) -> Batches:
        """As the attack on the data."""
        return self._inner.poison_batches(batches, twins)

    def poison_update(self, base: "torch.Tensor", mine: "torch.Tensor") -> "torch.Tensor":
        """Multiply the step."""
        return base + self.factor * (mine - base)

    def probe(self, examples: "Examples") -> Probe | None:
        """As the attack on the data."""
        return self._inner.probe(examples)

    @property
    def _inner(self) -> Attack:
        if self.of == "backdoor":
            return Backdoor(extra_epochs=self.extra_epochs)
        return LabelFlip(extra_epochs=self.extra_epochs)
