"""Local training of many clients: one step, written once; a loop on a CPU, CUDA graphs on parallel streams on a GPU.

The estimate, made before anything was run. One picture forward is 0.556 G multiply-adds, a training step of 64
pictures 64 x 3 x 1.11 = 214 GFLOP: 0.3 ms at the 790 TFLOP/s that an H200 does in bf16. But a step is about 280
kernels, most of them a few microseconds long, and the optimiser moves 0.4 GB: 2 to 3 ms when they follow one another.
Launched one by one from Python they would take 8 ms. Hence a graph, and several clients side by side, each in a graph
and on a stream of its own: while one is in a late stage (1024 places, not a third of the chip) another is in an early
one.

A run of 20 rounds x 10 clients x 1490 pictures x 2 epochs, 3 of the clients 3 epochs, is 10,800 steps: 27 s at 2.5 ms,
13 s if side by side gives a factor of two. Fifteen runs: 3 to 7 minutes.
"""

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from eitr.errors import InputError
from eitr.lab.runs.image import Training
from eitr.lab.simulation.images.batches import Batches, Field, ImagePreparation
from eitr.lab.simulation.images.resnet import ResNet18, load_vector

GRAPHS = "EITR_CUDA_GRAPHS"
"""The environment variable that, set to 0, makes a GPU launch every kernel by itself: slow, but easy to look into."""
LANES = "EITR_IMAGE_LANES"
"""The environment variable that says how many clients a GPU trains side by side."""
USUAL_LANES = 5
"""Half of ten clients, so that a round is two turns; each lane takes about 1 GB."""
_WARM_UP = 3
"""Steps before a capture, in which cuDNN chooses its algorithms and the allocator finds its sizes."""


class Lane:
    """One client at a time: a network, its momentum, and the next batch, all at fixed addresses."""

    def __init__(self, settings: Training, classes: int, preparation: ImagePreparation, plan: Tensor) -> None:
        device = plan.device
        self._settings, self._preparation, self._plan = settings, preparation, plan
        self.model = ResNet18(settings.width, classes, device).train()
        self._velocity = torch.zeros_like(self.model.weights)
        self._next = torch.zeros(1, dtype=torch.int64, device=device)
        on_gpu = device.type == "cuda"
        self._stream = torch.cuda.Stream(device) if on_gpu else None  # type: ignore[no-untyped-call]
        self._graph: torch.cuda.CUDAGraph | None = None

    def on(self) -> AbstractContextManager[object]:
        """Return the context in which everything of this lane is launched."""
        return torch.cuda.stream(self._stream) if self._stream is not None else nullcontext()

    def wait_for_others(self) -> None:
        """Let the lane begin only after what was launched so far."""
        if self._stream is not None:
            self._stream.wait_stream(torch.cuda.current_stream(self._stream.device))

    def be_waited_for(self) -> None:
        """Let what is launched from now on begin only after the lane."""
        if self._stream is not None:
            torch.cuda.current_stream(self._stream.device).wait_stream(self._stream)

    def begin(self, base: Tensor, first: int) -> None:
        """Start a client at the global model, with the batches from `first` on."""
        load_vector(self.model, base)
        self._velocity.zero_()
        self._next.fill_(first)

    def step(self) -> None:
        """Train on the next batch."""
        if self._graph is not None:
            self._graph.replay()
        else:
            self._step()

    def capture(self) -> None:
        """Record a step as a CUDA graph; it is the same step for every client of every run."""
        self.wait_for_others()
        with self.on():
            for _ in range(_WARM_UP):
                self._next.zero_()
                self._step()
            self._next.zero_()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self._stream):
            self._step()
        self._graph = graph

    def _step(self) -> None:
        """v <- momentum v + gradient; w <- w - rate v."""
        batch = self._plan.index_select(1, self._next)[:, 0]
        with arithmetic(batch.device):
            scores = self.model(self._preparation.augmented(batch))
        loss = functional.cross_entropy(scores.float(), batch[Field.LABEL])
        gradients = torch.autograd.grad(loss, list(self.model.parameters()))
        with torch.no_grad():
            # In the order of the vector: a kernel's gradient is channels_last already and this is no copy of its own.
            flat = [each.permute(0, 2, 3, 1).reshape(-1) if each.dim() == 4 else each.reshape(-1) for each in gradients]
            self._velocity.mul_(self._settings.momentum).add_(torch.cat(flat))
            self.model.weights.add_(self._velocity, alpha=-self._settings.learning_rate)
            self._next.add_(1)


