"""Named arrays and a description in one safetensors file: how models and states are stored.

The bytes are always the same for the same content (the library's own writer orders its metadata at random), so that a
hash names a content. Reading goes through the library, which checks the format; what the content means is checked by
those who read it. Nothing in such a file is executable.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from eitr.errors import InputError

LENGTH_BYTES: Final = 8
"""A safetensors file begins with the length of its header, little-endian."""

_TYPES: Final = {"F32": "<f4", "F64": "<f8", "I64": "<i8"}
_NAMES: Final = {np.dtype(kind): name for name, kind in _TYPES.items()}


def pack(description: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the bytes of a file with these arrays, in this order, and a description of JSON values."""
    header: dict[str, Any] = {"__metadata__": {name: json.dumps(value) for name, value in description.items()}}
    start = 0
    for name, array in arrays.items():
        end = start + array.nbytes
        header[name] = {"dtype": _NAMES[array.dtype], "shape": list(array.shape), "data_offsets": [start, end]}
        start = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % LENGTH_BYTES)
    data = (array.astype(_TYPES[_NAMES[array.dtype]], copy=False).tobytes() for array in arrays.values())
    return b"".join((len(text).to_bytes(LENGTH_BYTES, "little"), text, *data))


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the description and the arrays of a file; raise InputError for anything that is not one."""
    import safetensors  # when it is needed: writing does without, and so does a lab machine with numpy and torch only

    try:
        tensors = dict(safetensors.deserialize(data))  # type: ignore[no-untyped-call]
        length = int.from_bytes(data[:LENGTH_BYTES], "little")
        metadata = json.loads(data[LENGTH_BYTES : LENGTH_BYTES + length]).get("__metadata__") or {}
        description = {name: json.loads(value) for name, value in metadata.items()}
    except (safetensors.SafetensorError, ValueError, RecursionError) as error:
        raise InputError("not a safetensors file, or a damaged one") from error
    return description, {name: _array(name, tensor) for name, tensor in tensors.items()}


def _array(name: str, tensor: Mapping[str, Any]) -> NDArray[Any]:
    if tensor["dtype"] not in _TYPES:
        raise InputError(f"{name} has the type {tensor['dtype']}, not one of {', '.join(_TYPES)}")
    return np.frombuffer(bytes(tensor["data"]), _TYPES[tensor["dtype"]]).reshape(tensor["shape"]).copy()


def read_limited(path: Path, limit: int) -> bytes:
    """Return the content of a regular file of at most `limit` bytes."""
    try:
        if path.exists() and not path.is_file():
            raise InputError("not a regular file")
        with path.open("rb") as stream:
            # Asked by its size: a read of `limit` bytes would first reserve as much memory.
            if os.fstat(stream.fileno()).st_size > limit:
                raise InputError(f"larger than {limit} bytes, more than such a file can be")
            return stream.read()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}") from error
