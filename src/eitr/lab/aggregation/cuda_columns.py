"""Launching `columns.cu` on a CUDA device: compiled by torch's own NVRTC, once for each task and number of clients.

CUDA and not Triton, because a warp that shares a column needs votes and shuffles, which Triton does not offer: what it
can express was an order of magnitude slower.
"""

from functools import cache
from importlib.resources import files
from typing import Any

import torch
from torch import Tensor

from eitr.lab.aggregation.confidence import confidence_bounds
from eitr.lab.aggregation.detection import Detection, Settings, rejudge_moved

FEWEST, MOST = 3, 400
"""Clients that the kernels are written for: fewer need no line, more would not fit into a block's shared memory."""
TASKS = {"detect": 0, "reweight": 1, "middle": 2}


def available(device: torch.device, clients: int) -> bool:
    """Return whether the kernels can be used."""
    return device.type == "cuda" and FEWEST <= clients <= MOST and hasattr(torch.cuda, "_compile_kernel")


def shape(clients: int) -> tuple[int, int]:
    """Return how many columns a block works on, and with how many threads; as in `columns.cu`."""
    if clients <= 16:
        return 128, 128
    return (32 if clients <= 128 else 16 if clients <= 256 else 8), (256 if clients <= 256 else 128)


@cache
def _kernel(name: str, task: str, clients: int, device: int) -> Any:
    source = files("eitr.lab.aggregation").joinpath("columns.cu").read_text(encoding="utf-8")
    return torch.cuda._compile_kernel(source, name, nvcc_options=[f"-DM={clients}", f"-DTASK={TASKS[task]}"])


def _columns(task: str, updates: Tensor, given: dict[str, Tensor], made: dict[str, Tensor]) -> None:
    """Launch the kernel of a task; tensors that it does not use are left out."""
    runs, clients, parameters = updates.shape
    width, threads = shape(clients)
    nothing = updates  # any pointer: it is not looked at
    names = ("reach", "delta", "bounds", "drop", "accepted", "medians", "negative", "restricted", "scores", "models")
    arguments = [given.get(name, made.get(name, nothing)) for name in names]
    kernel = _kernel("columns", task, clients, updates.device.index or 0)
    kernel(grid=(-(-parameters // width), runs, 1), block=(threads, 1, 1), args=[updates, *arguments, parameters])


def detect_columns(updates: Tensor, settings: Settings) -> Detection:
    """Judge every parameter of every client: `detection.detect` on CUDA."""
    runs, clients, parameters = updates.shape
    device = updates.device
    made = {
        "accepted": torch.empty(updates.shape, dtype=torch.bool, device=device),
        "medians": torch.empty((runs, parameters), dtype=torch.float64, device=device),
        "negative": torch.zeros((runs, clients), dtype=torch.int32, device=device),
    }
    given = {
        "reach": settings.reach.contiguous(),
        "delta": settings.delta.contiguous(),
        "bounds": confidence_bounds(clients, settings.lambda_).contiguous(),
    }
    _columns("detect", updates, given, made)
    moved = rejudge_moved(updates, settings, made["accepted"], made["medians"])
    negative = made["negative"].long()
    if moved is not None and len(moved.run):
        negative = parameters - made["accepted"].sum(dim=2, dtype=torch.int64)
    return Detection(made["accepted"], made["medians"], moved, negative)


def reweight_columns(updates: Tensor, delta: Tensor, lambda_: Tensor) -> tuple[Tensor, Tensor]:
    """Score clients and restrict values of at least four clients: `residual.reweight` on CUDA."""
    runs, clients, parameters = updates.shape
    blocks = -(-parameters // shape(clients)[0])
    made = {
        "restricted": torch.empty_like(updates),
        "scores": torch.empty((runs, blocks, clients), dtype=torch.float64, device=updates.device),
    }
    given = {
        "reach": torch.full_like(delta, torch.inf),
        "delta": delta.contiguous(),
        "bounds": confidence_bounds(clients, lambda_).contiguous(),
    }
    _columns("reweight", updates, given, made)
    return made["scores"].sum(dim=1), made["restricted"]


def middle_of_columns(updates: Tensor, drop: Tensor) -> Tensor:
    """Return the mean of each sorted column without its first and last `drop` (runs,) int32 values."""
    models = torch.empty((updates.shape[0], updates.shape[2]), dtype=torch.float32, device=updates.device)
    _columns("middle", updates, {"drop": drop.contiguous()}, {"models": models})
    return models


def mean_of_columns(
    updates: Tensor, shares: Tensor, origin: Tensor | None, reach: Tensor, accepted: Tensor | None
) -> Tensor:
    """Return weighted means (runs, parameters): the sums of `combination` on CUDA."""
    runs, clients, parameters = updates.shape
    models = torch.empty((runs, parameters), dtype=torch.float32, device=updates.device)
    rectify = accepted is not None
    kernel = _kernel("means", "detect", clients, updates.device.index or 0)
    kernel(
        grid=(-(-parameters // 256), runs, 1),
        block=(256, 1, 1),
        args=[
            updates,
            shares.contiguous(),
            origin.contiguous() if origin is not None else shares,
            reach.contiguous(),
            accepted if accepted is not None else updates,
            models,
            int(rectify),
            parameters,
        ],
    )
    return models
