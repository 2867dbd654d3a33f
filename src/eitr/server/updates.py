"""What participants send: octets that must be the parameters of a model, or a difference to one.

What can be told from the octets alone is told at once, and is evidence against the participant. What the rule thinks
of an update is never told.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from eitr.aggregation.interface import LARGEST
from eitr.model import Vector
from eitr.server.problems import Problem

PARAMETERS: Final = "application/vnd.eitr.parameters"
"""float32, little-endian: the parameters after training."""
DIFFERENCE: Final = "application/vnd.eitr.difference"
"""float16, little-endian: the parameters after training minus those of the round's base model."""
WIDTHS: Final = {PARAMETERS: 4, DIFFERENCE: 2}


@dataclass(frozen=True, slots=True)
class Sent:
    """An update as it was received."""

    round: int
    participant: str
    encoding: str
    data: bytes
    sha256: bytes


def check(encoding: str, data: bytes | bytearray | memoryview, parameters: int) -> None:
    """Refuse octets that cannot be an update; the reason is a problem of status 422."""
    expected = WIDTHS[encoding] * parameters
    if len(data) != expected:
        raise Problem("wrong-length", f"An update has {expected} octets here, this one {len(data)}.")
    values = np.frombuffer(data, "<f2" if encoding == DIFFERENCE else "<f4")
    # Two reductions and no temporary array; NaN comes out of both.
    largest = max(float(values.max()), -float(values.min()))
    if not np.isfinite(largest):
        raise Problem("not-finite", "Every parameter must be a finite number.")
    if largest > LARGEST:
        raise Problem("too-great", f"No parameter may be greater than {LARGEST:g}, in magnitude.")


def decoded(encoding: str, data: bytes, base: Vector) -> Vector:
    """Return the parameters that octets stand for; they were checked before.

    float16 of the parameters themselves would not do: its steps are as long as those of training, and rounding them
    makes an honest client look like none of the others. Differences are small, and so are their errors.
    """
    if encoding == PARAMETERS:
        return np.frombuffer(data, "<f4").astype(np.float32)
    return np.asarray(base + np.frombuffer(data, "<f2").astype(np.float32))


def encoded(encoding: str, vector: Vector, base: Vector) -> bytes:
    """Return the octets that stand for some parameters."""
    if encoding == PARAMETERS:
        return vector.astype("<f4").tobytes()
    return (vector - base).astype("<f2").tobytes()
