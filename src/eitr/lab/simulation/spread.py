"""Runs spread over a Ray cluster: one task per group of runs, with a GPU where the cluster has some.

A task computes its group as one machine would, and tells rounds, checkpoints and results as they come; the machine that
asked writes them to its folder. So a killed lab goes on as always, and of a group whose node dies only the work since
its last checkpoint is done again, on another node.
"""

import pickle
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from eitr.cluster.ray_cluster import Cluster, StreamEvent
from eitr.datasets.interface import Examples
from eitr.errors import EngineError, InputError
from eitr.lab.results.store import Arrays, Computed
from eitr.lab.runs.federated import FederatedRun
from eitr.lab.runs.privacy import DefenceRun
from eitr.lab.runs.run import Run
from eitr.lab.runs.start import StartModel
from eitr.lab.simulation.compute import compute, sparse
from eitr.lab.simulation.context import Context
from eitr.plugins import load_plugin, loaded_paths

GROUPS_PER_WORKER = 2
"""So that GPUs of unequal speed end at about the same time; larger groups use a GPU better."""
MOST_LOSSES = 5
"""So often a group may be lost without having told anything before it counts as impossible."""


class Message(NamedTuple):
    """What a task tells."""

    kind: Literal["round", "checkpoint", "result", "failure"]
    run: str
    """The key of the run."""
    value: Any


class Task(NamedTuple):
    """What a task needs to know besides the data."""

    runs: bytes
    """Pickled: rules and attacks of plugins can be read when these are loaded, and not before."""
    checkpoints: Mapping[str, Arrays]
    """By the key of the run."""
    plugins: Mapping[str, str]
    """Files with the SHA-256 of their content."""
    device: str
    data_dir: Path | None
    checkpoint_seconds: float


@dataclass
class Group:
    """Runs that are computed together."""

    runs: dict[str, Run]
    """Those that are not finished yet, by key."""
    losses: int = 0


def spread(
    runs: Sequence[Run], cluster: Cluster, context: Context, examples: Examples | None, start: StartModel | None
) -> Iterator[Computed]:
    """Compute runs on a cluster; each is yielded as soon as it is finished."""
    gpus = cluster.gpus if context.device.type == "cuda" else 0
    data = cluster.place((examples, start))
    by_stream: dict[Any, Group] = {}

    def submit(group: Group) -> None:
        left = list(group.runs.values())
        kept = {run.key: found for run in left if (found := context.load_checkpoint(run)) is not None}
        task = Task(
            pickle.dumps(left),
            kept,
            loaded_paths(),
            context.device.type,
            context.data_dir,
            context.checkpoint_seconds,
        )
        by_stream[cluster.stream(computed_on_node, task, data, gpus=1 if gpus else 0)] = group

    for together in grouped(runs, workers=gpus or cluster.processors, by_run=sparse(context.device)):
        submit(Group({run.key: run for run in together}))
    while by_stream:
        stream, told = cluster.next_event(list(by_stream))
        group = by_stream[stream]
        if isinstance(told, StreamEvent):
            del by_stream[stream]
            if group.runs:  # its node died
                group.losses += 1
                if group.losses > MOST_LOSSES:
                    raise EngineError(
                        f"a group of {len(group.runs)} runs was lost {group.losses} times: see the nodes' logs"
                    )
                submit(group)
            continue
        group.losses = 0
        done = _noted(Message(*told), group, context)
        if done is not None:
            yield done


def _noted(told: Message, group: Group, context: Context) -> Computed | None:
    """Do what a message asks for; return the run if it is finished."""
    if told.kind == "failure":
        raise InputError(told.value)
    run = group.runs[told.run]
    if told.kind == "round":
        context.on_progress(run, *told.value)
    elif told.kind == "checkpoint":
        context.save_checkpoint(run, told.value)
    else:
        del group.runs[told.run]
        arrays, seconds = told.value
        return Computed(run, arrays, seconds)
    return None


def pick_device_on(cluster: Cluster, name: str) -> torch.device:
    """Return the device that tasks compute on: "auto" is the GPUs of a cluster that has some."""
    if name not in ("auto", "cpu", "cuda"):
        raise InputError(f"the device is auto, cpu or cuda, not {name!r}")
    if name == "cuda" and not cluster.gpus:
        raise InputError("the Ray cluster has no GPU: take --device cpu, or start nodes with GPUs")
    return torch.device("cuda" if name != "cpu" and cluster.gpus else "cpu")


def grouped(runs: Sequence[Run], *, workers: int, by_run: bool) -> list[list[Run]]:
    """Return which runs are computed together.

    On processors a run is a group by itself. On GPUs federations that train alike share one. Measurements of one
    defence stay together: what it costs is computed once for all of them.
    """
    federated = [run for run in runs if isinstance(run, FederatedRun)]
    together: dict[Any, list[Run]] = {}
    for run in runs:
        if isinstance(run, DefenceRun):
            together.setdefault(repr(run.defence), []).append(run)
        elif by_run or not isinstance(run, FederatedRun):
            together[run.key] = [run]
    groups = list(together.values())
    if not by_run and federated:
        alike = sorted(
            federated,
            key=lambda run: (run.clients, run.participants, run.rounds, repr(run.plan), run.steps, run.rule.name),
        )
        size = -(-len(alike) // max(1, GROUPS_PER_WORKER * workers))
        groups += [list(alike[first : first + size]) for first in range(0, len(alike), size)]
    return groups


@dataclass(kw_only=True)
class NodeContext(Context):
    """The context of a task: checkpoints come with the task, and new ones are told."""

    checkpoints: Mapping[str, Arrays] = field(default_factory=dict)
    told: SimpleQueue[Message | None] = field(default_factory=SimpleQueue)

    @property
    def keeps_checkpoints(self) -> bool:
        """Whether checkpoints are kept: elsewhere."""
        return True

    def save_checkpoint(self, run: Run, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Tell a checkpoint. Arrays are copied: the computation goes on with them."""
        self.told.put(Message("checkpoint", run.key, {name: np.array(array) for name, array in arrays.items()}))
        self.restart_clock()

    def load_checkpoint(self, run: Run) -> Arrays | None:
        """Return the checkpoint that came with the task."""
        found = self.checkpoints.get(run.key)
        return None if found is None else {name: np.array(array) for name, array in found.items()}


def computed_on_node(task: Task, data: tuple[Examples | None, StartModel | None]) -> Iterator[Message]:
    """Compute a group of runs on a node; yield what is to be told as it comes."""
    told: SimpleQueue[Message | None] = SimpleQueue()

    def work() -> None:
        try:
            for path, digest in task.plugins.items():
                load_plugin(path)
                if loaded_paths()[path] != digest:
                    raise InputError(f"plugin {path}: a node has another content: copy the file to all nodes")
            context = NodeContext(
                device=torch.device(task.device),
                data_dir=task.data_dir,
                on_progress=lambda run, *progress: told.put(Message("round", run.key, progress)),
                checkpoint_seconds=task.checkpoint_seconds,
                checkpoints=task.checkpoints,
                told=told,
            )
            for done in compute(pickle.loads(task.runs), context, *data):  # noqa: S301 - from the machine that asked
                told.put(Message("result", done.run.key, (done.arrays, done.seconds)))
        except Exception as error:
            told.put(Message("failure", "", f"{type(error).__name__}: {error}"))
        finally:
            told.put(None)

    threading.Thread(target=work, name="runs", daemon=True).start()
    while (message := told.get()) is not None:
        yield message
