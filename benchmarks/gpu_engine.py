"""Local training on a GPU: our Triton kernels against torch's own operations, agreement and time a step.

    python -m benchmarks.gpu_engine --out engine.json

Needs numpy, torch and Triton only. Prints a table; the JSON holds the same numbers.
"""

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from eitr.lab.simulation.torch_training import Crowd, padded_size, train
from eitr.model.network import Network
from eitr.model.plan import TrainingPlan
from eitr.model.random import key_of

WORDS_A_PAGE = 45


def crowd(clients: int, steps: int, device: torch.device, *, pages: int = 14_000, seed: int = 0) -> Crowd:
    """Make clients with random pages, each its own model and its own batches."""
    network, plan = Network(), TrainingPlan()
    random = np.random.default_rng(seed)
    table = torch.zeros((pages, padded_size(network.inputs)))
    columns = torch.from_numpy(random.integers(0, network.inputs, (pages, WORDS_A_PAGE)))
    table.scatter_(1, columns, torch.from_numpy(random.random((pages, WORDS_A_PAGE)).astype(np.float32)) * 0.3)
    parameters = torch.zeros((clients, padded_size(network.size)))
    parameters[:, : network.size] = torch.from_numpy(network.initial(seed))
    rows = random.integers(0, pages, (clients, steps, plan.batch_size)).astype(np.int32)
    labels = (rows % network.outputs).astype(np.int32)
    sizes = np.full((clients, steps), plan.batch_size, np.int32)
    sizes[:, -1] = 17
    # Some clients stop earlier, as in a real round.
    each = [steps if client % 3 else max(1, steps - 2) for client in range(clients)]
    keys = torch.tensor([key_of(seed, client) for client in range(clients)])
    return Crowd(
        network,
        plan,
        table.to(device),
        parameters.to(device),
        torch.from_numpy(rows).to(device),
        torch.from_numpy(labels).to(device),
        torch.from_numpy(sizes).to(device),
        torch.arange(clients, dtype=torch.int32, device=device),
        each,
        keys.to(device),
    )


def agreement(device: torch.device) -> dict[str, float]:
    """Return the largest difference after 30 steps, with the largest movement beside it."""
    made = crowd(12, 30, device)
    before = made.parameters.clone()
    results = {}
    for kernels in ("torch", "triton"):
        own = replace(made, parameters=before.clone())
        train(own, kernels=kernels)
        results[kernels] = own.parameters
    exact = replace(made, parameters=before.clone().double(), table=made.table.double())
    train(exact, kernels="torch")
    return {
        "moved": (results["torch"] - before).abs().max().item(),
        "triton - torch": (results["triton"] - results["torch"]).abs().max().item(),
        "triton - float64": (results["triton"] - exact.parameters).abs().max().item(),
        "torch - float64": (results["torch"] - exact.parameters).abs().max().item(),
    }


def timing(device: torch.device, clients: int, steps: int, kernels: str) -> float:
    """Return microseconds a step of one client."""
    made = crowd(clients, steps, device)
    train(replace(made, parameters=made.parameters.clone()), kernels=kernels)
    torch.cuda.synchronize()
    start = time.perf_counter()
    train(made, kernels=kernels)
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / sum(made.steps) * 1e6


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    device = torch.device("cuda")
    torch.backends.cuda.matmul.allow_tf32 = False
    found: dict[str, object] = {"gpu": torch.cuda.get_device_name(device), "agreement": agreement(device)}
    print(found, flush=True)
    for clients, steps in ((70, 40), (630, 40), (4000, 20)):
        row = {kernels: round(timing(device, clients, steps, kernels), 3) for kernels in ("torch", "triton")}
        found[f"{clients} clients, microseconds a client's step"] = row
        print(clients, row, flush=True)
    if given.out:
        given.out.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
