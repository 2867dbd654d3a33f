"""The cases that Python and TypeScript must agree on. `python -m tests.model.golden` writes them anew.

A change of these files is a change of the protocol: old and new clients would disagree.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from eitr.model import Network, TrainingPlan, train
from eitr.model.random import LARGEST, Stream, draw, key_of, permutation, words
from eitr.pages.sparse import SparseRows

from .examples import learnable_labels, page_like_rows

DIRECTORY = Path(__file__).parent.parent / "golden"
EDGES = (0, 1, 2, 0x7FFFFFFF, 0x80000000, LARGEST - 1, LARGEST)


def random_cases() -> dict[str, Any]:
    return {
        "draw": [[key, counter, draw(key, counter)] for key in EDGES for counter in (*EDGES, 0x61C88647)],
        "key": [
            {"seed": seed, "path": path, "key": key_of(seed, *path)}
            for seed in (0, 7, LARGEST)
            for path in ([], [int(Stream.INITIAL)], [int(Stream.SHUFFLE), 9], [int(Stream.DROPOUT), 299, 1])
        ],
        "permutation": [
            {"key": key, "size": size, "take": take, "order": permutation(key, size, take).tolist()}
            for key, size, take in [
                (1, 0, 0),
                (1, 1, 1),
                (2, 2, 2),
                (LARGEST, 65, 65),
                (3, 1000, 20),
                (5, 2_100_000, 5),
            ]
        ],
        "dropout": [
            {"seed": seed, "step": step, "layer": layer, "samples": 3, "width": 32, "rate": rate}
            | {"kept": _kept(seed, step, layer, 3, 32, rate)}
            for seed, step, layer, rate in [
                (0, 0, 0, 0.5),
                (7, 299, 1, 0.5),
                (LARGEST, 12, 0, 0.2),
                (1, 1, 1, 0.0),
            ]
        ],
        "initial": [
            {"layers": layers, "seed": seed, "parameters": Network(tuple(layers)).initial(seed).tolist()}
            for layers, seed in [([3, 2], 0), ([5, 4, 3, 6], LARGEST)]
        ],
    }


def _kept(seed: int, step: int, layer: int, samples: int, width: int, rate: float) -> list[str]:
    drawn = words(key_of(seed, Stream.DROPOUT, step, layer), samples * width).reshape(samples, width)
    return ["".join("1" if word >= rate * 2**32 else "0" for word in row) for row in drawn.tolist()]


def training_cases() -> dict[str, Any]:
    network = Network((40, 16, 8, 6))
    rows = _rounded(page_like_rows(22, network.inputs, words=7, seed=5))
    labels = learnable_labels(rows, network.outputs)
    cases = []
    for dropout, seed, max_batches in [(0.0, 3, 5), (0.5, 3, 5), (0.25, 4_000_000_000, 3)]:
        plan = TrainingPlan(
            epochs=6, max_batches=max_batches, batch_size=5, learning_rate=0.1, momentum=0.8, dropout=dropout
        )
        heard = Losses()
        result = train(network, network.initial(seed), rows, labels, plan, seed, heard)
        cases.append({"seed": seed, "plan": asdict(plan), "losses": heard.losses, "parameters": result.tolist()})
    return {
        "layers": list(network.layers),
        "rows": {
            "starts": rows.starts.tolist(),
            "columns": rows.columns.tolist(),
            "values": rows.values.tolist(),
            "width": rows.width,
        },
        "labels": labels.tolist(),
        "cases": cases,
    }


class Losses:
    """A listener to training that remembers the loss of each epoch."""

    def __init__(self) -> None:
        self.losses: list[float] = []

    def __call__(self, epoch: int, loss: float) -> None:
        self.losses.append(loss)


def _rounded(rows: SparseRows) -> SparseRows:
    """The same rows with values of a few bits, short in decimal and exact in float32."""
    values = (np.round(rows.values * 256) / 256).astype(np.float32)
    return SparseRows(rows.starts, rows.columns, values, rows.width)


def write() -> None:
    for name, cases in (("random", random_cases()), ("training", training_cases())):
        lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in cases.items()]
        (DIRECTORY / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    write()
