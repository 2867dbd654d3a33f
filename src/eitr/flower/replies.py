"""Reading replies. A reply is bytes from somebody else's machine: everything in it is checked before it is used.

What can be told from one reply by itself is checked here: its records, keys, shapes, types, sizes and claims. Whether
its numbers are finite and of a possible magnitude is checked by `eitr.aggregation.interface.Round`, as for all updates.
"""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from flwr.app import ArrayRecord, MetricRecord, RecordDict
from numpy.lib import format
from numpy.typing import NDArray

from eitr.errors import InputError
from eitr.flower.round_step import Arrays, Reply
from eitr.flower.run_settings import PARTITION

ARRAYS: Final = "arrays"
METRICS: Final = "metrics"
CONFIG: Final = "config"
EXAMPLES: Final = "num-examples"
"""The names of Flower's own strategies, so that a ClientApp written for those works here."""
MOST_PARTITIONS: Final = 1_000_000
SERIALISED: Final = "numpy.ndarray"
HEADER_BYTES: Final = 4096
"""More than the header of an array file takes."""
_HEADERS: Final = {(1, 0): format.read_array_header_1_0, (2, 0): format.read_array_header_2_0}


@dataclass(frozen=True, slots=True)
class Expected:
    """What a reply must look like."""

    model: Arrays
    """The model that was sent: a reply has the same arrays."""
    most_examples: int
    """A claim of more examples is refused: rules that weigh by them would give the model away."""


def read_reply(content: RecordDict, expected: Expected) -> Reply:
    """Return a reply; raise an `InputError` that says what is wrong with a bad one."""
    arrays = content.get(ARRAYS)
    metrics = content.get(METRICS)
    if not isinstance(arrays, ArrayRecord) or not isinstance(metrics, MetricRecord):
        raise InputError(f"sent no array record {ARRAYS!r} or no metric record {METRICS!r}")
    return Reply(_read_arrays(arrays, expected.model), _read_examples(metrics, expected.most_examples))


def partition_of(content: RecordDict) -> str:
    """Return which part of a data set a node has, written as the lab writes the ids of its clients."""
    metrics = content.get(METRICS)
    found = metrics.get(PARTITION) if isinstance(metrics, MetricRecord) else None
    if type(found) is not int or not 0 <= found < MOST_PARTITIONS:
        raise InputError(f"sent no whole number {PARTITION!r} from 0 to {MOST_PARTITIONS - 1}")
    return f"{found:06d}"


def _read_examples(metrics: Mapping[str, Any], most: int) -> int:
    claimed = metrics.get(EXAMPLES)
    if type(claimed) is not int:
        raise InputError(f"sent no whole number {EXAMPLES!r}")
    if not 1 <= claimed <= most:
        raise InputError(f"claims {claimed} examples: from 1 to {most} are possible")
    return claimed


def _read_arrays(sent: Mapping[str, Any], model: Arrays) -> Arrays:
    if set(sent) != set(model):
        other = sorted(set(sent).symmetric_difference(model))
        raise InputError(f"sent other arrays than the model has: {', '.join(map(repr, other[:3]))}")
    return {name: _read_array(name, sent[name], array) for name, array in model.items()}


def _read_array(name: str, sent: Any, like: NDArray[Any]) -> NDArray[Any]:
    """Return an array that must have the shape and the type of `like`.

    The header of the array is compared before its numbers are read: numpy would reserve as much memory as it names.
    """
    if sent.stype != SERIALISED:
        raise InputError(f"sent the array {name!r} as {str(sent.stype)[:40]!r}, not as {SERIALISED!r}")
    if len(sent.data) > like.nbytes + HEADER_BYTES:
        raise InputError(f"sent {len(sent.data)} bytes for the array {name!r}, which takes {like.nbytes}")
    try:
        stream = io.BytesIO(sent.data)
        header = _HEADERS[format.read_magic(stream)]
        shape, _, kind = header(stream, max_header_size=HEADER_BYTES)
    except Exception as error:  # numpy raises almost anything on bytes that are no array
        raise InputError(f"sent bytes for the array {name!r} that are no array: {type(error).__name__}") from error
    if shape != like.shape:
        raise InputError(f"sent the array {name!r} with the shape {shape}, not {like.shape}")
    if kind != like.dtype:
        raise InputError(f"sent the array {name!r} with the type {kind}, not {like.dtype}")
    try:
        return np.ascontiguousarray(sent.numpy())
    except (ValueError, EOFError) as error:
        raise InputError(f"sent fewer numbers than the array {name!r} has") from error
