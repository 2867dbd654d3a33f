"""Attacks that wrap another one: they change how, when or under which name it is sent, and poison as it does."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from eitr.attacks.backdoor import Backdoor
from eitr.attacks.interface import Attack, Batches, Probe, Scene, Twins
from eitr.attacks.label_flip import LabelFlip
from eitr.settings import setting

if TYPE_CHECKING:
    import torch

    from eitr.datasets.interface import Examples
    from eitr.pages.sparse import SparseRows

ON_DATA: dict[str, type[Attack]] = {attack.name: attack for attack in (LabelFlip, Backdoor)}
"""Attacks on the data, which leave open what is sent."""


@dataclass(frozen=True, kw_only=True)
class WrappingAttack(Attack):
    """Does everything as the attack named by `of`, with its default settings; a subclass overrides what it changes.

    >>> from eitr.attacks.on_off import OnOff
    >>> OnOff(of="sign-flip").inner
    SignFlip(extra_epochs=0, scale=1.0)
    """

    wrappable: ClassVar[Mapping[str, type[Attack]]] = ON_DATA
    """The attacks that `of` can name: the choices of that setting."""

    extra_epochs: int = setting(
        -1, "local epochs beyond those of honest clients; -1: as the attack it wraps", least=-1, most=10_000
    )
    of: str = setting("label-flip", "the attack on the data", choices=tuple(ON_DATA))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.extra_epochs < 0:
            object.__setattr__(self, "extra_epochs", self.wrappable[self.of]().extra_epochs)

    @property
    def inner(self) -> Attack:
        """The attack it wraps."""
        return self.wrappable[self.of](extra_epochs=self.extra_epochs)

    def made_rows(self, examples: "Examples") -> "SparseRows | None":
        """Return the rows that the wrapped attack makes."""
        return self.inner.made_rows(examples)

    def poison_batches(self, batches: Batches, twins: Twins) -> Batches:
        """Return what the wrapped attack trains on."""
        return self.inner.poison_batches(batches, twins)

    def craft(self, scene: Scene) -> "torch.Tensor":
        """Return what the wrapped attack sends."""
        return self.inner.craft(scene)

    @property
    def crafts(self) -> bool:
        """Whether this attack, or else the one it wraps, sends anything but what was trained."""
        return type(self).craft is not WrappingAttack.craft or self.inner.crafts

    def probe(self, examples: "Examples") -> Probe | None:
        """Return the probe of the wrapped attack."""
        return self.inner.probe(examples)
