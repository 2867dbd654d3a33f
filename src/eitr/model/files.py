"""A model in one safetensors file, which also says what it is: the layers, and the classes in order.

The bytes of a model are always the same, so that a hash names a model.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from eitr.errors import InputError
from eitr.io.atomic import write_atomically
from eitr.io.safetensors_file import pack, read_limited, unpack
from eitr.model.network import Network, Vector
from eitr.taxonomy import NAMES

FORMAT: Final = "eitr-model"
VERSION: Final = 1
SIZE_LIMIT: Final = 64 * 1024 * 1024
"""Larger files are refused unread; the default network takes one megabyte."""


class Model(NamedTuple):
    """A network and its parameters."""

    network: Network
    vector: Vector


def save(path: Path, network: Network, vector: Vector) -> None:
    """Write a model as safetensors, atomically."""
    write_atomically(path, to_safetensors(network, vector))


def load(path: Path) -> Model:
    """Read a model; raise InputError for a file that is not one of ours, whole and sound."""
    try:
        return from_safetensors(read_limited(path, SIZE_LIMIT))
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def to_safetensors(network: Network, vector: Vector) -> bytes:
    """Return the bytes of a safetensors file: `dense_0/kernel`, `dense_0/bias`, `dense_1/kernel` and so on.

    The tensors lie in that order, so the data of the file is the flat vector itself.
    """
    network.check(vector)
    parts = (part for layer in network.split(vector) for part in layer)
    return pack(description(network), dict(zip(tensor_shapes(network), parts, strict=True)))


def from_safetensors(data: bytes) -> Model:
    """Return the model in the bytes of a safetensors file, checked."""
    described, tensors = unpack(data)
    network = described_network(described)
    shapes = tensor_shapes(network)
    if {name: tensor.shape for name, tensor in tensors.items()} != shapes or any(
        tensor.dtype != np.float32 for tensor in tensors.values()
    ):
        raise InputError("the tensors are not those of the layers it names")
    vector = np.concatenate([tensors[name].ravel() for name in shapes])
    network.check(vector)
    return Model(network, vector)


def description(network: Network) -> dict[str, Any]:
    """Return what a model file says about itself; the network must have an output for each class."""
    if network.outputs != len(NAMES):
        raise InputError(f"a model file needs {len(NAMES)} classes, the network has {network.outputs} outputs")
    return {
        "format": FORMAT,
        "version": VERSION,
        "layers": list(network.layers),
        "classes": list(NAMES),
    }


def described_network(described: Mapping[str, Any]) -> Network:
    """Return the network that a file's description names; refuse another format, version or class order."""
    if described.get("format") != FORMAT:
        raise InputError("not a model of EITR: its description is missing or of another format")
    if described.get("version") != VERSION:
        raise InputError(f"its version is not {VERSION}, the only one this program knows")
    if described.get("classes") != list(NAMES):
        raise InputError(f"its classes are not {', '.join(NAMES)}, in that order")
    layers = described.get("layers")
    if not isinstance(layers, list) or any(type(width) is not int for width in layers):
        raise InputError("its layers are not a list of whole numbers")
    return Network(tuple(layers))


def tensor_shapes(network: Network) -> dict[str, tuple[int, ...]]:
    """Return name and shape of each tensor, in the order of the flat vector."""
    shapes: dict[str, tuple[int, ...]] = {}
    for number, (inputs, outputs) in enumerate(network.shapes):
        shapes[f"dense_{number}/kernel"] = (inputs, outputs)
        shapes[f"dense_{number}/bias"] = (outputs,)
    return shapes
