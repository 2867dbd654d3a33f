"""A federation of the paper's size: 442,190 generated pages over 200 clients, three rounds, seconds and peak memory.

python -m benchmarks.size
python -m benchmarks.size --pages 20000 --clients 20 --rounds 1
"""

import argparse
import resource
import time

import torch

from eitr.datasets.registry import load
from eitr.lab.runs.federated import FederatedRun, paper_rule
from eitr.lab.runs.run import Run
from eitr.lab.simulation.context import Context
from eitr.lab.simulation.sparse_engine import run_all
from eitr.model.network import Network

PAGES, CLIENTS, ROUNDS = 442_190, 200, 3
"""The paper's number of pages, and the most clients of its figures."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=PAGES)
    parser.add_argument("--clients", type=int, default=CLIENTS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--rule", default="reputation")
    given = parser.parse_args()
    start = time.perf_counter()
    examples = load("builtin", size=given.pages)
    made = time.perf_counter()
    print(f"{len(examples.rows):,} pages made in {made - start:.1f} s; peak memory {peak():.2f} GiB", flush=True)
    run = FederatedRun(
        data="builtin",
        rule=paper_rule(given.rule, 0, given.clients),
        clients=given.clients,
        rounds=given.rounds,
    )
    network = Network((examples.rows.width, 256, 32, len(examples.classes)))
    (done,) = run_all([run], examples, network, Context(device=torch.device("cpu"), on_progress=told))
    print(f"{given.rounds} rounds of {given.rule} with {given.clients} clients: {done.seconds:.1f} s in all")
    print(f"{time.perf_counter() - start:.1f} s from start to end; peak memory {peak():.2f} GiB")


def told(run: Run, done: int, rounds: int, accuracy: float) -> None:
    """Say that a round is over."""
    print(f"round {done} of {rounds}: accuracy {accuracy:.3f}, peak memory {peak():.2f} GiB", flush=True)


def peak() -> float:
    """Return the most memory this process has had, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    main()
