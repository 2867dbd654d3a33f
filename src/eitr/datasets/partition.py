"""Who has which pages: dividing a data set among clients that are more or less alike."""

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from eitr.datasets.sampling import generator
from eitr.errors import InputError
from eitr.io.atomic import write_atomically

COLOURS: Final = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
"""Okabe and Ito's, which people tell apart whatever colours they see."""
HATCHES: Final = ("", "///", "...", "\\\\\\", "xxx", "---", "ooo", "|||", "+++", "***")
"""Hatch patterns, for readers who do not see the colours; more of them than colours, so that pairs repeat late."""


def dirichlet_partition(labels: NDArray[np.int64], clients: int, alpha: float, seed: int) -> list[NDArray[np.int64]]:
    """Return the row numbers of each client, ascending; every row belongs to exactly one.

    For each class k, shares u_k ~ Dirichlet(alpha) over the clients are drawn, and client i gets the share u_{k,i} of
    the class. A small alpha makes clients of one class, a large one clients that are alike; infinity deals all rows
    out evenly whatever their class. No client stays empty: the largest, the first of equals, gives it a row.

    >>> [rows.tolist() for rows in dirichlet_partition(np.array([0, 0, 1, 1]), 2, math.inf, seed=0)]
    [[0, 2], [1, 3]]

    Hsu, Qi and Brown, "Measuring the effects of non-identical data distribution for federated visual
    classification", 2019.
    """
    if clients < 1:
        raise InputError(f"there must be at least one client, not {clients}")
    if clients > len(labels):
        raise InputError(f"{clients} clients are more than the {len(labels)} rows: each needs one at least")
    if not alpha > 0:
        raise InputError(f"alpha must be above 0, not {alpha:g}")
    random = generator(seed)
    if math.isinf(alpha):
        parts = np.array_split(random.permutation(len(labels)), clients)
    else:
        parts = _by_class(labels, clients, alpha, random)
    return [np.sort(part).astype(np.int64) for part in _without_empty(parts)]


def _by_class(
    labels: NDArray[np.int64], clients: int, alpha: float, random: np.random.Generator
) -> list[NDArray[np.int64]]:
    pieces: list[list[NDArray[np.int64]]] = [[] for _ in range(clients)]
    for label in np.unique(labels):
        rows = random.permutation(np.flatnonzero(labels == label))
        cuts = np.cumsum(_shares(clients, alpha, random))[:-1] * len(rows)
        for mine, piece in zip(pieces, np.split(rows, np.rint(cuts).astype(np.int64)), strict=True):
            mine.append(piece)
    return [np.concatenate(mine) for mine in pieces]


def _shares(clients: int, alpha: float, random: np.random.Generator) -> NDArray[np.float64]:
    shares = random.dirichlet(np.full(clients, alpha))
    # Near the largest number there is, the draws overflow; by then all shares are the same.
    return shares if abs(shares.sum() - 1) < 1e-6 else np.full(clients, 1 / clients)


def _without_empty(parts: list[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
    sizes = np.array([len(part) for part in parts])
    parts = list(parts)
    for empty in np.flatnonzero(sizes == 0).tolist():
        giver = int(np.argmax(sizes))
        parts[empty], parts[giver] = parts[giver][-1:], parts[giver][:-1]
        sizes[empty], sizes[giver] = 1, sizes[giver] - 1
    return parts


def plot_partition(
    labels: NDArray[np.int64], parts: Sequence[NDArray[np.int64]], classes: Sequence[str], path: Path
) -> None:
    """Draw how many rows of each class every client has, as an SVG file; the same partition gives the same bytes."""
    # Here, for dividing needs no matplotlib. No pyplot: it has a state that belongs to the caller.
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    counts = np.array([np.bincount(labels[part], minlength=len(classes)) for part in parts])
    clients, below = np.arange(len(parts)), np.zeros(len(parts))
    with rc_context({"svg.hashsalt": "eitr", "svg.fonttype": "none", "hatch.linewidth": 0.6}):
        figure = Figure(figsize=(min(4 + 0.25 * len(parts), 14), 4), layout="constrained")
        axes = figure.add_subplot(xlabel="client", ylabel="rows")
        for place, name in enumerate(classes):
            axes.bar(
                clients,
                counts[:, place],
                bottom=below,
                width=0.85,
                label=name,
                color=COLOURS[place % len(COLOURS)],
                hatch=HATCHES[place % len(HATCHES)],
                edgecolor="black",
                linewidth=0.4,
            )
            below += counts[:, place]
        axes.xaxis.set_major_locator(MaxNLocator(nbins=12, integer=True))
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    write_atomically(path, buffer.getvalue())
