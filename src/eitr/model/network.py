"""The network as one flat vector: which number of the vector is which weight.

A vector is what clients send and the server aggregates, so its layout is part of the protocol: layer by
layer, the kernel row by row (one row per input, one column per output), then the bias. TF.js and Keras order
theirs alike.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eitr.errors import InputError
from eitr.model.random import Stream, key_of, words

Vector = NDArray[np.float32]

MOST_LAYERS: Final = 64
LARGEST_LAYER: Final = 1_000_000
"""Bounds far above any network of use, so that a hostile file cannot name one of terabytes."""


class Layer(NamedTuple):
    """One dense layer: `outputs = inputs @ kernel + bias`."""

    kernel: Vector
    """Shape (inputs, outputs)."""
    bias: Vector
    """Shape (outputs,)."""


@dataclass(frozen=True, slots=True)
class Network:
    """Dense layers with ReLU between them; the last one's outputs are logits.

    >>> Network().size
    264678
    >>> Network((3, 2)).split(np.arange(8, dtype=np.float32))[0].kernel.tolist()
    [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    """

    layers: tuple[int, ...] = (1000, 256, 32, 6)
    """The width of the input, of each hidden layer, and of the output."""

    def __post_init__(self) -> None:
        if not 2 <= len(self.layers) <= MOST_LAYERS:
            raise InputError(f"a network has 2 to {MOST_LAYERS} layers, the input among them, not {len(self.layers)}")
        if any(not 1 <= width <= LARGEST_LAYER for width in self.layers):
            raise InputError(f"a layer's width must be between 1 and {LARGEST_LAYER}: {self.layers}")

    @property
    def inputs(self) -> int:
        """The length of one input row."""
        return self.layers[0]

    @property
    def outputs(self) -> int:
        """The number of classes."""
        return self.layers[-1]

    @property
    def shapes(self) -> tuple[tuple[int, int], ...]:
        """The shape of each layer's kernel, (inputs, outputs)."""
        return tuple(zip(self.layers[:-1], self.layers[1:], strict=True))

    @property
    def size(self) -> int:
        """The number of parameters."""
        return sum((inputs + 1) * outputs for inputs, outputs in self.shapes)

    @property
    def first_layer(self) -> int:
        """The number of parameters of the first layer, which come first."""
        return (self.layers[0] + 1) * self.layers[1]

    def split(self, vector: Vector) -> list[Layer]:
        """Return the layers as views: writing to them writes to the vector."""
        result = []
        start = 0
        for inputs, outputs in self.shapes:
            middle = start + inputs * outputs
            end = middle + outputs
            result.append(Layer(vector[start:middle].reshape(inputs, outputs), vector[middle:end]))
            start = end
        return result

    def initial(self, seed: int) -> Vector:
        """Return fresh parameters, uniform between -1/sqrt(inputs) and 1/sqrt(inputs) of their layer.

        Parameter `n` is `float32(((word_n + 0.5) / 2^31 - 1) / sqrt(inputs))`, computed in float64.
        """
        drawn = words(key_of(seed, Stream.INITIAL), self.size).astype(np.float64)
        spread = np.repeat(
            [np.sqrt(float(inputs)) for inputs, _ in self.shapes],
            [(inputs + 1) * outputs for inputs, outputs in self.shapes],
        )
        return np.asarray(((drawn + 0.5) / 2.0**31 - 1.0) / spread, np.float32)

    def check(self, vector: Vector) -> None:
        """Refuse a vector that cannot be this network's parameters."""
        if vector.dtype != np.float32:
            raise InputError(f"parameters must be float32, not {vector.dtype}")
        if vector.shape != (self.size,):
            shape = "x".join(str(length) for length in vector.shape)
            raise InputError(f"expected {self.size} parameters in one vector, got shape {shape or 'none'}")
        if not np.isfinite(vector).all():
            raise InputError("the parameters hold a NaN or an infinity")
