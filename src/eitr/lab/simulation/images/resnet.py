"""ResNet-18 for pictures of 32 x 32, all of whose numbers live in one vector.

The vector is what clients send and rules combine: first the trainable weights, then the running means of all
normalisation layers, then their running variances. The running statistics belong to it because a model is judged with
them: weights averaged over clients beside statistics of nobody in particular classify at random, and what a client
sends must be a whole model. They can be poisoned like any weight, so the rules judge them like any weight. The count of
batches that torch keeps beside them is not sent: with a fixed momentum nothing reads it.

He, Zhang, Ren and Sun, "Deep residual learning for image recognition", CVPR 2016. The stem is that of its CIFAR
networks (3 x 3, no pooling): the ImageNet stem would leave 8 x 8 places of a small picture before the first block.
"""

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional

STAGES = ((1, 1), (2, 2), (4, 2), (8, 2))
"""Channels as a multiple of the width, and the stride, of each stage of two blocks."""


class Block(nn.Module):
    """Two convolutions and a way around them."""

    def __init__(self, channels: int, out: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, out, 3, stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(out)
        self.second = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(out)
        straight = stride == 1 and channels == out
        self.around = None if straight else nn.Conv2d(channels, out, 1, stride, bias=False)
        self.around_norm = None if straight else nn.BatchNorm2d(out)

    def forward(self, x: Tensor) -> Tensor:
        """Map (batch, channels, rows, columns)."""
        inner = functional.relu(self.first_norm(self.first(x)), inplace=True)
        inner = self.second_norm(self.second(inner))
        if self.around is not None and self.around_norm is not None:
            x = self.around_norm(self.around(x))
        return functional.relu(inner + x, inplace=True)


class ResNet18(nn.Module):
    """The network; `width` 64 is ResNet-18 (11.17 million weights), less is the same network with fewer channels.

    Its weights and statistics are views of `vector`, so that loading, sending and updating a model are each one
    operation on one tensor. Kernels lie in it as (out, row, column, in), which is the order in which convolutions of
    `channels_last` pictures want them. The device is chosen when the network is made; `.to` would break the tie.
    """

    vector: Tensor
    """(parameters,) float32: everything; no gradient is kept for it."""

    def __init__(self, width: int = 64, classes: int = 10, device: torch.device | str = "cpu") -> None:
        super().__init__()
        with torch.device("meta"):  # no memory and no random numbers yet
            self.stem = nn.Conv2d(3, width, 3, 1, 1, bias=False)
            self.stem_norm = nn.BatchNorm2d(width)
            blocks, channels = [], width
            for multiple, stride in STAGES:
                blocks += [Block(channels, multiple * width, stride), Block(multiple * width, multiple * width, 1)]
                channels = multiple * width
            self.blocks = nn.Sequential(*blocks)
            self.head = nn.Linear(channels, classes)
        self.trainable = sum(weight.numel() for weight in self.parameters())
        self._features = sum(norm.num_features for norm in self.norms())
        self._bind(torch.zeros(self.trainable + 2 * self._features, device=device))

    def forward(self, x: Tensor) -> Tensor:
        """Return the scores (batch, classes) of normalised pictures (batch, 3, 32, 32)."""
        x = functional.relu(self.stem_norm(self.stem(x)), inplace=True)
        x = self.blocks(x)
        scores: Tensor = self.head(x.mean((2, 3)))
        return scores

    def norms(self) -> Iterator[nn.BatchNorm2d]:
        """Return the normalisation layers, in order."""
        return (layer for layer in self.modules() if isinstance(layer, nn.BatchNorm2d))

    @property
    def weights(self) -> Tensor:
        """Return the trainable part of the vector."""
        return self.vector[: self.trainable]

    @property
    def variances(self) -> Tensor:
        """Return the part of the vector that holds running variances."""
        return self.vector[self.trainable + self._features :]

    def _bind(self, vector: Tensor) -> None:
        """Make every weight and every statistic a view of the vector."""
        self.vector, place = vector, 0
        for layer in self.modules():
            for name, weight in list(layer.named_parameters(recurse=False)):
                piece = vector[place : place + weight.numel()]
                if weight.dim() == 4:
                    out, into, rows, columns = weight.shape
                    piece = piece.view(out, rows, columns, into).permute(0, 3, 1, 2)
                setattr(layer, name, nn.Parameter(piece.view_as(weight) if weight.dim() != 4 else piece))
                place += weight.numel()
        for name in ("running_mean", "running_var"):
            for norm in self.norms():
                setattr(norm, name, vector[place : place + norm.num_features])
                place += norm.num_features
        for norm in self.norms():
            norm.num_batches_tracked = None


def vector_of(model: ResNet18) -> Tensor:
    """Return everything the model is, (parameters,), as a copy."""
    return model.vector.clone()


@torch.no_grad()
def load_vector(model: ResNet18, vector: Tensor) -> None:
    """Make the model what the vector says.

    A rule that extrapolates (FLTrust scales steps, Residual puts values on a line) can make a variance negative, of
    which there is no root: it counts as 0.
    """
    model.vector.copy_(vector)
    model.variances.clamp_(min=0.0)


@torch.no_grad()
def initial_vector(width: int, classes: int, seed: int) -> Tensor:
    """Return a seeded random start on the CPU: He's normal for kernels, 1 and 0 for normalisation."""
    model = ResNet18(width, classes)
    random = torch.Generator().manual_seed(seed)
    for layer in model.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu", generator=random)
        elif isinstance(layer, nn.Linear):
            nn.init.normal_(layer.weight, std=layer.in_features**-0.5, generator=random)
        elif isinstance(layer, nn.BatchNorm2d):
            layer.weight.fill_(1.0)
            if layer.running_var is not None:
                layer.running_var.fill_(1.0)
    return vector_of(model)
