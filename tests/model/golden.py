"""The cases that Python and TypeScript must agree on. `python -m tests.model.golden` writes them anew.

A change of these files is a change of the protocol: old and new clients would disagree.
"""

import base64
import json
import struct
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from eitr.errors import InputError
from eitr.model import Network, TrainingPlan, train
from eitr.model.private import Floats, Noise, PrivatePlan, private_step, trained_from
from eitr.model.random import LARGEST, Stream, draw, key_of, permutation, words
from eitr.pages.pool import HEAD, Pool
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
        "rows": _as_lists(rows),
        "labels": labels.tolist(),
        "cases": cases,
    }


def private_training_cases() -> dict[str, Any]:
    network = Network((12, 7, 5, 6))
    vector = network.initial(9)
    own, cover = (_rounded(page_like_rows(count, network.inputs, words=5, seed=count)) for count in (4, 9))
    own_labels, cover_labels = (learnable_labels(rows, network.outputs) for rows in (own, cover))
    cases = []
    for layers, clip, with_cover, noise in [
        (1, 0.05, True, 4.0),  # every gradient is cut
        (1, 1.0, True, 6.5),  # some are
        (1, 100.0, True, 4.0),  # none is
        (1, 0.05, False, 4.0),
        (2, 1.0, True, 4.0),
        (2, 1.0, False, 0.0),
        (3, 1.0, True, 4.0),
    ]:
        plan = PrivatePlan(
            layers=layers,
            cover_pages=len(cover) if with_cover else 0,
            own_weight=4.0,
            clip=clip,
            learning_rate=0.05,
            noise=noise,
        )
        start = trained_from(network, layers)
        drawn = np.round(np.random.default_rng(layers).standard_normal(network.size - start), 4)
        pages = (cover, cover_labels) if with_cover else None
        result = private_step(network, vector, (own, own_labels), pages, plan, _always(drawn))
        cases.append({"plan": asdict(plan), "noise": drawn.tolist(), "trained": result[start:].tolist()})
    return {
        "layers": list(network.layers),
        "parameters": vector.tolist(),
        "own": {"rows": _as_lists(own), "labels": own_labels.tolist()},
        "cover": {"rows": _as_lists(cover), "labels": cover_labels.tolist()},
        "cases": cases,
    }


def _always(numbers: Floats) -> Noise:
    return lambda _: numbers


def pool_cases() -> dict[str, Any]:
    """Files of a pool for vectors of width 12, good and bad; None says that a file must be refused."""
    rows = page_like_rows(5, 12, words=4, seed=2)
    pool = Pool.of(rows, [5, 0, 3, 1, 4], bytes(range(32)))
    good = pool.to_bytes()
    pages, entries = len(pool), len(pool.rows.values)
    lengths, columns, weights = HEAD.size + pages, HEAD.size + 3 * pages, HEAD.size + 3 * pages + 2 * entries
    longest = int(np.diff(pool.rows.starts).argmax())
    second = columns + 2 * (int(pool.rows.starts[longest]) + 1)
    single = HEAD.pack(b"EPL1", 1, 1, bytes(32)) + struct.pack("<BHHB", 5, 1, 11, 255)
    files = {
        "good": good,
        "one page with only the last word": single,
        "a column beyond": single[:47] + struct.pack("<H", 12) + single[49:],
        "nothing": b"",
        "a head alone": good[: HEAD.size],
        "half a head": good[:30],
        "another format": b"EPL2" + good[4:],
        "one byte too few": good[:-1],
        "one byte too many": good + b"\0",
        "no pages": HEAD.pack(b"EPL1", 0, 0, bytes(32)),
        "gigabytes": HEAD.pack(b"EPL1", 2**32 - 1, 2**32 - 1, bytes(32)),
        "fewer words than pages": HEAD.pack(b"EPL1", 2, 1, bytes(32)) + bytes(9),
        "an unknown class": _changed(good, HEAD.size, 6),
        "a page without words": _changed(good, lengths, 0),
        "more words in the pages than in all": _changed(good, lengths + 1, 1),
        "a weight of 0": _changed(good, weights, 0),
        "no largest weight": single[:-1] + b"\xfe",
        "a word twice": good[:second] + good[second - 2 : second] + good[second + 2 :],
        "words in descending order": good[: second - 2] + good[second : second + 2] + good[second - 2 : second]
        + good[second + 2 :],
    }  # fmt: skip
    return {"width": 12, "files": [{"name": name, **_pool_case(data)} for name, data in files.items()]}


def _pool_case(data: bytes) -> dict[str, Any]:
    try:
        pool = Pool.from_bytes(data, width=12)
    except InputError:
        read = None
    else:
        read = {"vocabulary": pool.vocabulary.hex(), "rows": _as_lists(pool.rows), "labels": pool.labels.tolist()}
    return {"file": base64.b64encode(data).decode(), "pool": read}


def _changed(data: bytes, place: int, value: int) -> bytes:
    return data[:place] + bytes([value]) + data[place + 1 :]


class Losses:
    """A listener to training that remembers the loss of each epoch."""

    def __init__(self) -> None:
        self.losses: list[float] = []

    def __call__(self, epoch: int, loss: float) -> None:
        self.losses.append(loss)


def _as_lists(rows: SparseRows) -> dict[str, Any]:
    return {
        "starts": rows.starts.tolist(),
        "columns": rows.columns.tolist(),
        "values": rows.values.tolist(),
        "width": rows.width,
    }


def _rounded(rows: SparseRows) -> SparseRows:
    """The same rows with values of a few bits, short in decimal and exact in float32."""
    values = (np.round(rows.values * 256) / 256).astype(np.float32)
    return SparseRows(rows.starts, rows.columns, values, rows.width)


FILES = {
    "random": random_cases,
    "training": training_cases,
    "private_training": private_training_cases,
    "pool": pool_cases,
}


def write() -> None:
    for name, made in FILES.items():
        cases = made()
        lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in cases.items()]
        (DIRECTORY / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    write()
