"""What a client trains on in a round: batches of picture numbers with everything random about them already drawn.

The words are those of `eitr.model.random`, so every device and every rule sees the same batches, and a round can be
drawn without the rounds before it. Every batch is full: epochs follow one another without a break and the last batch
takes its missing pictures from one more order. A step therefore always has the same shape, as a CUDA graph needs it,
and no normalisation layer ever sees a batch of one.
"""

from enum import IntEnum

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from eitr.lab.runs.image import Flip, ImageAttack, PixelBackdoor
from eitr.lab.simulation.images.poison import WHITE, class_number, trigger
from eitr.model.random import draw, words

SHIFT = 4
"""A picture is moved by up to so many pixels each way; what is missing is mirrored at the edge."""
MEAN = (0.4914, 0.4822, 0.4465)
DEVIATION = (0.2470, 0.2435, 0.2616)
"""Of CIFAR-10's training pictures, red, green and blue; the usual numbers, scaled to 0 .. 1."""

Batches = NDArray[np.int64]
"""(fields, steps, batch)."""


class Field(IntEnum):
    """What is known of each place of a batch."""

    PICTURE = 0
    LABEL = 1
    TRIGGER = 2
    """1 where the trigger is put in."""
    DOWN = 3
    RIGHT = 4
    """Where the crop begins in the picture that is `SHIFT` larger on every side: 0 to 2 SHIFT."""
    MIRROR = 5


def steps_for(pictures: int, epochs: int, batch: int) -> int:
    """Return how many full batches cover the epochs.

    >>> steps_for(100, 2, 64)
    4
    """
    return -(-pictures * epochs // batch)


def draw_batches(mine: NDArray[np.int64], labels: NDArray[np.int64], steps: int, batch: int, key: int) -> Batches:
    """Return the batches of a client that has the pictures `mine`; `labels` are those of all pictures."""
    places = steps * batch
    orders = [shuffled(mine, draw(key, epoch)) for epoch in range(-(-places // len(mine)))]
    pictures = np.concatenate(orders)[:places]
    chance = words(draw(key, 0xFFFFFFFF), places)  # after every possible epoch
    side = np.uint32(2 * SHIFT + 1)
    drawn = np.stack(
        [
            pictures,
            labels[pictures],
            np.zeros(places, np.int64),
            chance % side,
            (chance >> np.uint32(8)) % side,
            chance >> np.uint32(31),
        ]
    )
    return drawn.reshape(len(Field), steps, batch).astype(np.int64)


def shuffled(rows: NDArray[np.int64], key: int) -> NDArray[np.int64]:
    """Return the rows in a random order: sorted by random words."""
    order: NDArray[np.int64] = rows[np.argsort(words(key, len(rows)), kind="stable")]
    return order


def poisoned(batches: Batches, attack: ImageAttack, classes: tuple[str, ...]) -> Batches:
    """Return what an attacker trains on instead."""
    batches, target = batches.copy(), class_number(classes, attack.target)
    label = batches[Field.LABEL]
    if isinstance(attack, Flip):
        label[label == class_number(classes, attack.source)] = target
    elif isinstance(attack, PixelBackdoor):
        # The first of each batch: batches are in random order.
        count = round(attack.poisoned / 64 * batches.shape[2])
        label[:, :count] = target
        batches[Field.TRIGGER, :, :count] = 1
    return batches


class ImagePreparation:
    """Makes pictures for the network out of stored ones, on the device, in a handful of operations."""

    def __init__(self, pixels: Tensor) -> None:
        """Take all pictures, (pictures, 32, 32, 3) uint8: colours last, so that a gathered batch is channels_last."""
        device = pixels.device
        self.pixels = pixels
        self._trigger = torch.from_numpy(trigger()).to(device)[None, :, :, None]
        self._places = torch.arange(32, device=device)
        self._mean = 255 * torch.tensor(MEAN, device=device)
        self._scale = 1 / (255 * torch.tensor(DEVIATION, device=device))

    def augmented(self, batch: Tensor) -> Tensor:
        """Return the pictures (batch, 3, 32, 32) of one batch (fields, batch): moved, mirrored, then triggered.

        The trigger comes last, where the attacker's own camera would put it: a crop must not cut it off.
        """
        down = reflected(self._places + batch[Field.DOWN, :, None] - SHIFT)
        across = torch.where(batch[Field.MIRROR, :, None] == 1, 31 - self._places, self._places)
        right = reflected(across + batch[Field.RIGHT, :, None] - SHIFT)
        chosen = self.pixels[batch[Field.PICTURE, :, None, None], down[:, :, None], right[:, None, :]]
        return self._finished(chosen, batch[Field.TRIGGER] == 1)

    def plain(self, pictures: Tensor, *, triggered: bool = False) -> Tensor:
        """Return stored pictures as they are, for testing."""
        return self._finished(self.pixels[pictures], torch.full_like(pictures, triggered, dtype=torch.bool))

    def _finished(self, chosen: Tensor, triggered: Tensor) -> Tensor:
        chosen = chosen.masked_fill(triggered[:, None, None, None] & self._trigger, WHITE)
        return ((chosen - self._mean) * self._scale).permute(0, 3, 1, 2)


def reflected(places: Tensor) -> Tensor:
    """Return places beyond the edges 0 and 31 mirrored at them."""
    return 31 - (31 - places.abs()).abs()
