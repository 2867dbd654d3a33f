"""How long and how fast a client trains: the part of a round's instructions that concerns the optimiser."""

import math
from dataclasses import dataclass

import numpy as np

from eitr.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPlan:
    """The settings of local training; the defaults are those of the published method.

    >>> TrainingPlan(epochs=2).batch_size
    64
    """

    epochs: int = 10
    """Passes over the client's rows, each in a new order."""
    max_batches: int = 30
    """At most this many batches per epoch: a client with many rows does not train longer than others."""
    batch_size: int = 64
    learning_rate: float = 0.01
    momentum: float = 0.8
    dropout: float = 0.5
    """The share of hidden units silenced in each step."""

    def __post_init__(self) -> None:
        # A plan may come from a server's JSON, where a number can be anything.
        for name in ("epochs", "max_batches", "batch_size"):
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise InputError(f"{name} must be a whole number of at least 1, not {value!r}")
        for name, below in (("learning_rate", math.inf), ("momentum", 1.0), ("dropout", 1.0)):
            value = getattr(self, name)
            if type(value) not in (int, float) or not 0 <= value < below:
                raise InputError(f"{name} must be a number of at least 0 and below {below}, not {value!r}")

    @property
    def dropout_threshold(self) -> int:
        """A unit is kept where its random word is at least this: `floor(dropout * 2^32)`."""
        return math.floor(self.dropout * 2.0**32)

    @property
    def dropout_scale(self) -> np.float32:
        """What kept units are multiplied by, so that the expected sum stays the same."""
        return np.float32(1.0 / (1.0 - self.dropout))
