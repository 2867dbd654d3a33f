"""The specification once more, as plain as possible, in float64: slow, obvious, and what the fast code is held to."""

import numpy as np


def rescale_by_deviation(column, varpi):
    """Algorithm 1 of the paper: one standard deviation off the largest and onto the smallest, while needed."""
    column = np.array(column, dtype=np.float64)
    while column.max() - column.min() > varpi:
        sigma = column.std()
        largest, smallest = int(column.argmax()), int(column.argmin())  # ties: the lowest client
        column[largest] -= sigma
        column[smallest] += sigma
    return column


def rounding_decides(column, varpi):
    """Say whether, on the way, another value meets the extreme one but for rounding: who is to move then is open.

    Equally spaced columns do so. Clients that sent the same are no such case: of them the lowest moves.
    """
    column = np.array(column, dtype=np.float64)
    sent = column.copy()
    near = 1e-9 * max(1.0, np.abs(column).max())
    while column.max() - column.min() > varpi:
        sigma = column.std()
        ends = int(column.argmax()), int(column.argmin())
        for end in ends:
            others = sent != sent[end]
            if (np.abs(column[others] - column[end]) < near).any():
                return True
        column[ends[0]] -= sigma
        column[ends[1]] += sigma
    return False


def clip_to_median(column, varpi):
    column = np.array(column, dtype=np.float64)
    centre = np.median(column)
    return np.clip(column, centre - varpi / 2, centre + varpi / 2)


def repeated_median_slope(sorted_column):
    size = len(sorted_column)
    inner = []
    for i in range(size):
        slopes = [(sorted_column[j] - sorted_column[i]) / (j - i) for j in range(size) if j != i]
        inner.append(np.median(slopes))
    return float(np.median(inner))


def leverage(size):
    """The diagonal of X (X'X)^-1 X' for the design [1, rank], by matrix algebra."""
    design = np.column_stack([np.ones(size), np.arange(size)])
    return np.diag(design @ np.linalg.inv(design.T @ design) @ design.T)


def confidences(column, *, varpi=2.0, lambda_=2.0, rescale="median"):
    """Steps 1 to 6 for one parameter: (rescaled values, confidence), by client."""
    raw = np.asarray(column, dtype=np.float64)
    size = len(raw)
    rescaled = clip_to_median(raw, varpi) if rescale == "median" else rescale_by_deviation(raw, varpi)
    if size <= 2:
        return rescaled, np.ones(size)
    order = sorted(range(size), key=lambda i: (rescaled[i], raw[i], i))
    w = rescaled[order]
    x = np.arange(size)
    slope = repeated_median_slope(w)
    intercept = np.median(w - slope * x)
    residual = w - slope * x - intercept
    tau = 1.48 * (size + 4) / (size - 1) * np.median(np.abs(residual)) + 1e-7 + 2.4e-7 * np.median(np.abs(w))
    e = np.abs(residual / tau)
    bound = lambda_ * np.sqrt(2 / size) * np.sqrt(1 - leverage(size))
    confidence = np.ones(size)
    confidence[e > 0] = np.minimum(1, bound[e > 0] / e[e > 0])
    by_client = np.empty(size)
    by_client[order] = confidence
    return rescaled, by_client


def rectify(column, *, delta=0.1, **settings):
    """Steps 1 to 7 for one parameter: (rectified values, accepted, confidence, median), by client."""
    rescaled, confidence = confidences(column, **settings)
    accepted = confidence > delta
    centre = np.median(rescaled)
    return np.where(accepted, rescaled, centre), accepted, confidence, centre
