"""Columns to test with: what clients send when they are honest, lazy, colluding, or out to break the arithmetic."""

import numpy as np
from hypothesis import strategies as st

KINDS = (
    "bell",
    "tied",
    "rounded",
    "linear",
    "constant",
    "two values",
    "shifted",
    "half shifted",
    "wild",
    "tiny",
    "huge",
)


def make_columns(kind, clients, parameters, rng):
    """Return (clients, parameters) float64 values of one kind."""
    bell = rng.normal(0.3, 0.05, (clients, parameters))
    if kind == "tied":
        return np.where(rng.random(bell.shape) < rng.uniform(0.2, 0.8), 0.25, bell)
    if kind == "rounded":
        return np.round(bell, 2)
    if kind == "linear":
        return rng.permuted(np.arange(clients)[:, None] * rng.choice([0.01, 0.1, 1 / 3], parameters), axis=0)
    if kind == "constant":
        return np.tile(bell[:1], (clients, 1))
    if kind == "two values":
        return np.where(rng.random(bell.shape) < 0.4, -0.5, 0.125)
    if kind in ("shifted", "half shifted"):
        bell[: clients // (3 if kind == "shifted" else 2)] += rng.choice([0.3, 3.0, 50.0, -1e4])
        return bell
    if kind == "wild":
        return rng.standard_cauchy((clients, parameters)) * 10.0 ** rng.integers(-6, 4, parameters)
    if kind == "tiny":
        return bell * 1e-7
    if kind == "huge":
        return 1e6 - np.abs(bell)
    return bell


@st.composite
def tables(draw, *, largest=40, kinds=KINDS):
    """Updates of a random number of clients, kind and type, seventeen parameters each: a tile and a bit."""
    clients = draw(st.integers(1, largest))
    kind = draw(st.sampled_from(kinds))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return np.clip(make_columns(kind, clients, 17, rng), -1e6, 1e6).astype(dtype)
