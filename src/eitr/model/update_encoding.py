"""An update as bytes: what travels between a participant and the server."""

from typing import Final

import numpy as np

from eitr.model.network import Vector

PARAMETERS: Final = "application/vnd.eitr.parameters"
"""float32, little-endian: the parameters after training."""
DIFFERENCE: Final = "application/vnd.eitr.difference"
"""float16, little-endian: the parameters after training minus those of the round's base model.

float16 of the parameters themselves would not do: its steps are as long as those of training, and rounding to them
makes an honest client look like none of the others. Differences are small, and so are their errors.
"""
LARGEST_DIFFERENCE: Final = 65504
"""The largest float16."""
WIDTHS: Final = {PARAMETERS: 4, DIFFERENCE: 2}
"""Bytes per parameter, by media type."""


def encoded(encoding: str, vector: Vector, base: Vector) -> bytes:
    """Return the bytes that stand for some parameters.

    Differences beyond the range of float16 become its largest number.

    >>> encoded(DIFFERENCE, np.float32([1.5]), np.float32([1.0])).hex()
    '0038'
    """
    if encoding == PARAMETERS:
        return vector.astype("<f4").tobytes()
    difference: Vector = np.clip(vector - base, -LARGEST_DIFFERENCE, LARGEST_DIFFERENCE)
    return difference.astype("<f2").tobytes()


def decoded(encoding: str, data: bytes, base: Vector) -> Vector:
    """Return the parameters that bytes stand for.

    >>> decoded(DIFFERENCE, bytes.fromhex("0038"), np.float32([1.0])).tolist()
    [1.5]
    """
    if encoding == PARAMETERS:
        return np.frombuffer(data, "<f4").astype(np.float32)
    return np.asarray(base + np.frombuffer(data, "<f2").astype(np.float32))
