"""Measure the peak memory of one contender in this process, which does nothing else, and print it as JSON.

    python -m benchmarks.memory_probe CONTENDER CLIENTS PARAMETERS

The contender runs once on a tiny table, because compiling takes memory too; the input is loaded; the resident memory
is noted; the contender runs; the high-water mark of the resident memory is read. The mark is `VmHWM`, that of this
program alone: `ru_maxrss` of a child starts at the size of the process that started it.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from benchmarks import straightforward
from benchmarks.contenders import STRAIGHTFORWARD, contenders
from benchmarks.inputs import Input, make_input

SMALL_CHUNK = 32 << 20
"""Size of the straightforward version's slope tensor here: it need not take more than that."""
_JUDGED_CHUNKS = 5
_STATUS = Path("/proc/self/status")


def probe(contender: str, clients: int, parameters: int) -> dict[str, int]:
    """Return the bytes of the input and the peak above it."""
    run = _runner(contender)
    run(make_input(clients, 64))
    given = make_input(clients, parameters)
    _reset_high_water_mark()
    before = _bytes("VmRSS")
    run(given)
    return {"input_bytes": given.updates.nbytes, "peak_bytes": max(0, _bytes("VmHWM") - before)}


def _runner(contender: str) -> Callable[[Input], Any]:
    if contender == STRAIGHTFORWARD:
        return _straightforward
    return next(one.run for one in contenders() if one.name == contender)


def _straightforward(given: Input) -> None:
    """Run the straightforward version with small chunks, of which it judges the first few.

    The others would need the same memory again, one after the other, and minutes.
    """
    updates = torch.from_numpy(given.updates)
    clients, parameters = given.updates.shape
    judged = straightforward.unjudged(updates)
    parts = list(straightforward.chunks(clients, parameters, SMALL_CHUNK))
    for part in parts[:_JUDGED_CHUNKS]:
        straightforward.judge(updates, part, judged)
    weights = straightforward.weigh(judged.positive, parameters - judged.positive)
    model = torch.empty(parameters)
    for part in parts:
        model[part] = straightforward.combine(updates, part, judged, weights)


def _reset_high_water_mark() -> None:
    """Set the mark to the memory in use now; where that is forbidden it stays, and the peak is an upper bound."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        print("the high-water mark cannot be reset", file=sys.stderr)


def _bytes(field: str) -> int:
    """Read a size from the status file, where sizes are in kB."""
    for line in _STATUS.read_text().splitlines():
        name, _, value = line.partition(":")
        if name == field:
            return int(value.split()[0]) * 1024
    raise RuntimeError(f"{_STATUS} has no {field}")


if __name__ == "__main__":
    print(json.dumps(probe(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
