"""Attacks that carry another one: they change how, when or as whom it is sent, and poison as it does."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eitr.attacks.interface import Attack, Batches, Probe, Scene, Twins
from eitr.settings import setting

if TYPE_CHECKING:
    import torch

    from eitr.datasets.interface import Examples
    from eitr.pages.sparse import SparseRows

ON_DATA = ("label-flip", "backdoor")
"""Attacks on the data, which leave what is sent to the one who carries them."""
SIMPLE = (*ON_DATA, "sign-flip", "ipm", "shift", "noise", "scaling")
"""Attacks that mean the same in any round, and whoever sends them."""


@dataclass(frozen=True, kw_only=True)
class Carrier(Attack):
    """Does everything as the attack named by `of`, with its usual settings; a subclass overrides what it changes.

    >>> from eitr.attacks.on_off import OnOff
    >>> OnOff(of="sign-flip").inner
    SignFlip(extra_epochs=0, scale=1.0)
    """

    extra_epochs: int = setting(
        -1, "local epochs beyond those of honest clients; -1: as the attack it carries", least=-1, most=10_000
    )
    of: str = setting("label-flip", "the attack it carries", choices=ON_DATA)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.extra_epochs < 0:
            from eitr.attacks.registry import make_attack  # it knows the carriers, too

            object.__setattr__(self, "extra_epochs", make_attack(self.of).extra_epochs)

    @property
    def inner(self) -> Attack:
        """The attack it carries."""
        from eitr.attacks.registry import make_attack

        return make_attack(self.of, extra_epochs=self.extra_epochs)

    def made_rows(self, examples: "Examples") -> "SparseRows | None":
        """As the attack it carries."""
        return self.inner.made_rows(examples)

    def poison_batches(self, batches: Batches, twins: Twins) -> Batches:
        """As the attack it carries."""
        return self.inner.poison_batches(batches, twins)

    def craft(self, scene: Scene) -> "torch.Tensor":
        """As the attack it carries."""
        return self.inner.craft(scene)

    @property
    def crafts(self) -> bool:
        """Whether the carrier, or else the attack it carries, sends anything but what was trained."""
        return type(self).craft is not Carrier.craft or self.inner.crafts

    def probe(self, examples: "Examples") -> Probe | None:
        """As the attack it carries."""
        return self.inner.probe(examples)
