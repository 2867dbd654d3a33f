"""Residual-based re-weighting: confidences that also weigh the clients (Fu et al.).

The line and the confidence are those of `confidence.py`, with three differences: the intercept is
A = median(w) - B (M-1)/2, the scale tau is taken from |r| without its smallest, and nothing is rescaled. Values with a
confidence below delta are replaced by the line. A client's score is the sum over all parameters of its confidence times
the standard deviation of the confidences over the clients: parameters on which everybody agrees say nothing.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eitr.compiled import compiled
from eitr.robust.columns import (
    Workspace,
    absolute_rows,
    median_of_rows,
    middle_of_sorted,
    residuals_from_line,
    workspace,
)
from eitr.robust.combination import weighted_mean
from eitr.robust.confidence import ABSOLUTE_SCALE, RELATIVE_SCALE, confidence_bound, residual_factor
from eitr.robust.detection import Order
from eitr.robust.lanes import LANES, add, load, multiply, splat, store, subtract
from eitr.robust.networks import Comparators, exchange, selection_network
from eitr.robust.repeated_median import repeated_median_slope
from eitr.robust.threads import over_ranges
from eitr.robust.tiles import Updates, load_tile, sort_tile

_PIECE = 4096
"""Parameters whose scores are summed together: the same pieces whatever the number of threads, so the same sums."""


class Reweighting(NamedTuple):
    """Scores and restricted values, rows as in the updates."""

    pieces: NDArray[np.float64]
    """(pieces, clients): confidence times its standard deviation over the clients, summed over 4096 parameters."""
    restricted: Updates
    """(clients, parameters): the updates, with values of low confidence replaced by the line."""

    @property
    def scores(self) -> NDArray[np.float64]:
        """(clients,): the sums over all parameters."""
        return np.asarray(self.pieces.sum(axis=0))


def reweight(updates: Updates, order: Order, *, delta: float, lambda_: float) -> Reweighting:
    """Judge the updates of at least four clients. Memory: one copy of the updates."""
    clients, parameters = updates.shape
    restricted = np.empty_like(updates)
    pieces = np.zeros((-(-parameters // _PIECE), clients))
    bound = confidence_bound(clients, lambda_)
    # Among M sorted |r|, the middle of all but the smallest.
    low, high = (clients - 2) // 2 + 1, (clients - 1) // 2 + 1
    network = selection_network(clients, (low, high))

    def judge(first: int, last: int) -> None:
        work = workspace(clients)
        for start in range(first, last, _PIECE):
            _judge_piece(
                updates,
                order,
                start,
                min(start + _PIECE, last),
                bound,
                residual_factor(clients),
                delta,
                work,
                network,
                pieces[start // _PIECE],
                restricted,
            )

    over_ranges(judge, parameters, step=_PIECE)
    return Reweighting(pieces, restricted)


def restrict(block: Updates, order: Order, **settings: float) -> tuple[NDArray[np.float64], Updates]:
    """Return the sums of scores by piece and client, and the restricted values of the block."""
    found = reweight(block, order, **settings)
    return found.pieces, found.restricted


def mean_within_range(block: Updates, restricted: Updates, order: Order, weights: NDArray[np.float64]) -> Updates:
    """Return the weighted mean of restricted values, kept within the range of the values that were sent.

    Where the values level off, the line runs on beyond all of them; the model must not.
    """
    model = weighted_mean(restricted, order, weights)
    np.clip(model, block.min(axis=0), block.max(axis=0), out=model)
    return model


@compiled
def _judge_piece(
    updates: Updates,
    order: Order,
    first: int,
    last: int,
    bound: NDArray[np.float64],
    factor: float,
    delta: float,
    work: Workspace,
    network: Comparators,
    scores: NDArray[np.float64],
    restricted: Updates,
) -> None:
    size = order.shape[0]
    for start in range(first, last, LANES):
        load_tile(updates, order, start, work.values, work.clients)
        sort_tile(work.values, work.clients, work.sort_network)
        _fit(work, factor, network)
        for lane in range(min(LANES, last - start)):
            mean = 0.0
            for rank in range(size):
                residual = abs(work.residuals[rank, lane])
                confidence = 1.0
                if residual > bound[rank] * work.scale[0, lane]:
                    confidence = bound[rank] * work.scale[0, lane] / residual
                work.buffer[rank, lane] = confidence
                mean += confidence
            mean /= size
            square = 0.0
            for rank in range(size):
                square += (work.buffer[rank, lane] - mean) ** 2
            deviation = np.sqrt(square / size)
            for rank in range(size):
                row = order[int(work.clients[rank, lane])]
                confidence = work.buffer[rank, lane]
                scores[row] += confidence * deviation
                restricted[row, start + lane] = updates[row, start + lane]
                if confidence < delta:
                    line = work.values[rank, lane] - work.residuals[rank, lane]
                    restricted[row, start + lane] = line + work.median[0, lane]


@compiled
def _fit(work: Workspace, factor: float, network: Comparators) -> None:
    """Centre the tile on its median and fit the line through the middle; write residuals and scale."""
    size = work.values.shape[0]
    middle_of_sorted(work.values, work.median)
    median = load(work.median, 0)
    for rank in range(size):
        store(work.values, rank, subtract(load(work.values, rank), median))
    repeated_median_slope(work.values, work.slope_work, work.slope)
    store(work.intercept, 0, multiply(load(work.slope, 0), splat(-0.5 * (size - 1))))
    residuals_from_line(work)
    store(work.scale, 0, splat(0.0))
    absolute_rows(work.residuals, work.scale, work.buffer)
    exchange(work.buffer, network)
    both_middles = add(load(work.buffer, (size - 2) // 2 + 1), load(work.buffer, (size - 1) // 2 + 1))
    tau = add(multiply(both_middles, splat(0.5 * factor)), splat(ABSOLUTE_SCALE))
    absolute_rows(work.values, work.median, work.buffer)
    median_of_rows(work.buffer, work.middle_network, work.scale)
    store(work.scale, 0, add(tau, multiply(load(work.scale, 0), splat(RELATIVE_SCALE))))
