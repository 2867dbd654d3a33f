"""One aggregation in one process, on one Ray node and on two, and on two of which one is killed in the middle.

    python -m benchmarks.ray_cluster [--clients 200] [--parameters 5000000] [--rule reputation] [--out bench-out]

Needs an environment with Ray (`make test-ray` makes build/ray-tests). Nodes are processes on loopback with one
processor each, and are compared with one process of one thread: this shows what a second machine of the same speed
brings, but for the network between them. On a machine with two processors, one process with two threads is as fast as
two nodes can be; it is measured, too. Every result must be the same to the last bit. Writes ray_cluster.md and
ray_cluster.json.

The time of a cluster is that of a whole round: placing the updates, computing, and fetching the model. The kernels are
compiled before, and the processes of the nodes run already.
"""

import argparse
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.inputs import Input, make_input
from benchmarks.machine import describe_machine, machine_line
from benchmarks.markdown import significant, table
from benchmarks.ray_nodes import Nodes, started
from benchmarks.threads import usable_threads

SPARE_STORE = 512 << 20
KILLED_AFTER = 0.4
"""The part of the time of two nodes after which one is killed."""


class Measured(NamedTuple):
    """One way to compute the round."""

    name: str
    seconds: float
    model: Any
    reputation: Any


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ray_cluster", description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--parameters", type=int, default=5_000_000)
    parser.add_argument("--rule", default="reputation")
    parser.add_argument("--out", type=Path, default=Path("bench-out"), help="folder for the results (bench-out)")
    options = parser.parse_args(arguments)
    machine = describe_machine(usable_threads())
    sent = make_input(options.clients, options.parameters)
    found = measure(options.rule, sent)
    same = all(
        np.array_equal(one.model, found[0].model) and np.array_equal(one.reputation, found[0].reputation)
        for one in found
    )
    first = found[0].seconds
    rows = [(one.name, significant(one.seconds), f"{first / one.seconds:.2f}") for one in found]
    text = (
        f"{options.rule}, {options.clients} clients, {options.parameters:,} parameters\n\n"
        f"{table(('computed by', 'seconds', 'speed-up'), rows)}\n\n"
        f"{'All results are the same to the last bit.' if same else 'RESULTS DIFFER.'} {machine_line(machine)}.\n"
    )
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "ray_cluster.md").write_text(text)
    document = {
        "rule": options.rule,
        "clients": options.clients,
        "parameters": options.parameters,
        "seconds": {one.name: one.seconds for one in found},
        "same_bits": same,
        "machine": machine,
    }
    (options.out / "ray_cluster.json").write_text(json.dumps(document, indent=1) + "\n")
    print(text, end="")
    return 0 if same else 1


def measure(rule: str, sent: Input) -> list[Measured]:
    """Compute the round in all ways, one after the other."""
    from eitr.robust.column_blocks import LocalBlocks

    found = []
    for threads in sorted({1, usable_threads()}):
        os.environ["EITR_THREADS"] = str(threads)
        _aggregated(rule, _small(sent), LocalBlocks)
        name = f"one process, {threads} thread{'s' if threads > 1 else ''}"
        found.append(_timed(name, lambda: _aggregated(rule, sent, LocalBlocks)))
    os.environ["EITR_THREADS"] = "1"
    for count in (1, 2):
        name = f"Ray, {count} node{'s' if count > 1 else ''} of one processor"
        found.append(_on_nodes(rule, sent, count, name))
    killed = _on_nodes(
        rule, sent, 2, "Ray, 2 nodes, one killed in the middle", kill_after=KILLED_AFTER * found[-1].seconds
    )
    return [*found, killed]


def _on_nodes(rule: str, sent: Input, count: int, name: str, kill_after: float | None = None) -> Measured:
    from eitr.aggregation.ray_blocks import on_cluster
    from eitr.cluster.ray_cluster import connected

    with (
        started(count, store=int(1.5 * sent.updates.nbytes) + SPARE_STORE) as nodes,
        connected(nodes.address) as cluster,
    ):
        nodes.wait(count)
        _aggregated(rule, _small(sent), on_cluster(cluster))  # starts a process on each node, which loads the kernels
        if kill_after is not None:
            _kill_later(nodes, kill_after)
        return _timed(name, lambda: _aggregated(rule, sent, on_cluster(cluster)))


def _kill_later(nodes: Nodes, seconds: float) -> None:
    timer = threading.Timer(seconds, nodes.kill, args=(1,))
    timer.daemon = True
    timer.start()


def _small(sent: Input) -> Input:
    """Return the first parameters of a round: enough for several blocks."""
    few = 16 * 4096
    return Input(sent.base[:few].copy(), np.ascontiguousarray(sent.updates[:, :few]), sent.ids)


def _aggregated(rule: str, sent: Input, engine: Any) -> Any:
    from eitr.aggregation import Round, make_rule

    chosen = make_rule(rule)
    return chosen.update(chosen.init(), Round(sent.base, sent.updates, sent.ids, engine=engine))[1]


def _timed(name: str, work: Callable[[], Any]) -> Measured:
    print(f"{name} ...", file=sys.stderr, flush=True)
    start = time.perf_counter()
    result = work()
    return Measured(name, time.perf_counter() - start, result.model, result.reputation)


if __name__ == "__main__":
    sys.exit(main())
