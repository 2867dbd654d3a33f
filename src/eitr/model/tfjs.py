"""A model in the Layers format of TF.js: `model.json` with the topology, `weights.bin` with the flat vector.

Any TF.js client can load it (`tf.loadLayersModel`) and gets probabilities. Models that TF.js saved can be
read back if they still are what we wrote: dense layers with ReLU, dropout between, softmax at the end, our
classes in our order.
"""

import json
from pathlib import Path
from typing import Any, Final

import numpy as np

from eitr.errors import InputError
from eitr.io.atomic import write_atomically
from eitr.io.safetensors_file import read_limited
from eitr.model.files import SIZE_LIMIT, Model, described_network, description, tensor_shapes
from eitr.model.network import Network, Vector

MODEL: Final = "model.json"
WEIGHTS: Final = "weights.bin"
METADATA: Final = "eitr"
"""Where our description lies in the format's `userDefinedMetadata`."""
DROPOUT: Final = 0.5
"""The rate written into the topology; it matters only to a client that trains with TF.js."""
JSON_LIMIT: Final = 1024 * 1024


def save_tfjs(directory: Path, network: Network, vector: Vector) -> None:
    """Write `model.json` and `weights.bin` into a directory that exists.

    The weights go first: a reader that sees the new topology finds its weights.
    """
    model, weights = to_tfjs(network, vector)
    write_atomically(directory / WEIGHTS, weights)
    write_atomically(directory / MODEL, model)


def load_tfjs(directory: Path) -> Model:
    """Read a model from `model.json` and `weights.bin` in a directory."""
    try:
        return from_tfjs(read_limited(directory / MODEL, JSON_LIMIT), read_limited(directory / WEIGHTS, SIZE_LIMIT))
    except InputError as error:
        raise InputError(f"{directory}: {error}") from error


def to_tfjs(network: Network, vector: Vector) -> tuple[bytes, bytes]:
    """Return the bytes of `model.json` and of `weights.bin`."""
    network.check(vector)
    document = {
        "format": "layers-model",
        "generatedBy": "EITR",
        "convertedBy": None,
        "modelTopology": {
            "keras_version": "2.15.0",
            "backend": "tensorflow",
            "model_config": {
                "class_name": "Sequential",
                "config": {"name": "eitr", "layers": _layers(network)},
            },
        },
        "weightsManifest": [{"paths": [WEIGHTS], "weights": _weights(network)}],
        "userDefinedMetadata": {METADATA: description(network)},
    }
    return json.dumps(document, indent=1).encode(), vector.astype("<f4").tobytes()


def from_tfjs(model: bytes, weights: bytes) -> Model:
    """Return the model in the bytes of `model.json` and `weights.bin`, checked."""
    try:
        document = json.loads(model)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{MODEL} is not JSON") from error
    described = _member(document, "userDefinedMetadata", METADATA)
    network = described_network(described if isinstance(described, dict) else {})
    topology = _member(document, "modelTopology")
    config = _member(topology, "model_config") or topology
    if _member(config, "class_name") != "Sequential" or not _same_layers(config, network):
        raise InputError("its topology is not dense layers with ReLU and a softmax, as wide as it says")
    if not _same_weights(document, network) or len(weights) != 4 * network.size:
        raise InputError(f"its weights are not those of its layers, in order, in one file {WEIGHTS}")
    vector = np.frombuffer(weights, "<f4").astype(np.float32)
    network.check(vector)
    return Model(network, vector)


def _layers(network: Network) -> list[dict[str, Any]]:
    """Return the topology: a dense layer for each of ours, each hidden one followed by dropout."""
    last = len(network.shapes) - 1
    result: list[dict[str, Any]] = []
    for number, (inputs, outputs) in enumerate(network.shapes):
        config: dict[str, Any] = {
            "name": f"dense_{number}",
            "trainable": True,
            "dtype": "float32",
            "units": outputs,
            "activation": "softmax" if number == last else "relu",
            "use_bias": True,
        }
        if number == 0:
            config["batch_input_shape"] = [None, inputs]
        result.append({"class_name": "Dense", "config": config})
        if number != last:
            rate = {"name": f"dropout_{number}", "trainable": True, "dtype": "float32", "rate": DROPOUT}
            result.append({"class_name": "Dropout", "config": rate})
    return result


def _weights(network: Network) -> list[dict[str, Any]]:
    """Return name, shape and type of each tensor in the order of the flat vector."""
    return [{"name": name, "shape": list(shape), "dtype": "float32"} for name, shape in tensor_shapes(network).items()]


def _member(value: Any, *names: str) -> Any:
    """Return a member of nested JSON objects, or None where one is missing or no object."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _same_layers(config: Any, network: Network) -> bool:
    """Say whether the dense layers of a topology compute what the network does; dropout may stand between."""
    found = _member(config, "config", "layers")
    if not isinstance(found, list):
        return False
    others = [layer for layer in found if _member(layer, "class_name") != "Dense"]
    dense = [layer for layer in found if _member(layer, "class_name") == "Dense"]
    expected = [layer for layer in _layers(network) if layer["class_name"] == "Dense"]
    return all(_member(layer, "class_name") == "Dropout" for layer in others) and [
        _essence(layer) for layer in dense
    ] == [_essence(layer) for layer in expected]


def _essence(layer: Any) -> tuple[Any, ...]:
    """Return what decides a dense layer's result; TF.js adds settings that only matter to training."""
    names = ("units", "activation", "use_bias")
    return tuple(_member(layer, "config", name) for name in names)


def _same_weights(document: Any, network: Network) -> bool:
    """Say whether the manifest lists exactly the network's tensors, in order, in the one file we read.

    Anything that changes how the bytes are read (quantisation, another type) makes an entry differ.
    """
    manifest = _member(document, "weightsManifest")
    if not isinstance(manifest, list) or len(manifest) != 1:
        return False
    return bool(_member(manifest[0], "paths") == [WEIGHTS] and _member(manifest[0], "weights") == _weights(network))
