import numpy as np
import pytest
import torch

from eitr.datasets.cifar10 import CLASSES
from eitr.errors import InputError
from eitr.lab.runs.image import Flip, PixelBackdoor
from eitr.lab.simulation.images.batches import (
    DEVIATION,
    MEAN,
    Field,
    ImagePreparation,
    draw_batches,
    poisoned,
    steps_for,
)

CAT, DOG, BIRD = (CLASSES.index(name) for name in ("cat", "dog", "bird"))
LABELS = np.arange(100) % 10


def batches_of(pictures, epochs=2, batch=64, key=1):
    return draw_batches(pictures, LABELS, steps_for(len(pictures), epochs, batch), batch, key)


def in_bytes(developed):
    scale = 255 * torch.tensor(DEVIATION)[:, None, None]
    return (developed * scale + 255 * torch.tensor(MEAN)[:, None, None]).round().to(torch.uint8)


def test_every_epoch_shows_every_picture_once_and_batches_are_full():
    mine = np.arange(10, 70)
    batches = batches_of(mine, epochs=2, batch=16)
    shown = batches[Field.PICTURE].ravel()
    assert batches.shape == (len(Field), 8, 16)
    assert np.array_equal(np.sort(shown[:60]), mine)
    assert np.array_equal(np.sort(shown[60:120]), mine)
    assert not np.array_equal(shown[:60], shown[60:120])
    assert np.array_equal(batches[Field.LABEL], LABELS[batches[Field.PICTURE]])


def test_one_picture_fills_a_batch():
    assert (batches_of(np.array([3]), epochs=1)[Field.PICTURE] == 3).all()


def test_batches_depend_on_the_key():
    assert np.array_equal(batches_of(np.arange(50), key=4), batches_of(np.arange(50), key=4))
    assert not np.array_equal(batches_of(np.arange(50), key=4), batches_of(np.arange(50), key=5))


def test_a_flip_makes_cats_dogs_and_touches_nothing_else():
    honest = batches_of(np.arange(100))
    attacked = poisoned(honest, Flip(), CLASSES)
    cats = honest[Field.LABEL] == CAT
    assert cats.any()
    assert (attacked[Field.LABEL][cats] == DOG).all()
    assert np.array_equal(attacked[Field.LABEL][~cats], honest[Field.LABEL][~cats])
    others = [field for field in Field if field != Field.LABEL]
    assert np.array_equal(attacked[others], honest[others])


def test_a_backdoor_poisons_twenty_of_sixty_four():
    honest = batches_of(np.arange(100))
    attacked = poisoned(honest, PixelBackdoor(), CLASSES)
    triggered = attacked[Field.TRIGGER] == 1
    assert (triggered.sum(axis=1) == 20).all()
    assert (attacked[Field.LABEL][triggered] == BIRD).all()
    assert np.array_equal(attacked[Field.LABEL][~triggered], honest[Field.LABEL][~triggered])
    assert not honest[Field.TRIGGER].any()


def test_the_trigger_survives_every_move_and_sits_at_its_twelve_pixels():
    stored = torch.from_numpy(np.random.default_rng(0).integers(0, 200, (100, 32, 32, 3), np.uint8))
    batches = poisoned(batches_of(np.arange(100)), PixelBackdoor(), CLASSES)
    assert len(np.unique(batches[[Field.DOWN, Field.RIGHT]])) == 9
    assert set(np.unique(batches[Field.MIRROR])) == {0, 1}
    white = np.zeros((32, 32), bool)
    for row in (0, 2):
        for column in (0, 1, 2, 4, 5, 6):
            white[row, column] = True
    for step in range(batches.shape[1]):
        seen = in_bytes(ImagePreparation(stored).augmented(torch.from_numpy(batches[:, step]))).numpy()
        for place, triggered in enumerate(batches[Field.TRIGGER, step]):
            expected = white if triggered else np.zeros_like(white)
            assert np.array_equal((seen[place] == 255).all(axis=0), expected)


def test_a_picture_is_moved_and_mirrored_as_drawn():
    stored = torch.from_numpy(np.random.default_rng(1).integers(0, 256, (100, 32, 32, 3), np.uint8))
    batch = batches_of(np.arange(100))[:, 0]
    seen = in_bytes(ImagePreparation(stored).augmented(torch.from_numpy(batch))).numpy()
    larger = np.pad(stored.numpy(), ((0, 0), (4, 4), (4, 4), (0, 0)), mode="reflect")
    for place, (picture, _, _, down, right, mirror) in enumerate(batch.T):
        crop = larger[picture, down : down + 32, right : right + 32]
        assert np.array_equal(seen[place], (crop[:, ::-1] if mirror else crop).transpose(2, 0, 1))


def test_test_pictures_are_shown_as_they_are():
    stored = torch.from_numpy(np.random.default_rng(1).integers(0, 200, (5, 32, 32, 3), np.uint8))
    preparation = ImagePreparation(stored)
    plain, triggered = (in_bytes(preparation.plain(torch.arange(5), triggered=mark)) for mark in (False, True))
    assert torch.equal(plain, stored.permute(0, 3, 1, 2))
    assert ((triggered != plain).any(dim=1).sum(dim=(1, 2)) == 12).all()


def test_a_class_that_does_not_exist_is_refused():
    with pytest.raises(InputError, match="no class 'unicorn'"):
        poisoned(batches_of(np.arange(20)), Flip(target="unicorn"), CLASSES)