class Trainer:
    """Trains the clients of a round, each from the same model."""

    def __init__(self, settings: Training, classes: int, preparation: ImagePreparation, capacity: int) -> None:
        """Make room for rounds of up to `capacity` steps in all."""
        device = preparation.pixels.device
        self._plan = torch.zeros((len(Field), capacity, settings.batch), dtype=torch.int64, device=device)
        on_gpu = device.type == "cuda"
        lanes = lanes_wanted() if on_gpu else 1
        self._lanes = [Lane(settings, classes, preparation, self._plan) for _ in range(lanes)]
        self.parameters = self._lanes[0].model.vector.numel()
        if on_gpu and os.environ.get(GRAPHS, "1") != "0":
            self._capture()

    def train(self, base: Tensor, batches: Sequence[Batches]) -> Tensor:
        """Return what each client has after its batches, (clients, parameters), starting from `base`."""
        steps = [each.shape[1] for each in batches]
        first = np.cumsum([0, *steps])
        self._plan[:, : first[-1]].copy_(torch.from_numpy(np.concatenate(batches, axis=1)))
        trained = torch.empty((len(batches), self.parameters), device=base.device)
        works = []
        for lane, clients in zip(self._lanes, shared_out(steps, len(self._lanes)), strict=True):
            lane.wait_for_others()
            works.append((lane, _work(lane, base, trained, clients, steps, first)))
        with _trying_algorithms():
            while works:  # a step of each lane in turn, so that all of them always have something to do
                works = [(lane, work) for lane, work in works if _advance(lane, work)]
        for lane in self._lanes:
            lane.be_waited_for()
        return trained

    def _capture(self) -> None:
        try:
            with _trying_algorithms():
                for lane in self._lanes:
                    lane.capture()
        except RuntimeError as error:
            warnings.warn(f"no CUDA graph, so every step is launched by itself: {error}", stacklevel=2)
            for lane in self._lanes:
                lane._graph = None


def lanes_wanted() -> int:
    """Return how many clients a GPU trains side by side."""
    said = os.environ.get(LANES, str(USUAL_LANES))
    if not said.isdecimal() or int(said) < 1:
        raise InputError(f"{LANES} must be a whole number of at least 1, not {said!r}")
    return int(said)


def shared_out(steps: Sequence[int], lanes: int) -> list[list[int]]:
    """Share clients out so that the lanes end at about the same time: the longest first, each to the freest lane.

    >>> shared_out([5, 1, 4, 2], 2)
    [[0, 1], [2, 3]]
    """
    shares: list[list[int]] = [[] for _ in range(lanes)]
    load = [0] * lanes
    for client in sorted(range(len(steps)), key=lambda client: -steps[client]):
        lane = load.index(min(load))
        shares[lane].append(client)
        load[lane] += steps[client]
    return shares


def _work(
    lane: Lane, base: Tensor, trained: Tensor, clients: list[int], steps: list[int], first: NDArray[np.int64]
) -> Iterator[None]:
    """Do all clients of a lane, stopping after every step for the other lanes."""
    for client in clients:
        lane.begin(base, int(first[client]))
        for _ in range(steps[client]):
            lane.step()
            yield
        trained[client].copy_(lane.model.vector)


def _advance(lane: Lane, work: Iterator[None]) -> bool:
    with lane.on():
        return next(work, False) is None


def arithmetic(device: torch.device) -> AbstractContextManager[object]:
    """On a GPU, convolutions in bf16 with float32 sums; weights, momentum and statistics stay float32."""
    if device.type != "cuda":
        return nullcontext()
    # No cache: every weight is used once a step, and a cached cast must not outlive a captured step.
    return torch.autocast("cuda", dtype=torch.bfloat16, cache_enabled=False)


@contextmanager
def _trying_algorithms() -> Iterator[None]:
    """Let cuDNN try its algorithms and take the fastest, here alone: shapes elsewhere are too many to try."""
    before = torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = True
    try:
        yield
    finally:
        torch.backends.cudnn.benchmark = before
