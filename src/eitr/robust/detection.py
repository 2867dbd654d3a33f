"""Steps 1 to 7 of a round: rescale, rank, fit, judge. Which parameters of which client are accepted?"""

from dataclasses import dataclass
from typing import Any

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
from eitr.robust.confidence import ABSOLUTE_SCALE, RELATIVE_SCALE, confidence_bound, residual_factor
from eitr.robust.lanes import LANES, add, load, maximum, minimum, multiply, splat, store, subtract
from eitr.robust.many_clients import judge_columns
from eitr.robust.repeated_median import repeated_median_slope
from eitr.robust.rescale import rescale_by_deviation
from eitr.robust.threads import over_ranges
from eitr.robust.tiles import Updates, load_tile, sort_tile

Order = NDArray[np.int64]

MANY = 400
"""From so many clients on, columns are judged one at a time: tiles take time with the square of their number."""


@dataclass(frozen=True, slots=True)
class Detection:
    """What was found in a round. Rows are those of the updates, whatever order the clients were taken in."""

    accepted: NDArray[np.bool_]
    """(clients, parameters): whether the confidence of a value is above delta."""
    median: NDArray[np.float64]
    """(parameters,): the median of the rescaled column; rejected values are replaced by it."""
    rescaled: Updates | None
    """(clients, parameters): a rescaled copy of the updates under `rescale="paper"`; None otherwise."""
    reach: float
    """Values farther than this from the median are clipped: varpi/2 under `rescale="median"`, else infinite."""

    @property
    def positive(self) -> NDArray[np.int64]:
        """P_i: accepted parameters of each client."""
        return np.asarray(np.count_nonzero(self.accepted, axis=1), dtype=np.int64)

    @property
    def negative(self) -> NDArray[np.int64]:
        """N_i: rejected parameters of each client."""
        return np.asarray(self.accepted.shape[1] - self.positive)


def detect(updates: Updates, order: Order, *, varpi: float, delta: float, lambda_: float, rescale: str) -> Detection:
    """Judge every parameter of every client.

    `order` lists the rows by client id: it settles ties, so that the result does not depend on who came first.
    Memory: one byte per value and eight per parameter; under `rescale="paper"` also a copy of the updates.
    """
    clients, parameters = updates.shape
    by_deviation = rescale == "paper"
    accepted = np.empty((clients, parameters), dtype=np.bool_)
    median = np.empty(parameters)
    rescaled = np.empty_like(updates if by_deviation else updates[:0])
    bound = confidence_bound(clients, lambda_)
    factor = residual_factor(clients) if clients > 1 else 0.0

    def judge(first: int, last: int) -> None:
        if clients >= MANY:
            judge_columns(
                updates,
                order,
                first,
                last,
                varpi,
                by_deviation,
                bound,
                factor,
                delta,
                accepted,
                median,
                rescaled,
            )
            return
        work = workspace(clients)
        _judge_range(
            updates,
            order,
            first,
            last,
            varpi,
            by_deviation,
            bound,
            factor,
            delta,
            work,
            accepted,
            median,
            rescaled,
        )

    over_ranges(judge, parameters, step=LANES)
    if by_deviation:
        return Detection(accepted, median, rescaled, np.inf)
    return Detection(accepted, median, None, varpi / 2)


def judged(block: Updates, order: Order, **settings: Any) -> tuple[NDArray[np.int64], Detection]:
    """Return the accepted parameters of each client, and what `combine` needs of the block."""
    found = detect(block, order, **settings)
    return found.positive, found


def accepted_counts(block: Updates, order: Order, **settings: Any) -> NDArray[np.int64]:
    """Return the accepted parameters of each client."""
    return detect(block, order, **settings).positive


@compiled
def _judge_range(
    updates: Updates,
    order: Order,
    first: int,
    last: int,
    varpi: float,
    by_deviation: bool,
    bound: NDArray[np.float64],
    factor: float,
    delta: float,
    work: Workspace,
    accepted: NDArray[np.bool_],
    median: NDArray[np.float64],
    rescaled: Updates,
) -> None:
    size = order.shape[0]
    for start in range(first, last, LANES):
        width = min(LANES, last - start)
        load_tile(updates, order, start, work.values, work.clients)
        sort_tile(work.values, work.clients, work.sort_network)
        if by_deviation:
            for lane in range(LANES):
                _rescale_lane(work, lane, varpi)
            for rank in range(size):
                for lane in range(width):
                    rescaled[order[int(work.clients[rank, lane])], start + lane] = work.values[rank, lane]
        middle_of_sorted(work.values, work.median)
        _centre(work, np.inf if by_deviation else varpi / 2)
        _fit(work, factor)
        for lane in range(width):
            median[start + lane] = work.median[0, lane]
        for rank in range(size):
            for lane in range(width):
                # s > delta, written without the division; up to two clients lie on any line.
                inside = delta * abs(work.residuals[rank, lane]) < bound[rank] * work.scale[0, lane]
                accepted[order[int(work.clients[rank, lane])], start + lane] = inside or size <= 2


@compiled
def _rescale_lane(work: Workspace, lane: int, varpi: float) -> None:
    """Apply the paper's rescaling to one lane and sort it again, equal values by their value before."""
    size = work.values.shape[0]
    if work.values[size - 1, lane] - work.values[0, lane] <= varpi:
        return
    column = work.values[:, lane].copy()
    clients = work.clients[:, lane].copy()
    rescale_by_deviation(column, clients, varpi)
    for rank, place in enumerate(np.argsort(column, kind="mergesort")):
        work.values[rank, lane] = column[place]
        work.clients[rank, lane] = clients[place]


@compiled
def _centre(work: Workspace, reach: float) -> None:
    """Subtract the median, which keeps the digits that matter, and clip to the reach."""
    median = load(work.median, 0)
    low, high = splat(-reach), splat(reach)
    for rank in range(work.values.shape[0]):
        offset = subtract(load(work.values, rank), median)
        store(work.values, rank, minimum(maximum(offset, low), high))


@compiled
def _fit(work: Workspace, factor: float) -> None:
    """Fit the repeated-median line to the centred tile; write its residuals and their scale tau."""
    size = work.values.shape[0]
    if size <= 2:
        return
    repeated_median_slope(work.values, work.slope_work, work.slope)
    slope = load(work.slope, 0)
    for rank in range(size):
        store(work.buffer, rank, subtract(load(work.values, rank), multiply(slope, splat(float(rank)))))
    median_of_rows(work.buffer, work.middle_network, work.intercept)
    residuals_from_line(work)
    store(work.scale, 0, splat(0.0))
    absolute_rows(work.residuals, work.scale, work.buffer)
    median_of_rows(work.buffer, work.middle_network, work.scale)
    tau = add(multiply(load(work.scale, 0), splat(factor)), splat(ABSOLUTE_SCALE))
    absolute_rows(work.values, work.median, work.buffer)
    median_of_rows(work.buffer, work.middle_network, work.scale)
    store(work.scale, 0, add(tau, multiply(load(work.scale, 0), splat(RELATIVE_SCALE))))
