"""Updates as they are received: bytes that must be the trained parameters of a model, or a difference to them.

What the bytes alone show is answered at once, and is evidence against the participant. What the rule thinks of an
update is never told.
"""

import hashlib
from dataclasses import dataclass

import numpy as np

from eitr.aggregation.interface import LARGEST
from eitr.model.update_encoding import DIFFERENCE, WIDTHS
from eitr.server.domain.errors import NotFiniteError, TooGreatError, WrongDigestError, WrongLengthError


@dataclass(frozen=True, slots=True)
class ReceivedUpdate:
    """An update as it was received."""

    round: int
    participant: str
    encoding: str
    data: bytes | bytearray
    sha256: bytes
    network: bytes | None = None
    """A keyed hash of the network it came from; None if the bounds on networks are lifted."""


def check(sent: ReceivedUpdate, parameters: int) -> None:
    """Raise an `InvalidUpdateError` if the bytes are not those announced, or cannot be an update."""
    if hashlib.sha256(sent.data).digest() != sent.sha256:
        raise WrongDigestError("The bytes do not have the digest that Content-Digest names.")
    expected = WIDTHS[sent.encoding] * parameters
    if len(sent.data) != expected:
        raise WrongLengthError(expected, len(sent.data))
    largest = _largest_half(sent.data) if sent.encoding == DIFFERENCE else _largest_single(sent.data)
    if not np.isfinite(largest):
        raise NotFiniteError("Every parameter must be a finite number.")
    if largest > LARGEST:
        raise TooGreatError(f"No parameter may be greater than {LARGEST:g}, in magnitude.")


def _largest_single(data: bytes | bytearray) -> float:
    """Return the greatest magnitude among float32; NaN if there is one."""
    values = np.frombuffer(data, "<f4")
    # Two reductions and no temporary array; NaN comes out of both.
    return max(float(values.max()), -float(values.min()))


def _largest_half(data: bytes | bytearray) -> float:
    """Return the greatest magnitude among float16; infinity or NaN if there is one.

    Without the sign, the bits of float16 have the order of the numbers, infinity and NaN last. To compare integers
    takes a hundredth of the time: processors do not compare float16.

    >>> _largest_half(np.array([0.5, -2, 1], "<f2").tobytes()), _largest_half(np.array([0.5, np.nan], "<f2").tobytes())
    (2.0, nan)
    """
    greatest = (np.frombuffer(data, "<u2") & np.uint16(0x7FFF)).max()
    return float(greatest.astype("<u2").view("<f2"))
