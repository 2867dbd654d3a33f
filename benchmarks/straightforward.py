"""The reputation rule as one would first write it in PyTorch: what the compiled kernels are compared with.

All pairwise slopes of a chunk of parameters stand in one tensor (parameters, M, M), and every median is the middle of
a full sort: O(M^2 log M) a parameter. Vectorised over the parameters, in float32, with the chunk as large as memory
comfortably allows. The steps are those of the rule in `eitr.aggregation`: rescale by the median, repeated-median line,
scale, leverage with an intercept, confidence, rectify, count, weigh, average. One round, no history, three clients
or more. Clients are taken in the order of the rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

CHUNK_BYTES = 256 << 20
"""Size of the slope tensor. Its sort needs three times as much again, for the values and their positions."""

VARPI, DELTA, LAMBDA, KAPPA, PRIOR, PRIOR_WEIGHT = 2.0, 0.1, 2.0, 0.3, 0.5, 2.0
"""The defaults of the rule: range, confidence threshold, width, weight of a positive observation, a and W."""


@dataclass(frozen=True)
class Judged:
    """Verdicts on all parameters, filled chunk by chunk."""

    accepted: Tensor
    """(clients, parameters), bool."""
    median: Tensor
    """(parameters,)."""
    positive: Tensor
    """(clients,): how many were accepted. Summed chunk by chunk: a sum of all of `accepted` makes integers of it."""


@dataclass(frozen=True)
class Outcome:
    """The new model, and the clients' weights and observations."""

    model: Tensor
    weights: Tensor
    positive: Tensor
    negative: Tensor


def reputation_rule(updates: Tensor, *, chunk_bytes: int = CHUNK_BYTES) -> Outcome:
    """Combine the updates (clients, parameters) of one round."""
    clients, parameters = updates.shape
    judged = unjudged(updates)
    parts = list(chunks(clients, parameters, chunk_bytes))
    for part in parts:
        judge(updates, part, judged)
    negative = parameters - judged.positive
    weights = weigh(judged.positive, negative)
    model = torch.empty(parameters)
    for part in parts:
        model[part] = combine(updates, part, judged, weights)
    return Outcome(model, weights, judged.positive, negative)


def unjudged(updates: Tensor) -> Judged:
    """Return room for the verdicts."""
    clients, parameters = updates.shape
    return Judged(
        accepted=torch.ones(updates.shape, dtype=torch.bool),
        median=torch.zeros(parameters),
        positive=torch.zeros(clients, dtype=torch.int64),
    )


def chunks(clients: int, parameters: int, chunk_bytes: int) -> Iterator[slice]:
    """Yield ranges of parameters whose slope tensor has the given size."""
    length = max(1, chunk_bytes // (4 * clients * clients))
    for first in range(0, parameters, length):
        yield slice(first, min(first + length, parameters))


def judge(updates: Tensor, part: slice, judged: Judged) -> None:
    """Write the verdicts on a range of parameters."""
    columns = updates[:, part].T.contiguous()
    # Stable: equal values stay in the order of the clients. Clipping keeps the order, so one sort is enough.
    ordered, client = columns.sort(dim=1, stable=True)
    median = _middle(ordered)
    values = (ordered - median).clamp(-VARPI / 2, VARPI / 2)
    confidence = _confidence(values, median)
    judged.median[part] = median[:, 0]
    accepted = torch.empty_like(client, dtype=torch.bool).scatter_(1, client, confidence > DELTA)
    judged.accepted[:, part] = accepted.T
    judged.positive.add_(accepted.sum(dim=0))


def weigh(positive: Tensor, negative: Tensor) -> Tensor:
    """Return min-max normalised reputations that sum to 1."""
    support = KAPPA * positive.double()
    reputation = (support + PRIOR_WEIGHT * PRIOR) / (support + (1 - KAPPA) * negative.double() + PRIOR_WEIGHT)
    spread = reputation.max() - reputation.min()
    if spread < 1e-9:
        return torch.full_like(reputation, 1 / len(reputation))
    normalised = (reputation - reputation.min()) / spread
    return normalised / normalised.sum()


def combine(updates: Tensor, part: slice, judged: Judged, weights: Tensor) -> Tensor:
    """Return the weighted mean of the rectified values, over a range of parameters."""
    median = judged.median[part]
    offset = (updates[:, part] - median).clamp(-VARPI / 2, VARPI / 2)
    rectified = torch.where(judged.accepted[:, part], offset, torch.zeros(()))
    mean = weights.float() @ rectified
    return median + mean.clamp(rectified.amin(dim=0), rectified.amax(dim=0))


def _confidence(values: Tensor, median: Tensor) -> Tensor:
    """Return the confidence in each value (parameters, ranks), from sorted values centred on their median."""
    size = values.shape[1]
    rank = torch.arange(size, dtype=values.dtype)
    slope = _repeated_median(values, rank)
    level = values - slope * rank
    residual = level - _median(level)
    scale = 1.48 * (size + 4) / (size - 1) * _median(residual.abs())
    scale += 1e-7 + 2.4e-7 * _median((values + median).abs())
    offset = rank - rank.mean()
    leverage = 1 / size + offset**2 / (offset**2).sum()
    bound = LAMBDA * (2 / size) ** 0.5 * (1 - leverage).clamp(min=0).sqrt()
    # A residual of 0 gives an infinity here, and so the confidence 1.
    confidence: Tensor = (bound * scale / residual.abs()).clamp(max=1)
    return confidence


def _repeated_median(values: Tensor, rank: Tensor) -> Tensor:
    """Return median_i median_{j != i} (w_j - w_i) / (x_j - x_i), shape (parameters, 1)."""
    slopes = values[:, None, :] - values[:, :, None]
    slopes /= rank[None, :] - rank[:, None]
    # The diagonal is 0/0. At the end of the sorted row it is out of the way.
    slopes.diagonal(dim1=1, dim2=2).fill_(torch.inf)
    inner = _middle(slopes.sort(dim=2).values, size=len(rank) - 1)
    return _median(inner[:, :, 0])


def _median(rows: Tensor) -> Tensor:
    return _middle(rows.sort(dim=-1).values)


def _middle(ordered: Tensor, size: int | None = None) -> Tensor:
    """Return the median of the first `size` of the sorted last dimension, which is kept with length 1."""
    size = size or ordered.shape[-1]
    low, high = (size - 1) // 2, size // 2
    return (ordered[..., low : low + 1] + ordered[..., high : high + 1]) / 2
