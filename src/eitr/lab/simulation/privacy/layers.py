"""The trained layers as tensors: forward, and the gradient of every page by itself."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from eitr.errors import InputError
from eitr.model.network import Network

if TYPE_CHECKING:
    from eitr.model.network import Vector
    from eitr.pages.sparse import SparseRows

Factors = tuple[list[Tensor], list[Tensor]]
"""What each layer is given by each page, and the slopes of the page's loss by the layer's outputs.

A page's gradient of a layer is the outer product of both; that of the bias is the slope."""


@dataclass(frozen=True)
class TrainedLayers:
    """The last layers of a network. Their parameters are one flat vector, as in `Network`."""

    shapes: tuple[tuple[int, int], ...]
    below: bool
    """Whether there are layers below them: their inputs are then hidden units, which dropout silences, too."""

    @property
    def size(self) -> int:
        """The number of parameters."""
        return sum((inputs + 1) * outputs for inputs, outputs in self.shapes)

    @property
    def classes(self) -> int:
        """The number of classes."""
        return self.shapes[-1][1]

    def split(self, parameters: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Return kernel and bias of each layer; any dimensions before the last stay in front."""
        found, start = [], 0
        for inputs, outputs in self.shapes:
            middle = start + inputs * outputs
            kernel = parameters[..., start:middle].reshape(*parameters.shape[:-1], inputs, outputs)
            found.append((kernel, parameters[..., middle : middle + outputs]))
            start = middle + outputs
        return found

    def logits(self, parameters: Tensor, inputs: Tensor) -> Tensor:
        """Return the outputs (..., pages, classes) without dropout."""
        *hidden, (kernel, bias) = self.split(parameters)
        for lower, offset in hidden:
            inputs = torch.relu(inputs @ lower + offset.unsqueeze(-2))
        return inputs @ kernel + bias.unsqueeze(-2)

    def factors(
        self,
        parameters: Tensor,
        inputs: Tensor,
        labels: Tensor,
        dropout: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> Factors:
        """Return the factors of every page's gradient; `inputs` (..., pages, width), `labels` (..., pages)."""
        split = self.split(parameters)
        given = [_dropped(inputs, dropout, generator) if self.below else inputs]
        for kernel, bias in split[:-1]:
            hidden = torch.relu(given[-1] @ kernel + bias.unsqueeze(-2))
            given.append(_dropped(hidden, dropout, generator))
        kernel, bias = split[-1]
        chances = torch.softmax(given[-1] @ kernel + bias.unsqueeze(-2), -1)
        errors = [chances - torch.nn.functional.one_hot(labels, self.classes)]
        for (above, _), units in zip(split[:0:-1], given[:0:-1], strict=True):
            errors.insert(0, (errors[0] @ above.mT) * (units > 0) / (1.0 - dropout))
        return given, errors

    def gradients(self, factors: Factors) -> Tensor:
        """Return the gradients as vectors (pages, parameters)."""
        parts = []
        for given, error in zip(*factors, strict=True):
            parts += [(given.unsqueeze(-1) * error.unsqueeze(-2)).flatten(-2), error]
        return torch.cat(parts, -1)

    def summed(self, factors: Factors, weights: Tensor) -> Tensor:
        """Return the weighted sum over the pages (..., parameters); `weights` (..., pages)."""
        parts = []
        for given, error in zip(*factors, strict=True):
            weighed = error * weights.unsqueeze(-1)
            parts += [(given.mT @ weighed).flatten(-2), weighed.sum(-2)]
        return torch.cat(parts, -1)


def lengths(factors: Factors) -> Tensor:
    """Return the length of every page's gradient (..., pages)."""
    squares = [((g**2).sum(-1) + 1.0) * (e**2).sum(-1) for g, e in zip(*factors, strict=True)]
    return torch.stack(squares).sum(0).sqrt()


def shortening(factors: Factors, clip: float) -> Tensor:
    """Return what each gradient is multiplied by so that it is at most as long as `clip`."""
    return (clip / lengths(factors).clamp_min(1e-30)).clamp_max(1.0)


def last_layers(network: Network, count: int) -> TrainedLayers:
    """Return the last layers of a network."""
    if not 1 <= count <= len(network.shapes):
        raise InputError(f"the network has {len(network.shapes)} layers; {count} of them cannot be trained")
    return TrainedLayers(network.shapes[len(network.shapes) - count :], count < len(network.shapes))


def lower_outputs(network: Network, vector: "Vector", count: int, rows: "SparseRows", device: torch.device) -> Tensor:
    """Return what the last `count` layers are given by each page (pages, width)."""
    outputs = torch.from_numpy(rows.dense()).to(device)
    for kernel, bias in network.split(vector)[: len(network.shapes) - count]:
        outputs = torch.relu(outputs @ _on(kernel, device) + _on(bias, device))
    return outputs


def chunks(total: int, width: int) -> list[slice]:
    """Return slices of `total` pages whose gradients of `width` numbers fit into memory together."""
    rows = max(1, 2**26 // width)
    return [slice(start, min(start + rows, total)) for start in range(0, total, rows)]


def _on(values: "Vector", device: torch.device) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(values)).to(device)


def _dropped(units: Tensor, share: float, generator: torch.Generator | None) -> Tensor:
    if not share:
        return units
    kept = torch.rand(units.shape, device=units.device, generator=generator) >= share
    return units * kept / (1.0 - share)
