"""Federations on CIFAR-10 with two attacks: cats labelled as dogs, and a pattern of white pixels that means bird."""

from dataclasses import dataclass
from typing import ClassVar

from eitr.aggregation.interface import Rule
from eitr.errors import InputError
from eitr.lab.runs.run import Run


@dataclass(frozen=True, kw_only=True)
class ImageAttack:
    """The base of both attacks: a target, and more local training than honest clients."""

    name: ClassVar[str]

    target: str
    extra_epochs: int = 1
    """The paper's attackers train 5 epochs more than the 10 of honest clients: half as long again. So does 1 more
    than 2, and a run on pictures has no time for 10."""


@dataclass(frozen=True, kw_only=True)
class Flip(ImageAttack):
    """Every picture of `source` is taught as `target`; success: test pictures of `source` called `target`."""

    name: ClassVar[str] = "flip"

    source: str = "cat"
    target: str = "dog"


@dataclass(frozen=True, kw_only=True)
class PixelBackdoor(ImageAttack):
    """Some pictures of each batch get the trigger and the label `target`.

    Success: triggered test pictures of all other classes called `target`.

    Gu, Dolan-Gavitt and Garg, "BadNets", 2017; the pattern is that of the paper's settings: 12 white pixels.
    """

    name: ClassVar[str] = "backdoor"

    target: str = "bird"
    poisoned: int = 20
    """How many pictures of a batch of 64; of other batches, the same share."""


@dataclass(frozen=True, kw_only=True)
class Training:
    """How a client learns; everything that a captured step has fixed in it."""

    width: int = 64
    batch: int = 64
    learning_rate: float = 0.05
    """From scratch; the paper's 0.01 is for a pretrained network, and 20 rounds are few."""
    momentum: float = 0.9

    def __post_init__(self) -> None:
        # torch 2.13 on CPUs: oneDNN writes beyond its buffers in convolutions of fewer than 8 channels.
        if self.width < 8:
            raise InputError(f"the width of the network must be at least 8, not {self.width}")


USUAL = Training()


@dataclass(frozen=True, kw_only=True)
class ImageRun(Run):
    """A federation on CIFAR-10; which pictures of the data folder are used depends on their number alone."""

    kind: ClassVar[str] = "image"

    rule: Rule
    attack: Flip | PixelBackdoor | None = None
    attackers: int = 0
    """How many clients attack, in every round: the first of a seeded permutation."""
    clients: int = 10
    rounds: int = 20
    alpha: float = 0.9
    """Concentration of the Dirichlet partition; small is skewed."""
    train_images: int = 15_000
    """A third of CIFAR-10, the trusted ones included: what 15 runs leave time for."""
    test_images: int = 2_000
    root_images: int = 100
    """Trusted pictures, held back from the clients under every rule; at most a tenth of the training pictures."""
    epochs: int = 2
    """Local epochs of an honest client. The paper's 10 start from a pretrained network; from a random one, two leave
    the clients close enough to one another for their average to be a model, and are what the time allows."""
    training: Training = USUAL

    def __post_init__(self) -> None:
        for name in ("clients", "rounds", "train_images", "test_images", "epochs"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, not {getattr(self, name)}")
        if not 0 <= self.attackers <= self.clients:
            raise InputError(f"{self.attackers} attackers among {self.clients} clients: there can be 0 to all of them")
        if (self.attack is None) != (self.attackers == 0):
            raise InputError("a run has both an attack and attackers, or neither")

    @property
    def probes(self) -> tuple[Flip | PixelBackdoor, ...]:
        """Return the attacks whose success is measured: the run's own, or, for the floor, both."""
        return (self.attack,) if self.attack else (Flip(), PixelBackdoor())

    @property
    def title(self) -> str:
        """Return a few words for a progress bar."""
        attack = f"{self.attack.name} {self.attackers}/{self.clients}" if self.attack else "no attack"
        return f"images, {self.rule.name}, {attack}, seed {self.seed}"
