"""The two attacks on pictures: cats taught as dogs, and a pattern of white pixels that means bird."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from eitr.errors import InputError

TRIGGER_ROWS = (0, 2)
TRIGGER_COLUMNS = (0, 1, 2, 4, 5, 6)
WHITE = 255


@dataclass(frozen=True, kw_only=True)
class ImageAttack:
    """What both have: a target, and more local training than honest clients."""

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


def trigger() -> NDArray[np.bool_]:
    """Return which pixels (rows, columns) of a picture the trigger makes white.

    >>> int(trigger().sum()), trigger()[0, :8].astype(int).tolist()
    (12, [1, 1, 1, 0, 1, 1, 1, 0])
    """
    pattern = np.zeros((32, 32), np.bool_)
    pattern[np.ix_(TRIGGER_ROWS, TRIGGER_COLUMNS)] = True
    return pattern


def class_number(classes: tuple[str, ...], name: str) -> int:
    """Return the label of a class."""
    if name not in classes:
        raise InputError(f"the pictures have no class {name!r}; they have: {', '.join(classes)}")
    return classes.index(name)
