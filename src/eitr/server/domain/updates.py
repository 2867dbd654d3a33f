"""What participants send: octets that must be the parameters of a model, or a difference to one.

What can be told from the octets alone is told at once, and is evidence against the participant. What the rule thinks
of an update is never told.
"""

import hashlib
from dataclasses import dataclass

import numpy as np

from eitr.aggregation.interface import LARGEST
from eitr.model.update_encoding import DIFFERENCE, WIDTHS
from eitr.server.web.problems import Problem


@dataclass(frozen=True, slots=True)
class Sent:
    """An update as it was received."""

    round: int
    participant: str
    encoding: str
    data: bytes | bytearray
    sha256: bytes


def check(sent: Sent, parameters: int) -> None:
    """Refuse octets that are not those that were announced, or cannot be an update: a problem of status 422."""
    if hashlib.sha256(sent.data).digest() != sent.sha256:
        raise Problem("wrong-digest", "The octets are not those that Content-Digest speaks of.")
    expected = WIDTHS[sent.encoding] * parameters
    if len(sent.data) != expected:
        raise Problem("wrong-length", f"An update has {expected} octets here, this one {len(sent.data)}.")
    values = np.frombuffer(sent.data, "<f2" if sent.encoding == DIFFERENCE else "<f4")
    # Two reductions and no temporary array; NaN comes out of both.
    largest = max(float(values.max()), -float(values.min()))
    if not np.isfinite(largest):
        raise Problem("not-finite", "Every parameter must be a finite number.")
    if largest > LARGEST:
        raise Problem("too-great", f"No parameter may be greater than {LARGEST:g}, in magnitude.")
